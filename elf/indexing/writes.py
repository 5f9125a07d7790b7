"""Having what a family writes indexed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from uuid import UUID

from elf.db.database import Connection
from elf.indexing.corpus import Corpus
from elf.indexing.fresh import FreshWrites, Place


class CorpusWrites:
    """Takes down, in the transactions of a family, which subjects of a corpus were written.

    `ring` wakes the workers of its queue. A family whose statements make the jobs themselves does not need it.
    """

    def __init__(self, corpus: Corpus, fresh: FreshWrites, *, ring: Callable[[], object]) -> None:
        self._corpus = corpus
        self._fresh = fresh
        self._ring = ring

    @property
    def embedding_version(self) -> str:
        """The version by which new subjects are to be found."""
        return self._corpus.embedding_version

    async def wrote(self, connection: Connection, place: Place, subject_ids: Sequence[UUID]) -> None:
        """Have these subjects of a place indexed as they are once the transaction is committed.

        They were added, changed, retired or deleted before, in the same transaction. Searches of the place then wait
        for them for a moment.
        """
        if not subject_ids:
            return
        corpus = self._corpus
        await connection.execute(corpus.queries["enqueue_written"], subject_ids, corpus.embedding_version)
        connection.after_commit(partial(self._fresh.wrote, corpus.name, place, subject_ids))
        connection.after_commit(self._ring)
