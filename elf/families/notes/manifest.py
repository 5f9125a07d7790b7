"""The notes family, as everything that knows only families sees it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from elf.families.notes.api.admin_operations import ADMIN_OPERATIONS
from elf.families.notes.api.operations import OPERATIONS
from elf.families.notes.api.spans import MEMORY_SPANS
from elf.families.notes.api.tools import TOOLS, instructions
from elf.families.notes.model import FAMILY
from elf.family import Family, Opened

if TYPE_CHECKING:
    from elf.ground import Ground
    from elf.providers.local.answers import LocalAnswer


def _open(ground: Ground) -> Opened:
    from elf.families.notes.opening import open_notes

    return open_notes(ground)


def _local_answers() -> list[LocalAnswer]:
    from elf.families.notes.writing.local_extraction import RULE_BASED_EXTRACTION

    return [RULE_BASED_EXTRACTION]


NOTES: Final = Family(
    name=FAMILY,
    operations=OPERATIONS,
    admin_operations=ADMIN_OPERATIONS,
    tools=TOOLS,
    about=instructions,
    open=_open,
    local_answers=_local_answers,
    spans=MEMORY_SPANS,
    mcp="/mcp",
)
