"""What the store brings to be proven: whose values somebody could be after, slips of the pen, and random work.

Its callers are those of the assistant, which tells the same apart: tenants, and users of a tenant.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final
from uuid import uuid4

import pytest

from elf.api.caller import Caller as Asking
from elf.families.store.api.fields import OfUser
from elf.families.store.kit import Kit
from elf.families.store.model import Place
from tests.families.assistant_callers import CALLERS, USER
from tests.families.assistant_leaks import BY_USER
from tests.families.fronts import Fronts
from tests.families.leaks import BY_TENANT, Leak, Leaks, loosened
from tests.families.rows import COLLEAGUE, FOREIGN, INCOMPLETE, NARROW, STRANGER, Attempt, Caller, Kind, Row
from tests.families.work import WorkClient

SHARED: Final = {
    COLLEAGUE: "whoever is of the tenant and proves no user may name each of its users",
    NARROW: "values are of no category, and so of every agent of the user",
}
NOT_THEIRS: Final = frozenset({FOREIGN, INCOMPLETE, STRANGER})
MOST_STEPS: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreWorld:
    """Two values that say the `secret`, in a namespace named by the `word`."""

    fronts: Fronts
    place: Mapping[str, str]
    word: str
    secret: str

    @property
    def namespace(self) -> list[str]:
        return ["owned", self.word]

    def hidden_from(self, kind: Kind) -> Iterable[str]:
        return () if kind in SHARED else (self.word, self.secret)

    def unknown(self, kind: Kind) -> StoreWorld:
        return self

    def of(self, caller: Caller) -> StoreWorld:
        return self

    def state(self) -> object:
        return self.fronts.public.ask("store_search", {**self.place, "limit": 100}).body


def settle(fronts: Fronts, callers: Sequence[Caller] = CALLERS) -> StoreWorld:
    """Keep values of a user of a new tenant."""
    mark = uuid4().hex[:12]
    world = StoreWorld(
        fronts=fronts,
        place={"tenant_id": f"owner-{mark}", "user_id": USER},
        word=f"W{mark}",
        secret=f"S{mark}",
    )
    for key in ("one", "two"):
        value = {"says": f"a museum of {world.secret}", "n": 1}
        put = {**world.place, "namespace": world.namespace, "key": key, "value": value}
        assert (reply := fronts.public.ask("store_put", put)).ok, reply.text
    return world


def _attempt(
    label: str, *, sees: bool = True, tried_by: frozenset[Kind] | None = None, **fields: Any
) -> Attempt:
    def arguments(world: StoreWorld, own: StoreWorld | None) -> Mapping[str, Any]:
        return {name: value(world) if callable(value) else value for name, value in fields.items()}

    other = {} if tried_by is None else {"tried_by": tried_by}
    return Attempt(
        label=label, arguments=arguments, forbidden=frozenset({STRANGER}), owner_sees=sees, **other
    )


def _row(name: str, *attempts: Attempt) -> Row:
    return Row(names=(name,), attempts=attempts, open_to=SHARED)


def _reading(world: StoreWorld) -> list[dict[str, Any]]:
    return [{"search": {}}, {"namespaces": {}}, {"search": {"query": "a museum", "namespace": ["owned"]}}]


def _writing(world: StoreWorld) -> list[dict[str, Any]]:
    return [{"put": {"namespace": ["mine"], "key": "k", "value": 1}}]


def _here(world: StoreWorld) -> list[str]:
    return world.namespace


def _over(label: str, key: str, **fields: Any) -> Attempt:
    """Something to be written over what the owner has, which goes into the place of whoever asks."""
    return _attempt(label, sees=False, tried_by=NOT_THEIRS, namespace=_here, key=key, **fields)


BEGINNING: Final = [{"match": "prefix", "path": ["owned", "*"]}]
ROWS: Final = (
    _row(
        "store_batch",
        _attempt("what is there", ops=_reading),
        _attempt("to write", sees=False, tried_by=NOT_THEIRS, ops=_writing),
    ),
    _row("store_get", _attempt("by its key", namespace=_here, key="one")),
    _row(
        "store_search",
        _attempt("the newest"),
        _attempt("by words", query="a museum"),
        _attempt("below a label", namespace=["owned"]),
        _attempt("by a field", filter={"n": {"$gte": 1}}),
    ),
    _row("store_namespaces", _attempt("all"), _attempt("by their begin", matching=BEGINNING)),
    _row("store_put", _over("over it", "one", value=0)),
    _row("store_delete", _over("by its key", "two")),
)

_BEHIND: Final = "it is of what a statement of the same transaction has found within the tenant"
_OPERATORS: Final = "operators ask for it, and a test of erasing and exporting shows whose it is"


def _anybody(patch: pytest.MonkeyPatch, world: Any) -> None:
    """Whoever names a user gets this user's values."""

    def place(_: Kit, request: OfUser, caller: Asking) -> Place:
        return Place(request.tenant_id, request.user_id or caller.user or "")

    patch.setattr(Kit, "place", place)


