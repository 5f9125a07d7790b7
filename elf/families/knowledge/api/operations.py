"""What the knowledge family can be asked for, without the services that do it."""

from __future__ import annotations

from typing import Final

from elf.api.operation import Operation
from elf.families.knowledge.api.listing import LISTING
from elf.families.knowledge.api.writing import WRITING

OPERATIONS: Final[tuple[Operation, ...]] = (*WRITING, *LISTING)
ADMIN_OPERATIONS: Final[tuple[Operation, ...]] = ()
