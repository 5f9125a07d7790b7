"""Digests by which what was said is known again."""

from __future__ import annotations

import blake3
import msgspec


def digest_of_json(value: object) -> bytes:
    """Return the digest of what JSON can hold, 32 bytes; the order of the names in an object does not matter."""
    return blake3.blake3(msgspec.json.encode(value, order="sorted")).digest()
