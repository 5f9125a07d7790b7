"""The knowledge family, as everything that knows only families sees it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from elf.config.tables.knowledge import KnowledgeTable
from elf.families.knowledge.api.operations import ADMIN_OPERATIONS, OPERATIONS
from elf.families.knowledge.api.tools import TOOLS, instructions
from elf.families.knowledge.model import FAMILY
from elf.family import Family, Opened

if TYPE_CHECKING:
    from elf.ground import Ground


def _open(ground: Ground) -> Opened:
    from elf.families.knowledge.opening import open_knowledge

    return open_knowledge(ground)


KNOWLEDGE: Final = Family(
    name=FAMILY,
    table=KnowledgeTable,
    operations=OPERATIONS,
    admin_operations=ADMIN_OPERATIONS,
    tools=TOOLS,
    about=instructions,
    open=_open,
)
