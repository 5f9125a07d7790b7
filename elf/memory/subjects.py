"""What the one memory itself keeps of a subject: traces of answers, token vectors, what was said and is to be
remembered, and what was shown to be forgotten. None of it is taken along.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import Any, Final

from elf.core.errors import InvalidRequest
from elf.db.database import Database
from elf.db.queries import Queries
from elf.offers import Subject

OF_SUBJECT: Final[Mapping[str, str]] = {
    # What is to be remembered comes first: nobody does it afterwards.
    "memory_said": "erase_said",
    "memory_traces": "erase_memory_traces",
    "forget_handles": "erase_forget_handles",
}


class MemorySubjects:
    """Erases what is kept beside the families."""

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
            tokens = await connection.fetch(self._sql["erase_memory_tokens"], subject.tenant_id)
        return {**gone, "memory_tokens": len(tokens)}

    async def export(self, subject: Subject) -> AsyncGenerator[Mapping[str, Any], None]:
        """Yield nothing: an answer is explained where it was given."""
        nothing: Sequence[Mapping[str, Any]] = ()
        for one in nothing:
            yield one

    async def take_in(self, exported: Sequence[Mapping[str, Any]]) -> int:
        """Raise InvalidRequest for anything: nothing is exported."""
        if exported:
            raise InvalidRequest("this is nothing that the memory exports: it exports nothing of its own")
        return 0
