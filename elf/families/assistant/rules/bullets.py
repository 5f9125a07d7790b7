"""Memories as lines of a prompt."""

from __future__ import annotations

from elf.families.assistant.model import Memory


def bullet(memory: Memory) -> str:
    """Return a memory in a line, and how it is done, step by step, in those that follow."""
    line = f"[{memory.category}] {memory.text}"
    return line if memory.steps_text is None else f"{line}\n{memory.steps_text}"
