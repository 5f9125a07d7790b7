"""The part of the composition root that works the corpora into the index."""

from __future__ import annotations

from collections.abc import Callable

from actors.corpus_renewer import CorpusRenewer
from actors.index_parts import keeper_of
from actors.outbox_wake import OutboxListener
from actors.queues import add_queue
from actors.shared_parts import SharedParts
from elf.families.notes.fleet import Fleet
from elf.indexing.embedding import TextEmbedder
from elf.indexing.indexed import IndexedCorpus


def add_indexing(
    shared: SharedParts,
    reach: IndexedCorpus,
    texts: TextEmbedder,
    fleet: Fleet,
    listener: OutboxListener,
    *,
    is_crowded: Callable[[], bool],
) -> None:
    """Add the queue by which a corpus gets into the index, and its renewer.

    `is_crowded` tells whether requests of this process wait for their turn.
    """
    config = shared.config.indexing
    queue = reach.queue(
        texts,
        fleet,
        shared.fresh,
        concurrency=config.indexers,
        batch_size=config.batch_size,
        poll_interval_s=config.poll_interval_ms / 1000,
    )
    needs = ["database", keeper_of(shared, reach.corpus)]
    add_queue(shared, queue, listener, needs=needs, is_crowded=is_crowded)
    renewer = CorpusRenewer(reach.corpus.name, reach.renewal(texts, fleet), fleet)
    shared.supervisor.add(renewer, needs=["database"])
