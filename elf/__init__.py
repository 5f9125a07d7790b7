"""ELF: a memory for AI agents. `from elf import Memory` is all that an agent needs; docs/memory.md shows it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from elf.client.memory import AsyncMemory, Memory

__all__ = ["AsyncMemory", "Memory"]


def __getattr__(name: str) -> Any:
    # Everything of ELF imports this package first: only who asks for a memory loads the client.
    if name in __all__:
        from elf.client import memory

        return getattr(memory, name)
    raise AttributeError(f"module 'elf' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
