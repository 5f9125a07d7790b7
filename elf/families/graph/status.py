"""Tells how the memory of an orchestrator is, also of one that cannot be used."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from contextlib import suppress

from anyio import to_thread

from elf.api.caller import Caller
from elf.api.operation import Handler, Operation
from elf.core.errors import Unavailable
from elf.families.graph.api import status as a
from elf.families.graph.errors import FileUnusable, GraphDisabled, GraphLivesElsewhere
from elf.families.graph.places import Places
from elf.families.graph.recall.place import Place
from elf.families.graph.scope import check_scope, viewer_of
from elf.families.graph.store.backlog import count_vectors_to_make
from elf.families.graph.store.layout import Layout
from elf.families.graph.store.statements import Snapshot


class StatusReader:
    """Opens memories that there are, and makes none: one that is not there yet is ok, and empty.

    `embedding_version` is that of the vectors to be made.
    """

    def __init__(self, places: Places, *, embedding_version: str) -> None:
        self._places = places
        self._version = embedding_version

    def handlers(self) -> Mapping[Operation, Handler]:
        """Return what carries out which operation."""
        return {a.STATUS: self.read}

    async def read(self, request: a.ReadStatus, caller: Caller) -> a.Status:
        """Read how a memory is. Raises NoSuchOrchestrator, and Unavailable where nobody can say."""
        await check_scope(self._places, request, caller)
        try:
            async with self._places.found(request.tenant_id, request.orchestrator_id) as place:
                return _status(
                    request.orchestrator_id, "ok", None, await self._counts(place.seen_by(viewer_of(caller)))
                )
        except (GraphDisabled, FileUnusable, GraphLivesElsewhere) as error:
            return _status(request.orchestrator_id, "disabled", error, None)

    async def _counts(self, place: Place) -> a.MemoryCounts:
        size = await to_thread.run_sync(_bytes, place.layout)

        def look(snapshot: Snapshot) -> a.MemoryCounts:
            memories: dict[str, dict[str, int]] = defaultdict(dict)
            for type, status, count in snapshot.rows("count_memories"):
                memories[status][type] = count
            return a.MemoryCounts(
                memories=dict(memories),
                edges=dict(snapshot.rows("count_edges")),
                unresolved_contradictions=_number(snapshot, "count_contradictions"),
                vectors_to_make=count_vectors_to_make(snapshot, self._version),
                file_bytes=None if snapshot.viewer else size,
            )

        return await place.read(look)


def _bytes(layout: Layout) -> int:
    """Return the size of the file and its write-ahead log, which is gone while nobody has the file open. Blocks."""
    total = 0
    for path in (layout.database, layout.database.with_name("memory.db-wal")):
        with suppress(FileNotFoundError):
            total += path.stat().st_size
    return total


def _number(snapshot: Snapshot, statement: str, **values: str) -> int:
    row = snapshot.row(statement, **values)
    return 0 if row is None else int(row[0])


def _status(
    orchestrator_id: str, status: str, error: Unavailable | None, counts: a.MemoryCounts | None
) -> a.Status:
    return a.Status.model_validate(
        {
            "orchestrator_id": orchestrator_id,
            "status": status,
            "error_code": error and error.error_code,
            "message": error and error.message,
            "counts": counts,
        }
    )
