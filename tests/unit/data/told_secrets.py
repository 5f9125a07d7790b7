"""Texts with one secret each, as people and programs hold them, by someone who had not seen the rules.

Each line of `told_secrets.txt` is a text with \\n, \\t and \\\\ escaped, a tab, and its secret. Those below the line
`%%%% missed` are known not to be found: nothing tells them surely from texts without a secret. Of the 149 lines 40 were
missed or cut short when first measured. Keys with a vendor's mark are left out: `planted_secrets` makes them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

FILE: Final = Path(__file__).with_suffix(".txt")
MISSED: Final = "%%%% missed\n"
ESCAPED: Final = re.compile(r"\\(.)")
PLAIN: Final = {"n": "\n", "t": "\t", "\\": "\\"}


@dataclass(frozen=True)
class Told:
    """A text and the secret in it."""

    text: str
    secret: str


def told_secrets(*, missed: bool = False) -> list[Told]:
    """Return the texts whose secret is found, or those whose secret is missed, in the order of the file."""
    lines = FILE.read_text(encoding="utf-8").split(MISSED)[missed].splitlines()
    return [Told(*map(_plain, line.split("\t"))) for line in lines]


def _plain(field: str) -> str:
    return ESCAPED.sub(lambda match: PLAIN[match[1]], field)
