"""Puts remembering to work in a process."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from elf.config.optional import REMEMBERED_BY
from elf.core.errors import StartupError
from elf.db.garbage import GarbageStep
from elf.db.queries import Queries
from elf.family import Opened, Total
from elf.ground import Ground
from elf.memory.api.remembering import REMEMBER, REMEMBERED
from elf.memory.asking import Asker
from elf.memory.model import FAMILY
from elf.memory.own_context import OwnContext
from elf.memory.remembering.jobs import RememberJobs
from elf.memory.remembering.service import Remembering
from elf.memory.remembering.store import TABLE, SaidStore
from elf.offers import Offers
from elf.outbox.given_up import JobSubject
from elf.outbox.leased import LeasedOutbox, outbox_queries
from elf.outbox.queue import Queue

QUEUE: Final = "remember"
# A family that this process does not ask may be one that newer processes ask: their jobs are theirs for an hour.
DUE: Final = "(o.family = ANY ($4::text[]) OR o.created_at < now() - interval '1 hour')"


def open_remembering(ground: Ground, queries: Queries, asker: Asker, own: OwnContext) -> Opened:
    """Return what remembers. Raises StartupError when the config names a family that does not."""
    families = _families(ground)
    leased = remember_queries(queries)
    store = SaidStore(ground.database, leased)
    does = {name: one.remember for name, one in families.items() if one.remember is not None}
    outbox = LeasedOutbox(
        ground.database,
        leased,
        table=TABLE,
        lease_seconds=ground.config.indexing.lease_seconds,
        terms=[list(does)],
    )
    service = Remembering(
        store,
        families,
        names=next((one.transcripts for one in ground.below.values() if one.transcripts is not None), None),
        own=own,
        asker=asker,
        clock=ground.clock,
        ring=ground.ring(QUEUE),
    )
    jobs = RememberJobs(store, outbox, does)
    return Opened(
        handlers={REMEMBER.name: service.remember, REMEMBERED.name: service.remembered}
        if ground.roles.serves
        else {},
        outboxes={QUEUE: outbox},
        queues=[Queue(family=FAMILY, name=QUEUE, outbox=outbox, handle=jobs.handle, concurrency=2)],
        garbage=[GarbageStep(FAMILY, "old_memory_said", store.drop_old)],
        totals=[
            Total(
                name="elf_remember_skipped_total",
                about="Things that were said and that a family did not take: it is not asked any more.",
                labels=("family",),
                read=lambda: {(family,): float(count) for family, count in jobs.skipped.items()},
            )
        ],
    )


def remember_queries(own: Queries) -> Queries:
    """Return the statements of the outbox, with `own`. Raises StartupError when they cannot be read."""
    about = JobSubject(kind="'remember_request'")
    return outbox_queries(TABLE, subject="said_id", about=about, lane="tenant_id", due=DUE, own=own)


def _families(ground: Ground) -> Mapping[str, Offers]:
    """Return the families that keep what is said, in the order of the config."""
    config = ground.config.remember
    named = REMEMBERED_BY if config.families is None else config.families
    keeping = {
        name: one
        for name, one in ground.below.items()
        if one.remember is not None or one.transcripts is not None
    }
    if unknown := [name for name in config.families or () if name not in keeping]:
        raise StartupError(
            f"remember.families: {unknown[0]} keeps nothing that is said, or is not on; these do: {', '.join(keeping)}"
        )
    return {name: keeping[name] for name in named if name in keeping}
