"""`elf export`: what is asked, and that a note is exported once whatever happens meanwhile."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from command_line import CommandLine
from fake_service import Answer, Asked, FakeService, error


def a_note(name: str, minute: int) -> dict[str, Any]:
    return {
        "note_id": name, "tenant_id": "t", "project_id": "p", "agent_id": "a", "scope": "project_shared",
        "type": "fact", "key": None, "text": name, "importance": 0.5, "confidence": 0.5, "status": "active",
        "created_at": "x", "updated_at": f"2026-03-01T12:{minute:02}:00Z", "expires_at": None, "source_ref": {},
    }  # fmt: skip


class Shelf:
    """Serves notes in pages of two, newest first; `meanwhile` happens after the first page was read."""

    def __init__(self, **minutes: int) -> None:
        self.minutes = dict(minutes)
        self.meanwhile: dict[str, int] = {}

    def page(self, asked: Asked) -> Answer:
        if asked.params.get("scope") == "agent_private":
            return Answer(body={"items": [], "next_cursor": None})
        before = int(asked.params.get("cursor", 99))
        names = sorted(self.minutes, key=self.minutes.__getitem__, reverse=True)
        behind = [name for name in names if self.minutes[name] < before]
        items = [a_note(name, self.minutes[name]) for name in behind[:2]]
        cursor = str(self.minutes[behind[1]]) if len(behind) > 2 else None
        self.minutes |= self.meanwhile
        self.meanwhile = {}
        return Answer(body={"items": items, "next_cursor": cursor})


def exported(outcome: tuple[int, str, str]) -> list[str]:
    code, out, _ = outcome
    assert code == 0
    return [json.loads(line)["text"] for line in out.splitlines()]


def test_shared_and_private_notes_are_exported_page_by_page(elf: CommandLine, service: FakeService) -> None:
    service.respond = Shelf(a=5, b=4, c=3).page
    assert exported(elf("export", "--agent", "anna")) == ["a", "b", "c"]
    scopes = [(asked.params["agent_id"], asked.params.get("scope")) for asked in service.asked]
    assert set(scopes) == {("anna", None), ("anna", "agent_private")}


def test_a_note_that_changes_while_pages_are_read_is_exported_once(
    elf: CommandLine, service: FakeService
) -> None:
    shelf = Shelf(a=5, b=4, c=3, d=2)
    shelf.meanwhile = {"d": 20, "a": 21, "new": 22}  # d moves away before its page is read
    service.respond = shelf.page
    assert sorted(exported(elf("export"))) == ["a", "b", "c", "d", "new"]


def test_a_file_is_there_only_when_it_is_whole(
    elf: CommandLine, service: FakeService, tmp_path: Path
) -> None:
    pages = iter([Shelf(a=5, b=4, c=3).page])
    service.respond = lambda asked: (
        page(asked) if (page := next(pages, None)) else error(503, "UNAVAILABLE", retry_after="0")
    )
    folder = tmp_path / "out"
    folder.mkdir()
    assert elf("export", str(folder / "notes.jsonl")).code == 3
    assert list(folder.iterdir()) == []
    service.respond = Shelf(a=5).page
    assert elf("export", str(folder / "notes.jsonl")).code == 0
    assert [path.name for path in folder.iterdir()] == ["notes.jsonl"]


def test_a_file_that_cannot_be_written_is_a_wrong_usage(elf: CommandLine, tmp_path: Path) -> None:
    outcome = elf("export", str(tmp_path / "no folder" / "notes.jsonl"))
    assert outcome.code == 2
    assert "cannot be written: No such file or directory" in outcome.err


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ({"expires_at": "2020-01-01T00:00:00Z"}, "expires_at: EXPIRED: is over"),
        ({"expires_at": "soon"}, "expires_at: NOT_READ: must be a moment"),
        ({"expires_at": "2030-01-01T00:00:00"}, "expires_at: NOT_READ: must be a moment"),
        ({"expires_at": 5}, "expires_at: NOT_READ: must be a moment"),
        ({"expires_at": "2030-01-01T00:00:00Z", "ttl_days": 4}, "must not be given beside ttl_days"),
    ],
)
def test_an_expiry_that_cannot_be_is_a_rejected_line(
    elf: CommandLine, service: FakeService, tmp_path: Path, line: dict[str, Any], said: str
) -> None:
    file = tmp_path / "notes.jsonl"
    file.write_text(json.dumps({"text": "A."} | line) + "\n")
    outcome = elf("import", str(file))
    assert outcome.code == 1
    assert said in outcome.err
    assert service.asked == []
