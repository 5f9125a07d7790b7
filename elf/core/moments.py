"""Moments that were given: each is stored in UTC, where it has to be of the years that there are, too."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime

import msgspec


def check_moments(value: object) -> None:
    """Raise ValueError for a moment, anywhere in structs, lists and objects, without an offset or outside of the years
    1 to 9999 in UTC. It begins with the path, such as memory.created_at.
    """
    for path, moment in _moments("", value):
        if moment.tzinfo is None:
            raise ValueError(f"{path} has no offset from UTC")
        try:
            moment.astimezone(UTC)
        except OverflowError:
            raise ValueError(f"{path} is in no year from 1 to 9999 in UTC") from None


def _moments(path: str, value: object) -> Iterator[tuple[str, datetime]]:
    if isinstance(value, datetime):
        yield path, value
    elif isinstance(value, msgspec.Struct):
        for name in value.__struct_fields__:
            yield from _moments(f"{path}.{name}" if path else name, getattr(value, name))
    elif isinstance(value, Mapping):
        for name, one in value.items():
            yield from _moments(f"{path}.{name}" if path else str(name), one)
    elif isinstance(value, list | tuple):
        for place, one in enumerate(value):
            yield from _moments(f"{path}[{place}]", one)
