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

WEAK_KEYS: Final = (
    "", "\n", "0", "1234", "12345", "123456", "1234567", "12345678", "123456789", "1234567890", "abc", "abc123",
    "admin", "api-key", "api_key", "apikey", "change-me", "change_me", "changeit", "changeme", "default", "demo",
    "dev", "elf", "elf_", "example", "foo", "key", "letmein", "local", "memory", "none", "null", "pass", "passw0rd",
    "password", "postgres", "qwerty", "root", "secret", "test", "token", "user", "xxx", "your-api-key",
)  # fmt: skip
"""What people write where a key is to come, so that it is the first that a stranger tries."""

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
