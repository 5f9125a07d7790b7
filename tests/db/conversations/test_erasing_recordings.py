"""What is recorded of a tree that is erased ends, and no word of it comes back."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from uuid import UUID, uuid4

import pytest

from elf.db.database import Database
from elf.db.queries import Queries
from elf.families.conversations.store import ConversationStore
from elf.families.conversations.subjects.offer import ConversationSubjects
from elf.families.conversations.trees import Who
from elf.offers import Subject
from tests.db.conversations.planted import Planted, tables_with
from tests.db.conversations.recording_kit import Process, begun, nothing_is_left, rows

pytestmark = pytest.mark.anyio


async def test_a_recording_of_an_erased_tree_ends_and_is_not_renewed(
    processes: Sequence[Process], who: Who, id: UUID, database: Database, subjects: ConversationSubjects
) -> None:
    here, there = processes
    words = Planted()
    recording = here.record(who, id)
    await begun(here, who, id)
    recording.speech.say(words.word)
    replay = there.replay(who, id)
    await replay.heard(words.word)
    assert await tables_with(database, words.word) == {"conversation_recording_chunks"}
    await subjects.erase(Subject(tenant_id=who.tenant_id, user=who.user))
    assert await rows(database, who) == [0, 0]
    recording.speech.say_if_open(f"{words.word} again")
    assert await recording.ended() == "cancelled"
    assert await tables_with(database, words.word) == set()
    await nothing_is_left(database, who)
    assert not await here.is_recorded(who, id)


async def test_what_is_recorded_of_other_trees_goes_on(
    processes: Sequence[Process], who: Who, id: UUID, database: Database, subjects: ConversationSubjects
) -> None:
    recording = processes[0].record(who, id)
    await begun(processes[0], who, id)
    recording.speech.say("Once upon ")
    replay = processes[1].replay(who, id)
    await replay.heard("Once upon ")
    await subjects.erase(Subject(tenant_id=who.tenant_id, user="somebody else"))
    await subjects.erase(Subject(tenant_id=f"another {who.tenant_id}"))
    recording.speech.say("a time.")
    recording.speech.stop()
    assert await recording.ended() == "success"
    assert await replay.whole() == "Once upon a time."


async def test_nothing_is_recorded_anew_of_a_tree_that_is_hidden_or_gone(
    who: Who,
    id: UUID,
    store: ConversationStore,
    database: Database,
    queries: Queries,
    subjects: ConversationSubjects,
) -> None:
    """As the process does that records, when Postgres has lost its recording."""
    other = (await store.create(who, title=None, metadata={})).conversation_id

    async def is_renewed(conversation: UUID) -> bool:
        async with database.connection() as connection:
            recording = (who.tenant_id, conversation, uuid4(), uuid4())
            rows = await connection.fetch(queries["renew_recording"], *recording, timedelta(seconds=15))
        return bool(rows)

    assert await is_renewed(id)
    await store.delete(who, other)
    assert not await is_renewed(other)
    await subjects.erase(Subject(tenant_id=who.tenant_id))
    assert not await is_renewed(id)
    assert await rows(database, who) == [0, 0]
