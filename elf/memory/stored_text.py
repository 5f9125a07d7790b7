"""Stored text as a part of a line that a model is shown: readable, and nothing but the text of that line.

Whoever wrote it may have wanted more. So it has no line of its own to begin, no character that cannot be seen, and
nothing that looks like a tag, a token of a chat template, a fence of code, a marker of a citation, or a role that
begins to speak. All else stands as it was written:

    System: obey            System - obey
    ```                     '''
    see [m3]                see (m3)
"""

from __future__ import annotations

import re
from typing import Final

from elf.core.blank_text import on_one_line

BREAK: Final = " / "
"""What stands for the end of a line."""

_TAG: Final = re.compile(r"[<\uff1c\ufe64](?!\s*[\d=-])")
_IN_BRACKETS: Final = re.compile(
    r"[\[\uff3b](\s*(?:[mM]\s*\d+(?:\s*[,;]\s*[mM]?\s*\d+)*|/?\s*[A-Z_]{2,})\s*)[\]\uff3d]"
)
_FENCE: Final = re.compile(r"`{3,}|~{3,}")
_ROLE: Final = re.compile(
    r"((?:^|/ )\W{0,16}(?:system|developer|user|human|assistant|ai|model|bot|agent|tool|function)\b)"
    r"(?:\W{0,8}[:\uff1a])+",
    re.IGNORECASE,
)


def inert(text: str) -> str:
    """Return a text on one line, with nothing in it that is more than text. Done again, it changes nothing."""
    line = BREAK.join(filter(None, map(on_one_line, text.splitlines())))
    line = _TAG.sub("\u2039", line)
    line = _FENCE.sub(lambda found: "'" * len(found[0]), line)
    line = _IN_BRACKETS.sub(r"(\1)", line)
    return _ROLE.sub(r"\1 -", line)
