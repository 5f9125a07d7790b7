"""Private keys in files of their own: PEM, PGP and PuTTY."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from elf.core.secrets.detector import Detector
from elf.core.secrets.finding import SecretFinding

_BEGIN: Final = re.compile(r"-{2,5} ?BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)? ?-{2,5}")
_END: Final = re.compile(r"-{2,5} ?END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)? ?-{2,5}")
_BODY: Final = re.compile(r"[A-Za-z0-9+/=\s\\:,-]*")
# The first letters of a key, or of the header of its armour.
_LEAD: Final = re.compile(r"(?:\s|\\[nrt]|[\"'+,`*>|#]){0,40}")
_FIRST: Final = re.compile(r"[A-Za-z0-9+/=_:-]{4,80}")
_STAND_IN: Final = re.compile(r"your|key|place_?holder|redacted|base64|x{4}", re.IGNORECASE)

_PUTTY: Final = "PuTTY-User-Key-File-"
_PUTTY_SECRET: Final = "Private-Lines:"
_LONGEST_PUTTY: Final = 8192  # characters before the secret lines, and of them


def _find_private_keys(text: str, _lowered: str) -> Iterator[SecretFinding]:
    """Yield every private key that has some of its letters: a header in a manual has none."""
    if "PRIVATE" in text:
        yield from _find_pem(text)
    if _PUTTY_SECRET in text:
        yield from _find_putty(text)


def _find_pem(text: str) -> Iterator[SecretFinding]:
    """Yield each private key up to its last line; up to where its letters stop when it was cut off."""
    position = 0
    has_end = True
    while (begin := _BEGIN.search(text, position)) is not None:
        position = begin.end()
        if not _has_letters(text, position):
            continue
        end = _END.search(text, position) if has_end else None
        has_end = end is not None
        stop = end or _BODY.match(text, position)
        position = position if stop is None else stop.end()
        yield SecretFinding("private_key", begin.start(), position)


def _has_letters(text: str, position: int) -> bool:
    lead = _LEAD.match(text, position)
    first = None if lead is None else _FIRST.match(text, lead.end())
    return first is not None and not first.group().islower() and _STAND_IN.search(first.group()) is None


def _find_putty(text: str) -> Iterator[SecretFinding]:
    position = text.find(_PUTTY)
    while position >= 0:
        secret = text.find(_PUTTY_SECRET, position, position + _LONGEST_PUTTY)
        end = min(secret + _LONGEST_PUTTY, len(text))
        if secret >= 0:
            yield SecretFinding("private_key", position, end)
        position = text.find(_PUTTY, position + 1 if secret < 0 else end)


PRIVATE_KEYS: Final = Detector(_find_private_keys, marks=("private",))
