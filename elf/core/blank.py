"""What makes text blank, written so that every engine of regular expressions agrees."""

from __future__ import annotations

from typing import Final

NOT_BLANK: Final = r"[^\t-\r \u0085\u00A0\u1680\u2000-\u200A\u2028\u2029\u202F\u205F\u3000]"
"""A character that is not white space as Unicode has it. What `\\S` stands for, the engines do not agree on."""
