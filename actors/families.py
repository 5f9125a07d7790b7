"""The families of memory that this service offers: a new one is one entry here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from elf.db.schema import Step, schema_steps
from elf.families.assistant.manifest import ASSISTANT
from elf.families.conversations.manifest import CONVERSATIONS
from elf.families.graph.manifest import GRAPH
from elf.families.knowledge.manifest import KNOWLEDGE
from elf.families.notes.manifest import NOTES
from elf.families.store.manifest import STORE
from elf.family import Family
from elf.memory.manifest import MEMORY
from elf.webhooks.manifest import WEBHOOKS

FAMILIES: Final[tuple[Family, ...]] = (
    NOTES,
    KNOWLEDGE,
    CONVERSATIONS,
    GRAPH,
    ASSISTANT,
    STORE,
    WEBHOOKS,
    MEMORY,
)


def steps_on(families: Sequence[Family] = FAMILIES) -> tuple[Step, ...]:
    """Return the steps that the database of these families needs, in their order."""
    return schema_steps((family.name, family.sql_folder) for family in families)
