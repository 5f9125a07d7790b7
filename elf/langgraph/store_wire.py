"""Turns what a store of LangGraph is asked into requests, and answers into its items: no I/O."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from langgraph.store.base import (
    GetOp,
    Item,
    ListNamespacesOp,
    Op,
    PutOp,
    Result,
    SearchItem,
    SearchOp,
    validate_op_namespace,
)

from elf.client.call import Call, post, reader
from elf.client.families import store as s

MOST_OPS: Final = 500
MOST_SEARCHES: Final = 32  # of those that are no reading by key, in one request
MOST_AT_ONCE: Final = 1000
MOST_LABELS: Final = 32

Talk: TypeAlias = Generator[Call[s.Results], s.Results, list[Result]]
"""Yields calls to be made, is sent what each returns, and returns the results."""

Told = dict[str, Any]


@dataclass(slots=True)
class _Asking:
    """A reading that may need several requests: `taken` is what came so far, of `wanted` at most."""

    place: int
    op: GetOp | SearchOp | ListNamespacesOp
    wanted: int = 1
    taken: list[Any] = field(default_factory=list)
    is_done: bool = False

    def take(self, result: s.Result) -> None:
        """Take an answer in. Where it ended before all was told, the rest is asked for."""
        if result.namespaces is not None:
            asked = min(self.wanted - len(self.taken), MOST_AT_ONCE)
            self.taken += [tuple(one) for one in result.namespaces]
            self._end(len(result.namespaces) < asked)
        elif result.items is not None:
            asked = min(self.wanted - len(self.taken), MOST_AT_ONCE)
            self.taken += map(_search_item, result.items)
            self._end(len(result.items) < asked and not result.more)
        else:
            self.taken += [] if result.item is None else [_item(result.item)]
            self.is_done = not result.more

    def _end(self, is_last: bool) -> None:
        self.is_done = is_last or len(self.taken) >= self.wanted

    @property
    def result(self) -> Result:
        if isinstance(self.op, GetOp):
            return self.taken[0] if self.taken else None
        return self.taken


class StoreWire:
    """The requests of one store. `user_id` is whose values they are, None: the caller's own.

    `fields` are the paths by which a value is found that names none; None: nothing is found by words.
    """

    def __init__(self, tenant_id: str | None, user_id: str | None, fields: Sequence[str] | None) -> None:
        self._owner = {"tenant_id": tenant_id, "user_id": user_id}
        self._fields = None if fields is None else [*fields]

    def talk(self, ops: Iterable[Op]) -> Talk:
        """Carry operations out: first all is read, and then all is written, with one transaction where it is not much.

        Raises ValueError for an operation that is none, before anything is asked.
        """
        asked = [*ops]
        results: list[Result] = [None] * len(asked)
        reads, writes = self._sorted(asked)
        while pending := _together([one for one in reads if not one.is_done]):
            answer = yield self._call([self._read(one) for one in pending])
            for one, result in zip(pending, answer.results, strict=True):
                one.take(result)
        for begin in range(0, len(writes), MOST_OPS):
            yield self._call(writes[begin : begin + MOST_OPS])
        for one in reads:
            results[one.place] = one.result
        return results

    def _sorted(self, ops: Sequence[Op]) -> tuple[list[_Asking], list[Told]]:
        reads: list[_Asking] = []
        writes: list[Told] = []
        for place, op in enumerate(ops):
            validate_op_namespace(op)
            match op:
                case GetOp():
                    reads.append(_Asking(place, op))
                case SearchOp() | ListNamespacesOp():
                    reads.append(_Asking(place, op, op.limit, is_done=op.limit == 0))
                case PutOp():
                    writes.append(self._write(op))
                case _:
                    raise ValueError(f"ops[{place}]: {type(op).__name__} is no operation of a store")
        return reads, writes

    def _call(self, ops: Sequence[Told]) -> Call[s.Results]:
        return post(f"{s.ROOT}/batch", {**self._owner, "ops": ops}, reader(s.Results))

    def _write(self, op: PutOp) -> Told:
        at: Told = {"namespace": [*op.namespace], "key": str(op.key)}
        if op.value is None:
            return {"delete": at}
        index = self._fields if op.index is None else op.index
        indexed = index if self._fields is not None and index is not False else False
        ttl = {} if op.ttl is None else {"ttl": op.ttl}
        return {"put": {**at, "value": dict(op.value), "index": indexed, **ttl}}

    def _read(self, one: _Asking) -> Told:
        page = {"limit": min(one.wanted - len(one.taken), MOST_AT_ONCE)}
        match one.op:
            case GetOp(namespace, key, refresh_ttl):
                at = {"namespace": [*namespace], "key": str(key)}
                return {"get": {**at, "refresh_ttl": bool(refresh_ttl)}}
            case SearchOp() as op:
                query = {"query": op.query} if op.query and self._fields is not None else {}
                body = {
                    "namespace": [*op.namespace_prefix], "filter": op.filter or {}, **query, **page,
                    "offset": op.offset + len(one.taken), "refresh_ttl": bool(op.refresh_ttl),
                }  # fmt: skip
                return {"search": body}
            case ListNamespacesOp() as op:
                matching = [
                    {"match": way.match_type, "path": [*way.path]} for way in op.match_conditions or ()
                ]
                depth = {"max_depth": min(op.max_depth, MOST_LABELS)} if op.max_depth else {}
                return {
                    "namespaces": {
                        "matching": matching, **depth, **page, "offset": op.offset + len(one.taken)
                    }
                }  # fmt: skip


def _together(reads: Iterable[_Asking]) -> list[_Asking]:
    """Return the first readings that one request may carry."""
    together: list[_Asking] = []
    searches = 0
    for one in reads:
        searches += not isinstance(one.op, GetOp)
        if len(together) == MOST_OPS or searches > MOST_SEARCHES:
            break
        together.append(one)
    return together


def _item(told: s.Item) -> Item:
    return Item(**_fields_of(told))


def _search_item(told: s.Item) -> SearchItem:
    return SearchItem(**_fields_of(told), score=told.score)


def _fields_of(told: s.Item) -> Mapping[str, Any]:
    return {
        "namespace": tuple(told.namespace),
        "key": told.key,
        "value": told.value,
        "created_at": told.created_at,
        "updated_at": told.updated_at,
    }
