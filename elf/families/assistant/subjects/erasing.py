"""Erasing for good all that there is of a user, an agent or a tenant."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from functools import partial
from typing import Final

from elf.db.database import Database
from elf.db.errors import retrying
from elf.db.queries import Queries, sql_folder
from elf.erasing import in_passes
from elf.families.assistant.model import FAMILY
from elf.families.assistant.store.rows import BLANK
from elf.families.assistant.subjects.tables import TABLES, told_name
from elf.offers import Subject

STEP: Final = 1000


def erasing_queries() -> Mapping[str, str]:
    """Read the statement that erases rows, for each table. Raises StartupError when it cannot be read."""
    folder = sql_folder() / FAMILY / "erasing"
    return {table: Queries.load(folder, values={"table": table})["erase_rows"] for table in TABLES}


class Erasure:
    """Removes rows, `step` of them a transaction."""

    def __init__(self, database: Database, queries: Queries, *, step: int = STEP) -> None:
        self._database = database
        self._sql = queries
        self._of_table = erasing_queries()
        self._step = step

    async def erase(self, subject: Subject) -> Mapping[str, int]:
        """Erase all of a subject; returns how many rows of each table went."""
        once = self._of_users if subject.agent_id is None else self._of_agent
        return dict(await in_passes([*map(told_name, TABLES), "chore_runs"], partial(once, subject)))

    async def _of_users(self, subject: Subject) -> Counter[str]:
        """Erase all of a user, or of a tenant with all its users, table by table."""
        gone: Counter[str] = Counter()
        for table in TABLES:
            while count := await retrying(partial(self._some_of, table, subject)):
                gone[told_name(table)] += count
        async with self._database.transaction() as connection:
            runs = await connection.fetch(self._sql["erase_chore_runs"], subject.tenant_id, subject.user)
        gone["chore_runs"] += len(runs)
        return gone

    async def _some_of(self, table: str, subject: Subject) -> int:
        async with self._database.transaction() as connection:
            rows = await connection.fetch(self._of_table[table], subject.tenant_id, subject.user, self._step)
        return len(rows)

    async def _of_agent(self, subject: Subject) -> Counter[str]:
        """Erase the memories that an agent has kept, with what tells of them, and the counts of its recalls.

        Threads of graphs that it began are their users', and stay without its name.
        """
        gone: Counter[str] = Counter()
        while (some := await retrying(partial(self._some_memories, subject)))["memories"]:
            gone.update(some)
        async with self._database.transaction() as connection:
            whose = subject.tenant_id, subject.agent_id
            gone["recalls"] += len(await connection.fetch(self._sql["erase_recalls_of_agent"], *whose))
        while await retrying(partial(self._leave_threads, *whose)):
            pass
        return gone

    async def _leave_threads(self, tenant_id: str, agent_id: str | None) -> int:
        async with self._database.transaction() as connection:
            statement = self._sql["leave_threads_of_agent"]
            return len(await connection.fetch(statement, tenant_id, agent_id, self._step))

    async def _some_memories(self, subject: Subject) -> Mapping[str, int]:
        async with self._database.transaction() as connection:
            row = await connection.fetchrow(
                self._sql["erase_memories_of_agent"],
                subject.tenant_id,
                subject.agent_id,
                self._step,
                dict(BLANK),
            )
        assert row is not None, "it always counts"
        return dict(row)
