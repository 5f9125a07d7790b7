"""What the README shows: its sections and the blocks in them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

README = Path(__file__).resolve().parents[1] / "README.md"

_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class Block:
    """What stands between two lines of backticks, and the language that the first one names."""

    language: str
    text: str


def section(title: str) -> str:
    """Return the text below a heading, up to the next one of its kind."""
    _, found, after = README.read_text(encoding="utf-8").partition(f"\n## {title}\n")
    assert found, f"the README has no section {title!r}"
    return after.partition("\n## ")[0]


def blocks(text: str) -> list[Block]:
    """The blocks of a text, in their order."""
    return [Block(*match.groups()) for match in _BLOCK.finditer(text)]
