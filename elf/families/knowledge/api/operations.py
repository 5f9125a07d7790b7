"""What the knowledge family can be asked for, without the services that do it."""

from __future__ import annotations

from typing import Final

from elf.api.operation import Operation
from elf.families.knowledge.api.entities import ENTITIES
from elf.families.knowledge.api.lifecycle import LIFECYCLE
from elf.families.knowledge.api.listing import LISTING
from elf.families.knowledge.api.searching import FINDING
from elf.families.knowledge.api.working import CLEAN_UP_ALL, ERASE, REEMBED, RUN_CLEANUP, SCHEDULES, SWEEP
from elf.families.knowledge.api.writing import WRITING

OPERATIONS: Final[tuple[Operation, ...]] = (
    *WRITING,
    *LIFECYCLE,
    *LISTING,
    *FINDING,
    *ENTITIES,
    RUN_CLEANUP,
)
ADMIN_OPERATIONS: Final[tuple[Operation, ...]] = (SWEEP, CLEAN_UP_ALL, REEMBED, ERASE, SCHEDULES)
