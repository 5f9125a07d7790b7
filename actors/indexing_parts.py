"""The part of the composition root that works notes into the index."""

from __future__ import annotations

from collections.abc import Callable

from actors.index_parts import IndexedCorpus
from actors.note_renewer import NoteRenewer
from actors.outbox_wake import OutboxListener
from actors.queues import add_queue
from actors.shared_parts import SharedParts
from elf.families.notes.embedding import TextEmbedder
from elf.families.notes.fleet import Fleet
from elf.families.notes.indexing import LEASE_BYTES, NoteIndexing
from elf.families.notes.queries import INDEXING
from elf.families.notes.renewal import NoteRenewal
from elf.families.schema import NOTES
from elf.outbox.queue import Queue


def add_indexing(
    shared: SharedParts,
    reach: IndexedCorpus,
    texts: TextEmbedder,
    fleet: Fleet,
    listener: OutboxListener,
    *,
    is_crowded: Callable[[], bool],
) -> None:
    """Add the queue by which notes get into the index, and the renewer.

    `is_crowded` tells whether requests of this process wait for their turn.
    """
    indexing, needs = shared.config.indexing, ["database", reach.keeper]
    handler = NoteIndexing(
        database=shared.database,
        queries=shared.queries,
        store=shared.store,
        embedder=texts,
        index=reach.index,
        fleet=fleet,
        fresh=shared.fresh,
        clock=shared.clock,
    )
    queue = Queue(
        family=NOTES,
        name=INDEXING,
        outbox=shared.indexing_outbox(terms=(texts.version, LEASE_BYTES)),
        handle=handler.handle,
        concurrency=indexing.indexers,
        batch_size=indexing.batch_size,
        poll_interval_s=indexing.poll_interval_ms / 1000,
    )
    add_queue(shared, queue, listener, needs=needs, is_crowded=is_crowded)
    renewal = NoteRenewal(
        database=shared.database,
        queries=shared.queries,
        texts=texts,
        fleet=fleet,
        clock=shared.clock,
        ring=shared.bell(INDEXING).ring,
    )
    shared.supervisor.add(NoteRenewer(renewal, fleet), needs=["database"])
