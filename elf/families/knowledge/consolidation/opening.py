"""Puts consolidation to work in a process."""

from __future__ import annotations

from elf.api.operation import Handler, Operation
from elf.families.knowledge.api import working as k
from elf.families.knowledge.consolidation.jobs import QUEUE, EpisodeJobs
from elf.families.knowledge.consolidation.service import Consolidation
from elf.families.knowledge.keeping.schedule import Scheduled
from elf.families.knowledge.kit import Kit
from elf.family import Opened
from elf.ground import Ground


def open_consolidation(ground: Ground, kit: Kit) -> Opened:
    """Return what turns episodes into facts and rules. Without a model for it there is no chore, and a run counts."""
    chat = ground.models.consolidator
    consolidation = Consolidation(kit, chat)
    done_by: dict[Operation, Handler] = {}
    if ground.roles.serves:
        done_by[k.RUN_CONSOLIDATION] = consolidation.run
    if ground.roles.administers:
        done_by[k.CONSOLIDATE_ALL] = consolidation.run_all
        done_by[k.REQUEUE] = consolidation.requeue
        done_by[k.DEAD_LETTERS] = consolidation.dead_letters
    chores = (
        []
        if chat is None
        else Scheduled.of(kit, "consolidation").chores(consolidation.drain, consolidation.subjects)
    )
    return Opened(
        handlers={operation.name: handle for operation, handle in done_by.items()},
        chores=chores,
        jobs={QUEUE: EpisodeJobs(kit)},
    )
