"""`elf import`: batches, order, retries, and finding the lines that the service refuses."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from command_line import CommandLine
from fake_service import Answer, Asked, FakeService, error

from elf.cli.importing.lanes import MAX_BATCH_BYTES, MAX_OPEN_BATCHES, Lanes
from elf.cli.importing.lines import MAX_LINE_BYTES, Context, Line


def write(path: Path, notes: Iterable[Any]) -> str:
    path.write_text("".join(json.dumps(note) + "\n" for note in notes))
    return str(path)


def stores(asked: Asked) -> Answer:
    return Answer(body={"results": [{"note_id": "x", "op": "ADD"} for _ in asked.body["notes"]]})


def texts(service: FakeService) -> list[str]:
    return [note["text"] for asked in service.asked for note in asked.body["notes"]]


@pytest.fixture(autouse=True)
def _stores(service: FakeService) -> None:
    service.respond = stores


def test_every_line_arrives_once_in_batches_of_at_most_100(
    elf: CommandLine, service: FakeService, tmp_path: Path
) -> None:
    file = write(tmp_path / "n.jsonl", ({"text": f"Note {n}.", "key": f"k{n}"} for n in range(1050)))
    assert elf("import", file) == (0, "1,050 lines: 1,050 added, 0 rejected\n", "")
    assert sorted(texts(service)) == sorted(f"Note {n}." for n in range(1050))
    assert max(len(asked.body["notes"]) for asked in service.asked) == 100
    assert len(service.asked) <= 14


def test_a_line_is_completed_by_the_flags(elf: CommandLine, service: FakeService, tmp_path: Path) -> None:
    note = {"text": "A.", "key": "k", "importance": 0.9, "ttl_days": 3, "source_ref": {"a": 1}}
    elf("import", "--type", "plan", "--tenant", "t", "--confidence", "1", write(tmp_path / "n.jsonl", [note]))
    (asked,) = service.asked
    assert asked.body == {
        "tenant_id": "t",
        "project_id": "default",
        "agent_id": "default",
        "scope": "agent_private",
        "merge_similar": False,
        "notes": [{**note, "type": "plan", "confidence": 1}],
    }


def test_a_line_may_name_its_own_context(elf: CommandLine, service: FakeService, tmp_path: Path) -> None:
    notes = [
        {"text": "A.", "tenant_id": "t1", "scope": None},
        {"text": "B.", "project_id": "p", "agent_id": "a", "scope": "org_shared"},
        {"text": "C.", "tenant_id": "t1"},
    ]
    elf("import", write(tmp_path / "n.jsonl", notes))
    by_tenant = {asked.body["tenant_id"]: asked.body for asked in service.asked}
    assert [note["text"] for note in by_tenant["t1"]["notes"]] == ["A.", "C."]
    assert by_tenant["default"]["project_id"] == "p"
    assert by_tenant["default"]["scope"] == "org_shared"
    assert "agent_id" not in by_tenant["default"]["notes"][0]


def test_notes_that_may_replace_one_another_arrive_in_the_order_of_the_file(
    elf: CommandLine, service: FakeService, tmp_path: Path
) -> None:
    notes = [{"text": f"{n}", "key": f"k{n % 3}" if n % 4 else None} for n in range(900)]
    elf("import", write(tmp_path / "n.jsonl", notes))
    for key in ("k0", "k1", "k2", None):
        arrived = [
            int(note["text"]) for asked in service.asked for note in asked.body["notes"] if note["key"] == key
        ]
        assert arrived == sorted(arrived)


def test_lines_that_are_no_notes_are_rejected_with_their_number(
    elf: CommandLine, service: FakeService, tmp_path: Path
) -> None:
    file = tmp_path / "n.jsonl"
    lines = [
        b'{"text": "A."}', b'{"text": ', b"[1]", b"", b'"x"', b'{"text": NaN}', b"\xff\xfe",
        b'{"text": "B.", "scope": 5}', b'{"text": "%s"}' % (b"x" * 2 * MAX_LINE_BYTES), b"[" * 100_000,
        b'{"text": "last"}',
    ]  # fmt: skip
    file.write_bytes(b"\n".join(lines))
    code, out, err = elf("import", str(file))
    assert (code, out) == (1, "10 lines: 2 added, 8 rejected\n")
    assert texts(service) == ["A.", "last"]
    assert [line.partition(" is ")[0] for line in err.splitlines()] == [
        "elf: line 2: NOT_READ:", "elf: line 3: NOT_READ:", "elf: line 5: NOT_READ:", "elf: line 6: NOT_READ:",
        "elf: line 7: NOT_READ:", "elf: line 8: scope: NOT_READ: must be a string", "elf: line 9: NOT_READ:",
        "elf: line 10: NOT_READ:",
    ]  # fmt: skip


def test_a_note_that_the_gate_rejects_is_reported_with_its_reason(
    elf: CommandLine, service: FakeService, tmp_path: Path
) -> None:
    def respond(asked: Asked) -> Answer:
        answer = stores(asked)
        for note, result in zip(asked.body["notes"], answer.body["results"], strict=True):
            if note["text"] == "bad":
                result.update(op="REJECTED", reason_code="REJECT_SECRET", reason=None)
        return answer

    service.respond = respond
    file = write(tmp_path / "n.jsonl", [{"text": text} for text in ("A.", "bad", "B.")])
    errors = tmp_path / "errors.jsonl"
    code, out, err = elf("import", file, "--errors", str(errors))
    assert (code, out) == (1, "3 lines: 2 added, 1 rejected\n")
    assert err == "elf: line 2: REJECT_SECRET: the service does not store this note\n"
    assert [json.loads(line) for line in errors.read_text().splitlines()] == [
        {
            "line": 2,
            "field": None,
            "code": "REJECT_SECRET",
            "reason": "the service does not store this note",
        }
    ]


def test_lines_that_make_a_request_fail_are_named_and_the_others_stored(
    elf: CommandLine, service: FakeService, tmp_path: Path
) -> None:
    def respond(asked: Asked) -> Answer:
        at_fault = [n for n, note in enumerate(asked.body["notes"]) if note["importance"] > 1]
        if at_fault:
            fields = [f"$.notes[{n}].importance" for n in at_fault]
            return error(400, "INVALID_REQUEST", fields=fields, message=f"{fields[0]}: at most 1")
        return stores(asked)

    service.respond = respond
    notes = [{"text": f"{n}", "importance": 5 if n in (3, 7) else 0.5} for n in range(10)]
    code, out, err = elf("import", write(tmp_path / "n.jsonl", notes))
    assert (code, out) == (1, "10 lines: 8 added, 2 rejected\n")
    assert err.splitlines() == [
        "elf: line 4: importance: INVALID_REQUEST: importance: at most 1",
        "elf: line 8: importance: INVALID_REQUEST: importance: at most 1",
    ]
    assert len(service.asked) == 2


def test_a_field_that_all_lines_share_rejects_them_all(
    elf: CommandLine, service: FakeService, tmp_path: Path
) -> None:
    service.respond = lambda asked: error(400, "INVALID_REQUEST", fields=["$.tenant_id"])
    file = write(tmp_path / "n.jsonl", [{"text": "A."}, {"text": "B."}])
    code, out, err = elf("import", file, "--tenant", "x" * 200)
    assert (code, out) == (1, "2 lines: 2 rejected\n")
    assert err.splitlines()[1] == "elf: line 2: tenant_id: INVALID_REQUEST: the message"
    assert len(service.asked) == 1


@pytest.mark.parametrize("status", [413, 500])
def test_a_request_refused_without_saying_why_is_halved_until_the_line_is_found(
    elf: CommandLine, service: FakeService, tmp_path: Path, status: int
) -> None:
    def respond(asked: Asked) -> Answer:
        if any(note["text"] == "bad" for note in asked.body["notes"]):
            return error(status, "SOME_CODE")
        return stores(asked)

    service.respond = respond
    notes = [{"text": "bad" if n == 61 else f"{n}"} for n in range(100)]
    code, out, err = elf("import", write(tmp_path / "n.jsonl", notes))
    assert (code, out) == (1, "100 lines: 99 added, 1 rejected\n")
    assert err == "elf: line 62: SOME_CODE: the message\n"
    assert len(service.asked) < 20


def test_a_service_that_is_away_for_a_moment_is_asked_again(
    elf: CommandLine, service: FakeService, tmp_path: Path
) -> None:
    away = iter([error(503, "UNAVAILABLE", retry_after="0"), error(503, "UNAVAILABLE", retry_after="0")])
    service.respond = lambda asked: next(away, None) or stores(asked)
    assert elf("import", write(tmp_path / "n.jsonl", [{"text": "A."}])).code == 0
    assert texts(service) == ["A."] * 3


def test_a_service_that_stays_away_ends_the_import_with_3_and_what_was_done(
    elf: CommandLine, service: FakeService, tmp_path: Path
) -> None:
    file = write(tmp_path / "n.jsonl", ({"text": f"{n}", "tenant_id": f"t{n % 7}"} for n in range(5000)))
    done = iter(range(5))
    service.respond = lambda asked: (
        stores(asked) if next(done, None) is not None else error(503, "UNAVAILABLE", retry_after="5")
    )
    code, out, err = elf("import", file, "--patience", "0")
    assert code == 3
    stored = re.search(r" (\d+) added, 0 rejected\n", out)
    assert stored
    assert 0 < int(stored[1]) <= 500  # of what was stored, the last answers may not have been heard
    assert err.splitlines() == [
        "elf: stopped before the end; import the file again, lines already stored stay as they are",
        "elf: UNAVAILABLE: the message",
    ]


def test_a_summary_is_given_as_data(elf: CommandLine, tmp_path: Path) -> None:
    file = tmp_path / "n.jsonl"
    file.write_text('{"text": "A."}\nnope\n')
    outcome = elf("import", "--json", str(file))
    assert outcome.code == 1
    data = outcome.data
    (rejection,) = data.pop("rejections")
    assert data == {"finished": True, "lines": 2, "ops": {"ADD": 1}, "rejected": 1}
    assert (rejection["line"], rejection["code"]) == (2, "NOT_READ")


def test_only_the_first_rejections_are_shown(elf: CommandLine, tmp_path: Path) -> None:
    file = tmp_path / "n.jsonl"
    file.write_text("nope\n" * 1500)
    errors = tmp_path / "errors.jsonl"
    outcome = elf("import", str(file))
    assert outcome.err.splitlines()[-1] == "elf: and 1,480 more rejected lines; --errors FILE keeps them all"
    elf("import", str(file), "--errors", str(errors))
    assert len(errors.read_text().splitlines()) == 1500


def test_an_empty_file_is_no_fault(elf: CommandLine, service: FakeService, tmp_path: Path) -> None:
    assert elf("import", write(tmp_path / "n.jsonl", [])) == (0, "0 lines: 0 rejected\n", "")
    assert service.asked == []


def test_files_that_cannot_be_opened_are_wrong_usage(
    elf: CommandLine, service: FakeService, tmp_path: Path
) -> None:
    file = write(tmp_path / "n.jsonl", [{"text": "A."}])
    assert elf("import", str(tmp_path / "none")).code == 2
    assert elf("import", str(tmp_path)).code == 2
    assert elf("import", file, "--errors", str(tmp_path / "none" / "errors")).code == 2
    assert elf("import", file, "--errors", file).code == 2
    assert Path(file).read_text()
    assert service.asked == []


def lines_of(contexts: int, *, size: int) -> Iterable[Line]:
    for number in range(500):
        context = Context(f"t{number % contexts}", "p", "a", "s")
        yield Line(number, context, {"text": "x"}, size)


def test_a_batch_stays_within_the_bytes_that_the_service_takes() -> None:
    lanes = Lanes(4)
    batches = [batch for line in lines_of(1, size=90_000) for _, batch in lanes.add(line)]
    batches += [batch for _, batch in lanes.rest()]
    assert sum(len(batch.lines) for batch in batches) == 500
    assert max(sum(line.size for line in batch.lines) for batch in batches) <= MAX_BATCH_BYTES


def test_many_contexts_do_not_pile_up() -> None:
    lanes = Lanes(4)
    closed = sum(1 for line in lines_of(200, size=10) for _ in lanes.add(line))
    assert closed == 500 - sum(len(batch.lines) for _, batch in lanes.rest())
    assert closed >= 500 - MAX_OPEN_BATCHES
