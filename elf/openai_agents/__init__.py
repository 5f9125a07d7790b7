"""Sessions of the OpenAI Agents SDK in ELF: the extra `openai-agents` of the package."""

from __future__ import annotations

from elf.openai_agents.session import ElfSession

__all__ = ["ElfSession"]
