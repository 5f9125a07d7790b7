"""What the assistant family can be asked for, without the services that do it."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from elf.api.bound import raised
from elf.api.operation import Operation
from elf.config.tables.assistant import Files
from elf.families.assistant.api.checkpoints import CHECKPOINTS, REDACT
from elf.families.assistant.api.consent import CONSENT
from elf.families.assistant.api.consolidation import CONSOLIDATE
from elf.families.assistant.api.files import FILES, body_bytes
from elf.families.assistant.api.history import HISTORY
from elf.families.assistant.api.memories import MEMORIES
from elf.families.assistant.api.procedures import PROCEDURES
from elf.families.assistant.api.querying import QUERYING
from elf.families.assistant.api.subjects import OWN, SUBJECTS
from elf.families.assistant.api.turn import TURN

OPERATIONS: Final[tuple[Operation, ...]] = (
    *MEMORIES, *HISTORY, *TURN, *CONSENT, *QUERYING, *PROCEDURES, *CHECKPOINTS, *FILES, *OWN
)  # fmt: skip
ADMIN_OPERATIONS: Final[tuple[Operation, ...]] = (CONSOLIDATE, REDACT, *SUBJECTS)


def operations_of(files: Files) -> tuple[Operation, ...]:
    """Return the operations with the bounds of a config."""
    return tuple(_bounded(one, files) if one in FILES else one for one in OPERATIONS)


def _bounded(operation: Operation, files: Files) -> Operation:
    same = replace(operation, request=raised(operation.request, files.model_dump()))
    if operation.max_body_bytes is None:
        return same
    return replace(same, max_body_bytes=body_bytes(files.max_bytes))
