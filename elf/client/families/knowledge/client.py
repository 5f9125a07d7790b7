"""The client of the knowledge family."""

from __future__ import annotations

from elf.client.families.knowledge.entities import Entities
from elf.client.families.knowledge.finding import Finding
from elf.client.families.knowledge.reading import Reading
from elf.client.families.knowledge.storing import Storing
from elf.client.families.knowledge.working import Working
from elf.client.family import C_co


class KnowledgeClient(
    Working[C_co], Entities[C_co], Reading[C_co], Finding[C_co], Storing[C_co]
):  # help lists what the last of them has first
    """What agents learn: episodes, facts, rules and entities of one tenant. docs/knowledge.md shows it."""

    name = "knowledge"
    about = "what agents learn: episodes, facts and rules"
    owned_by = ("tenant_id",)
