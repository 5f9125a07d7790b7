"""Carries out the operations on files that were dropped."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from functools import partial

from anyio import to_thread

from elf.api.caller import Caller
from elf.api.operation import Handler, Operation
from elf.core.errors import NotOffered
from elf.families.graph.api import ingesting as a
from elf.families.graph.ingest.actor import IngestActor
from elf.families.graph.ingest.ended_files import Ended, ended_files
from elf.families.graph.ingest.ended_files import Place as EndedPlace
from elf.families.graph.ingest.manifests import ProcessedManifest
from elf.families.graph.paging import behind, next_cursor
from elf.families.graph.places import Places
from elf.families.graph.recall.place import Place
from elf.families.graph.scope import check_scope, viewer_of
from elf.families.graph.store.statements import OwnerKey, Snapshot


class IngestService:
    """`actor` is None where no files are taken in."""

    def __init__(self, places: Places, actor: IngestActor | None) -> None:
        self._places = places
        self._actor = actor

    def handlers(self) -> Mapping[Operation, Handler]:
        """Return what carries out which operation."""
        return {a.LIST_INGESTED: self.files, a.LOOK_NOW: self.look_now}

    async def files(self, request: a.ListIngested, caller: Caller) -> a.IngestedFiles:
        """List the files that were taken in or rejected, those that ended last first."""
        last = behind(request, tuple[int, str])
        await check_scope(self._places, request, caller)
        async with self._places.found(request.tenant_id, request.orchestrator_id) as place:
            memory = str(place.layout.memory)
            look = partial(ended_files, memory, status=request.status, limit=request.limit + 1)
            found = await _shown(place.seen_by(viewer_of(caller)), look, last, request.limit + 1)
        return a.IngestedFiles(
            items=[_told(one) for one in found[: request.limit]],
            next_cursor=next_cursor(request, found, lambda one: one.place),
        )

    async def look_now(self, request: a.LookNow, caller: Caller) -> a.LookedNow:
        """Look at the ingest folder now. Raises NotOffered where no files are taken in."""
        await check_scope(self._places, request, caller)
        if self._actor is None:
            raise NotOffered("no files are taken in: graph.ingest.enabled is false")
        looked = await self._actor.look_now(OwnerKey(request.tenant_id, request.orchestrator_id))
        files = [
            a.EndedFile(status=one.status, sourcePath=one.source_path, reasonCode=one.reason_code)
            for one in looked.ended
        ]
        return a.LookedNow(here=looked.here, files=files)


async def _shown(
    place: Place, look: Callable[..., list[Ended]], behind: EndedPlace | None, most: int
) -> list[Ended]:
    """Return the first files of pages of so many each, but for those of which a memory is not there for a user."""
    found: list[Ended] = []
    while place.is_there and len(found) < most:
        some = await to_thread.run_sync(partial(look, behind=behind))
        found += await place.read(lambda snapshot, page=some: _without_hidden(snapshot, page))  # type: ignore[misc]
        if len(some) < most:
            break
        behind = some[-1].place
    return found[:most]


def _without_hidden(snapshot: Snapshot, ended: Sequence[Ended]) -> list[Ended]:
    if snapshot.viewer is None:
        return list(ended)
    named = {id for one in ended for id in _memory_ids(one)}
    hidden = {id for (id,) in snapshot.rows("hidden_memories", memory_ids=json.dumps(sorted(named)))}
    return [one for one in ended if hidden.isdisjoint(_memory_ids(one))]


def _memory_ids(ended: Ended) -> Sequence[str]:
    return ended.manifest.memory_ids if isinstance(ended.manifest, ProcessedManifest) else ()


def _told(ended: Ended) -> a.IngestedFile:
    manifest = ended.manifest
    if isinstance(manifest, ProcessedManifest):
        return a.IngestedFile(
            status=manifest.status,
            sourcePath=manifest.source_path,
            idempotencyKey=manifest.idempotency_key,
            memoriesWritten=manifest.memories_written,
            edgesWritten=manifest.edges_written,
            memoryIds=manifest.memory_ids,
            extractor=manifest.extractor,
            skipped=[a.Skipped(start=one.start, reason=one.reason) for one in manifest.skipped],
            indexedChars=manifest.indexed_chars,
            error=None,
        )
    error = manifest.error
    return a.IngestedFile(
        status=manifest.status,
        sourcePath=manifest.source_path,
        idempotencyKey=manifest.idempotency_key,
        memoriesWritten=0,
        edgesWritten=0,
        memoryIds=[],
        extractor=None,
        skipped=[],
        indexedChars=None,
        error=a.IngestError(code=error.code, message=error.message, fields=error.fields),
    )
