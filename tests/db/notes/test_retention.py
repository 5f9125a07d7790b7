"""What gathers around notes goes when it is old enough; a note that is there keeps what it is restored from."""

from __future__ import annotations

from typing import Any
from uuid import UUID, uuid4

import pytest

from elf.core.errors import NotFound
from elf.db.garbage import GarbageCollector
from elf.families.notes.api.audit_requests import HistoryRequest
from elf.families.notes.keeping import retention
from elf.families.notes.keeping.retention import NoteRetention, RetentionRules
from tests.db.notes.aging import assert_gapless, collect
from tests.db.notes.conftest import CONTEXT_FIELDS, House
from tests.db.notes.test_history import history, restore

pytestmark = pytest.mark.anyio

RULES = RetentionRules(hit_days=90, decision_days=60, version_days=365, versions_kept=3)
FOR_EVER = RetentionRules(hit_days=0, decision_days=0, version_days=0, versions_kept=2)


class Sweep:
    """Collections over a house by rules."""

    def __init__(self, house: House, rules: RetentionRules = RULES, *, batch_size: int = 500) -> None:
        retention = NoteRetention(database=house.database, queries=house.queries, rules=rules)
        self._collector = GarbageCollector(
            house.database, retention.steps(), clock=house.clock, batch_size=batch_size
        )

    async def __call__(self) -> dict[str, int]:
        """Collect, and return the counts that are not 0."""
        collected = await self._collector.collect()
        assert collected.ran
        return {name: count for name, count in collected.counts.items() if count}


async def changed(house: House, *texts: str, **fields: Any) -> UUID:
    """Store a note with the first text and change it to the others, a day after each other."""
    first, *others = texts
    note_id = await house.add_one(first, **fields)
    for text in others:
        house.clock.turn(days=1)
        await house.update(note_id, text=text)
    return note_id


async def texts_of(house: House, note_id: UUID) -> list[str]:
    return [version["new_snapshot"]["text"] for version in await house.versions(note_id)]


async def test_without_rules_nothing_goes(house: House) -> None:
    assert NoteRetention(database=house.database, queries=house.queries, rules=FOR_EVER).steps() == []


# Hits


async def test_hits_go_by_their_age_and_the_note_keeps_their_number(house: House) -> None:
    note_id = await house.add_one("Fact: tea is hot.")
    for _ in range(2):
        async with house.database.connection() as connection:
            await house.store.record_hits(
                connection, [(note_id, uuid4(), 1, 0.5)], query_hash="q", now=house.clock.now()
            )
        house.clock.turn(days=50)
    assert await Sweep(house)() == {"old_hits": 1, "old_decisions_of_notes": 1}
    assert await house.value("SELECT count(*) FROM memory_hits") == 1
    assert await house.value("SELECT hit_count FROM memory_notes") == 2


# Decisions


async def test_decisions_of_notes_go_by_their_age_whatever_they_were(house: House) -> None:
    for days in (0, 30, 40):
        house.clock.turn(days=days)
        await house.add({"text": "Fact: tea is hot.", "ttl_days": 1000}, {"text": "x" * 300})
    assert await Sweep(house)() == {"old_decisions_of_notes": 1}
    rows = await house.rows("SELECT op FROM memory_ingest_decisions ORDER BY decision_id")
    assert [row["op"] for row in rows] == ["REJECTED", "NONE", "REJECTED", "NONE", "REJECTED"]


# Versions


async def test_a_note_keeps_its_newest_versions_however_old_they_are(house: House) -> None:
    note_id = await changed(house, *"abcdefg")
    other = await changed(house, "h", "i")
    house.clock.turn(days=1000)
    assert (await Sweep(house)())["old_versions"] == 4
    assert await texts_of(house, note_id) == ["e", "f", "g"]
    assert await texts_of(house, other) == ["h", "i"]
    assert await Sweep(house)() == {}


async def test_a_note_keeps_its_young_versions_however_many_they_are(house: House) -> None:
    note_id = await changed(house, *"abcdefgh", type="preference")
    house.clock.turn(days=365 - 5)  # the first is 367 days old now
    assert (await Sweep(house)())["old_versions"] == 2
    assert await texts_of(house, note_id) == [*"cdefgh"]


async def test_versions_of_a_note_that_is_gone_go_by_their_age_alone(house: House) -> None:
    note_id = await changed(house, "a", "b")
    await house.delete(note_id)
    house.clock.turn(days=31)
    await collect(house)
    house.clock.turn(days=330)
    assert "old_versions" not in await Sweep(house)()
    house.clock.turn(days=5)
    assert (await Sweep(house)())["old_versions"] == 3
    assert [version["op"] for version in await house.versions(note_id)] == ["PURGE"]
    house.clock.turn(days=31)
    assert (await Sweep(house)())["old_versions"] == 1
    with pytest.raises(NotFound):
        await history(house).page(HistoryRequest(note_id=note_id, **CONTEXT_FIELDS))


async def test_a_note_deleted_after_years_can_be_restored(house: House) -> None:
    rules = RetentionRules(hit_days=0, decision_days=0, version_days=1, versions_kept=2)
    note_id = await changed(house, "a", "b", "c", type="preference")
    house.clock.turn(days=1000)
    await house.delete(note_id)
    assert await Sweep(house, rules)() == {"old_versions": 2}
    assert (await restore(house, note_id)).op == "UPDATE"
    note = await house.note(note_id)
    assert note is not None
    assert (note.text, note.status) == ("c", "active")


async def test_what_is_left_of_a_history_is_without_gaps_and_says_where_it_begins(house: House) -> None:
    note_id = await changed(house, *"abcde")
    asked = HistoryRequest(note_id=note_id, limit=2)
    assert (await history(house).page(asked)).dropped_before is None
    house.clock.turn(days=1000)
    await Sweep(house)()
    page = await history(house).page(asked)
    oldest, *later = await house.versions(note_id)
    assert page.dropped_before == oldest["ts"]
    assert_gapless([dict(oldest) | {"prev_snapshot": None, "op": "ADD"}, *later])


async def test_versions_are_looked_through_page_by_page_over_several_collections(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retention, "PAGE", 3)
    monkeypatch.setattr(retention, "PAGES", 2)
    for number in range(5):  # a note each of whose versions is old: 3 are kept, 2 are not
        await changed(house, *(f"{number} {letter}" for letter in "abcde"))
    house.clock.turn(days=1000)
    sweep = Sweep(house, batch_size=100)
    # Of 25 versions, 6 are looked at in a collection.
    counts = [(await sweep()).get("old_versions", 0) for _ in range(5)]
    assert sum(counts) == 10
    assert max(counts) <= 6
    assert await house.value("SELECT count(*) FROM memory_note_versions") == 15
    assert (await Sweep(house)()).get("old_versions", 0) == 0


async def test_many_old_versions_go_in_one_collection(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retention, "PAGE", 2)
    note_id = await changed(house, *(f"text {number}" for number in range(12)))
    house.clock.turn(days=1000)
    assert (await Sweep(house, batch_size=2)())["old_versions"] == 9
    assert await texts_of(house, note_id) == ["text 9", "text 10", "text 11"]
