"""What the one memory can be asked for, without the services that do it."""

from __future__ import annotations

from typing import Final

from elf.api.operation import Operation
from elf.memory.api.context import CONTEXT
from elf.memory.api.items import READ
from elf.memory.api.recalling import EXPLAIN, RECALL
from elf.memory.api.remembering import REMEMBER, REMEMBERED

OPERATIONS: Final[tuple[Operation, ...]] = (RECALL, CONTEXT, EXPLAIN, READ, REMEMBER, REMEMBERED)
