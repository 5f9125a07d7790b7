"""Exporting notes with their history, page by page, in the order in which they can be taken in."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from elf.db.database import Database
from elf.db.queries import Queries
from elf.families.notes.model import as_real
from elf.families.notes.subjects import exported as x
from elf.families.notes.subjects.whose import AT_THE_START, Place, Whose, projects_of

_BEFORE_ALL = (UUID(int=0), datetime.min.replace(tzinfo=UTC))


class Export:
    """Reads notes, `page` rows at a time, and of each page the versions, the decisions about its notes, and
    where else those were said.

    No transaction stays open. The versions end with the one that made a note what it was when it was read; a note that
    is changed while the export goes on comes once more.
    """

    def __init__(self, database: Database, queries: Queries, *, page: int) -> None:
        self._database = database
        self._sql = queries
        self._page = page

    async def of(self, whose: Whose) -> AsyncGenerator[x.Exported]:
        """Yield all of it. Of what was purged nothing is left that could be taken along."""
        async with aclosing(projects_of(self._database, self._sql, whose)) as projects:
            async for project in projects:
                async with aclosing(self._of_project(whose._replace(project_id=project))) as pieces:
                    async for piece in pieces:
                        yield piece

    async def _of_project(self, whose: Whose) -> AsyncGenerator[x.Exported]:
        behind = AT_THE_START
        while rows := await self._fetch("export_notes", *whose, *behind, self._page):
            for row in rows:
                yield x.ExportedNote.of(row)
            parts = (
                self._versions(whose.tenant_id, {row["note_id"]: row["updated_at"] for row in rows}),
                self._decisions(whose.tenant_id, [row["note_id"] for row in rows]),
                self._sources(whose.tenant_id, [row["note_id"] for row in rows]),
            )
            for part in parts:
                async with aclosing(part) as pieces:
                    async for piece in pieces:
                        yield piece
            behind = Place(rows[-1]["updated_at"], rows[-1]["note_id"])

    async def _versions(self, tenant_id: str, changed: Mapping[UUID, datetime]) -> AsyncGenerator[x.Exported]:
        behind = _BEFORE_ALL
        while rows := await self._fetch("export_versions", list(changed), *behind, self._page):
            for row in rows:
                if row["ts"] <= changed[row["note_id"]]:
                    yield _piece(x.ExportedVersion, row, tenant_id=tenant_id)
            behind = rows[-1]["note_id"], rows[-1]["ts"]

    async def _decisions(self, tenant_id: str, note_ids: Sequence[UUID]) -> AsyncGenerator[x.Exported]:
        counts: Counter[tuple[UUID, datetime]] = Counter()
        behind = 0
        while rows := await self._fetch("export_decisions", note_ids, behind, self._page):
            for row in rows:
                moment = row["note_id"], row["ts"]
                counts[moment] += 1
                likeness = None if row["similarity"] is None else as_real(row["similarity"])
                yield _piece(
                    x.ExportedDecision, row, tenant_id=tenant_id, nth=counts[moment], similarity=likeness
                )
            behind = rows[-1]["decision_id"]

    async def _sources(self, tenant_id: str, note_ids: Sequence[UUID]) -> AsyncGenerator[x.Exported]:
        behind = UUID(int=0), ""
        while rows := await self._fetch("export_note_sources", note_ids, *behind, self._page):
            for row in rows:
                yield _piece(x.ExportedSource, row, tenant_id=tenant_id)
            behind = rows[-1]["note_id"], rows[-1]["thread"]

    async def _fetch(self, query: str, *values: Any) -> Sequence[Mapping[str, Any]]:
        async with self._database.connection() as connection:
            return await connection.fetch(self._sql[query], *values)


def _piece(
    kind: type[x.ExportedVersion | x.ExportedDecision | x.ExportedSource],
    row: Mapping[str, Any],
    **known: Any,
) -> x.Exported:
    return kind(**{name: row[name] for name in kind.__struct_fields__ if name not in known}, **known)
