"""Keys of programs: how one is made, what of it is kept, and which strings can be one."""

from __future__ import annotations

import re
import secrets
from hashlib import sha256
from typing import Final

PREFIX: Final = "elf_"
"""How each key begins that is made here, so that who finds one in a file or a log knows what it is."""

BYTES: Final = 32
HASH: Final = "sha256:"

_SENDABLE = re.compile(r"[!-~]+")


def new_key() -> str:
    """Return a key that nobody can guess."""
    return PREFIX + secrets.token_urlsafe(BYTES)


def hash_of(key: str) -> str:
    """Return what a config keeps of a key."""
    return HASH + sha256(key.encode()).hexdigest()


def checked_key(key: str) -> str:
    """Return the key, or token, that is to be sent. Raises ValueError, which does not show it, when a header cannot."""
    if not _SENDABLE.fullmatch(key):
        raise ValueError("must be of one or more printable ASCII characters, without spaces")
    return key
