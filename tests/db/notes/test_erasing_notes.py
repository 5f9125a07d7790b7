"""Erasing a user, an agent or a tenant: no row, no text and no name of theirs is left, in whatever table."""

from __future__ import annotations

import contextlib
from typing import Any, Final

import anyio
import pytest

from elf.core.errors import InvalidRequest, NotFound
from elf.families.notes.model import Context
from elf.offers import Subject
from tests.db.conftest import until
from tests.db.notes.aging import places_of, rows_saying
from tests.db.notes.conftest import House
from tests.db.notes.subjects_kit import TENANT, live_through, subjects_of
from tests.db.notes.test_chunk_tokens import Kitchen

pytestmark = pytest.mark.anyio

WORD: Final = "Zanzibarqx"
OTHER: Final = "Timbuktuqx"
USER: Final = "Ana-Wolpertinger"
AGENT: Final = "Agent-Wolpertinger"
EVERYWHERE: Final = {
    "memory_notes", "memory_note_chunks", "memory_note_versions", "memory_ingest_decisions", "search_traces",
    "search_trace_items", "search_trace_outbox", "llm_cache",
}  # fmt: skip
NAMED: Final = {
    "memory_notes", "memory_note_versions", "memory_ingest_decisions", "search_traces", "search_trace_outbox"
}  # fmt: skip

WAITING: Final = """
SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'
"""


@pytest.fixture
def house(house: House) -> House:
    return Kitchen(house).house


async def counts(house: House) -> dict[str, int]:
    """How many rows each table has, but for the jobs of the index, which nobody's name is in."""
    tables = await house.rows(
        "SELECT tablename FROM pg_tables WHERE schemaname = 'public' AND tablename <> 'indexing_outbox'"
    )
    found = {name: await house.value(f"SELECT count(*) FROM {name}") for (name,) in tables}
    return {name: count for name, count in found.items() if count}


@pytest.mark.parametrize("step", [500, 1])
async def test_of_an_erased_user_nothing_is_left_and_of_others_all(house: House, step: int) -> None:
    await live_through(house, OTHER, project_id="bob")
    await house.execute("DELETE FROM llm_cache")
    others = await counts(house)
    ids = await live_through(house, WORD, project_id=USER)
    assert {*await rows_saying(house, WORD)} == EVERYWHERE
    assert {*await rows_saying(house, USER)} == NAMED
    mine = {name: count - others.get(name, 0) for name, count in (await counts(house)).items()}
    gone = await subjects_of(house, step=step).erase(Subject(tenant_id=TENANT, user=USER))
    assert gone == {
        "notes": 3, "versions": mine["memory_note_versions"], "hits": 2, "decisions": mine["memory_ingest_decisions"],
        "trace_jobs": 1, "traces": 1, "expansions": 1,
    }  # fmt: skip
    assert await rows_saying(house, WORD) == await rows_saying(house, USER) == {}
    left = await counts(house)
    left["search_trace_outbox"] -= 1  # it is done, and empty
    assert left == others
    for note_id in ids:
        assert {*await places_of(house, note_id)} == {"indexing_outbox.note_id"}
    assert len(await rows_saying(house, OTHER)) == len(EVERYWHERE) - 1
    await house.index_all()
    assert {*house.index.owners()}.isdisjoint(ids)
    assert not any(WORD in text for text in house.index.texts())
    assert any(OTHER in text for text in house.index.texts())
    again = await subjects_of(house, step=step).erase(Subject(tenant_id=TENANT, user=USER))
    assert not any(again.values())


async def test_an_erased_tenant_is_nowhere(house: House) -> None:
    tenant = "Wolpertinger-Ltd"
    await live_through(house, WORD, tenant_id=tenant, project_id="one")
    await live_through(house, WORD, tenant_id=tenant, project_id="two", agent_id="bob")
    await house.add({"text": "Fact: another tenant is here."})
    gone = await subjects_of(house).erase(Subject(tenant_id=tenant))
    assert (gone["notes"], gone["traces"], gone["trace_jobs"]) == (6, 2, 2)
    assert await rows_saying(house, WORD) == await rows_saying(house, tenant) == {}
    assert await house.value("SELECT text FROM memory_notes") == "Fact: another tenant is here."


async def test_of_an_erased_agent_all_goes_that_it_wrote_wherever(house: House) -> None:
    await live_through(house, WORD, project_id="one", agent_id=AGENT)
    await live_through(house, WORD, project_id="two", agent_id=AGENT)
    await live_through(house, OTHER, project_id="two")
    gone = await subjects_of(house).erase(Subject(tenant_id=TENANT, agent_id=AGENT))
    assert (gone["notes"], gone["traces"]) == (6, 2)
    assert await rows_saying(house, WORD) == await rows_saying(house, AGENT) == {}
    assert await house.value("SELECT count(*) FROM memory_notes") == 3


