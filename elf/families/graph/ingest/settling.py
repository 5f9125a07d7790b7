"""How a dropped file ends: moved, with a manifest beside it and a line in the log.

The manifest of a file that was rejected, or is a duplicate, is written before the file is moved: who dies in between
finds the file where it was, and goes on under the name that the manifest has taken. A file that became memories has a
row in the store, which says how far it has come; so it is moved first.
"""

from __future__ import annotations

from dataclasses import dataclass

from elf.core.clock import Clock
from elf.families.graph.ingest.drop_folder import DropFolder, Replaced
from elf.families.graph.ingest.entry import DroppedFile, Entry, Stamp
from elf.families.graph.ingest.folders import IngestFolders
from elf.families.graph.ingest.ledger import IngestedFile
from elf.families.graph.ingest.manifests import (
    Manifest,
    Manifests,
    ProcessedManifest,
    Reason,
    RejectionManifest,
)
from elf.families.graph.ingest.names import Ending, IngestStatus
from elf.families.graph.ingest.rejection import ReasonCode, Rejection
from elf.families.graph.store.log_file import append_events


@dataclass(frozen=True, slots=True, kw_only=True)
class EndedFile:
    """What became of a dropped file, and where it is now."""

    status: IngestStatus
    source_path: str
    reason_code: ReasonCode | None = None


class Settling:
    """Ends the files of one look at the drop folder. Its methods block."""

    def __init__(self, orchestrator_id: str, folders: IngestFolders, clock: Clock) -> None:
        self._orchestrator_id = orchestrator_id
        self._folders = folders
        self._clock = clock
        self._dropped = DropFolder(folders)
        self._manifests = Manifests(folders)

    def reject(self, entry: Entry, key: str | None, rejection: Rejection) -> EndedFile:
        """Move what may not become memories to rejected/. Raises Replaced where it is not there any more."""

        name = self._name_of("rejected", entry.name, key, "rejected")
        path = self._folders.final_path("rejected", name)
        manifest = RejectionManifest(
            status="rejected", source_path=path, idempotency_key=key, error=Reason.of(rejection)
        )
        self._move_after(manifest, entry.name, entry.stamp, "rejected", name)
        return self._told(EndedFile(status="rejected", source_path=path, reason_code=rejection.code))

    def repeat(self, file: DroppedFile, row: IngestedFile) -> EndedFile:
        """Move a file that was finished before to processed/. Raises Replaced where it is not there any more."""

        name = self._name_of("processed", file.name, row.key, "duplicate")
        manifest = self._processed(row, name, is_repeat=True)
        self._move_after(manifest, file.name, file.stamp, "processed", name)
        return self._told(EndedFile(status="duplicate", source_path=manifest.source_path))

    def finish(self, row: IngestedFile, stamp: Stamp | None) -> EndedFile:
        """Bring a file whose memories are written to where they say that it is; write its manifest.

        Without a stamp it is not in the drop folder any more. The memories stay where it cannot be found: then the log
        says so.
        """
        path = self._folders.final_path("processed", row.final_name)
        if not self._is_moved(row, stamp):
            self._tell("memory.ingest.source_missing", path)
        self._manifests.write(
            "processed", row.final_name, self._processed(row, row.final_name, is_repeat=False)
        )
        return self._told(EndedFile(status="processed", source_path=path))

    def discard(self, name: str) -> None:
        """Remove a processed file of which a memory was erased, and its manifest."""
        self._dropped.remove("processed", name)
        self._manifests.withdraw("processed", name)

    def _is_moved(self, row: IngestedFile, stamp: Stamp | None) -> bool:
        if self._dropped.is_there("processed", row.final_name):
            return True
        if stamp is None:
            return False
        try:
            self._dropped.move(row.dropped_name, stamp, "processed", row.final_name)
        except Replaced:
            return False
        return True

    def _name_of(self, ending: Ending, dropped_name: str, key: str | None, status: IngestStatus) -> str:
        """Return a free name, or the one that a manifest of this file has taken already."""

        def is_awaited(name: str) -> bool:
            found = self._manifests.read(ending, name)
            return found is not None and (found.status, found.idempotency_key) == (status, key)

        return self._dropped.free_name(ending, dropped_name, is_awaited=is_awaited)

    def _move_after(
        self, manifest: Manifest, dropped_name: str, stamp: Stamp, ending: Ending, name: str
    ) -> None:
        self._manifests.write(ending, name, manifest)
        try:
            self._dropped.move(dropped_name, stamp, ending, name)
        except Replaced:
            self._manifests.withdraw(ending, name)
            raise

    def _processed(self, row: IngestedFile, name: str, *, is_repeat: bool) -> ProcessedManifest:
        return ProcessedManifest(
            status="duplicate" if is_repeat else "processed",
            idempotency_key=row.key,
            orchestrator_id=self._orchestrator_id,
            source_path=self._folders.final_path("processed", name),
            processed_at=self._clock.now(),
            memories_written=0 if is_repeat else row.memories_written,
            edges_written=0 if is_repeat else row.edges_written,
            memory_ids=list(row.memory_ids),
            extractor=row.extractor,
            skipped=list(row.skipped),
            indexed_chars=row.indexed_chars,
        )

    def _told(self, ended: EndedFile) -> EndedFile:
        self._tell(
            f"memory.ingest.{ended.status}",
            ended.source_path,
            status=ended.status,
            reason_code=ended.reason_code,
        )
        return ended

    def _tell(self, event: str, path: str, **told: object) -> None:
        line = {"timestamp": self._clock.now().isoformat(), "event": event, **told}
        line |= {"orchestrator_id": self._orchestrator_id, "source_path": path}
        append_events("memory.log", [line], folder=self._folders.logs)
