"""Ids in bulk: the driver's own UUID class, a `uuid.UUID` in every respect that is made and hashed ten times faster."""

from __future__ import annotations

import os
from uuid import UUID

from asyncpg.pgproto import pgproto

ID_BYTES = 16

DriverUUID = pgproto.UUID


def random_ids(count: int) -> list[UUID]:
    """Return fresh random ids (UUIDv4) from one read of the system's source of randomness."""
    joined = bytearray(os.urandom(ID_BYTES * count))
    for start in range(0, len(joined), ID_BYTES):
        joined[start + 6] = joined[start + 6] & 0x0F | 0x40  # the version
        joined[start + 8] = joined[start + 8] & 0x3F | 0x80  # the variant
    return split_ids(bytes(joined))


def split_ids(joined: bytes) -> list[UUID]:
    """Return the ids whose 16 bytes stand one after the other in `joined`. Raises ValueError for a broken length."""
    if len(joined) % ID_BYTES:
        raise ValueError(f"{len(joined)} bytes are no sequence of ids of {ID_BYTES} bytes")
    return [DriverUUID(joined[start : start + ID_BYTES]) for start in range(0, len(joined), ID_BYTES)]
