"""Puts the store family to work in a process."""

from __future__ import annotations

from datetime import timedelta

from elf.api.operation import Handler, Operation
from elf.db.garbage import GarbageStep
from elf.families.store.api import operations as a
from elf.families.store.jobs import VectorJobs
from elf.families.store.kit import Kit, kit_of
from elf.families.store.model import FAMILY, QUEUE
from elf.families.store.service import StoreService
from elf.families.store.subjects import StoreSubjects
from elf.family import Opened, together
from elf.ground import Ground
from elf.outbox.chores import Chore, every
from elf.outbox.queue import Queue


def open_store(ground: Ground) -> Opened:
    """Return the store at work. Raises StartupError when its statements cannot be read."""
    kit = kit_of(ground)
    return together(
        [
            Opened(owners=[] if kit.shared_calls is None else [kit.shared_calls]),
            _open_service(ground, kit),
            _open_jobs(ground, kit),
        ]
    )


def _open_service(ground: Ground, kit: Kit) -> Opened:
    subjects = StoreSubjects(kit) if ground.roles.serves or ground.roles.administers else None
    if not ground.roles.serves:
        return Opened(subjects=subjects)
    service = StoreService(kit)
    done_by: dict[Operation, Handler] = {
        a.BATCH: service.batch,
        a.PUT: service.put,
        a.GET: service.get,
        a.DELETE: service.delete,
        a.SEARCH: service.search,
        a.NAMESPACES: service.namespaces,
    }
    return Opened(
        handlers={operation.name: handle for operation, handle in done_by.items()}, subjects=subjects
    )


def _open_jobs(ground: Ground, kit: Kit) -> Opened:
    """Return what makes vectors later, where there is a model to do it with, and what removes what has expired."""
    jobs = VectorJobs(kit)
    if kit.texts is None or not ground.roles.works:
        return Opened(outboxes={QUEUE: kit.outbox})
    return Opened(
        outboxes={QUEUE: kit.outbox},
        queues=[Queue(family=FAMILY, name=QUEUE, outbox=kit.outbox, handle=jobs.handle)],
        garbage=[
            GarbageStep(FAMILY, "done_store_jobs", jobs.drop_done),
            GarbageStep(FAMILY, "expired_store_items", jobs.drop_expired),
        ],
        chores=[
            Chore(
                family=FAMILY,
                name="outdated_vectors",
                when=every(timedelta(hours=1)),
                run=jobs.leave_outdated,
            )
        ],
    )
