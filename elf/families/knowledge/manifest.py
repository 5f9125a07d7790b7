"""The knowledge family, as everything that knows only families sees it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from elf.config.tables.knowledge import KnowledgeTable
from elf.families.knowledge.api.operations import ADMIN_OPERATIONS, OPERATIONS
from elf.families.knowledge.api.spans import MEMORY_SPANS
from elf.families.knowledge.api.tools import TOOLS, instructions
from elf.families.knowledge.model import FAMILY
from elf.family import Family, Opened

if TYPE_CHECKING:
    from elf.ground import Ground
    from elf.providers.local.answers import LocalAnswer


def _open(ground: Ground) -> Opened:
    from elf.families.knowledge.opening import open_knowledge

    return open_knowledge(ground)


def _local_answers() -> list[LocalAnswer]:
    from elf.families.knowledge.consolidation.rules import RULE_BASED_CONSOLIDATION

    return [RULE_BASED_CONSOLIDATION]


KNOWLEDGE: Final = Family(
    name=FAMILY,
    table=KnowledgeTable,
    operations=OPERATIONS,
    admin_operations=ADMIN_OPERATIONS,
    tools=TOOLS,
    about=instructions,
    open=_open,
    spans=MEMORY_SPANS,
    local_answers=_local_answers,
)
