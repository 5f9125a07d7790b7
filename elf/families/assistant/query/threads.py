"""What a thread is known for while its agents ask: what it has been told, and how often they were not sure."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from elf.core.slices import Slices, in_slices
from elf.db.database import Connection
from elf.db.queries import Queries
from elf.families.assistant.model import Change, Place
from elf.families.assistant.rules.budget import Budget
from elf.families.assistant.rules.delta import Delta, delta

RECALL_SHARE: Final = 0.10
"""Of how many turns of a thread an agent may look something up because it is not sure."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Thread:
    """A thread that an agent asks in, which reads these categories."""

    place: Place
    thread_id: str
    agent: str
    categories: Collection[str]

    @property
    def key(self) -> tuple[str, str, str]:
        return (*self.place, self.thread_id)


class ThreadLook:
    """Reads and writes threads within the transaction of an answer."""

    def __init__(self, queries: Queries) -> None:
        self._sql = queries

    async def updates(
        self, connection: Connection, thread: Thread, since_rev: int | None, budget: Budget, now: datetime
    ) -> Delta:
        """Tell what changed since a revision, or else since the agent was told last, in as many lines as fit.

        Others wait for the thread until the transaction ends. The agent counts as told then, unless no line fits.
        """
        await connection.execute(self._sql["begin_thread"], *thread.key)
        row = await connection.fetchrow(self._sql["see_thread"], *thread.key, now, thread.agent)
        assert row is not None, "it has begun"
        rev, since = int(row["rev"]), int(row["seen_rev"]) if since_rev is None else since_rev
        rows = await connection.fetch(self._sql["changes_since"], *thread.key, since)
        changes = [Change(**row) for row in rows]
        categories = {one.memory_id: one.meta.get("category") for one in changes}  # where each is now
        hidden = {memory_id for memory_id, name in categories.items() if name not in thread.categories}
        whole = delta(since, rev, [one for one in changes if one.memory_id not in hidden])
        told = replace(whole, text=await in_slices(_fitting(whole.text, budget)))
        if told.text or not whole.text:
            await connection.execute(self._sql["move_seen"], *thread.key, thread.agent, rev)
        return told

    async def recalls_often(self, connection: Connection, thread: Thread) -> bool:
        """Count a recall, and tell whether there were too many for the turns that were taken in."""
        row = await connection.fetchrow(self._sql["count_recall"], *thread.key, thread.agent)
        assert row is not None, "it counts"
        recalls, turns = int(row["recalls"]), int(row["turns"])
        return 0 < turns * RECALL_SHARE < recalls


def _fitting(text: str, budget: Budget) -> Slices[str]:
    """Return the heading of a text and as many of its first lines as the budget has room for, or nothing."""
    lines: Sequence[str] = text.splitlines()
    while len(lines) > 1:
        if (yield from budget.take("\n".join(lines))):
            return "\n".join(lines)
        lines = lines[:-1]
    return ""
