"""What of a corpus has outlived its time."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

from elf.db.database import Database
from elf.db.garbage import GarbageStep
from elf.indexing.corpus import Corpus

DONE_JOBS_KEPT: Final = timedelta(days=1)


def corpus_garbage(database: Database, corpus: Corpus) -> list[GarbageStep]:
    """Return the steps of a collection over what indexing leaves behind; the subjects are their family's business."""

    async def drop(now: datetime, limit: int) -> int:
        async with database.connection() as connection:
            rows = await connection.fetch(corpus.queries["drop_done_jobs"], now - DONE_JOBS_KEPT, limit)
        return len(rows)

    return [GarbageStep(corpus.family, f"done_jobs{corpus.space.suffix}", drop)]
