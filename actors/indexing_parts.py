"""The part of the composition root that works notes into the index."""

from __future__ import annotations

from collections.abc import Callable

from actors.index_parts import IndexedCorpus
from actors.indexer import Indexer
from actors.kernel import Channel
from actors.note_renewer import NoteRenewer
from actors.outbox_lessor import OutboxLessor
from actors.outbox_wake import OutboxListener
from actors.shared_parts import SharedParts
from elf.families.notes.embedding import TextEmbedder
from elf.families.notes.fleet import Fleet
from elf.families.notes.indexing import LEASE_BYTES, NoteIndexing
from elf.families.notes.renewal import NoteRenewal
from elf.outbox.leased import Job, LeasedOutbox

TRIES_TO_RENEW = 3  # within one lease


def add_indexing(
    shared: SharedParts,
    reach: IndexedCorpus,
    texts: TextEmbedder,
    fleet: Fleet,
    *,
    is_crowded: Callable[[], bool],
) -> None:
    """Add the indexers, the lessor that hands them work, the listener that hears of work elsewhere, and the renewer.

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
    work: Channel[list[Job]] = Channel("indexing_work", 1, "block")
    shared.metrics.watch_channels(work)
    outbox = LeasedOutbox(
        shared.database,
        shared.queries,
        lease_seconds=indexing.lease_seconds,
        terms=(texts.version, LEASE_BYTES),
    )
    for number in range(1, indexing.indexers + 1):
        indexer = Indexer(number, work=work, outbox=outbox, handle=handler.handle, is_crowded=is_crowded)
        shared.supervisor.add(indexer, needs=needs)
    lessor = OutboxLessor(
        outbox,
        wake=shared.wake,
        work=work,
        batch_size=indexing.batch_size,
        poll_interval_s=indexing.poll_interval_ms / 1000,
        renew_interval_s=indexing.lease_seconds / TRIES_TO_RENEW,
    )
    shared.supervisor.add(lessor, needs=needs)
    listener = OutboxListener(shared.dsn, shared.wake, but_not_from=shared.process_id)
    shared.supervisor.add(listener, needs=["database"])
    renewal = NoteRenewal(
        database=shared.database,
        queries=shared.queries,
        texts=texts,
        fleet=fleet,
        clock=shared.clock,
        ring=shared.bell.ring,
    )
    shared.supervisor.add(NoteRenewer(renewal, fleet), needs=["database"])
