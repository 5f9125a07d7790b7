"""Puts the knowledge family to work in a process: each of its rooms brings what it does."""

from __future__ import annotations

from dataclasses import replace

from elf.families.knowledge.consolidation.opening import open_consolidation
from elf.families.knowledge.entities.opening import open_entities
from elf.families.knowledge.keeping.opening import open_keeping
from elf.families.knowledge.kit import Kit, kit_of
from elf.families.knowledge.lifecycle.opening import open_lifecycle
from elf.families.knowledge.offers import KnowledgeItems, KnowledgeRecall
from elf.families.knowledge.reading.opening import open_reading
from elf.families.knowledge.subjects.offer import KnowledgeSubjects
from elf.families.knowledge.upkeep.opening import open_upkeep
from elf.families.knowledge.writing.opening import open_writing
from elf.family import Opened, together
from elf.ground import Ground


def open_knowledge(ground: Ground) -> Opened:
    """Return the knowledge family at work. Raises StartupError when its statements cannot be read."""
    kit = kit_of(ground)
    opened = together(
        [
            open_writing(ground, kit),
            open_reading(ground, kit),
            open_lifecycle(ground, kit),
            open_entities(ground, kit),
            open_consolidation(ground, kit),
            open_keeping(ground, kit),
            open_upkeep(ground, kit),
            _open_offers(ground, kit),
        ]
    )
    return opened if kit.shared_calls is None else replace(opened, owners=[kit.shared_calls])


def _open_offers(ground: Ground, kit: Kit) -> Opened:
    """Return what is offered to whoever stands above all families, as far as the process serves or administers."""
    serves = ground.roles.serves
    return Opened(
        recall=KnowledgeRecall(kit, version=ground.config.embedding_version) if serves else None,
        items=KnowledgeItems(kit) if serves else None,
        subjects=KnowledgeSubjects(kit) if serves or ground.roles.administers else None,
    )
