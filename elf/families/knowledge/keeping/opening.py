"""Puts the keeping of memories to work in a process: what is due from time to time, and what is left to be done."""

from __future__ import annotations

from collections.abc import Mapping

from elf.api.operation import Handler, Operation
from elf.db.garbage import GarbageStep
from elf.families.knowledge.api import working as w
from elf.families.knowledge.keeping.cleanup import EpisodeCleanup
from elf.families.knowledge.keeping.jobs import MemoryJobs
from elf.families.knowledge.keeping.schedule import Scheduled, Schedules
from elf.families.knowledge.keeping.sweep import DecaySweep
from elf.families.knowledge.kit import QUEUE, Kit
from elf.families.knowledge.model import FAMILY
from elf.family import Opened
from elf.ground import Ground
from elf.outbox.chores import Chore
from elf.outbox.queue import Queue


def open_keeping(ground: Ground, kit: Kit) -> Opened:
    """Return what sweeps, cleans up, makes vectors and inverts rules."""
    batch = ground.config.gc.batch_size
    sweep, cleanup, jobs = DecaySweep(kit, page=batch), EpisodeCleanup(kit, batch=batch), MemoryJobs(kit)
    return Opened(
        handlers=_handlers(ground, kit, sweep, cleanup),
        outboxes={QUEUE: kit.outbox},
        queues=[Queue(family=FAMILY, name=QUEUE, outbox=kit.outbox, handle=jobs.handle)],
        garbage=[GarbageStep(FAMILY, "done_knowledge_jobs", jobs.drop_done)],
        chores=keeping_chores(kit, sweep, cleanup),
    )


def keeping_chores(kit: Kit, sweep: DecaySweep, cleanup: EpisodeCleanup) -> list[Chore]:
    """Return the chores that the config has due at some time."""
    return [
        *Scheduled.of(kit, "decay_sweep").chores(sweep.run, sweep.tenants),
        *Scheduled.of(kit, "episode_cleanup").chores(cleanup.run, cleanup.tenants),
    ]


def _handlers(ground: Ground, kit: Kit, sweep: DecaySweep, cleanup: EpisodeCleanup) -> Mapping[str, Handler]:
    done_by: dict[Operation, Handler] = {}
    if ground.roles.serves:
        done_by[w.RUN_CLEANUP] = cleanup.on_request
    if ground.roles.administers:
        done_by[w.SWEEP] = sweep.on_request
        done_by[w.CLEAN_UP_ALL] = cleanup.for_all
        done_by[w.SCHEDULES] = Schedules(kit).tell
    return {operation.name: handle for operation, handle in done_by.items()}
