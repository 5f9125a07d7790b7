"""Puts the registry of entities to work in a process."""

from __future__ import annotations

from elf.api.operation import Handler, Operation
from elf.families.knowledge.api import entities as e
from elf.families.knowledge.api import listing as a
from elf.families.knowledge.entities.merging import EntityMerging
from elf.families.knowledge.entities.registry import EntityRegistry
from elf.families.knowledge.entities.resolution import EntityResolution
from elf.families.knowledge.kit import Kit
from elf.family import Opened
from elf.ground import Ground


def open_entities(ground: Ground, kit: Kit) -> Opened:
    """Return what makes, finds and merges entities."""
    if not ground.roles.serves:
        return Opened()
    registry = EntityRegistry(kit)
    done_by: dict[Operation, Handler] = {
        e.CREATE_ENTITY: registry.create,
        e.GET_ENTITY: registry.get,
        e.UPDATE_ENTITY: registry.update,
        e.RESOLVE_ENTITY: EntityResolution(kit).resolve,
        e.MERGE_ENTITIES: EntityMerging(kit).merge,
        a.LIST_ENTITIES: registry.page,
    }
    return Opened(handlers={operation.name: handle for operation, handle in done_by.items()})
