"""Notes are taken along with their history, and taken in where they are not: as they are, and once."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any, Final
from uuid import UUID, uuid4

import anyio
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from elf.config.model import NOTE_TYPES
from elf.core.errors import InvalidRequest, NonEnglishInput
from elf.families.notes.model import Note, as_real
from elf.families.notes.writing.resolver import deletion, next_moment
from elf.offers import Subject
from tests.db.notes.aging import assert_gapless, collect, rows_saying
from tests.db.notes.conftest import EMPTY, House
from tests.db.notes.subjects_kit import TENANT, exported, live_through, subjects_of
from tests.notes_kit import NOW, a_note

pytestmark = pytest.mark.anyio

ALL: Final = Subject(tenant_id=TENANT)
WORD: Final = "Zanzibarqx"


async def take_in(house: House, lines: Sequence[Mapping[str, Any]], *, step: int = 500) -> int:
    """Take lines in as they come back from a file."""
    return await subjects_of(house, step=step).take_in(json.loads(json.dumps(lines)))


def line_of(note: Note | None = None, **fields: Any) -> dict[str, Any]:
    """A note as it is exported."""
    snapshot = (note or a_note()).snapshot()
    del snapshot["embedding_version"]
    return {"kind": "note", **snapshot, **fields}


def version_of(note: Note, **fields: Any) -> dict[str, Any]:
    """The first version of a note as it is exported."""
    return {
        "kind": "version", "tenant_id": note.tenant_id, "note_id": str(note.note_id), "version_id": str(uuid4()),
        "op": "ADD", "new_snapshot": note.snapshot(), "reason": "new note", "actor": "add_note",
        "ts": note.created_at.isoformat(), **fields,
    }  # fmt: skip


def decision_of(note: Note, **fields: Any) -> dict[str, Any]:
    """The decision about a note as it is exported."""
    return {
        "kind": "decision", "tenant_id": note.tenant_id, "note_id": str(note.note_id), "nth": 1, "op": "ADD",
        "ts": note.created_at.isoformat(), "keyed": False, "text_chars": 9, "reason": "new note", "policy": {},
        "actor": "add_note", **fields,
    }  # fmt: skip


@pytest.mark.parametrize("step", [500, 1])
async def test_an_empty_service_gives_what_it_took_in(house: House, step: int) -> None:
    await live_through(house, WORD, project_id="one")
    await live_through(house, "Timbuktuqx", project_id="two", agent_id="bob")
    lines = await exported(house, ALL, step=step)
    kinds = Counter(line["kind"] for line in lines)
    assert (kinds["note"], kinds["version"], kinds["decision"]) == (6, 10, 12)
    table = "SELECT * FROM {} ORDER BY note_id, ts"
    before = [
        await house.rows("SELECT * FROM memory_notes ORDER BY note_id"),
        await house.rows(
            table.format("memory_note_versions WHERE note_id IN (SELECT note_id FROM memory_notes)")
        ),
    ]
    await house.execute(EMPTY)
    house.clock.turn(days=1)
    assert await take_in(house, lines, step=step) == len(lines)
    assert [
        await house.rows("SELECT * FROM memory_notes ORDER BY note_id"),
        await house.rows(table.format("memory_note_versions")),
    ] == before
    assert await exported(house, ALL, step=step) == lines
    assert await take_in(house, lines, step=step) == 0
    assert await exported(house, ALL, step=step) == lines


async def test_what_comes_in_is_indexed_as_what_is_written(house: House) -> None:
    deleted, kept, private = await live_through(house, WORD)
    lines = await exported(house, ALL)
    await subjects_of(house).erase(ALL)
    await house.index_all()
    assert house.index.points == {}
    rings = house.rings
    assert await take_in(house, lines) == len(lines)
    assert house.rings > rings
    assert {*(await house.jobs())[-2:]} == {(kept, "UPSERT", "PENDING"), (private, "UPSERT", "PENDING")}
    await house.index_all()
    assert house.index.owners() == {kept, private}
    assert (await house.drift()) == (0, 0, 0)
    note = await house.note(deleted)
    assert note is not None
    assert note.status == "deleted"


async def test_pieces_come_in_one_call_or_in_several(house: House) -> None:
    await live_through(house, WORD)
    lines = await exported(house, ALL)
    await house.execute(EMPTY)
    assert sum([await take_in(house, [line]) for line in lines]) == len(lines)
    assert await exported(house, ALL) == lines


async def test_a_subject_takes_along_what_is_its_own(house: House) -> None:
    for project in ("ana", "bob"):
        for agent in ("anna", "otto"):
            await house.add({"text": f"Fact: {project} {agent}."}, project_id=project, agent_id=agent)
    await house.add({"text": "Fact: elsewhere."}, tenant_id="rival", project_id="ana")
    for subject, count in (
        (ALL, 4),
        (Subject(tenant_id=TENANT, user="ana"), 2),
        (Subject(tenant_id=TENANT, agent_id="anna"), 2),
        (Subject(tenant_id=TENANT, user="ana", agent_id="anna"), 1),
        (Subject(tenant_id=TENANT, user="ana", project_id="bob"), 2),
        (Subject(tenant_id=TENANT, user="nobody"), 0),
    ):
        kinds = Counter(line["kind"] for line in await exported(house, subject))
        assert kinds == (dict.fromkeys(("note", "version", "decision"), count) if count else {})


async def test_what_is_here_stays_as_it_is(house: House) -> None:
    note_id = await house.add_one("Fact: tea is hot.")
    lines = await exported(house, ALL)
    house.clock.turn(hours=1)
    await house.update(note_id, text="Fact: tea is cold.")
    newer = await exported(house, ALL)
    assert await take_in(house, lines) == 0
    assert await exported(house, ALL) == newer
    await house.execute(EMPTY)
    assert await take_in(house, lines) == 3
    assert await take_in(house, newer) == 0, "a history ends with what the note is here"
    assert_gapless(await house.versions(note_id))


async def test_what_was_purged_here_does_not_come_back_but_what_was_erased_does(house: House) -> None:
    (deleted, *_) = await live_through(house, WORD)
    lines = await exported(house, ALL)
    await house.execute("UPDATE memory_notes SET updated_at = '2001-01-01' WHERE note_id = $1", deleted)
    assert (await collect(house))["purged_deleted_notes"] == 1
    assert await take_in(house, lines) == 0
    assert await house.note(deleted) is None
    await subjects_of(house).erase(ALL)
    assert await rows_saying(house, WORD) == {}
    assert await take_in(house, lines) == len(lines)


async def test_a_key_that_is_held_makes_a_note_come_in_deleted(house: House) -> None:
    here = await house.add_one("Fact: tea is hot.", key="tea")
    house.clock.turn(days=1)
    note = a_note("Fact: tea is cold.", key="tea")
    lines = [line_of(note), version_of(note)]
    assert await take_in(house, lines) == 2
    assert await take_in(house, lines) == 0
    stored = await house.note(note.note_id)
    assert stored is not None
    assert (stored.status, stored.text, stored.updated_at) == ("deleted", note.text, house.clock.now())
    versions = await house.versions(note.note_id)
    assert_gapless(versions)
    assert [(one["op"], one["reason"]) for one in versions] == [
        ("ADD", "new note"), ("DELETE", "another note holds the key"),
    ]  # fmt: skip
    held = await house.note(here)
    assert held is not None
    assert held.status == "active"


async def test_an_id_that_another_tenant_has_is_another_here(house: House) -> None:
    theirs = await house.add_one("Fact: tea is hot.", source_ref={"a": 1})
    lines = [{**line, "tenant_id": "rival"} for line in await exported(house, ALL)]
    for line in lines:
        if line["kind"] == "version":
            line["new_snapshot"] = {**line["new_snapshot"], "tenant_id": "rival"}
    assert await take_in(house, lines) == 3
    assert await take_in(house, lines) == 0
    (own,) = await house.rows("SELECT * FROM memory_notes WHERE tenant_id = 'rival'")
    assert own["note_id"] != theirs
    (version,) = await house.versions(own["note_id"])
    assert version["new_snapshot"]["note_id"] == str(own["note_id"])
    assert len(await house.versions(theirs)) == 1
    assert len(await exported(house, ALL)) == 3
    assert await house.value("SELECT count(*) FROM memory_ingest_decisions WHERE note_id = $1", theirs) == 1


async def test_pieces_of_notes_that_are_not_there_are_left_out(house: House) -> None:
    theirs = await house.add_one("Fact: tea is hot.", key="k")
    note = a_note()
    assert await take_in(house, [version_of(note), decision_of(note)]) == 0
    stray = a_note(note_id=theirs, tenant_id="rival")
    assert await take_in(house, [version_of(stray), decision_of(stray)]) == 0
    assert len(await house.versions(theirs)) == 1


async def test_decisions_of_one_moment_are_told_apart(house: House) -> None:
    note = a_note()
    same = [
        decision_of(note, nth=nth, op="NONE", reason="duplicate", dropped_text="Tea!") for nth in (1, 2, 3)
    ]
    assert await take_in(house, [line_of(note), *same[:2]]) == 3
    assert await take_in(house, [*same, decision_of(note, ts=(NOW + timedelta(1)).isoformat())]) == 2
    assert await house.value("SELECT count(*) FROM memory_ingest_decisions") == 4


async def test_two_who_take_in_the_same_at_once_keep_it_once(house: House) -> None:
    await live_through(house, WORD)
    lines = await exported(house, ALL)
    await house.execute(EMPTY)
    counts: list[int] = []

    async def one() -> None:
        counts.append(await take_in(house, lines, step=2))

    async with anyio.create_task_group() as tasks:
        for _ in range(4):
            tasks.start_soon(one)
    assert sum(counts) == len(lines)
    assert await exported(house, ALL) == lines


async def test_a_note_that_changes_during_an_export_comes_with_the_history_that_it_had(house: House) -> None:
    first = await house.add_one("Fact: tea is hot.")
    house.clock.turn(hours=1)
    await house.add_one("Fact: rye is bread.")
    lines = []
    async for line in subjects_of(house, step=1).export(ALL):
        if not lines:
            house.clock.turn(hours=1)
            await house.update(first, text="Fact: tea is cold.")
        lines.append(line)
    told = [(line["kind"], line["note_id"] == str(first)) for line in lines if line["kind"] != "decision"]
    mine, other = ("note", True), ("note", False)
    assert told == [
        mine, ("version", True), other, ("version", False), mine, ("version", True), ("version", True),
    ]  # fmt: skip
    await house.execute(EMPTY)
    await take_in(house, lines)
    assert_gapless(await house.versions(first))


# What is not taken in


def nested(levels: int) -> dict[str, Any]:
    """An object within an object, so many levels deep."""
    inner: dict[str, Any] = {}
    for _ in range(levels):
        inner = {"in": inner}
    return inner


BAD: Final[list[tuple[dict[str, Any], str, str]]] = [
    ({}, "$[1]", "kind"),
    ({"kind": "point"}, "$[1]", "point"),
    (line_of(status="gone"), "$[1]", "status"),
    (line_of(importance=2), "$[1]", "importance"),
    (line_of(importance=float("nan")), "$[1]", "importance"),
    (line_of(created_at="2026-01-01T00:00:00"), "$[1]", "created_at"),
    (line_of(created_at="0001-01-01T00:00:00+14:00"), "$[1]", "created_at is in no year"),
    (line_of(agent_id=""), "$[1]", "agent_id"),
    (line_of(more=1), "$[1]", "more"),
    (line_of(type="guess"), "$[1]", "type"),
    (line_of(source_ref={"a": "\x00"}), "$[1]", "U+0000"),
    (line_of(source_ref={"a": "\ud800"}), "$[1]", "no JSON"),
    (line_of(source_ref={"a": {1, 2}, "b": object()}), "$[1]", "no JSON"),
    (line_of(source_ref=nested(5000)), "$[1]", "no JSON"),
    (line_of(scope="elsewhere"), "$[1].scope", "one of"),
    (line_of(text=" "), "$[1].text", "empty"),
    (line_of(text="x" * 241), "$[1].text", "240"),
    (line_of(text="password: hunter2hunter2"), "$[1].text", "secret"),
    (version_of(a_note(text=" ")), "$[1].new_snapshot.text", "empty"),
    (version_of(a_note(scope="elsewhere")), "$[1].new_snapshot.scope", "one of"),
    (version_of(a_note(), note_id=str(uuid4())), "$[1]", "another note"),
    (version_of(a_note(), tenant_id="rival"), "$[1]", "another note"),
    (version_of(a_note(), new_snapshot={"text": "tea"}), "$[1]", "missing"),
    (version_of(a_note(), op="PURGE"), "$[1]", "op"),
    (decision_of(a_note(), nth=0), "$[1]", "nth"),
    (decision_of(a_note(), dropped_text="password: hunter2hunter2"), "$[1].text", "secret"),
]


@pytest.mark.parametrize(("line", "path", "why"), BAD)
async def test_what_is_not_as_it_is_exported_is_refused_by_its_path(
    house: House, line: dict[str, Any], path: str, why: str
) -> None:
    with pytest.raises(InvalidRequest, match=f"^{re.escape(path)}: ") as refused:
        await subjects_of(house).take_in([line_of(), line])
    assert (refused.value.fields, why in refused.value.message) == ((path,), True), refused.value.message
    assert await house.value("SELECT count(*) FROM memory_notes") == 0


async def test_another_script_is_refused_wherever_it_is(house: House) -> None:
    with pytest.raises(NonEnglishInput) as refused:
        await take_in(house, [line_of(source_ref={"a": ["\u8336"]})])
    assert refused.value.fields == ("$[0]",)


async def test_references_are_redacted_as_those_that_are_written(house: House) -> None:
    note = a_note(source_ref={"says": "password: hunter2hunter2"})
    await take_in(house, [line_of(note), version_of(note)])
    assert await rows_saying(house, "hunter2") == {}
    assert {*await rows_saying(house, "REDACTED")} == {"memory_notes", "memory_note_versions"}


# Any notes at all

MOMENTS: Final = st.integers(0, 2_000_000).map(
    lambda seconds: NOW + timedelta(seconds=seconds, microseconds=seconds)
)
TEXTS: Final = st.text(
    st.characters(max_codepoint=0x2E7, exclude_characters="\x00"), min_size=1, max_size=20
).map(lambda text: f"Fact: {text}")
NAMES: Final = st.sampled_from(["a", "B c", "d\u00e9"])
REFERENCES: Final = st.dictionaries(
    st.sampled_from(["thread", "n", "\u00e9"]),
    st.recursive(
        st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.floats(-1e9, 1e9) | TEXTS,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
        max_leaves=6,
    ),
    max_size=3,
)
SHARES: Final = st.integers(0, 1000).map(lambda number: as_real(number / 1000))


@st.composite
def a_note_with_history(draw: st.DrawFn) -> list[dict[str, Any]]:
    """The lines of a note that was written, and perhaps changed and deleted, with what was decided."""
    created = draw(MOMENTS)
    note = a_note(
        draw(TEXTS), note_id=draw(st.uuids(version=4)), project_id=draw(NAMES), agent_id=draw(NAMES),
        scope=draw(st.sampled_from(["agent_private", "project_shared"])), type=draw(st.sampled_from(NOTE_TYPES)),
        key=draw(st.none() | st.uuids().map(str)), importance=draw(SHARES), confidence=draw(SHARES),
        created_at=created, updated_at=created, expires_at=draw(st.none() | MOMENTS),
        requested_ttl_days=draw(st.none() | st.floats(0.5, 100)), source_ref=draw(REFERENCES),
    )  # fmt: skip
    lines = [version_of(note, version_id=str(draw(st.uuids(version=4))))]
    for text in draw(st.lists(TEXTS, max_size=3)):
        after = replace(note, text=text, updated_at=next_moment(note, draw(MOMENTS)))
        lines.append(_change(draw, "UPDATE", note, after))
        note = after
    if draw(st.booleans()):
        after = deletion(note, now=draw(MOMENTS), reason="r").after
        lines.append(_change(draw, "DELETE", note, after))
        note = after
    decisions = [
        decision_of(note, nth=nth, similarity=draw(st.none() | SHARES), dropped_text=draw(st.none() | TEXTS))
        for nth in range(1, draw(st.integers(1, 3)))
    ]
    hits = draw(st.integers(0, 9))
    return [line_of(note, hit_count=hits, last_hit_at=NOW.isoformat() if hits else None), *lines, *decisions]


def _change(draw: st.DrawFn, op: str, before: Note, after: Note) -> dict[str, Any]:
    return version_of(
        after, version_id=str(draw(st.uuids(version=4))), op=op, prev_snapshot=before.snapshot(), reason="r",
        ts=after.updated_at.isoformat(),
    )  # fmt: skip


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(
    notes=st.lists(a_note_with_history(), max_size=4, unique_by=lambda lines: lines[0]["note_id"]),
    step=st.sampled_from([1, 3, 500]),
)
async def test_whatever_is_taken_in_is_exported_as_it_came(
    house: House, notes: list[list[dict[str, Any]]], step: int
) -> None:
    await house.execute(EMPTY)
    lines = [line for note in notes for line in note]
    assert await take_in(house, lines, step=step) == len(lines)
    assert await take_in(house, lines, step=step) == 0
    told = await exported(house, ALL, step=step)
    assert _by_id(told) == _by_id(lines)
    await house.execute(EMPTY)
    assert await take_in(house, told, step=step) == len(lines)
    assert await exported(house, ALL, step=step) == told
    assert (await subjects_of(house, step=step).erase(ALL))["notes"] == len(notes)
    assert await exported(house, ALL) == []


def _by_id(lines: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Lines in one order, without what is left out for being the default, their moments in one form."""
    plain = [
        {
            name: datetime.fromisoformat(value) if name.endswith(("_at", "ts")) else value
            for name, value in line.items()
            if value is not None and (name, value) != ("hit_count", 0)
        }
        for line in lines
    ]
    return sorted(plain, key=lambda one: [str(one.get(name)) for name in ("note_id", "version_id", "nth")])


async def test_few_large_notes_and_versions_are_read_at_once(house: House) -> None:
    await house.add(*({"text": f"Fact: town {number} is there.", "key": f"k{number}"} for number in range(3)))
    large = "jsonb_build_object('k', repeat('word ', 600000))"
    await house.execute(f"UPDATE memory_notes SET source_ref = {large}")
    await house.execute(f"UPDATE memory_note_versions SET new_snapshot = {large}")
    first_of_all = datetime.min.replace(tzinfo=UTC), UUID(int=0)
    async with house.database.connection() as connection:
        places = await connection.fetch("SELECT DISTINCT project_id FROM memory_notes")
        (place,) = [row["project_id"] for row in places]
        notes = await connection.fetch(house.queries["export_notes"], TENANT, place, None, *first_of_all, 500)
        ids = [row["note_id"] for row in await connection.fetch("SELECT note_id FROM memory_notes")]
        versions = await connection.fetch(house.queries["export_versions"], ids, *reversed(first_of_all), 500)
    assert (len(notes), len(versions)) == (2, 2)
