"""`elf add-event`: how messages are read, what is asked, what is printed, how it ends."""

from __future__ import annotations

import io
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from command_line import CommandLine
from fake_service import Answer, Asked, FakeService, error

NOTE_ID = "01890a5d-ac96-774b-bcce-b302099a8057"
MESSAGES = [
    {"role": "user", "content": "I prefer tea.", "msg_id": "m1"},
    {"role": "assistant", "content": "Noted."},
]
ADDED = {"note_id": NOTE_ID, "op": "ADD", "reason_code": None, "reason": "stated"}
REJECTED = {"note_id": None, "op": "REJECTED", "reason_code": "REJECT_EMPTY", "reason": "the text is empty"}


def answers(service: FakeService, *results: dict[str, Any]) -> None:
    extracted = [{"text": "Preference: I prefer\x1b tea."}] * len(results)
    service.respond = lambda asked: Answer(body={"extracted": extracted, "results": list(results)})


def write(folder: Path, text: str) -> str:
    file = folder / "messages"
    file.write_text(text, encoding="utf-8")
    return str(file)


@pytest.mark.parametrize(
    "text",
    [
        json.dumps(MESSAGES),
        json.dumps({"messages": MESSAGES}, indent=2),
        "\n".join(map(json.dumps, MESSAGES)) + "\n\n",
        "\ufeff" + json.dumps(MESSAGES),
    ],
    ids=["list", "object", "lines", "byte order mark"],
)
def test_messages_are_sent_as_the_file_has_them(
    elf: CommandLine, service: FakeService, tmp_path: Path, text: str
) -> None:
    answers(service, ADDED)
    assert elf("add-event", write(tmp_path, text)) == (
        0,
        f"ADD  {NOTE_ID}  -  Preference: I prefer  tea.\n",
        "",
    )
    body = {
        "tenant_id": "default",
        "project_id": "default",
        "agent_id": "default",
        "scope": "agent_private",
        "dry_run": False,
        "messages": MESSAGES,
    }
    assert service.asked == [Asked("POST", "/v1/memory/add_event", {}, body)]


def test_a_note_that_looks_like_another_says_which(
    elf: CommandLine, service: FakeService, tmp_path: Path
) -> None:
    answers(service, ADDED | {"similar_to": NOTE_ID}, REJECTED)
    out = elf("add-event", write(tmp_path, json.dumps(MESSAGES))).out
    assert f"{NOTE_ID}  similar to {NOTE_ID}  Preference: I prefer" in out.splitlines()[0]


def test_one_message_alone_is_a_conversation(elf: CommandLine, service: FakeService, tmp_path: Path) -> None:
    answers(service, ADDED)
    assert elf("add-event", write(tmp_path, json.dumps(MESSAGES[0]))).code == 0
    assert service.asked[0].body["messages"] == MESSAGES[:1]


def test_messages_come_from_standard_input(
    elf: CommandLine, service: FakeService, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers(service, ADDED)
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(json.dumps(MESSAGES).encode())))
    assert elf("add-event", "--scope", "org_shared", "--dry-run", "-").code == 0
    assert service.asked[0].body["scope"] == "org_shared"
    assert service.asked[0].body["dry_run"] is True


def test_a_rejected_note_tells_why_and_ends_with_one(
    elf: CommandLine, service: FakeService, tmp_path: Path
) -> None:
    answers(service, REJECTED)
    outcome = elf("add-event", write(tmp_path, json.dumps(MESSAGES)))
    assert outcome == (1, "REJECTED  -  REJECT_EMPTY  the text is empty\n", "")


def test_nothing_found_is_said_and_is_no_failure(
    elf: CommandLine, service: FakeService, tmp_path: Path
) -> None:
    answers(service)
    outcome = elf("add-event", write(tmp_path, json.dumps(MESSAGES)))
    assert outcome == (0, "", "elf: nothing worth keeping was found\n")


def test_an_extractor_that_is_away_ends_with_three(
    elf: CommandLine, service: FakeService, tmp_path: Path
) -> None:
    service.respond = lambda asked: error(503, "UNAVAILABLE", retry_after="5")
    assert elf("add-event", write(tmp_path, json.dumps(MESSAGES))).code == 3


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("no JSON", "holds no messages as JSON"),
        ('{"messages": 3}', "there must be a list of messages"),
        ('{"role": "user"}\n{"role"', "line 2"),
        ("[" * 100_000, "holds no messages as JSON"),
    ],
    ids=["prose", "number", "cut line", "too deep"],
)
def test_a_file_without_messages_is_wrong_usage(
    elf: CommandLine, service: FakeService, tmp_path: Path, text: str, told: str
) -> None:
    outcome = elf("add-event", write(tmp_path, text))
    assert outcome.code == 2
    assert told in outcome.err
    assert service.asked == []


def test_a_file_that_cannot_be_read_is_wrong_usage(elf: CommandLine, tmp_path: Path) -> None:
    assert "cannot be read" in elf("add-event", str(tmp_path / "none")).err
    (tmp_path / "latin").write_bytes(b"\xe9")
    assert "not UTF-8" in elf("add-event", str(tmp_path / "latin")).err
