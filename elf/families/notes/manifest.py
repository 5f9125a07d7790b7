"""The notes family, as everything that knows only families sees it."""

from __future__ import annotations

from typing import Final

from elf.families.notes.admin_operations import ADMIN_OPERATIONS
from elf.families.notes.model import FAMILY
from elf.families.notes.operations import OPERATIONS
from elf.families.notes.tools import TOOLS, instructions
from elf.family import Family

NOTES: Final = Family(
    name=FAMILY,
    operations=OPERATIONS,
    admin_operations=ADMIN_OPERATIONS,
    tools=TOOLS,
    about=instructions,
)
