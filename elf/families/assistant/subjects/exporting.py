"""Exporting all that there is of a user, an agent or a tenant, page by page."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing
from typing import Any, Final
from uuid import UUID

import msgspec

from elf.db.database import Database
from elf.db.queries import Queries
from elf.offers import Subject

PAGE: Final = 200
_FIRST_ID: Final = UUID(int=0)

Row = Mapping[str, Any]
Told = dict[str, Any]


class Line(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One thing of a user, with the names of an ExportedLine."""

    user_id: str
    memory: Told | None = None
    source: Told | None = None
    relation: Told | None = None
    history: Told | None = None
    user_context: Told | None = None
    proposal: Told | None = None
    thread: Told | None = None
    file: Told | None = None
    file_version: Told | None = None


class Export:
    """Reads what there is; no transaction stays open.

    Vectors are not among it, nor is what graphs keep of their threads, but for what the newest checkpoint says.
    """

    def __init__(self, database: Database, queries: Queries, *, page: int = PAGE) -> None:
        self._database = database
        self._sql = queries
        self._page = page

    async def of(self, subject: Subject) -> AsyncGenerator[Line]:
        """Yield the lines of a subject in the order in which they can be taken in."""
        parts = [
            self._pages("export_memories", subject, {"memory_id": _FIRST_ID}, _memory, agents=True),
            self._pages(
                "export_sources", subject, {"memory_id": _FIRST_ID, "thread_id": ""}, _source, agents=True
            ),
            self._pages("export_relations", subject, {"relation_id": _FIRST_ID}, _relation, agents=True),
            self._pages("export_history", subject, {"seq": 0}, _history, agents=True),
        ]
        if subject.agent_id is None:
            parts += [
                self._contexts(subject),
                self._pages("export_proposals", subject, {"proposal_id": _FIRST_ID}, _proposal),
                self._pages("export_thread_checkpoints", subject, {"id": _FIRST_ID}, _thread),
                self._pages("export_files", subject, {"path": ""}, _file),
                self._pages(
                    "export_file_versions", subject, {"file_id": _FIRST_ID, "version": 0}, _file_version
                ),
            ]
        for part in parts:
            async with aclosing(part) as lines:
                async for line in lines:
                    yield line

    async def _pages(
        self,
        query: str,
        subject: Subject,
        first: Mapping[str, object],
        read: Callable[[Row], dict[str, Told]],
        *,
        agents: bool = False,
    ) -> AsyncGenerator[Line]:
        """Yield what a statement returns, in the order of users and of a key, which is behind `first`."""
        whose = (subject.tenant_id, subject.user, *((subject.agent_id,) if agents else ()))
        behind: tuple[object, ...] = ("", *first.values())
        while rows := await self._fetch(query, *whose, *behind, self._page):
            for row in rows:
                yield Line(user_id=row["user_id"], **read(row))
            behind = rows[-1]["user_id"], *(rows[-1][key] for key in first)

    async def _contexts(self, subject: Subject) -> AsyncGenerator[Line]:
        for row in await self._fetch("export_user_contexts", subject.tenant_id, subject.user):
            yield Line(user_id=row["user_id"], user_context=_fields(row, "field", "value", "updated_at"))

    async def _fetch(self, query: str, *arguments: object) -> list[Row]:
        async with self._database.connection() as connection:
            return list(await connection.fetch(self._sql[query], *arguments))


def _memory(row: Row) -> dict[str, Told]:
    return {
        "memory": {"id": row["memory_id"]} | _fields(
            row, "agent_id", "run_id", "actor_id", "thread_id", "role", "type", "category", "text", "steps_text",
            "tags", "importance", "pinned", "state", "source", "evidence", "created_at", "updated_at", "last_accessed",
            "hit_count", "purge_at",
        )
    }  # fmt: skip


def _source(row: Row) -> dict[str, Told]:
    return {"source": _fields(row, "memory_id", "thread_id", "evidence", "created_at")}


def _relation(row: Row) -> dict[str, Told]:
    return {"relation": _fields(row, "from_id", "to_id", "relation_type", "strength", "created_at")}


def _history(row: Row) -> dict[str, Told]:
    refs = {
        name: None if row[name] is None else msgspec.json.decode(row[name]) for name in ("old_ref", "new_ref")
    }
    return {"history": _fields(row, "id", "memory_id", "event") | refs | _fields(row, "actor", "meta", "ts")}


def _proposal(row: Row) -> dict[str, Told]:
    return {
        "proposal": _fields(
            row, "proposal_id", "field", "value", "state", "thread_id", "evidence", "created_at", "expires_at",
            "decided_at", "decided_by",
        )
    }  # fmt: skip


def _thread(row: Row) -> dict[str, Told]:
    return {"thread": _fields(row, "thread_id", "by_saver", "checkpoint_data", "created_at", "updated_at")}


def _file(row: Row) -> dict[str, Told]:
    return {"file": _fields(row, "file_id", "path", "version", "text", "created_at", "updated_at")}


def _file_version(row: Row) -> dict[str, Told]:
    return {"file_version": _fields(row, "file_id", "version", "text", "written_at")}


def _fields(row: Row, *names: str) -> Told:
    return {name: row[name] for name in names}
