"""Credentials in identifiers, which are stored, indexed, logged and shown.

An identifier may be any number and any run of letters and digits: a user's number passes for a card's now and then,
and a hash looks as random as a key. So only what cannot be meant as one counts: the marked keys and tokens of
providers, JWTs, private keys, seed phrases, addresses with a password, and passwords and keys that are named such.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from elf.core.secrets.assignments import find_assignments
from elf.core.secrets.connections import find_connections
from elf.core.secrets.finding import Detector
from elf.core.secrets.folding import fold, lower
from elf.core.secrets.phrases import find_seed_phrases
from elf.core.secrets.private_keys import find_private_keys
from elf.core.secrets.tokens import find_tokens

_DETECTORS: Final[tuple[Detector, ...]] = (
    find_private_keys,
    find_tokens,
    find_connections,
    find_seed_phrases,
    find_assignments,
)
_MERELY_RANDOM: Final = "token"


@lru_cache(maxsize=4096)  # the same few again and again
def find_credential(identifier: str) -> str | None:
    """Return the kind of a credential that an identifier holds, or None."""
    text = fold(identifier).text
    lowered = lower(text)
    kinds = (found.kind for detect in _DETECTORS for found in detect(text, lowered))
    return next((kind for kind in kinds if kind != _MERELY_RANDOM), None)
