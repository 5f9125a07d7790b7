"""Credentials in identifiers, which are stored, indexed, logged and shown.

An identifier may be any number and any run of letters and digits: a user's number passes for a card's now and then,
and a hash looks as random as a key. So only what cannot be meant as one counts: the marked keys and tokens of
providers, JWTs, private keys, seed phrases, addresses with a password, and passwords and keys that are named such.
"""

from __future__ import annotations

from typing import Final

from elf.core.secrets.assignments import ASSIGNMENTS
from elf.core.secrets.connections import CONNECTIONS
from elf.core.secrets.detector import detect
from elf.core.secrets.folding import fold
from elf.core.secrets.phrases import SEED_PHRASES
from elf.core.secrets.private_keys import PRIVATE_KEYS
from elf.core.secrets.tokens import TOKENS
from elf.core.text_cache import text_cache

_DETECTORS: Final = tuple(enumerate((PRIVATE_KEYS, TOKENS, CONNECTIONS, SEED_PHRASES, ASSIGNMENTS)))
_MERELY_RANDOM: Final = "token"


@text_cache(max_texts=4096, max_chars=256)  # the same few again and again
def find_credential(identifier: str) -> str | None:
    """Return the kind of a credential that an identifier holds, or None."""
    kinds = (found.kind for found, _ in detect(_DETECTORS, fold(identifier).text))
    return next((kind for kind in kinds if kind != _MERELY_RANDOM), None)
