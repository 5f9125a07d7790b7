"""The store: requests, answers and operations."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal, Self, TypeAlias

from pydantic import AfterValidator, ConfigDict, Field, model_validator
from pydantic.config import JsonDict

from elf.api.bodies import Request, Response
from elf.api.operation import Operation
from elf.core.errors import ScopeDenied, ServiceError, Unavailable
from elf.families.store import model as m
from elf.families.store.api import fields as f

TAG: Final = "store"
PATH: Final = "/v1/store"


class Address(Request):
    """Which value."""

    namespace: f.Namespace
    key: f.Key


class Get(Address):
    """Which value is read."""

    refresh_ttl: f.RefreshTtl = True


class Put(Address):
    """A value, which takes the place of the one that is there."""

    value: f.Value
    index: f.Index | None = None
    ttl: f.TtlMinutes | None = None


class Search(Request):
    """Which values are looked for."""

    namespace: Annotated[f.Namespace, Field(description="The labels with which their namespaces begin.")] = (
        Field(default_factory=list)
    )
    query: f.Query | None = None
    filter: f.Filter = Field(default_factory=dict)
    limit: f.Limit = 10
    offset: f.Offset = 0
    refresh_ttl: f.RefreshTtl = True


class Match(Request):
    """How a namespace begins or ends."""

    match: Literal["prefix", "suffix"]
    path: f.Pattern


class ListNamespaces(Request):
    """Which namespaces are listed: those that match all."""

    matching: Annotated[
        list[Match], Field(max_length=8, description="How they begin and end; all are to be met.")
    ] = Field(default_factory=list)
    max_depth: f.Depth | None = None
    limit: f.Limit = 100
    offset: f.Offset = 0


Step: TypeAlias = Get | Put | Address | Search | ListNamespaces


def _exactly_one(schema: JsonDict) -> None:
    """Say of an object that it has one of its properties, none of which is null."""
    schema |= {"minProperties": 1, "maxProperties": 1}
    properties: Any = schema["properties"]
    for name, told in properties.items():
        properties[name] = next(one for one in told["anyOf"] if one != {"type": "null"})


class Op(Request):
    """One thing to be done: exactly one of these."""

    model_config = ConfigDict(json_schema_extra=_exactly_one)

    get: Get | None = None
    put: Put | None = None
    delete: Address | None = None
    search: Search | None = None
    namespaces: ListNamespaces | None = None

    @model_validator(mode="after")
    def _is_one(self) -> Self:
        told = (self.get, self.put, self.delete, self.search, self.namespaces)
        if len(self.model_fields_set) != 1 or all(one is None for one in told):
            raise ValueError("has exactly one of get, put, delete, search and namespaces")
        return self


def _not_too_many_searches(ops: list[Op]) -> list[Op]:
    if sum((op.search or op.namespaces) is not None for op in ops) > m.MAX_SEARCHES:
        raise ValueError(f"has at most {m.MAX_SEARCHES} of search and namespaces")
    return ops


class Batch(f.OfUser):
    """What is done at once: what is read is as it was before, and of several writes of a key the last one counts."""

    ops: Annotated[
        list[Op],
        Field(
            min_length=1,
            max_length=m.MAX_OPS,
            description="Done in one transaction. At most 32 of them are search or namespaces.",
        ),
        AfterValidator(_not_too_many_searches),
    ]


class GetOne(f.OfUser, Get):
    """Which value is read."""


class PutOne(f.OfUser, Put):
    """A value, which takes the place of the one that is there."""


class DeleteOne(f.OfUser, Address):
    """Which value goes."""


class SearchAll(f.OfUser, Search):
    """Which values are looked for."""


class NamespacesOf(f.OfUser, ListNamespaces):
    """Which namespaces are listed."""


class Item(Response):
    """A value, and where it is."""

    namespace: list[str]
    key: str
    value: f.AnyJson = Field(description="As it was written.")
    created_at: f.Moment
    updated_at: f.Moment
    expires_at: f.Moment | None = Field(description="When it is gone unless it is read or written before.")
    score: float | None = Field(description="How like the query its likest text is: a cosine.")


More = Annotated[
    bool, Field(description="Whether the answer would be too large with the next one: ask again from there.")
]


IndexedChars = Annotated[
    int | None,
    Field(
        description="How many characters of its texts a value that was written is found by, from the first on; null"
        " where these are all."
    ),
]


class StoredValue(Response):
    """What is found of a value that was written."""

    indexed_chars: IndexedChars


class Found(Response):
    item: Item | None = Field(description="Null where nothing is.")
    more: More


class FoundAll(Response):
    items: list[Item]
    more: More


class Namespaces(Response):
    namespaces: list[list[str]]


class Result(Response):
    """What came of one: of `get` an item, of `search` items, of `namespaces` these, of `put` how much is found.

    What does not belong to it is null.
    """

    item: Item | None
    items: list[Item] | None
    namespaces: list[list[str]] | None
    indexed_chars: IndexedChars
    more: More


class Results(Response):
    results: list[Result] = Field(description="One for each, in their order.")


_ERRORS: Final[tuple[type[ServiceError], ...]] = (ScopeDenied, Unavailable)


BATCH: Final = Operation(
    "store_batch", "POST", f"{PATH}/batch", "Read and write several values at once", Batch, Results, tag=TAG,
    text="any", max_body_bytes=f.MAX_BODY_BYTES, json_bounds=f.BOUNDS, errors=_ERRORS,
)  # fmt: skip
PUT: Final = Operation(
    "store_put", "POST", f"{PATH}/put", "Keep a value", PutOne, StoredValue, tag=TAG, text="any",
    max_body_bytes=f.MAX_BODY_BYTES, json_bounds=f.BOUNDS, errors=_ERRORS,
)  # fmt: skip
GET: Final = Operation(
    "store_get", "POST", f"{PATH}/get", "Read a value", GetOne, Found, tag=TAG, text="any", errors=_ERRORS
)
DELETE: Final = Operation(
    "store_delete", "POST", f"{PATH}/delete", "Remove a value", DeleteOne, None, status=204, tag=TAG, text="any",
    errors=_ERRORS,
)  # fmt: skip
SEARCH: Final = Operation(
    "store_search", "POST", f"{PATH}/search", "Find values by words, by their fields, or the newest", SearchAll,
    FoundAll, tag=TAG, text="any", errors=_ERRORS,
)  # fmt: skip
NAMESPACES: Final = Operation(
    "store_namespaces", "POST", f"{PATH}/namespaces", "List namespaces", NamespacesOf, Namespaces, tag=TAG,
    text="any", reads=True, errors=_ERRORS,
)  # fmt: skip

OPERATIONS: Final = (BATCH, PUT, GET, DELETE, SEARCH, NAMESPACES)
