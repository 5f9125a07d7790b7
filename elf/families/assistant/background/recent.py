"""The last words of each thread, from which a little is made after an answer: kept short, and for a few days."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final
from uuid import uuid4

from elf.families.assistant.kit import Kit
from elf.families.assistant.model import Job, Place, Role
from elf.families.assistant.rules.steps import may_tell_steps
from elf.families.assistant.store.changes import Changes

INSIGHT_JOB: Final = "insights"
EPISODE_JOB: Final = "episode"
PROCEDURE_JOB: Final = "procedure"
THREAD: Final = "thread_id"
"""What the payload of these jobs names."""

MOST_MESSAGES: Final = 10
MOST_MESSAGE_CHARS: Final = 1000
MOST_OF_A_USER: Final = 500
KEPT: Final = timedelta(days=7)

INSIGHTS_EVERY: Final = timedelta(days=1)
EPISODES_EVERY: Final = timedelta(minutes=30)
TURNS_OF_AN_EPISODE: Final = 3


@dataclass(frozen=True, slots=True)
class Heard:
    """A message as it is kept: who said it, in which turn, and the end of it."""

    role: Role
    content: str
    turn_id: str


class RecentWords:
    """Keeps the last words of threads, and leaves the work that is due with them."""

    def __init__(self, kit: Kit) -> None:
        self._kit = kit
        self._sql = kit.queries

    async def keep(self, changes: Changes, thread_id: str, messages: Sequence[Heard]) -> None:
        """Keep the messages of a turn with the transaction that takes it in, and leave what is due after it."""
        does = self._kit.config.background
        if not (does.insights or does.episodes or does.procedures):
            return
        last = messages[-MOST_MESSAGES:]
        thread = (*changes.place, thread_id)
        await changes.connection.execute(
            self._sql["keep_recent"], *thread, last[-1].turn_id, [one.role for one in last],
            [one.content[-MOST_MESSAGE_CHARS:] for one in last], changes.now, MOST_MESSAGES,
        )  # fmt: skip
        since = changes.now - INSIGHTS_EVERY, changes.now - EPISODES_EVERY
        due = await changes.connection.fetchrow(
            self._sql["due_after_turn"], *thread, *since, TURNS_OF_AN_EPISODE
        )
        assert due is not None
        tells_steps = self._kit.chat is not None and any(may_tell_steps(one.content) for one in last)
        for kind, is_due in (
            (INSIGHT_JOB, does.insights and due["insights"]),
            (EPISODE_JOB, does.episodes and due["episode"]),
            (PROCEDURE_JOB, does.procedures and tells_steps),
        ):
            if is_due:
                changes.leave(Job(kind=kind, subject_id=uuid4(), payload={THREAD: thread_id}))

    async def read(self, place: Place, thread_id: str) -> list[Heard]:
        """Return the last words of a thread, oldest first."""
        async with self._kit.database.connection() as connection:
            rows = await connection.fetch(self._sql["read_recent"], *place, thread_id)
        return [Heard(row["role"], row["content"], row["turn_id"]) for row in rows]

    async def read_all(self, place: Place) -> list[tuple[str, Heard]]:
        """Return the last words of all threads of a user, oldest first, each with its thread."""
        async with self._kit.database.connection() as connection:
            rows = await connection.fetch(self._sql["read_recent_of_user"], *place, MOST_OF_A_USER)
        return [(row["thread_id"], Heard(row["role"], row["content"], row["turn_id"])) for row in rows]

    async def take_run(self, place: Place, kind: str, *, every: timedelta) -> bool:
        """Begin work of a kind for a user, unless it was begun within `every`; tells whether it is begun."""
        now = self._kit.now()
        async with self._kit.database.connection() as connection:
            taken = await connection.fetchval(self._sql["take_run"], *place, kind, now, now - every)
        return taken is not None

    async def drop(self, now: datetime, limit: int) -> int:
        """Remove up to `limit` messages that were kept long enough."""
        async with self._kit.database.connection() as connection:
            return len(await connection.fetch(self._sql["drop_old_recent"], now - KEPT, limit))
