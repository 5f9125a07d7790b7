"""What of a text cannot be seen, written so that every engine of regular expressions agrees."""

from __future__ import annotations

import re
from typing import Final

# White_Space, format characters (category Cf) and Default_Ignorable_Code_Point, as of Unicode 17.
_UNSEEN: Final = (
    (0x09, 0x0D), (0x20, 0x20), (0x85, 0x85), (0xA0, 0xA0), (0xAD, 0xAD), (0x34F, 0x34F), (0x600, 0x605),
    (0x61C, 0x61C), (0x6DD, 0x6DD), (0x70F, 0x70F), (0x890, 0x891), (0x8E2, 0x8E2), (0x115F, 0x1160),
    (0x1680, 0x1680), (0x17B4, 0x17B5), (0x180B, 0x180F), (0x2000, 0x200F), (0x2028, 0x202F), (0x205F, 0x206F),
    (0x3000, 0x3000), (0x3164, 0x3164), (0xFE00, 0xFE0F), (0xFEFF, 0xFEFF), (0xFFA0, 0xFFA0), (0xFFF0, 0xFFFB),
    (0x110BD, 0x110BD), (0x110CD, 0x110CD), (0x13430, 0x1343F), (0x1BCA0, 0x1BCA3), (0x1D173, 0x1D17A),
    (0xE0000, 0xE0FFF),
)  # fmt: skip


def _written(point: int) -> str:
    # The engines agree on no escape for what is above U+FFFF, so it stands as it is.
    return f"\\u{point:04X}" if point <= 0xFFFF else chr(point)


def _written_range(first: int, last: int) -> str:
    return _written(first) if first == last else f"{_written(first)}-{_written(last)}"


_BLANK: Final = "".join(_written_range(first, last) for first, last in _UNSEEN)
NOT_BLANK: Final = f"[^{_BLANK}]"
"""A character that can be seen. What `\\S` stands for, the engines do not agree on, and it takes in the zero-width
characters."""

_SEEN: Final = re.compile(NOT_BLANK)
_UNSEEN_RUN: Final = re.compile(f"[{_BLANK}\\x00-\\x1f\\x7f-\\x9f]+")


def is_blank(text: str) -> bool:
    """Tell whether nothing of a text can be seen: it is empty, white space, or characters without a width.

    Python counts the four separators of ASCII as white space, which Unicode does not.
    """
    return _SEEN.search(text.strip()) is None


def on_one_line(text: str) -> str:
    """Return a text without what of it cannot be seen: white space in a row becomes one space, all else is dropped."""
    return _UNSEEN_RUN.sub(lambda run: " " if any(map(str.isspace, run[0])) else "", text).strip(" ")
