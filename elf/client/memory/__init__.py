"""The memory of an agent in two lines: `from elf import Memory`, and `Memory()`. docs/memory.md shows it."""

from __future__ import annotations

from elf.client.memory.asynchronous import AsyncMemory
from elf.client.memory.blocking import Memory

__all__ = ["AsyncMemory", "Memory"]
