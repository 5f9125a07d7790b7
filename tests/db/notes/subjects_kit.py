"""What the tests of erasing and of taking along share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final
from uuid import UUID

from elf.families.notes.model import Context
from elf.families.notes.subjects.offer import NoteSubjects
from elf.indexing.writes import CorpusWrites
from elf.offers import Subject
from elf.search.cache import AnswerCache
from elf.search.trace_store import Payload, TraceStore, search_queries
from tests.db.notes.aging import collect
from tests.db.notes.conftest import CONTEXT_FIELDS, House
from tests.notes_kit import vector_of
from tests.traces_kit import a_trace, an_item

TENANT: Final = CONTEXT_FIELDS["tenant_id"]


def subjects_of(house: House, *, step: int = 500) -> NoteSubjects:
    return NoteSubjects(
        database=house.database,
        queries=house.queries,
        store=house.store,
        writes=CorpusWrites(house.corpus, house.fresh, ring=house.ring),
        policy=house.policy,
        clock=house.clock,
        ring=house.ring,
        step=step,
    )


async def exported(house: House, subject: Subject, *, step: int = 500) -> list[Mapping[str, Any]]:
    return [line async for line in subjects_of(house, step=step).export(subject)]


async def live_through(house: House, word: str, **context: str) -> list[UUID]:
    """Have notes that say a word written, changed, said again, deleted, purged, refused, and found.

    Returns the ids of the three that are left.
    """
    words = [{"text": f"Fact: {word} {number} is a town.", "key": f"k{number}"} for number in range(3)]
    words[2]["source_ref"] = {"says": word}
    purged, deleted, kept = [one.note_id for one in await house.add(*words, **context)]
    (private,) = await house.add({"text": f"I was in {word}."}, scope="agent_private", **context)
    again = f"I was in {word}!"
    house.model.known[again] = vector_of(f"I was in {word}.")
    await house.add({"text": again}, {"text": again}, scope="agent_private", **context)
    await house.add(
        {"text": f"Fact: {word} 2 is a city.", "key": "k2", "source_ref": {"says": word}}, **context
    )
    await house.add({"text": f"{word} is no known scope."}, scope="elsewhere", **context)
    await house.index_all()
    for note_id in (purged, deleted):
        await house.service.delete_one(note_id, Context(**(CONTEXT_FIELDS | context)), None)
    await house.execute("UPDATE memory_notes SET updated_at = '2001-01-01' WHERE note_id = $1", purged)
    assert (await collect(house))["purged_deleted_notes"] == 1
    await _find(house, word, [kept, private.note_id], context)
    return [deleted, kept, private.note_id]


async def _find(house: House, word: str, found: Sequence[UUID], context: Mapping[str, str]) -> None:
    """Leave what searches leave: hits, a trace that is stored and one that waits, a query in other words."""
    now = house.clock.now()
    async with house.database.connection() as connection:
        hits = [(note_id, note_id, rank, 0.5) for rank, note_id in enumerate(found, 1)]
        await house.store.record_hits(connection, hits, query_hash="q", now=now)
    store = TraceStore(house.database, search_queries(), lease_seconds=60)
    items = [an_item(rank, note_id=note_id, matched_terms=[word]) for rank, note_id in enumerate(found, 1)]
    query = f"Where is {word}?"
    traces = [
        a_trace(**(CONTEXT_FIELDS | context), query=query, expanded_queries=[query, word], items=some)
        for some in (items, [])
    ]
    first, _ = await store.enqueue([Payload.of(trace) for trace in traces])
    await store.write([first])
    cache = AnswerCache(
        database=house.database, queries=search_queries(), clock=house.clock, max_payload_bytes=None
    )
    await cache.put("expansion", f"key of {len(word)}", [query, word], ttl_days=7)
