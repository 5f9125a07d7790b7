"""What the assistant family can be asked for, without the services that do it."""

from __future__ import annotations

from typing import Final

from elf.api.operation import Operation
from elf.families.assistant.api.checkpoints import CHECKPOINTS
from elf.families.assistant.api.consent import CONSENT
from elf.families.assistant.api.consolidation import CONSOLIDATE
from elf.families.assistant.api.history import HISTORY
from elf.families.assistant.api.memories import MEMORIES
from elf.families.assistant.api.procedures import PROCEDURES
from elf.families.assistant.api.querying import QUERYING
from elf.families.assistant.api.subjects import OWN, SUBJECTS
from elf.families.assistant.api.turn import TURN

OPERATIONS: Final[tuple[Operation, ...]] = (
    *MEMORIES, *HISTORY, *TURN, *CONSENT, *QUERYING, *PROCEDURES, *CHECKPOINTS, *OWN
)  # fmt: skip
ADMIN_OPERATIONS: Final[tuple[Operation, ...]] = (CONSOLIDATE, *SUBJECTS)
