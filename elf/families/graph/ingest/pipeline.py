"""The pipeline of ingestion: dropped files are read, become memories in one transaction, and end."""

from __future__ import annotations

import os.path
from collections.abc import Awaitable
from contextlib import ExitStack
from dataclasses import dataclass

import anyio.to_thread
import structlog

from elf.core.clock import Clock
from elf.core.errors import ErasureInProgress, ServiceError, Unavailable
from elf.families.graph.extraction.chat import TextExtractor
from elf.families.graph.ingest import names
from elf.families.graph.ingest.drop_folder import DropFolder, Replaced
from elf.families.graph.ingest.entry import DroppedFile, Entry
from elf.families.graph.ingest.folders import IngestFolders, open_folders
from elf.families.graph.ingest.ledger import IngestedFile, Ledger, key_of
from elf.families.graph.ingest.manifests import Manifests
from elf.families.graph.ingest.material import SourceFile
from elf.families.graph.ingest.reading import FileReader, Home
from elf.families.graph.ingest.rejection import Rejection
from elf.families.graph.ingest.rest import Rest
from elf.families.graph.ingest.settling import EndedFile, Settling

log = structlog.get_logger()


class Pipeline:
    """Takes in the files that are dropped for one orchestrator. One process does at a time, and one look at a time."""

    def __init__(
        self,
        *,
        home: Home,
        ledger: Ledger,
        extractor: TextExtractor,
        clock: Clock,
        rest: Rest,
        max_bytes: int,
        indexed_chars: int,
    ) -> None:
        self._home = home
        self._ledger = ledger
        self._reader = FileReader(home, extractor, indexed_chars=indexed_chars)
        self._clock = clock
        self._rest = rest
        self._max_bytes = max_bytes
        self._is_delayed = True

    @property
    def is_restless(self) -> bool:
        """Whether the last look saw files that were not at rest."""
        return self._rest.is_restless

    async def look(self) -> list[EndedFile]:
        """Finish what was begun, take in what is at rest, in the order of the names; return what became of it.

        A file that cannot be read, written or moved now stays for the next look. Raises Unavailable where the store is
        away or the folders are not safe.
        """
        self._is_delayed = True
        with ExitStack() as opened:
            look = await self._look(opened)
            await anyio.to_thread.run_sync(look.manifests.sweep)
            unfinished = await self._ledger.unfinished()
            ended = [await self._tried(self._finish_late(look, row)) for row in unfinished]
            waiting = await anyio.to_thread.run_sync(look.dropped.waiting)
            ended += [await self._tried(self._take(look, entry)) for entry in self._rest.at_rest(waiting)]
        self._is_delayed = None in ended
        return [one for one in ended if one is not None]

    async def has_work(self) -> bool:
        """Tell whether a look would find anything, without opening the store."""
        if self._is_delayed or self._rest.is_restless:
            return True
        with ExitStack() as opened:
            look = await self._look(opened)
            return bool(await anyio.to_thread.run_sync(look.dropped.waiting))

    async def _tried(self, ending: Awaitable[EndedFile]) -> EndedFile | None:
        try:
            return await ending
        except Replaced:  # what is there now has to come to rest first
            return None
        except OSError as error:  # such as a full disk, of which no file is to blame
            log.warning("memory.ingest.delayed", error_class=type(error).__name__, errno=error.errno)
            return None

    async def _look(self, opened: ExitStack) -> _Look:
        folders = await anyio.to_thread.run_sync(opened.enter_context, open_folders(self._home.memory))
        return _Look(
            folders=folders,
            dropped=DropFolder(folders),
            manifests=Manifests(folders),
            settling=Settling(self._home.orchestrator_id, folders, self._clock),
        )

    async def _take(self, look: _Look, entry: Entry) -> EndedFile:
        key = None
        try:
            file = await anyio.to_thread.run_sync(self._read, look, entry)
            key = key_of(look.folders.dropped_path(file.name), file.data)
            return await self._take_in(look, file, key)
        except Rejection as rejection:
            return await anyio.to_thread.run_sync(look.settling.reject, entry, key, rejection)

    def _read(self, look: _Look, entry: Entry) -> DroppedFile:
        if (problem := names.problem_of(entry.name)) is not None:
            raise Rejection("invalid_source_path", problem)
        if names.has_credential(entry.name):
            raise Rejection("secret_detected", "the name has a credential in it")
        if entry.stamp.is_single_file and names.suffix_of(entry.name) is None:
            raise Rejection("unsupported_file_type", f"only {', '.join(names.SUFFIXES)} can be read")
        return look.dropped.read(entry, max_bytes=self._max_bytes)

    async def _take_in(self, look: _Look, file: DroppedFile, key: str) -> EndedFile:
        row = await self._ledger.ingested(key)
        if row is not None and row.is_finished:
            return await self._repeat(look, file, row)
        if row is None:
            row = await self._written(look, file, key)
        return await self._finish(look, row, file)

    async def _written(self, look: _Look, file: DroppedFile, key: str) -> IngestedFile:
        final_name = await anyio.to_thread.run_sync(look.dropped.free_name, "processed", file.name)
        source = SourceFile(
            key=key,
            orchestrator_id=self._home.orchestrator_id,
            path=look.folders.final_path("processed", final_name),
            dropped_path=look.folders.dropped_path(file.name),
            taken_at=self._clock.now(),
        )
        material = await self._reader.material(file.name, file.data, source)
        try:
            return await self._ledger.write(key, (file.name, final_name), material, source.taken_at)
        except (ErasureInProgress, Unavailable):  # later it is taken in, if it is still there
            raise
        except ServiceError as error:
            raise Rejection("repository_error", error.message, fields=error.fields) from error

    async def _finish(self, look: _Look, row: IngestedFile, file: DroppedFile | None) -> EndedFile:
        stamp = None if file is None else file.stamp
        ended = await anyio.to_thread.run_sync(look.settling.finish, row, stamp)
        if not await self._ledger.finish(row.key):
            await anyio.to_thread.run_sync(look.settling.discard, row.final_name)
            await self._ledger.forget_erased(row.key)
        return ended

    async def _repeat(self, look: _Look, file: DroppedFile, row: IngestedFile) -> EndedFile:
        """End a file that was taken in before; its copy goes if it was erased as it was being moved."""
        ended = await anyio.to_thread.run_sync(look.settling.repeat, file, row)
        if await self._ledger.ingested(row.key) is None:
            await anyio.to_thread.run_sync(look.settling.discard, os.path.basename(ended.source_path))
        return ended

    async def _finish_late(self, look: _Look, row: IngestedFile) -> EndedFile:
        return await self._finish(look, row, await anyio.to_thread.run_sync(self._still_there, look, row))

    def _still_there(self, look: _Look, row: IngestedFile) -> DroppedFile | None:
        """Return the file of a row, where it is in the drop folder as it was when its memories were written."""
        entry = look.dropped.look(row.dropped_name)
        try:
            file = None if entry is None else look.dropped.read(entry, max_bytes=self._max_bytes)
        except (Rejection, Replaced):
            return None
        if file is None or key_of(look.folders.dropped_path(file.name), file.data) != row.key:
            return None
        return file


@dataclass(frozen=True, slots=True, kw_only=True)
class _Look:
    """The open folders of one look, and what works in them."""

    folders: IngestFolders
    dropped: DropFolder
    manifests: Manifests
    settling: Settling
