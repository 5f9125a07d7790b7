"""What the one memory can be asked for, without the services that do it."""

from __future__ import annotations

from typing import Final

from elf.api.operation import Operation
from elf.memory.api.context import CONTEXT
from elf.memory.api.erasing import ERASING
from elf.memory.api.forgetting import FORGET
from elf.memory.api.items import READ
from elf.memory.api.recalling import EXPLAIN, RECALL
from elf.memory.api.remembering import REMEMBER, REMEMBERED
from elf.memory.api.transferring import TRANSFERRING

OPERATIONS: Final[tuple[Operation, ...]] = (RECALL, CONTEXT, EXPLAIN, READ, REMEMBER, REMEMBERED, FORGET)
ADMIN_OPERATIONS: Final[tuple[Operation, ...]] = (*ERASING, *TRANSFERRING)