READ_BY: Final = {
    "get_items": ("store_get",),
    "find_newest": ("store_search", "store_batch"),
    "find_nearest": ("store_search",),
    "list_namespaces": ("store_namespaces",),
}
LEAKS: Final = Leaks(
    reading=[
        *(
            Leak(
                name=f"{query} of all {by.what}",
                query=query,
                conditions=(by,),
                operations=operations,
                plant=loosened(["load_items"], by),
            )
            for query, operations in READ_BY.items()
            for by in (BY_TENANT, BY_USER)
        ),
        Leak(
            name="users may name other users", plant=_anybody, operations=("store_search", "store_namespaces")
        ),
    ],
    changing=[
        Leak(
            name="values are removed of all tenants",
            query="delete_items",
            conditions=(BY_TENANT,),
            operations=("store_delete",),
        ),
        Leak(
            name="values are removed of all users",
            query="delete_items",
            conditions=(BY_USER,),
            operations=("store_delete",),
        ),
    ],
    behind_others={
        **dict.fromkeys(["load_items", "refresh_items"], _BEHIND),
        **dict.fromkeys(["erase_rows", "exported_places", "export_items"], _OPERATORS),
        "put_items": "it removes jobs that were given up of values that it replaces, which operators alone see",
    },
)


@dataclass(frozen=True, slots=True)
class StoreClaim:
    """What a value is, or one of two while a write is on its way; None: it is not there."""

    key: str
    values: frozenset[int | None]


class StoreWork:
    """Keeps values by new keys, writes them again, and removes them."""

    def do(self, client: WorkClient) -> Iterator[StoreClaim]:
        _at_home(client)
        key = f"{client.rng.getrandbits(64):x}"
        value: int | None = None
        for step in range(client.rng.randrange(1, MOST_STEPS + 2)):
            then = None if step and client.rng.random() < 0.2 else client.rng.getrandbits(30)
            yield StoreClaim(key, frozenset([value, then]))
            self._write(client, key, then)
            value = then
            yield StoreClaim(key, frozenset([value]))

    def _write(self, client: WorkClient, key: str, value: int | None) -> None:
        at = {"namespace": ["work"], "key": key}
        name, fields = ("delete", at) if value is None else ("put", {**at, "value": {"n": value}})
        if client.rng.random() < 0.5:
            client.ask("store_batch", ops=[{name: fields}])
        else:
            client.change(f"store_{name}", **fields)

    def problems(self, client: WorkClient, claims: Sequence[StoreClaim]) -> list[str]:
        """Return which values are lost, or others than were written, and which are not found by their words."""
        _at_home(client)
        return [problem for claim in claims for problem in _problems(client, claim)]


def _at_home(client: WorkClient) -> None:
    client.place = {"tenant_id": client.place["tenant_id"], "user_id": "ana"}


def _problems(client: WorkClient, claim: StoreClaim) -> Iterator[str]:
    item = client.ask("store_get", namespace=["work"], key=claim.key)["item"]
    value = None if item is None else item["value"]["n"]
    if value not in claim.values:
        yield f"{claim.key} is {value}, which is none of {set(claim.values)}"
    elif value is not None:
        found = client.ask("store_search", namespace=["work"], query="n", filter={"n": value}, limit=1000)[
            "items"
        ]
        if claim.key not in [one["key"] for one in found]:
            yield f"{claim.key} is not found"
