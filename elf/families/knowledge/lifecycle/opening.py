"""Puts the lifecycle of memories to work in a process."""

from __future__ import annotations

from elf.api.operation import Handler, Operation
from elf.families.knowledge.api import lifecycle as lc
from elf.families.knowledge.kit import Kit
from elf.families.knowledge.lifecycle.marks import RuleMarks
from elf.families.knowledge.lifecycle.states import MemoryStates
from elf.family import Opened
from elf.ground import Ground


def open_lifecycle(ground: Ground, kit: Kit) -> Opened:
    """Return what confirms, forgets and judges memories."""
    if not ground.roles.serves:
        return Opened()
    states, marks = MemoryStates(kit), RuleMarks(kit)
    done_by: dict[Operation, Handler] = {
        lc.CONFIRM: states.confirm,
        lc.FORGET: states.forget,
        lc.MARK_HELPFUL: marks.mark_helpful,
        lc.MARK_HARMFUL: marks.mark_harmful,
    }
    return Opened(handlers={operation.name: handle for operation, handle in done_by.items()})
