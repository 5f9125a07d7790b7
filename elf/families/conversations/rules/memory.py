"""What comes of an agent's memory when the agent says all that it remembers now.

The items of an epoch are compared as JSON values: the order of keys is no difference, 1 equals 1.0 but not true.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

import blake3
import msgspec

NOTHING: Final = b""

SyncOutcome = Literal["noop", "first", "extended", "new_epoch"]
"""What came of a sync: nothing was to be written, or a first epoch began, the latest went on, a new one began."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Epoch:
    """The latest epoch of a client's memory: how many items it has, their running digest, and their content type.

    `content_type` is None when there are several.
    """

    number: int
    count: int
    digest: bytes
    content_type: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """What is to be written: `items` as one entry of an epoch, which goes on, or begins with it."""

    outcome: SyncOutcome
    epoch: int
    items: Sequence[Any]


def change_of(latest: Epoch | None, content_type: str, items: Sequence[Any]) -> Change | None:
    """Return what a memory of these items changes, or None when it is as it was."""
    if latest is None:
        return Change(outcome="first", epoch=1, items=items) if items else None
    begins_alike = _begins_with(items, latest)
    if begins_alike and len(items) == latest.count:
        # What was emptied has no items that could be of another type.
        return None if latest.content_type == content_type or not items else _anew(latest, items)
    if begins_alike and items and latest.content_type == content_type:
        return Change(outcome="extended", epoch=latest.number, items=items[latest.count :])
    return _anew(latest, items)


def _anew(latest: Epoch, items: Sequence[Any]) -> Change:
    return Change(outcome="new_epoch", epoch=latest.number + 1, items=items)


def _begins_with(items: Sequence[Any], latest: Epoch) -> bool:
    return len(items) >= latest.count and running_digest(NOTHING, items[: latest.count]) == latest.digest


def continued(latest: Epoch | None, number: int, content_type: str, items: Sequence[Any]) -> Epoch:
    """Return an epoch of a number after items were written to it; `latest` is the latest before."""
    if latest is None or latest.number != number:
        return Epoch(
            number=number,
            count=len(items),
            digest=running_digest(NOTHING, items),
            content_type=content_type,
        )
    same = content_type if latest.content_type == content_type else None
    digest = running_digest(latest.digest, items)
    return Epoch(number=number, count=latest.count + len(items), digest=digest, content_type=same)


def running_digest(before: bytes, items: Sequence[Any]) -> bytes:
    """Return the digest of items that follow those of a digest; the digest of nothing is empty."""
    digest = before
    for item in items:
        digest = blake3.blake3(digest + msgspec.json.encode(_plain(item), order="sorted")).digest()
    return digest


def _plain(value: Any) -> Any:
    """Return a value in which equal numbers are the same."""
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value
