"""Answers as structs, in which values stand as the JSON that they were written as."""

from __future__ import annotations

from datetime import datetime

import msgspec

from elf.families.store.model import Row


class Item(msgspec.Struct, frozen=True, kw_only=True):
    namespace: list[str]
    key: str
    value: msgspec.Raw
    created_at: datetime
    updated_at: datetime
    expires_at: datetime | None
    score: float | None


class Found(msgspec.Struct, frozen=True):
    item: Item | None
    more: bool


class FoundAll(msgspec.Struct, frozen=True):
    items: list[Item]
    more: bool


class Namespaces(msgspec.Struct, frozen=True):
    namespaces: list[list[str]]


class StoredValue(msgspec.Struct, frozen=True):
    indexed_chars: int | None


class Result(msgspec.Struct, frozen=True, kw_only=True):
    item: Item | None = None
    items: list[Item] | None = None
    namespaces: list[list[str]] | None = None
    indexed_chars: int | None = None
    more: bool = False


class Results(msgspec.Struct, frozen=True):
    results: list[Result]


def item_of(row: Row, score: float | None) -> Item:
    """Return a row as an item."""
    return Item(
        namespace=row["namespace"],
        key=row["key"],
        value=msgspec.Raw(row["value"].encode()),
        created_at=row["created_at"],
        updated_at=row["updated_at"],
        expires_at=row["expires_at"],
        score=score,
    )
