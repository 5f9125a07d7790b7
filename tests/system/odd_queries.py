"""What may come as a query and hardly is one."""

from __future__ import annotations

from typing import Final

ODD_QUERIES: Final = [
    "?!.,;:-()[]{}<>", "what is the of and", "\U0001f408\U0001f525", "a" * 2048, "\u00e9" * 2048, "\u200bx",
    "\x01\x1b[31m", "\ufffe", "e" + "\u0301" * 500, "' & | ! <-> :* \\ \\' ('", "ferry " * 341,
    " ".join(f"w{number}" for number in range(400))[:2048], "http://example.com/a\\b?c=d'e <b a='x\\y'>&amp;",
]  # fmt: skip
