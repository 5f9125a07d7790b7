"""Finding what is stored and cannot be found as it should be, and having the indexers mend it.

That is a subject without all of its vectors, one of an embedding version that no process has any more, and one whose
chunks were cut as no process cuts any more. All subjects are looked at, a page after the other and beside the work: not
more than some hundred jobs of it wait at a time, so what is written meanwhile does not queue behind them. A change
of the chunking asks only for what would be cut otherwise.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

import anyio
import structlog

from elf.core.batches import batches
from elf.core.chunking import Chunk
from elf.core.clock import Clock
from elf.db.database import Database
from elf.indexing.corpus import Corpus
from elf.indexing.embedding import TextEmbedder
from elf.indexing.fleet import Fleet

PAGE: Final = 200
READ_AT_ONCE: Final = 16  # texts, which may be long
MOST_OPEN: Final = 400
LOOK_AGAIN_S: Final = 0.2
ADOPTED_AT_ONCE: Final = 1000

log = structlog.get_logger()

Row = Mapping[str, Any]


@dataclass(slots=True)
class Renewed:
    """How many subjects were looked at, given to the indexers, and found to be cut as they would be today."""

    seen: int = 0
    asked: int = 0
    marked: int = 0


class CorpusRenewal:
    """Looks through a corpus for what has to be made anew by this process's model and chunking."""

    def __init__(
        self,
        *,
        database: Database,
        corpus: Corpus,
        texts: TextEmbedder,
        fleet: Fleet,
        clock: Clock,
        ring: Callable[[], None],
    ) -> None:
        self._database = database
        self._corpus = corpus.name
        self._sql = corpus.queries
        self._texts = texts
        self._fleet = fleet
        self._clock = clock
        self._ring = ring

    async def adopt(self) -> int:
        """Take over the jobs that wait for versions without a living process; returns how many."""
        async with self._database.connection() as connection:
            rows = await connection.fetch(self._sql["versions_of_open_jobs"])
        versions = [row["embedding_version"] for row in rows]
        former = [one for one in versions if one != self._texts.version and self._fleet.may_take(one)]
        adopted = sum([await self._adopt(version) for version in former])
        if adopted:
            log.info("jobs_adopted", corpus=self._corpus, jobs=adopted, former_versions=former)
            self._ring()
        return adopted

    async def _adopt(self, version: str) -> int:
        adopted, last = 0, ADOPTED_AT_ONCE
        while last == ADOPTED_AT_ONCE:
            async with self._database.connection() as connection:
                last = len(
                    await connection.fetch(
                        self._sql["adopt_jobs"], version, self._texts.version, ADOPTED_AT_ONCE
                    )
                )
            adopted += last
        return adopted

    async def walk(self) -> Renewed:
        """Look at every subject once. It takes as long as the indexers need for what was found, but the last of it."""
        renewed = Renewed()
        after = UUID(int=0)  # before every subject id: those have a version
        open_jobs: list[UUID] = []
        while True:
            began = time.monotonic()
            page = await self._page(after)
            open_jobs += await self._renew(page, renewed)
            if len(page) < PAGE:
                break
            after = page[-1]["subject_id"]
            open_jobs = await self._few_open(open_jobs)
            await anyio.sleep(time.monotonic() - began)  # half of the time is for others
        if renewed.asked or renewed.marked:
            log.info(
                "corpus_renewed",
                corpus=self._corpus,
                seen=renewed.seen,
                asked=renewed.asked,
                marked=renewed.marked,
            )
        return renewed

    async def _page(self, after: UUID) -> Sequence[Row]:
        async with self._database.connection() as connection:
            return await connection.fetch(
                self._sql["renewal_page"],
                after, PAGE, self._texts.version, list(self._fleet.foreign_versions), self._clock.now(),
            )  # fmt: skip

    async def _renew(self, page: Sequence[Row], renewed: Renewed) -> list[UUID]:
        due = [row for row in page if row["is_due"]]
        broken = [row["subject_id"] for row in due if not row["is_whole"]]
        doubtful = [
            row["subject_id"] for row in due if row["is_whole"] and not self._fleet.keeps(row["chunking"])
        ]
        for some in batches(doubtful, lambda _: 1, most_size=READ_AT_ONCE):
            broken += await self._cut_otherwise(some, renewed)
        jobs = await self._ask(broken) if broken else []
        renewed.seen += len(page)
        renewed.asked += len(jobs)
        return jobs

    async def _cut_otherwise(self, subject_ids: Sequence[UUID], renewed: Renewed) -> list[UUID]:
        """Return those of the subjects that would be cut otherwise today; the others are marked."""
        async with self._database.connection() as connection:
            rows = await connection.fetch(self._sql["cuts_of_subjects"], subject_ids, self._texts.version)
        cuts = await self._texts.cut([row["text"] for row in rows])
        same = [_is_cut_the_same(row, chunks) for row, chunks in zip(rows, cuts, strict=True)]
        alike = [row for row, is_same in zip(rows, same, strict=True) if is_same]
        if alike:
            async with self._database.connection() as connection:
                await connection.execute(
                    self._sql["mark_chunking"],
                    [row["subject_id"] for row in alike], [row["changed_at"] for row in alike], self._texts.chunking,
                )  # fmt: skip
        renewed.marked += len(alike)
        return [row["subject_id"] for row, is_same in zip(rows, same, strict=True) if not is_same]

    async def _ask(self, subject_ids: Sequence[UUID]) -> list[UUID]:
        async with self._database.connection() as connection:
            rows = await connection.fetch(self._sql["enqueue_renewal"], subject_ids, self._texts.version)
        if rows:
            self._ring()
        return [row["outbox_id"] for row in rows]

    async def _few_open(self, jobs: list[UUID]) -> list[UUID]:
        """Wait until at most MOST_OPEN of the jobs are open, and return those."""
        while len(jobs) > MOST_OPEN:
            async with self._database.connection() as connection:
                rows = await connection.fetch(self._sql["open_jobs"], jobs)
            jobs = [row["outbox_id"] for row in rows]
            if len(jobs) > MOST_OPEN:
                await anyio.sleep(LOOK_AGAIN_S)
        return jobs


def _is_cut_the_same(row: Row, chunks: Sequence[Chunk]) -> bool:
    return [(one.start, one.end) for one in chunks] == list(zip(row["starts"], row["ends"], strict=True))
