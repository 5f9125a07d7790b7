"""Takes the files in processed/ in again, into a memory that knows nothing of them: one that was lost."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

import structlog
from anyio import to_thread

from elf.core.clock import Clock
from elf.core.errors import ErasureInProgress, ServiceError, Unavailable
from elf.families.graph.ingest import names
from elf.families.graph.ingest.drop_folder import DropFolder, Replaced
from elf.families.graph.ingest.entry import Entry
from elf.families.graph.ingest.folders import IngestFolders, open_folders
from elf.families.graph.ingest.ledger import IngestedFile, Ledger, key_of
from elf.families.graph.ingest.manifests import Manifests, ProcessedManifest
from elf.families.graph.ingest.material import SourceFile
from elf.families.graph.ingest.reading import FileReader, Home
from elf.families.graph.ingest.rejection import Rejection
from elf.families.graph.ingest.settling import Settling

_NUMBERED: Final = re.compile(r"\.\d+\Z")
log = structlog.get_logger()


@dataclass(frozen=True, slots=True, kw_only=True)
class Retaken:
    """What became of a file that was taken in again: how much was written, or why it could not be."""

    source_path: str
    memories_written: int = 0
    edges_written: int = 0
    failure: Rejection | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Found:
    """A file in processed/ and what its manifest says, which is None where it has none."""

    entry: Entry
    manifest: ProcessedManifest | None

    @property
    def order(self) -> tuple[float, str]:
        """When it was processed, as far as that is known, and its name."""
        if self.manifest is not None:
            return self.manifest.processed_at.timestamp(), self.entry.name
        return self.entry.stamp.changed_ns / 1e9, self.entry.name

    @property
    def dropped_name(self) -> str:
        """What it was called when it was dropped: a file that clashed with another has got a number since."""
        name = self.entry.name
        return name if names.suffix_of(name) is not None else _NUMBERED.sub("", name)


class Retaking:
    """Takes files in from where they ended; they stay there. What the memory knows already is left out."""

    def __init__(
        self, home: Home, ledger: Ledger, reader: FileReader, clock: Clock, *, max_bytes: int
    ) -> None:
        self._home = home
        self._ledger = ledger
        self._reader = reader
        self._clock = clock
        self._max_bytes = max_bytes

    async def run(self) -> Sequence[Retaken]:
        """Take them in, in the order in which they were processed; return what became of each that was not known.

        A file that cannot be read stays, and is told. Raises Unavailable where the memory or the folders are away.
        """
        try:
            with open_folders(self._home.memory) as folders:
                found = await to_thread.run_sync(_found, folders)
                retaken = [await self._take(folders, one) for one in sorted(found, key=lambda one: one.order)]
        except OSError as error:
            raise Unavailable(f"the ingest folder cannot be used: {error.strerror}") from error
        return [one for one in retaken if one is not None]

    async def _take(self, folders: IngestFolders, found: _Found) -> Retaken | None:
        path = folders.final_path("processed", found.entry.name)
        try:
            row = await self._written(folders, found, path)
        except Rejection as rejection:
            log.warning("memory.ingest.not_retaken", reason_code=rejection.code)
            return Retaken(source_path=path, failure=rejection)
        if row is None:
            return None
        settling = Settling(self._home.orchestrator_id, folders, self._clock)
        if found.manifest is None:
            await to_thread.run_sync(settling.finish, row, None)
        if not await self._ledger.finish(row.key):
            await to_thread.run_sync(settling.discard, row.final_name)
            await self._ledger.forget_erased(row.key)
        return Retaken(
            source_path=path, memories_written=row.memories_written, edges_written=row.edges_written
        )

    async def _written(self, folders: IngestFolders, found: _Found, path: str) -> IngestedFile | None:
        """Write the memories of a file, and return its row; None where there is one. Raises Rejection."""
        data = await to_thread.run_sync(_bytes, folders, found.entry, self._max_bytes)
        dropped_path = folders.dropped_path(found.dropped_name)
        key = key_of(dropped_path, data) if found.manifest is None else found.manifest.idempotency_key
        if await self._ledger.ingested(key) is not None:
            return None
        source = SourceFile(
            key=key, orchestrator_id=self._home.orchestrator_id, path=path, dropped_path=dropped_path,
            taken_at=self._taken_at(found),
        )  # fmt: skip
        material = await self._reader.material(found.dropped_name, data, source)
        try:
            return await self._ledger.write(
                key,
                (found.dropped_name, found.entry.name),
                material,
                source.taken_at,
                keeps_known=True,
            )
        except (ErasureInProgress, Unavailable):  # later it is taken in, if it is still there
            raise
        except ServiceError as error:
            raise Rejection("repository_error", error.message, fields=error.fields) from error

    def _taken_at(self, found: _Found) -> datetime:
        return self._clock.now() if found.manifest is None else found.manifest.processed_at


def _found(folders: IngestFolders) -> list[_Found]:
    """Return the files in processed/ that are no manifests of others."""
    manifests = Manifests(folders)
    suffix = names.MANIFEST_SUFFIX["processed"]
    found = []
    for entry in DropFolder(replace(folders, ingest=folders.processed)).waiting():
        is_manifest = entry.name.endswith(suffix) and manifests.read(
            "processed", entry.name.removesuffix(suffix)
        )
        if not is_manifest:
            manifest = manifests.read("processed", entry.name)
            found.append(
                _Found(entry=entry, manifest=manifest if isinstance(manifest, ProcessedManifest) else None)
            )
    return found


def _bytes(folders: IngestFolders, entry: Entry, most: int) -> bytes:
    """Return the bytes of a file in processed/. Raises Rejection where it cannot be read, or has changed."""
    try:
        return DropFolder(replace(folders, ingest=folders.processed)).read(entry, max_bytes=most).data
    except Replaced:
        raise Rejection("file_changed", "the file changed while it was read") from None
    except OSError as error:
        raise Rejection(
            "invalid_source_path", f"the file cannot be read: {os.strerror(error.errno or 0)}"
        ) from error
