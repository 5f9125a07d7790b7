"""Text of a request in which NUL may stand, because it is dropped, and of which something has to be seen."""

from __future__ import annotations

import re
from typing import Final

from pydantic.config import JsonDict

from elf.core.blank_text import NOT_BLANK

# NUL is dropped, and Python strips ASCII's separators.
_SEEN: Final = f"[^\\u0000\\u001C-\\u001F{NOT_BLANK.removeprefix('[^')}"
SEEN: Final[JsonDict] = {"pattern": _SEEN}
"""What documents say of it."""


def is_seen(text: str) -> bool:
    """Tell whether something of a text can be seen."""
    return re.search(_SEEN, text) is not None


def seen(text: str) -> str:
    """Return a text without NUL. Raises ValueError when nothing of it can be seen."""
    text = text.replace("\x00", "")
    if not is_seen(text):
        raise ValueError("must not be blank")
    return text
