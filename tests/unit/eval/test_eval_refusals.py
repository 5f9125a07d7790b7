"""What a service says of its answers is read, kept and counted."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import httpx
import pytest

from elf.client import Client
from ops.eval import refusals
from ops.eval.chats import Chat, Question
from ops.eval.irrelevant import Asked
from ops.eval.refusals import Judged, judge

ASKED = Asked("one", "one/0", "Where is the kite?", "answerable")


def memory(answers: dict[str, dict[str, Any]]) -> Client:
    """A client of a service that gives these answers, by the query."""

    def respond(request: httpx.Request) -> httpx.Response:
        return httpx.Response(200, json=answers[json.loads(request.content)["query"]])

    context = {"tenant_id": "t", "agent_id": "a", "read_profile": "all_scopes"}
    return Client("http://elf.example", **context, transport=httpx.MockTransport(respond))


def answer(*relevances: float | None, weak: bool | None) -> dict[str, Any]:
    return {"items": [{"relevance": one} for one in relevances], "weak_match": weak}


def test_the_relevance_of_an_answer_is_that_of_its_best_item() -> None:
    judged = judge(memory({ASKED.text: answer(0.4, None, 0.6, weak=False)}), ASKED)
    assert judged == Judged(ASKED, is_weak=False, relevance=0.6)
    assert not judged.is_below(0.6)
    assert judged.is_below(0.61)


def test_an_answer_without_items_is_below_every_threshold() -> None:
    judged = judge(memory({ASKED.text: answer(weak=True)}), ASKED)
    assert judged == Judged(ASKED, is_weak=True, relevance=None)
    assert judged.is_below(-1.0)


@pytest.mark.parametrize(
    ("told", "field"),
    [
        ({"items": [{"relevance": 0.5}]}, "weak_match"),
        (answer(0.5, weak=None), "weak_match"),
        ({"items": [{"key": "k"}], "weak_match": False}, "relevance"),
        (answer(None, weak=False), "relevance"),
    ],
)
def test_a_service_that_does_not_tell_is_refused_with_the_name_of_the_field(
    told: dict[str, Any], field: str
) -> None:
    with pytest.raises(SystemExit, match=f"^{field}: .* do not tell it"):
        judge(memory({ASKED.text: told}), ASKED)


def test_the_shares_kept_and_refused_are_shown_and_each_question_is_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    chats = [
        Chat("one", [], [Question("one/0", "Where is the kite?", frozenset("k"), "any")], ["Ana", "Ben"]),
        Chat("two", [], [Question("two/0", "What did Cleo paint?", frozenset("k"), "any")], ["Cleo"]),
    ]
    service = memory(
        {
            "Where is the kite?": answer(0.5, weak=False),
            "What did Cleo paint?": answer(0.55, weak=False),
            "What did Ana paint?": answer(0.35, weak=True),
        }
    )
    refusals.evaluate("set", service, chats, results=tmp_path / "new")
    lines = {line[:16].strip(): line[18:].split() for line in capsys.readouterr().out.splitlines()}
    assert lines["questions"] == ["2", "2", "1", "0"]
    assert lines["weak_match"] == ["1.000", "0.000", "1.000", "-"]
    assert lines["relevance < 0.52"] == ["0.500", "0.500", "1.000", "-"]
    assert lines["relevance < 0.30"] == ["1.000", "0.000", "0.000", "-"]
    written = json.loads((tmp_path / "new" / "set.refusals.json").read_text(encoding="utf-8"))
    assert written[0] == {
        "chat": "one", "id": "one/0", "text": "Where is the kite?", "kind": "answerable", "weak_match": False,
        "relevance": 0.5,
    }  # fmt: skip
    assert len(written) == 5
