"""The evaluation of recall against a running service."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from tests.system.service import REPO, RunningService


def test_an_evaluation_stores_waits_asks_and_writes_the_recall_of_each_question(
    service: RunningService, tenant: str, tmp_path: Path
) -> None:
    data, results = tmp_path / "beam.json", tmp_path / "results"
    data.write_text(json.dumps([chat(1, "violin"), chat(2, "harp")]), encoding="utf-8")
    printed = subprocess.run(
        [
            sys.executable, "-m", "ops.eval.beam", str(data), "--url", service.url, "--admin-url", service.admin_url,
            "--tenant", tenant, "--results", str(results),
        ],
        cwd=REPO, check=True, stdout=subprocess.PIPE, text=True,
    ).stdout  # fmt: skip
    rows = {line[:28].strip(): line[28:].split() for line in printed.splitlines()}
    assert rows["overall"] == ["4", "0.750", "0.750", "0.750", "0.750"]
    assert {"add_note", "search", "embedding"} <= {name.split()[0] for name in rows if name}
    recalls = json.loads((results / "beam.recall.json").read_text(encoding="utf-8"))
    assert {question: recall["20"] for question, recall in recalls.items()} == {
        "chat-1/0": 1.0, "chat-1/1": 0.5, "chat-2/0": 1.0, "chat-2/1": 0.5,
    }  # fmt: skip


def chat(number: int, instrument: str) -> dict[str, object]:
    """A chat of two messages, with a question that one of them answers, and one of which half the answer is lost."""
    messages = [
        {"id": 0, "role": "user", "content": f"I play the {instrument} in the town orchestra."},
        {"id": 1, "role": "assistant", "content": "The orchestra rehearses on Mondays."},
    ]
    questions = [
        {"type": "information_extraction", "question": "Which instrument do I play?", "source_ids": [0]},
        {"type": "summarization", "question": "When are the rehearsals?", "source_ids": [1, 7]},
    ]
    return {"chat": number, "messages": messages, "questions": questions}
