"""Puts the writing of memories to work in a process."""

from __future__ import annotations

from elf.api.operation import Handler, Operation
from elf.families.knowledge.api import writing as w
from elf.families.knowledge.kit import Kit
from elf.families.knowledge.writing.links import LinkWriting
from elf.families.knowledge.writing.remembering import EpisodeRemembering
from elf.families.knowledge.writing.service import MemoryWriting
from elf.family import Opened
from elf.ground import Ground


def open_writing(ground: Ground, kit: Kit) -> Opened:
    """Return what stores episodes, facts, rules and links."""
    if ground.texts is None:
        return Opened()
    memories, links = MemoryWriting(kit), LinkWriting(kit)
    if not ground.roles.serves:
        return Opened(remember=EpisodeRemembering(memories))
    done_by: dict[Operation, Handler] = {
        w.STORE_EPISODE: memories.store_episode,
        w.STORE_EPISODES: memories.store_episodes,
        w.STORE_FACT: memories.store_fact,
        w.STORE_FACTS: memories.store_facts,
        w.STORE_RULE: memories.store_rule,
        w.STORE_RULES: memories.store_rules,
        w.CREATE_LINK: links.create,
    }
    return Opened(
        handlers={operation.name: handle for operation, handle in done_by.items()},
        remember=EpisodeRemembering(memories),
    )