async def test_a_user_and_an_agent_are_what_both_have_in_common(house: House) -> None:
    for project in ("ana", "bob"):
        for agent in ("anna", "otto"):
            await house.add({"text": f"Fact: {project} {agent}."}, project_id=project, agent_id=agent)
    subject = Subject(tenant_id=TENANT, user="ana", agent_id="otto")
    assert (await subjects_of(house).erase(subject))["notes"] == 1
    left = [row["text"] for row in await house.rows("SELECT text FROM memory_notes ORDER BY 1")]
    assert left == ["Fact: ana anna.", "Fact: bob anna.", "Fact: bob otto."]
    subject = Subject(tenant_id=TENANT, user="ana", project_id="bob")
    assert (await subjects_of(house).erase(subject))["notes"] == 2


async def test_what_others_were_compared_with_is_no_longer_told(house: House) -> None:
    await live_through(house, WORD, project_id=USER)
    await house.execute(
        "UPDATE memory_ingest_decisions SET matched_note_id = note_id, tenant_id = 'rival', project_id = 'p',"
        " agent_id = 'a', note_id = gen_random_uuid(), dropped_text = NULL WHERE op = 'NONE'"
    )
    await subjects_of(house).erase(Subject(tenant_id=TENANT, user=USER))
    rows = await house.rows("SELECT matched_note_id FROM memory_ingest_decisions")
    assert {row["matched_note_id"] for row in rows} == {None}


async def test_a_note_that_somebody_changes_is_waited_for_and_goes(house: House) -> None:
    note_id = await house.add_one(f"Fact: {WORD} is a town.")
    await house.add({"text": f"Fact: {WORD} is a port."})
    erased = anyio.Event()

    async def erase() -> None:
        gone = await subjects_of(house).erase(Subject(tenant_id=TENANT))
        assert gone["notes"] == 2
        erased.set()

    async with anyio.create_task_group() as tasks, house.database.transaction() as connection:
        await house.store.lock(connection, note_id)
        tasks.start_soon(erase)
        await until(lambda: house.value(WAITING))
        assert not erased.is_set()
        await connection.execute(
            "UPDATE memory_notes SET updated_at = updated_at + interval '1 day' WHERE note_id = $1",
            note_id,
        )
    assert await rows_saying(house, WORD) == {}


async def test_a_worker_that_was_at_it_leaves_no_point_behind(house: House) -> None:
    await house.add({"text": f"Fact: {WORD} is a town."})

    async def erase() -> None:
        house.index.before_upsert = None
        await subjects_of(house).erase(Subject(tenant_id=TENANT))

    house.index.before_upsert = erase
    await house.index_all()
    assert len(house.index.points) == 1, "the worker had read the note before"
    await house.index_all()
    assert house.index.points == {}


async def test_a_user_is_erased_while_all_go_on(house: House) -> None:
    bobs = await house.add({"text": "Fact: bob sails."}, project_id="bob")
    done = anyio.Event()

    async def write(number: int) -> None:
        for turn in range(12):
            notes = [
                {"text": f"Fact: {WORD} {number} {turn}.", "key": f"k{turn % 3}"},
                {"text": f"I am in {WORD}."},
            ]
            for written in await house.add(*notes, project_id=USER, agent_id=f"agent {number % 2}"):
                with contextlib.suppress(NotFound):  # it may be erased by now
                    await house.service.delete_one(written.note_id, Context(TENANT, USER, "agent 0"), None)

    async def erase() -> None:
        while not done.is_set():
            await subjects_of(house, step=2).erase(Subject(tenant_id=TENANT, user=USER))

    async def work() -> None:
        while not done.is_set():
            await house.index_all()
            await anyio.lowlevel.checkpoint()

    async with anyio.create_task_group() as others:
        others.start_soon(erase)
        others.start_soon(work)
        async with anyio.create_task_group() as writers:
            for number in range(4):
                writers.start_soon(write, number)
        done.set()
    await subjects_of(house).erase(Subject(tenant_id=TENANT, user=USER))
    assert await rows_saying(house, WORD) == await rows_saying(house, USER) == {}
    await house.execute("UPDATE indexing_outbox SET available_at = now() WHERE status <> 'DONE'")
    await house.index_all()
    assert house.index.owners() == {note.note_id for note in bobs}


@pytest.mark.parametrize(
    ("subject", "path"),
    [
        ({"tenant_id": ""}, "$.tenant_id"),
        ({"user": ""}, "$.user"),
        ({"agent_id": ""}, "$.agent_id"),
        ({"project_id": ""}, "$.project_id"),
    ],
)
async def test_an_empty_name_is_nobodys(house: House, subject: dict[str, Any], path: str) -> None:
    subjects = subjects_of(house)
    with pytest.raises(InvalidRequest) as refused:
        await subjects.erase(Subject(**({"tenant_id": TENANT} | subject)))
    assert refused.value.fields == (path,)
    with pytest.raises(InvalidRequest):
        await anext(subjects.export(Subject(**({"tenant_id": TENANT} | subject))))
