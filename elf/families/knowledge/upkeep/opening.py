"""Puts to work what operators ask for now and then: another model, erasing, sharing, and how much there is."""

from __future__ import annotations

from elf.api.operation import Handler, Operation
from elf.families.knowledge.api import working as k
from elf.families.knowledge.kit import Kit
from elf.families.knowledge.upkeep.census import MemoryCensus
from elf.families.knowledge.upkeep.erasing import Erasing
from elf.families.knowledge.upkeep.reembedding import Reembedding
from elf.families.knowledge.upkeep.sharing import Sharing
from elf.family import Opened
from elf.ground import Ground


def open_upkeep(ground: Ground, kit: Kit) -> Opened:
    """Return what moves memories to another model, erases and shares them, and counts them."""
    gauges = MemoryCensus(kit).gauges()
    if not ground.roles.administers:
        return Opened(stored_gauges=gauges)
    done_by: dict[Operation, Handler] = {
        k.REEMBED: Reembedding(kit, ground.config.embedding_version).run,
        k.ERASE: Erasing(kit).run,
        k.SHARE: Sharing(kit).run,
    }
    handlers = {operation.name: handle for operation, handle in done_by.items()}
    return Opened(handlers=handlers, stored_gauges=gauges)
