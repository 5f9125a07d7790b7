"""What `redact` writes in the place of a secret, and two ways to read a text that holds it.

A client can write the same, so a placeholder is trusted only for being no secret itself, and only where it names a kind
that exists. What someone puts into a placeholder of another kind is text like any other.
"""

from __future__ import annotations

import re
from typing import Final

from elf.core.secrets.folding import Folded, cut
from elf.core.secrets.token_rules import RULES

KINDS: Final = frozenset(rule.kind for rule in RULES) | {
    "bank_account", "card_code", "card_number", "connection_string", "credential", "driving_licence", "hex_key", "iban",
    "nhs_number", "passport", "password", "pin", "private_key", "seed_phrase", "street_address", "token", "us_ssn",
}  # fmt: skip
"""All kinds a finding can be of."""

MARK: Final = "[redacted:"
"""How a placeholder begins, in lower case."""

_GENUINE: Final = rf"\[REDACTED:(?:{'|'.join(sorted(KINDS))})\]"
_APART: Final = re.compile(rf"(?P<genuine>{_GENUINE})|\[REDACTED:", re.IGNORECASE)
_JOINED: Final = re.compile(
    r"\[REDACTED:[^\[\]\n]{0,200}+\](?P<last>[ \t\"'`.,;)}\]]{0,8}(?:\r?\n|$))?", re.IGNORECASE
)
_WALL: Final = "\n\ufffc\n"  # nothing reaches across it


def placeholder(kind: str) -> str:
    """Return what stands for a secret of a kind."""
    return f"[REDACTED:{kind}]"


def apart(text: str) -> Folded:
    """Return the text with a wall for each placeholder. What is in one that names no kind is laid open."""
    return cut(text, [(*found.span(), _WALL if found["genuine"] else "") for found in _APART.finditer(text)])


def joined(text: str) -> Folded:
    """Return the text with what stands before a placeholder and behind it, on its line, in one piece."""
    spans = []
    for found in _JOINED.finditer(text):
        is_last = found["last"] is not None
        spans.append(
            (found.start(), found.start("last") if is_last else found.end(), _WALL if is_last else "")
        )
    return cut(text, spans)
