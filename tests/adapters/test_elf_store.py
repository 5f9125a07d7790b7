"""The store of LangGraph over a whole service: all that the contract of a BaseStore says, sync and async."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal
from uuid import uuid4

import pytest
from langgraph.store.base import (
    BaseStore,
    GetOp,
    InvalidNamespaceError,
    Item,
    ListNamespacesOp,
    MatchCondition,
    PutOp,
    SearchItem,
    SearchOp,
)

from elf.client import AsyncClient, Client
from elf.langgraph import ElfStore, store_wire
from tests.db.assistant.assistant_kit import served_beside_the_others
from tests.folders import fresh_folder
from tests.system.service import write_config

pytestmark = pytest.mark.anyio

ANA, BEN = ("users", "ana"), ("users", "ben")
MUSEUM, TEA = "the museum of modern art in the old harbour", "a cup of green tea with honey"


@dataclass(frozen=True)
class Asked:
    """A store that is asked by its sync or by its async methods, and others of the same tenant."""

    client: Client
    async_client: AsyncClient
    is_async: bool
    store: ElfStore

    def other(self, **other: Any) -> Asked:
        clients = {"async_client": self.async_client} if self.is_async else {"client": self.client}
        return Asked(self.client, self.async_client, self.is_async, ElfStore(**clients, **other))

    async def __call__(self, name: str, *args: Any, **kwargs: Any) -> Any:
        if self.is_async:
            return await getattr(self.store, f"a{name}")(*args, **kwargs)
        return getattr(self.store, name)(*args, **kwargs)

    async def keys(self, *prefix: str, **how: Any) -> list[str]:
        return [item.key for item in await self("search", prefix, **how)]


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """A whole service, shared by the tests: each has a tenant of its own."""
    with fresh_folder() as folder, served_beside_the_others(write_config(Path(folder))) as url:
        yield url


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"  # LangGraph runs on nothing else


@pytest.fixture(params=["sync", "async"])
async def asked(address: str, request: pytest.FixtureRequest) -> AsyncIterator[Asked]:
    tenant = uuid4().hex
    async with AsyncClient(address, tenant_id=tenant) as async_client:
        with Client(address, tenant_id=tenant) as client:
            is_async = request.param == "async"
            either = {"async_client": async_client} if is_async else {"client": client}
            yield Asked(client, async_client, is_async, ElfStore(**either))  # type: ignore[arg-type]


async def test_items_are_put_read_overwritten_and_deleted(asked: Asked) -> None:
    value = {"b": [1.0, None, True, {"deep": "\u00e9"}], "a": 2**70}
    assert await asked("put", ANA, "k", value) is None
    item = await asked("get", ANA, "k")
    assert type(item) is Item
    assert (item.namespace, item.key, item.value, [*item.value]) == (ANA, "k", value, ["b", "a"])
    await asked("put", ANA, "k", {"n": 1})
    again = await asked("get", ANA, "k")
    assert (again.value, again.created_at) == ({"n": 1}, item.created_at)
    assert again.updated_at > item.updated_at
    await asked("delete", ANA, "k")
    await asked("delete", ANA, "never was")
    assert await asked("get", ANA, "k") is None
    assert await asked("search", ANA) == []


@pytest.mark.parametrize("namespace", [(), ("langgraph", "x"), ("a.b",), ("",), ("a", 1), ("a\x00",)])
async def test_namespaces_that_no_store_takes_are_refused(asked: Asked, namespace: Any) -> None:
    with pytest.raises(InvalidNamespaceError):
        await asked("put", namespace, "k", {})


async def test_raw_operations_are_checked_by_their_labels_alone(asked: Asked) -> None:
    put: Any = [PutOp(["langgraph", "x"], "k", {"n": 1}), PutOp((), "k", {"n": 2})]  # type: ignore[arg-type]
    assert await asked("batch", put) == [None, None]
    read = await asked("batch", [GetOp(("langgraph", "x"), "k"), GetOp((), "k")])
    assert [item.value["n"] for item in read] == [1, 2]
    for bad in (GetOp(("a.b",), "k"), SearchOp(("",)), PutOp(("a", "\x00"), "k", {})):
        with pytest.raises(InvalidNamespaceError):
            await asked("batch", [PutOp(ANA, "k", {}), bad])
    with pytest.raises(ValueError, match=r"ops\[0\]: str is no operation"):
        await asked("batch", ["get"])
    assert await asked("get", ANA, "k") is None


async def test_prefixes_are_of_whole_segments_and_empty_ones_of_all(asked: Asked) -> None:
    for namespace in (("a",), ("a", "b"), ("ab",), ("a_",), ("a%", "b")):
        await asked("put", namespace, "k", {})
    assert [item.namespace for item in await asked("search", ("a_",))] == [("a_",)]
    assert {item.namespace for item in await asked("search", ("a",))} == {("a",), ("a", "b")}
    assert len(await asked("search", ())) == 5


async def test_namespaces_are_listed_by_both_ends_cut_off_sorted_and_paged(asked: Asked) -> None:
    for path in ("a/b/c", "a/b/d/e", "a/b/d/i", "a/b/f", "a/c/f"):
        await asked("put", tuple(path.split("/")), "k", {})
    listed = await asked("list_namespaces", prefix=("a", "b"), max_depth=3)
    assert listed == [("a", "b", "c"), ("a", "b", "d"), ("a", "b", "f")]
    assert await asked("list_namespaces", prefix=("a", "*"), suffix=("f",)) == [
        ("a", "b", "f"),
        ("a", "c", "f"),
    ]
    assert await asked("list_namespaces", suffix=("*", "e")) == [("a", "b", "d", "e")]
    assert await asked("list_namespaces", max_depth=2, limit=1, offset=1) == [("a", "c")]
    assert await asked("list_namespaces", limit=0) == []
    conditions = tuple(MatchCondition("prefix", path) for path in (("a", "*", "d"), ("*", "b")))
    (raw,) = await asked("batch", [ListNamespacesOp(match_conditions=conditions)])
    assert raw == [("a", "b", "d", "e"), ("a", "b", "d", "i")]
    await asked("delete", ("a", "c", "f"), "k")
    assert ("a", "c", "f") not in await asked("list_namespaces")


async def test_filters_compare_with_every_operator_and_refuse_others(asked: Asked) -> None:
    for key, value in {"nine": {"n": 9}, "ten": {"n": 10.5, "t": "x"}, "none": {"t": "x"}}.items():
        await asked("put", ANA, key, value)
    for filter, keys in (
        ({"n": 9}, {"nine"}), ({"n": {"$eq": 10.5}}, {"ten"}), ({"n": {"$ne": 9}}, {"ten"}),
        ({"n": {"$gt": 10}}, {"ten"}), ({"n": {"$gte": 9, "$lt": 10}}, {"nine"}), ({"n": {"$lte": 9}}, {"nine"}),
        ({"t": "x", "n": {"$gt": 0}}, {"ten"}), ({}, {"nine", "ten", "none"}),
    ):  # fmt: skip
        assert {*await asked.keys(filter=filter)} == keys, filter
    for bad in ({"n": {"$in": [9]}}, {"n": {"p": 9}}, {"n": {"$gt": None}}):
        with pytest.raises(ValueError, match=r"ops\[0\]\.search\.filter"):
            await asked("search", (), filter=bad)


async def test_a_batch_reads_before_it_writes_and_the_last_put_of_a_key_counts(asked: Asked) -> None:
    await asked("put", ANA, "k", {"n": 1})
    results = await asked("batch", [
        PutOp(ANA, "k", {"n": 2}), GetOp(ANA, "k"), PutOp(ANA, "k", None), SearchOp(("users",)),
        PutOp(ANA, "k", {"n": 3}), ListNamespacesOp(), GetOp(ANA, "other"),
    ])  # fmt: skip
    assert [results[place] for place in (0, 2, 4, 6)] == [None] * 4
    assert results[1].value == {"n": 1}
    assert [(type(item), item.value) for item in results[3]] == [(SearchItem, {"n": 1})]
    assert results[5] == [ANA]
    assert (await asked("get", ANA, "k")).value == {"n": 3}
    assert await asked("batch", []) == []


async def test_what_needs_several_requests_comes_whole_and_in_order(
    asked: Asked, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store_wire, "MOST_OPS", 4)
    monkeypatch.setattr(store_wire, "MOST_AT_ONCE", 3)
    keys = [f"{number:02}" for number in range(10)]
    puts = [PutOp(("n", key), key, {"n": key}, index=False) for key in keys]
    assert await asked("batch", [*puts, PutOp(("n", "00"), "00", {"n": "last"}, index=False)]) == [None] * 11
    read = await asked("batch", [GetOp(("n", key), key) for key in keys])
    assert [item.value["n"] for item in read] == ["last", *keys[1:]]
    assert sorted(await asked.keys(limit=100)) == keys
    assert len(await asked.keys(limit=7, offset=1)) == 7
    assert await asked("list_namespaces", limit=8) == [("n", key) for key in keys[:8]]


async def test_answers_larger_than_one_come_whole(asked: Asked) -> None:
    large = "x" * (3 << 20)
    for key in "abcd":
        await asked("put", ANA, key, {"t": large, "k": key}, index=False)
    found, got, other = await asked("batch", [SearchOp((), limit=4), GetOp(ANA, "a"), GetOp(ANA, "b")])
    assert [item.key for item in found] == ["d", "c", "b", "a"]
    assert {len(item.value["t"]) for item in (*found, got, other)} == {len(large)}


async def test_the_best_vector_of_an_item_is_its_score_as_a_put_finds_it_at_once(asked: Asked) -> None:
    await asked("put", ANA, "museum", {"likes": [MUSEUM, TEA], "n": 1}, index=["likes[*]"])
    await asked("put", ANA, "tea", {"likes": [TEA], "n": 2}, index=["likes[*]"])
    await asked("put", ANA, "hidden", {"likes": [MUSEUM]}, index=False)
    found = await asked("search", ("users",), query=MUSEUM)
    assert [item.key for item in found] == ["museum", "tea"]
    assert found[0].score == pytest.approx(1.0, abs=1e-4)
    assert found[1].score < 0.9
    assert await asked.keys(query=MUSEUM, filter={"n": 2}) == ["tea"]
    assert await asked.keys(query=MUSEUM, offset=1) == ["tea"]
    plain = await asked("search", ("users",))
    assert ([item.key for item in plain], {item.score for item in plain}) == (
        ["hidden", "tea", "museum"],
        {None},
    )
    await asked("put", ANA, "museum", {"likes": [MUSEUM]}, index=False)
    assert await asked.keys(query=MUSEUM) == ["tea"]


async def test_fields_of_a_store_are_those_of_items_that_name_none(asked: Asked) -> None:
    by_title = asked.other(fields=["title"])
    await by_title("put", ANA, "k", {"title": MUSEUM, "text": TEA})
    await by_title("put", ANA, "text", {"title": TEA, "text": MUSEUM}, index=["text"])
    assert {item.key for item in await by_title("search", (), query=MUSEUM) if item.score > 0.99} == {
        "k",
        "text",
    }
    by_nothing = asked.other(fields=None)
    await by_nothing("put", BEN, "k", {"title": MUSEUM}, index=["title"])
    assert {item.score for item in await by_nothing("search", (), query=MUSEUM)} == {None}
    assert await asked.keys(*BEN, query=MUSEUM) == []


async def test_items_live_for_a_time_and_say_until_when(asked: Asked) -> None:
    def until(key: str) -> Any:
        item = asked.client.store.get(ANA, key, refresh_ttl=False)
        assert item is not None
        return item.expires_at and (item.expires_at - item.updated_at).total_seconds() / 60

    short = asked.other(ttl={"default_ttl": 10.0, "refresh_on_read": False})
    await short("put", ANA, "default", {})
    await short("put", ANA, "own", {}, ttl=0.5)
    await short("put", ANA, "never", {}, ttl=None)
    await asked("put", ANA, "plain", {})
    for key, minutes in {"default": 10.0, "own": 0.5, "never": None, "plain": None}.items():
        assert until(key) == minutes, key
    await short("get", ANA, "own")
    await short("search", ANA)
    assert until("own") == 0.5
    await short("get", ANA, "own", refresh_ttl=True)
    refreshed = until("own")
    assert refreshed > 0.5
    await asked("search", ANA)
    assert until("own") > refreshed
    await short("put", ANA, "own", {}, ttl=None)
    assert until("own") is None
    with pytest.raises(ValueError, match=r"ops\[0\]\.put\.ttl"):
        await asked("put", ANA, "own", {}, ttl=-1)


async def test_users_have_items_of_their_own(asked: Asked) -> None:
    anas, bens = (asked.other(user_id=user) for user in ("ana", "ben"))
    await anas("put", ("notes",), "k", {"of": "ana"})
    assert await bens("get", ("notes",), "k") is None
    assert await bens("list_namespaces") == []
    await bens("delete", ("notes",), "k")
    assert (await anas("get", ("notes",), "k")).value == {"of": "ana"}


async def test_what_json_cannot_hold_is_refused_by_its_path(asked: Asked) -> None:
    for value in ({"a": [{1, 2}]}, {"a": [float("nan")]}):
        with pytest.raises(ValueError, match=r"ops\[0\]\.put\.value\.a\[0\]"):
            await asked("put", ANA, "k", value)


async def test_calls_at_once_do_not_hinder_one_another(asked: Asked) -> None:
    store = ElfStore(async_client=asked.async_client)
    puts = [store.aput(ANA, str(number), {"n": number}, index=False) for number in range(20)]
    done = await asyncio.gather(
        *puts,
        store.asearch((), filter={"n": {"$bad": 1}}),
        store.aput(ANA, "x", {"a": {1}}),
        return_exceptions=True,
    )
    assert [type(one) for one in done] == [type(None)] * 20 + [ValueError] * 2
    assert len(await store.asearch((), limit=100)) == 20


async def test_a_store_without_a_client_has_async_methods_alone_and_with_one_both(asked: Asked) -> None:
    with pytest.raises(ValueError, match="a client or an async_client is needed"):
        ElfStore()
    store: BaseStore = ElfStore(async_client=asked.async_client)
    with pytest.raises(RuntimeError, match="sync methods need a client"):
        store.get(ANA, "k")
    threaded = ElfStore(asked.client)
    await threaded.aput(ANA, "k", {"n": 1})
    assert await threaded.aget(ANA, "k") == threaded.get(ANA, "k") == await store.aget(ANA, "k")


@pytest.mark.parametrize("kind", ["prefix", "suffix"])
async def test_a_wildcard_is_one_label(asked: Asked, kind: Literal["prefix", "suffix"]) -> None:
    await asked("put", ("a", "b"), "k", {})
    for length, found in ((1, True), (2, True), (3, False)):
        conditions = (MatchCondition(kind, ("*",) * length),)
        (listed,) = await asked("batch", [ListNamespacesOp(match_conditions=conditions)])
        assert listed == [("a", "b")] * found
