"""Memories as lines of a prompt."""

from __future__ import annotations

from elf.core.stored_text import inert
from elf.families.assistant.model import Memory

INDENT = "  "


def bullet(memory: Memory) -> str:
    """Return a memory in a line, and how it is done, step by step, in those that follow.

    A text has no line breaks, and steps are indented: whatever a memory says, no line of it looks like another memory.
    """
    lines = [] if memory.steps_text is None else memory.steps_text.splitlines()
    return "\n".join(
        [f"[{memory.category}] {inert(memory.text)}", *(f"{INDENT}{inert(line)}" for line in lines)]
    )
