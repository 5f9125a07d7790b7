"""Puts the reading of memories to work in a process."""

from __future__ import annotations

from elf.api.operation import Handler, Operation
from elf.families.knowledge.api import listing as a
from elf.families.knowledge.kit import Kit
from elf.families.knowledge.reading.listing import MemoryListing
from elf.family import Opened
from elf.ground import Ground


def open_reading(ground: Ground, kit: Kit) -> Opened:
    """Return what reads memories."""
    if not ground.roles.serves:
        return Opened()
    listing = MemoryListing(kit)
    done_by: dict[Operation, Handler] = {
        a.GET_MEMORY: listing.get,
        a.MEMORY_HISTORY: listing.history,
        a.MEMORY_LINKS: listing.links,
        a.LIST_EPISODES: listing.episodes,
        a.LIST_FACTS: listing.facts,
        a.LIST_RULES: listing.rules,
        a.LIST_EVENTS: listing.events,
    }
    return Opened(handlers={operation.name: handle for operation, handle in done_by.items()})
