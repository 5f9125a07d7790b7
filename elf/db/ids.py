"""Ids in bulk: the driver's own UUID class, a `uuid.UUID` in every respect that is made and hashed ten times faster."""

from __future__ import annotations

from uuid import UUID

from asyncpg.pgproto import pgproto

ID_BYTES = 16

DriverUUID = pgproto.UUID


def split_ids(joined: bytes) -> list[UUID]:
    """Return the ids whose 16 bytes stand one after the other in `joined`. Raises ValueError for a broken length."""
    if len(joined) % ID_BYTES:
        raise ValueError(f"{len(joined)} bytes are no sequence of ids of {ID_BYTES} bytes")
    return [DriverUUID(joined[start : start + ID_BYTES]) for start in range(0, len(joined), ID_BYTES)]
