"""The client of the store: values by namespace and key."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Annotated, Literal

from msgspec import Struct

from elf.client.call import Call, nothing, post, reader
from elf.client.family import C_co, FamilyClient
from elf.client.json_value import JsonObject, JsonValue, encode
from elf.client.method import method

ROOT = "/v1/store"

Whose = Annotated[str | None, "whose values they are (default: your own)"]
Namespace = Annotated[Sequence[str], "its namespace: labels without a dot, the widest first"]
Key = Annotated[str, "its name within the namespace"]
Refresh = Annotated[bool, "what is read lives its time anew"]
NOT_INDEXED = False


class Item(Struct, frozen=True, kw_only=True):
    """A value, and where it is; `score` is how like a query it is."""

    namespace: list[str]
    key: str
    value: JsonValue
    created_at: datetime
    updated_at: datetime
    expires_at: datetime | None
    score: float | None


class Found(Struct, frozen=True):
    item: Item | None


class FoundItems(Struct, frozen=True):
    """Values that were found. `more` tells that there would be further ones, which made the answer too large."""

    items: list[Item]
    more: bool


class Namespaces(Struct, frozen=True):
    namespaces: list[list[str]]


class Result(Struct, frozen=True, kw_only=True):
    """What came of one operation of a batch: of a write `indexed_chars`, as that of StoredValue. `more` is as that of
    FoundItems.
    """

    item: Item | None
    items: list[Item] | None
    namespaces: list[list[str]] | None
    indexed_chars: int | None = None
    more: bool


class StoredValue(Struct, frozen=True):
    """What is found of a value that was written: its first `indexed_chars`, or all of it where that is None."""

    indexed_chars: int | None = None


class Results(Struct, frozen=True):
    results: list[Result]


_read_found = reader(Found)


def _item(content: bytes) -> Item | None:
    return _read_found(content).item


class StoreClient(FamilyClient[C_co]):
    """Values that programs keep by namespace and key. docs/store.md shows it.

    `elf.langgraph.ElfStore` is a store of LangGraph over it.
    """

    name = "store"
    about = "values by namespace and key"
    owned_by = ("tenant_id",)

    @method
    def put(
        self,
        namespace: Namespace,
        key: Key,
        value: Annotated[JsonValue, "any JSON"],
        *,
        index: Annotated[
            Sequence[str] | None,
            "a path in the value whose text it is found by, such as title or tags[*] (default: all of it)",
        ] = None,
        is_indexed: Annotated[bool, "it is found by its words"] = True,
        ttl: Annotated[float | None, "it is gone so many minutes after it was read or written last"] = None,
        user_id: Whose = None,
    ) -> Call[StoredValue]:
        """Keep a value, which takes the place of the one that is there, and return how much of it is found."""
        body = {
            **self.owner, "user_id": user_id, "namespace": [*namespace], "key": key,
            "index": (None if index is None else [*index]) if is_indexed else NOT_INDEXED, "ttl": ttl,
        }  # fmt: skip
        call = post(f"{ROOT}/put", {**body, "value": value}, reader(StoredValue))
        if value is not None:
            return call
        # Null is a value, and is not left out.
        given = {name: one for name, one in body.items() if one is not None}
        return replace(call, content=encode({**given, "value": None}))

    @method
    def get(
        self, namespace: Namespace, key: Key, *, refresh_ttl: Refresh = True, user_id: Whose = None
    ) -> Call[Item | None]:
        """Read a value; None where there is none."""
        body = {
            **self.owner, "user_id": user_id, "namespace": [*namespace], "key": key, "refresh_ttl": refresh_ttl,
        }  # fmt: skip
        return post(f"{ROOT}/get", body, _item)

    @method
    def delete(self, namespace: Namespace, key: Key, *, user_id: Whose = None) -> Call[None]:
        """Remove a value, if it is there."""
        body = {**self.owner, "user_id": user_id, "namespace": [*namespace], "key": key}
        return post(f"{ROOT}/delete", body, nothing)

    @method
    def search(
        self,
        query: Annotated[str | None, "what to look for; left out, the newest come first"] = None,
        *,
        namespace: Annotated[Sequence[str], "a label with which namespaces begin"] = (),
        filter: Annotated[
            Mapping[str, object] | None, "what fields have to be: a value, or $eq, $ne, $gt, $gte, $lt, $lte"
        ] = None,
        limit: Annotated[int | None, "how many at most, 1 to 1000 (default: 10)"] = None,
        offset: Annotated[int | None, "how many are passed over first"] = None,
        refresh_ttl: Refresh = True,
        user_id: Whose = None,
    ) -> Call[FoundItems]:
        """Find values by words, by their fields, or the newest. Raises Unavailable while the model is away."""
        body = {
            **self.owner, "user_id": user_id, "namespace": [*namespace], "query": query, "filter": filter,
            "limit": limit, "offset": offset, "refresh_ttl": refresh_ttl,
        }  # fmt: skip
        return post(f"{ROOT}/search", body, reader(FoundItems))

    @method
    def namespaces(
        self,
        *,
        prefix: Annotated[Sequence[str], "a label with which they begin; * is any"] = (),
        suffix: Annotated[Sequence[str], "a label with which they end; * is any"] = (),
        max_depth: Annotated[int | None, "they are cut off behind so many labels"] = None,
        limit: Annotated[int | None, "how many at most, 1 to 1000 (default: 100)"] = None,
        offset: Annotated[int | None, "how many are passed over first"] = None,
        user_id: Whose = None,
    ) -> Call[Namespaces]:
        """List the namespaces in which something is."""
        ways: Sequence[tuple[Literal["prefix", "suffix"], Sequence[str]]] = (
            ("prefix", prefix),
            ("suffix", suffix),
        )
        body = {
            **self.owner, "user_id": user_id, "max_depth": max_depth, "limit": limit, "offset": offset,
            "matching": [{"match": way, "path": [*path]} for way, path in ways if path],
        }  # fmt: skip
        return post(f"{ROOT}/namespaces", body, reader(Namespaces))

    @method
    def batch(
        self,
        ops: Annotated[
            Sequence[JsonObject], "an object with one of get, put, delete, search and namespaces, as JSON"
        ],
        *,
        user_id: Whose = None,
    ) -> Call[Results]:
        """Read and write several values at once, in one transaction: first all is read, then all is written."""
        return post(f"{ROOT}/batch", {**self.owner, "user_id": user_id, "ops": [*ops]}, reader(Results))
