"""The files of Claude's memory tool in ELF: the extra `anthropic` of the package."""

from __future__ import annotations

from elf.claude.tool import AsyncElfMemoryTool, ElfMemoryTool

__all__ = ["AsyncElfMemoryTool", "ElfMemoryTool"]
