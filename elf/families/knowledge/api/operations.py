"""What the knowledge family can be asked for, without the services that do it."""

from __future__ import annotations

from typing import Final

from elf.api.operation import Operation
from elf.families.knowledge.api.entities import ENTITIES
from elf.families.knowledge.api.lifecycle import LIFECYCLE
from elf.families.knowledge.api.listing import LISTING
from elf.families.knowledge.api.searching import FINDING
from elf.families.knowledge.api.working import ADMIN_WORKING, WORKING
from elf.families.knowledge.api.writing import WRITING

OPERATIONS: Final[tuple[Operation, ...]] = (
    *WRITING,
    *LIFECYCLE,
    *LISTING,
    *FINDING,
    *ENTITIES,
    *WORKING,
)
ADMIN_OPERATIONS: Final[tuple[Operation, ...]] = ADMIN_WORKING
