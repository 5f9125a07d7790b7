"""`elf history`, `restore` and `gc`: what is asked, what is printed, how they end."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from command_line import CommandLine
from fake_service import Answer, Asked, FakeService, error

NOTE_ID = "01890a5d-ac96-774b-bcce-b302099a8057"
VERSION_ID = "7b0e1d9a-3f0a-4e0c-9d53-3b5f1e7c1a11"
DROPPED = "2025-03-01T12:00:00Z"
CONTEXT = {"tenant_id": "default", "project_id": "default", "agent_id": "default"}


def version(op: str, before: str | None, after: str | None) -> dict[str, Any]:
    return {
        "version_id": VERSION_ID,
        "op": op,
        "reason": "why",
        "actor": "who",
        "ts": "2026-03-01T12:00:00Z",
        "prev_snapshot": None if before is None else {"text": before},
        "new_snapshot": None if after is None else {"text": after},
    }


def test_a_history_is_asked_for_within_the_command_lines_own_context(
    elf: CommandLine, service: FakeService
) -> None:
    items = [version("UPDATE", "Tea.", "Tea\x1b[31m is green."), version("ADD", None, "Tea.")]
    service.respond = lambda asked: Answer(
        body={"items": items, "next_cursor": "next", "dropped_before": DROPPED}
    )
    code, out, err = elf("history", NOTE_ID, "--limit", "2")
    assert (code, err) == (0, "elf: there are more; continue with --cursor next\n")
    assert out.splitlines() == [
        f"{VERSION_ID}  2026-03-01T12:00:00Z  UPDATE  who  why  Tea [31m is green.",
        f"{VERSION_ID}  2026-03-01T12:00:00Z  ADD     who  why  Tea.",
    ]
    path = f"/v1/memory/notes/{NOTE_ID}/history"
    assert service.asked == [Asked("GET", path, CONTEXT | {"limit": "2"}, None)]


def test_a_history_that_is_not_there_is_asked_for_by_the_id_alone(
    elf: CommandLine, service: FakeService
) -> None:
    service.respond = lambda asked: (
        error(404, "NOT_FOUND")
        if asked.params
        else Answer(
            body={"items": [version("ADD", None, "Tea.")], "next_cursor": None, "dropped_before": None}
        )
    )
    assert elf("history", NOTE_ID).out.endswith("Tea.\n")
    assert [asked.params for asked in service.asked] == [CONTEXT, {}]


def test_what_was_said_again_is_shown_at_its_time(elf: CommandLine, service: FakeService) -> None:
    items = [
        version("UPDATE", "Tea.", "Tea is green.") | {"ts": "2026-03-01T12:00:02Z"},
        version("ADD", None, "Tea."),
    ]
    repetition = {
        "text": "Green tea.",
        "similarity": 0.93,
        "actor": "add_note",
        "ts": "2026-03-01T12:00:01.5Z",
    }
    service.respond = lambda asked: Answer(
        body={"items": items, "repetitions": [repetition], "next_cursor": None, "dropped_before": None}
    )
    assert [line.split()[2] for line in elf("history", NOTE_ID).out.splitlines()] == ["UPDATE", "NONE", "ADD"]
    line = elf("history", NOTE_ID).out.splitlines()[1]
    assert line.split("  ")[-1] == "Green tea."
    assert "similarity 0.9300" in line


def test_a_history_within_a_context_says_which(elf: CommandLine, service: FakeService) -> None:
    service.respond = lambda asked: Answer(
        body={"items": [version("ADD", None, "Tea.")], "next_cursor": None, "dropped_before": None}
    )
    assert elf("history", NOTE_ID, "--tenant", "acme", "--cursor", "c").code == 0
    assert service.asked[0].params == CONTEXT | {"tenant_id": "acme", "cursor": "c"}


def test_a_history_whose_beginning_is_not_kept_says_so_at_its_end(
    elf: CommandLine, service: FakeService
) -> None:
    body = {
        "items": [version("UPDATE", "Tea.", "Green tea.")],
        "next_cursor": None,
        "dropped_before": DROPPED,
    }
    service.respond = lambda asked: Answer(body=body)
    assert elf("history", NOTE_ID).err == f"elf: versions before {DROPPED} are not kept any more\n"


def test_what_was_purged_is_shown_as_that(elf: CommandLine, service: FakeService) -> None:
    service.respond = lambda asked: Answer(
        body={"items": [version("PURGE", "", None)], "next_cursor": None, "dropped_before": None}
    )
    assert elf("history", NOTE_ID).out.endswith("(purged)\n")


@pytest.mark.parametrize("flags", [(), ("--version", VERSION_ID)])
def test_a_note_is_restored(elf: CommandLine, service: FakeService, flags: tuple[str, ...]) -> None:
    service.respond = lambda asked: Answer(
        body={
            "note_id": NOTE_ID,
            "version_id": VERSION_ID,
            "op": "UPDATE",
            "reason_code": None,
            "reason": None,
        }
    )
    assert elf("restore", NOTE_ID, *flags) == (0, f"UPDATE  {NOTE_ID}\n", "")
    body = CONTEXT | ({"version_id": VERSION_ID} if flags else {})
    assert service.asked == [Asked("POST", f"/v1/memory/notes/{NOTE_ID}/restore", {}, body)]


def test_a_restore_that_the_gate_rejects_ends_with_1(elf: CommandLine, service: FakeService) -> None:
    service.respond = lambda asked: Answer(
        body={"note_id": NOTE_ID, "op": "REJECTED", "reason_code": "REJECT_TOO_LONG", "reason": "too long"}
    )
    assert elf("restore", NOTE_ID) == (1, f"REJECTED  {NOTE_ID}  REJECT_TOO_LONG  too long\n", "")


def test_a_restore_of_a_purged_note_ends_with_1_and_says_why(elf: CommandLine, service: FakeService) -> None:
    service.respond = lambda asked: error(400, "INVALID_REQUEST", message="the note was purged")
    code, out, err = elf("restore", NOTE_ID)
    assert (code, out) == (1, "")
    assert "the note was purged" in err


@pytest.fixture
def admin(elf: CommandLine, service: FakeService) -> CommandLine:
    """A command line whose config has the fake service at the admin address, and nothing at the other."""
    text = elf.config.read_text().replace(f"127.0.0.1:{service.port}", "127.0.0.1:1")
    elf.config.write_text(text.replace("127.0.0.1:8767", f"127.0.0.1:{service.port}"))
    return elf


def test_a_collection_is_asked_for_at_the_admin_address(admin: CommandLine, service: FakeService) -> None:
    service.respond = lambda asked: Answer(
        body={"ran": True, "counts": {"expired_notes": 2, "done_jobs": 31}, "failed": {}}
    )
    assert admin("gc") == (0, "expired_notes  2\ndone_jobs      31\n", "")
    assert service.asked == [Asked("POST", "/v1/admin/gc", {}, {})]


def test_a_collection_that_others_do_already_is_said(admin: CommandLine, service: FakeService) -> None:
    service.respond = lambda asked: Answer(body={"ran": False, "counts": {}, "failed": {}})
    assert admin("gc") == (0, "", "elf: another process is collecting already\n")
    assert admin("gc", "--json").data == {"ran": False, "counts": {}, "failed": {}}


def test_a_step_that_failed_is_said_after_what_the_others_did(
    admin: CommandLine, service: FakeService
) -> None:
    service.respond = lambda asked: Answer(
        body={
            "ran": True,
            "counts": {"expired_notes": 2},
            "failed": {"done_jobs": "a statement took too long"},
        }
    )
    code, out, err = admin("gc")
    assert (code, out) == (1, "expired_notes  2\n")
    assert err == "elf: done_jobs failed: a statement took too long\n"


def test_an_admin_port_of_0_is_known_to_nobody(elf: CommandLine, tmp_path: Path) -> None:
    elf.config.write_text(elf.config.read_text().replace("127.0.0.1:8767", "127.0.0.1:0"))
    code, _, err = elf("gc")
    assert code == 2
    assert "service.admin_bind" in err
