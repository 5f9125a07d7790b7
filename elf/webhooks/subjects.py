"""What is still to be told of somebody's items: it goes with them, and is not taken along."""

from __future__ import annotations

from collections.abc import Mapping

from elf.db.database import Database
from elf.db.queries import Queries
from elf.erasing import NotTakenAlong
from elf.offers import Subject


class WebhookSubjects(NotTakenAlong):
    """Erases events. Whoever erases somebody tells receivers: no event is left that could."""

    def __init__(self, database: Database, queries: Queries) -> None:
        self._database = database
        self._sql = queries

    async def erase(self, subject: Subject) -> Mapping[str, int]:
        """Remove the events of a subject's items; returns how many, where there were any."""
        project = subject.project_id or subject.user
        async with self._database.transaction() as connection:
            gone = await connection.fetch(
                self._sql["erase_events"], subject.tenant_id, subject.user, subject.agent_id, project
            )
            if subject.user is None and subject.agent_id is None:
                await connection.execute(self._sql["erase_drops"], subject.tenant_id)
        return {"webhook_events": len(gone)} if gone else {}
