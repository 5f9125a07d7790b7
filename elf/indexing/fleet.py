"""Who shares the memory of a database, and what follows from it for what a process may do.

Each subject of a corpus is found by one embedding version. Processes whose configs name different ones see each other
here, by rows that each renews while it lives, and leave each other's subjects alone; a version that no living process
has is a former one, and its subjects may be taken over. So is a chunking, the rule and numbers by which texts were cut,
except that chunks of another one are as good to find a subject by.

Two processes that give different models the same name cannot be told apart.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Final
from uuid import UUID

import anyio

from elf.db.database import Database
from elf.db.queries import Queries, sql_folder

SILENT_AFTER: Final = timedelta(seconds=40)  # whoever does not tell for so long is gone
GONE_AFTER: Final = timedelta(seconds=5)  # whoever left and did not come back
WAITS_AFTER: Final = timedelta(seconds=10)  # a job that has been due for so long waits in vain
MOST_COUNTED: Final = 100_000


@dataclass(frozen=True, slots=True)
class Member:
    """A process that writes or indexes. `name` tells people where it runs; `indexes` that it has indexers."""

    name: str
    embedding_version: str
    chunking: str
    indexes: bool


@dataclass(slots=True)
class Fleet:
    """What a process knows of the others. Until it knows them, they may be of any version and chunking.

    `embedding_version` and `chunking` are the process's own. others: the living ones. waiting: jobs that wait in vain
    because no living process indexes their version, by version.
    """

    embedding_version: str
    chunking: str | None
    others: frozenset[Member] | None = None
    waiting: Mapping[str, int] = field(default_factory=dict)
    _changed: anyio.Event = field(default_factory=anyio.Event)

    def see(self, others: frozenset[Member]) -> None:
        """Take in who lives."""
        if others != self.others:
            self.others = others
            self._changed.set()
            self._changed = anyio.Event()

    async def wait_known(self) -> None:
        """Wait until the others are known."""
        while self.others is None:
            await self._changed.wait()

    async def wait_changed(self) -> None:
        """Wait until somebody came or went."""
        await self._changed.wait()

    @property
    def other_forms(self) -> frozenset[tuple[str, str | None]]:
        """The versions and chunkings of others that are not this process's."""
        forms = frozenset((one.embedding_version, one.chunking) for one in self.others or ())
        return forms - {(self.embedding_version, self.chunking)}

    @property
    def foreign_versions(self) -> frozenset[str]:
        """The versions of others that are not this process's."""
        return frozenset(one.embedding_version for one in self.others or ()) - {self.embedding_version}

    def may_take(self, version: str) -> bool:
        """Tell whether subjects of a version may be indexed here: it is one's own, or that of no living process."""
        if version == self.embedding_version:
            return True
        return self.others is not None and version not in self.foreign_versions

    def keeps(self, chunking: str | None) -> bool:
        """Tell whether chunks may stay as they are: they are cut as a living process cuts. None is unknown."""
        if chunking is None:
            return False
        return chunking == self.chunking or self.others is None or chunking in self._chunkings()

    def _chunkings(self) -> frozenset[str]:
        return frozenset(one.chunking for one in self.others or ())

    def warnings(self) -> list[str]:
        """Say what an operator has to know: who differs from this process, and what waits for nobody."""
        others = sorted(self.others or (), key=lambda one: one.name)
        models = [
            f"{one.name} has the embedding model {one.embedding_version} and this process {self.embedding_version}:"
            " each finds only the notes of its own"
            for one in others
            if one.embedding_version != self.embedding_version
        ]
        cuts = [
            f"{one.name} cuts notes into chunks by {one.chunking} and this process by {self.chunking}:"
            " stored notes stay as they are until all processes agree"
            for one in others
            if self.chunking is not None and one.chunking != self.chunking
        ]
        waits = [
            f"{count} indexing jobs wait for the embedding model {version}, which no running indexer has"
            for version, count in sorted(self.waiting.items())
        ]
        return models + cuts + waits


class FleetRegister:
    """The rows by which processes know of each other, and what waits in the outboxes of `corpora`, by their queries.

    `own` is None for a process that only looks.
    """

    def __init__(
        self,
        *,
        database: Database,
        corpora: Sequence[Queries],
        process_id: UUID,
        own: Member | None,
        fleet: Fleet,
    ) -> None:
        self._database = database
        self._sql = Queries.load(sql_folder() / "fleet")
        self._corpora = corpora
        self._process_id = process_id
        self._own = own
        self._fleet = fleet

    async def look(self) -> None:
        """Tell the others that this process lives, and see who else does and what waits for nobody."""
        async with self._database.connection() as connection:
            if (own := self._own) is not None:
                await connection.execute(
                    self._sql["tell_process"],
                    self._process_id, own.name, own.embedding_version, own.chunking, own.indexes, SILENT_AFTER,
                )  # fmt: skip
            await connection.execute(
                self._sql["forget_processes"], self._process_id, GONE_AFTER, SILENT_AFTER
            )
            rows = await connection.fetch(self._sql["other_processes"], self._process_id)
        self._fleet.see(frozenset(Member(**dict(row)) for row in rows))
        self._fleet.waiting = await self._waiting()

    async def _waiting(self) -> dict[str, int]:
        living = [*(self._fleet.others or ()), *([self._own] if self._own is not None else ())]
        served = {one.embedding_version for one in living if one.indexes}
        waiting: Counter[str] = Counter()
        async with self._database.connection() as connection:
            for sql in self._corpora:
                for row in await connection.fetch(sql["versions_of_open_jobs"]):
                    version = row["embedding_version"]
                    if version not in served:
                        waiting[version] += await connection.fetchval(
                            sql["count_waiting_jobs"], version, WAITS_AFTER, MOST_COUNTED
                        )
        return {version: count for version, count in waiting.items() if count}

    async def leave(self) -> None:
        """Tell the others that this process ends."""
        if self._own is not None:
            async with self._database.connection() as connection:
                await connection.execute(self._sql["leave_processes"], self._process_id)
