"""What the one memory itself keeps of a subject: traces of answers, token vectors, what was said and is to be
remembered, what was shown to be forgotten, and what contexts showed. None of it is taken along.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from elf.db.database import Connection, Database
from elf.db.queries import Queries
from elf.erasing import NotTakenAlong
from elf.offers import Subject

OF_SUBJECT: Final[Mapping[str, str]] = {
    # What is to be remembered comes first: nobody does it afterwards.
    "memory_said": "erase_said",
    "memory_traces": "erase_memory_traces",
    "forget_handles": "erase_forget_handles",
    "context_lines": "erase_context_lines",
}


class MemorySubjects(NotTakenAlong):
    """Erases what is kept beside the families: an answer is explained where it was given."""

    def __init__(self, database: Database, queries: Queries) -> None:
        self._database = database
        self._sql = queries

    async def erase(self, subject: Subject) -> Mapping[str, int]:
        """Remove what is kept of a subject, and all token vectors of its tenant; returns how many of each went."""
        whose = subject.tenant_id, subject.user, subject.agent_id
        async with self._database.transaction() as connection:
            gone = {
                kind: len(await connection.fetch(self._sql[query], *whose))
                for kind, query in OF_SUBJECT.items()
            }
            await self._leave_project(connection, subject)
            tokens = await connection.fetch(self._sql["erase_memory_tokens"], subject.tenant_id)
        return {**gone, "memory_tokens": len(tokens)}

    async def _leave_project(self, connection: Connection, subject: Subject) -> None:
        """Take the name of a user's project off what others said, which stays."""
        if subject.user is None:
            return
        for row in await connection.fetch(
            self._sql["unname_project_of_said"], subject.tenant_id, subject.user
        ):
            await connection.execute(self._sql["forget_messages"], subject.tenant_id, row["said_id"])
