"""Whose notes are meant by a subject."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from datetime import UTC, datetime
from typing import Final, NamedTuple
from uuid import UUID

from elf.core.errors import InvalidRequest
from elf.db.database import Database
from elf.db.queries import Queries
from elf.offers import Subject


class Whose(NamedTuple):
    """All notes of a tenant; or those of a project, of an agent, or of an agent in a project."""

    tenant_id: str
    project_id: str | None
    agent_id: str | None


class Place(NamedTuple):
    """Where a walk over the notes of a project is, which goes on from those that were changed longest ago."""

    updated_at: datetime
    note_id: UUID


AT_THE_START: Final = Place(datetime.min.replace(tzinfo=UTC), UUID(int=0))


def whose_are(subject: Subject) -> Whose:
    """Return whose notes a subject means. Raises InvalidRequest for an empty name, which nobody has."""
    names = {
        "$.tenant_id": subject.tenant_id, "$.user": subject.user, "$.agent_id": subject.agent_id,
        "$.project_id": subject.project_id,
    }  # fmt: skip
    if empty := [path for path, name in names.items() if name == ""]:
        raise InvalidRequest(f"{', '.join(empty)}: is empty", fields=empty)
    project = subject.user if subject.project_id is None else subject.project_id
    return Whose(subject.tenant_id, project, subject.agent_id)


async def projects_of(database: Database, sql: Queries, whose: Whose) -> AsyncGenerator[str]:
    """Yield the projects in which somebody may have notes, one behind the other."""
    if whose.project_id is not None:
        yield whose.project_id
        return
    project: str | None = ""
    while True:
        async with database.connection() as connection:
            project = await connection.fetchval(sql["next_project"], whose.tenant_id, project)
        if project is None:
            return
        yield project
