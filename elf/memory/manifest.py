"""The one memory, as everything that knows only families sees it: it is opened last, on what the others offer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from elf.family import Family, Opened
from elf.memory.api.operations import ADMIN_OPERATIONS, OPERATIONS
from elf.memory.api.spans import MEMORY_SPANS
from elf.memory.api.tools import TOOLS, instructions
from elf.memory.model import FAMILY

if TYPE_CHECKING:
    from elf.ground import Ground


def _open(ground: Ground) -> Opened:
    from elf.memory.opening import open_memory

    return open_memory(ground)


MEMORY: Final = Family(
    name=FAMILY,
    operations=OPERATIONS,
    admin_operations=ADMIN_OPERATIONS,
    tools=TOOLS,
    about=instructions,
    open=_open,
    mcp="/mcp/memory",
    spans=MEMORY_SPANS,
)
