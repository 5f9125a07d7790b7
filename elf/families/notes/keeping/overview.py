"""How much there is, for the people who run the service: notes, work of all families that waits, and disk in use."""

from __future__ import annotations

import os
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path

from anyio import to_thread

from elf.core.clock import Clock
from elf.db.database import Database
from elf.db.queries import Queries
from elf.families.notes.api.admin_requests import Overview, OverviewRequest
from elf.outbox.leased import LeasedOutbox


class NoteOverview:
    """Reads the figures."""

    def __init__(
        self,
        *,
        database: Database,
        queries: Queries,
        outboxes: Mapping[str, LeasedOutbox],
        embedding_version: str,
        folders: Mapping[str, Path],
        clock: Clock,
    ) -> None:
        """`queries` are those of the folder sql/notes, `outboxes` those of all families, once they are open.

        `folders` of this machine hold data, by what it is; without one for postgres, the server says how much it has.
        """
        self._database = database
        self._sql = queries
        self._outboxes = outboxes
        self._embedding_version = embedding_version
        self._folders = folders
        self._clock = clock

    async def read(self, _: OverviewRequest) -> Overview:
        """Read them all; every note is counted, which takes 0.1 s for a million."""
        now = self._clock.now()
        jobs = [await outbox.statistics() for outbox in self._outboxes.values()]
        oldest = min((one.oldest for one in jobs if one.oldest is not None), default=None)
        async with self._database.connection() as connection:
            counts = await connection.fetchrow(self._sql["overview_of_notes"], now, self._embedding_version)
            database_bytes = await connection.fetchval(self._sql["database_bytes"])
        assert counts is not None
        return Overview(
            version=version("elf-memory"),
            embedding_version=self._embedding_version,
            **dict(counts),
            waiting_jobs=sum(one.pending + one.failed for one in jobs),
            failed_jobs=sum(one.failed for one in jobs),
            oldest_job_seconds=None if oldest is None else max(0.0, (now - oldest).total_seconds()),
            disk_bytes={"postgres": database_bytes} | await to_thread.run_sync(self._measured),
        )

    def _measured(self) -> dict[str, int]:
        return {name: bytes_below(folder) for name, folder in self._folders.items() if folder.is_dir()}


def bytes_below(folder: Path) -> int:
    """Return what the files below a folder take on disk; what comes and goes meanwhile may be missing."""
    total = 0
    pending = [os.fspath(folder)]
    while pending:
        try:
            entries = list(os.scandir(pending.pop()))
        except OSError:
            continue  # it went, or is not ours to look into
        for entry in entries:
            try:
                if entry.is_dir(follow_symlinks=False):
                    pending.append(entry.path)
                else:
                    total += entry.stat(follow_symlinks=False).st_blocks * 512
            except FileNotFoundError:
                continue
    return total
