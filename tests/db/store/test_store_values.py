"""Values by namespace and key: what is written is read as it was, found by its fields, listed, and ends in time."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from elf.api.caller import Caller
from elf.core.errors import InvalidRequest
from elf.families.store import reading
from elf.families.store.api import operations as a
from tests.db.store.store_kit import Store

pytestmark = pytest.mark.anyio

ANA = ["users", "ana"]
ODD_VALUES = [
    {"b": 1, "a": {"deep": [1.0, 1e300, -0.0, True, None, "\u00e9 \U0001f600 % _ \\ '"]}},
    {"": "", "2": {}, "10": []}, [], "text", 0, 1.5, False, None, 12345678901234567890123,
]  # fmt: skip


@pytest.mark.parametrize("value", ODD_VALUES, ids=range(len(ODD_VALUES)))
async def test_a_value_is_read_exactly_as_it_was_written(store: Store, value: Any) -> None:
    await store.put(ANA, "k", value)
    found = await store.get(ANA, "k")
    assert (repr(found["value"]), found["namespace"], found["key"]) == (repr(value), ANA, "k")
    assert await store.get(["users"], "k") is None
    assert await store.get([], "k") is None


async def test_it_is_of_one_user_of_one_tenant(store: Store) -> None:
    await store.put(ANA, "k", {"of": "ana"})
    bens = store.of("ben")
    await bens.put(ANA, "k", {"of": "ben"})
    assert (await store.get(ANA, "k"))["value"] == {"of": "ana"}
    assert [one["value"] for one in await bens.find()] == [{"of": "ben"}]
    await bens.ask(a.DELETE, namespace=ANA, key="k")
    assert (await bens.namespaces(), await store.namespaces()) == ([], [ANA])


async def test_who_has_no_user_has_to_name_one(store: Store) -> None:
    with pytest.raises(InvalidRequest, match="user_id: is required"):
        await store.house.do("store", a.GET, Caller(), tenant_id=store.tenant, namespace=[], key="k")


async def test_a_value_is_overwritten_and_says_since_when_it_is_there(store: Store) -> None:
    await store.put(ANA, "k", {"n": 1})
    first = await store.get(ANA, "k")
    await store.put(ANA, "k", {"n": 2})  # the clock stands still
    second = await store.get(ANA, "k")
    assert second["value"] == {"n": 2}
    assert second["created_at"] == first["created_at"]
    assert second["updated_at"] > first["updated_at"]
    await store.ask(a.DELETE, namespace=ANA, key="k")
    store.house.clock.turn(minutes=1)
    await store.put(ANA, "k", {"n": 3})
    assert (await store.get(ANA, "k"))["created_at"] > first["created_at"]


async def test_a_batch_reads_what_was_there_before_it_writes_and_the_last_write_of_a_key_counts(
    store: Store,
) -> None:
    at = {"namespace": ANA, "key": "k"}
    await store.put(ANA, "k", 1)
    results = await store.batch(
        {"put": {**at, "value": 2}},
        {"get": at},
        {"delete": at},
        {"search": {"namespace": ["users"]}},
        {"put": {**at, "value": 3}},
        {"namespaces": {}},
        {"get": {**at, "key": "other"}},
    )
    nothing = {"item": None, "items": None, "namespaces": None, "indexed_chars": None, "more": False}
    assert [results[at] for at in (0, 2, 4, 6)] == [nothing] * 4
    assert (results[1]["item"]["value"], [one["value"] for one in results[3]["items"]]) == (1, [1])
    assert results[5]["namespaces"] == [ANA]
    assert (await store.get(ANA, "k"))["value"] == 3
    await store.batch({"put": {**at, "value": 4}}, {"delete": at})
    assert await store.get(ANA, "k") is None


@pytest.mark.parametrize("op", [{}, {"get": None}, {"get": {"namespace": [], "key": "k"}, "namespaces": {}}])
async def test_an_operation_of_a_batch_is_exactly_one(store: Store, op: dict[str, Any]) -> None:
    with pytest.raises(ValidationError, match="has exactly one of get, put"):
        await store.batch(op)


async def test_a_fault_of_one_names_it_and_nothing_is_written(store: Store) -> None:
    put = {"namespace": ANA, "key": "k", "value": 1}
    with pytest.raises(ValidationError) as caught:
        await store.batch({"put": put}, {"put": {**put, "namespace": ["a.b"]}})
    (fault,) = caught.value.errors()
    assert (fault["loc"], fault["msg"]) == (
        ("ops", 1, "put", "namespace", 0), "Value error, must hold no dot",
    )  # fmt: skip
    with pytest.raises(InvalidRequest) as refused:
        await store.batch({"put": put}, {"put": {**put, "value": [*"abc"] * 200, "index": ["[*]"]}})
    assert refused.value.fields == ("$.ops[1].put.index",)
    assert await store.find() == []


async def test_a_prefix_is_of_whole_labels_and_all_signs_are_themselves(store: Store) -> None:
    places = [["a"], ["a", "b"], ["a", "b", "c"], ["ab"], ["a_"], ["a%"], ["%"], ["a/"], ["\U0010ffff"], []]
    for place in places:
        await store.put(place, "k", 1)
    assert await store.namespaces() == sorted(places)
    for place in places:
        found = {tuple(one["namespace"]) for one in await store.find(*place, limit=100)}
        assert found == {tuple(one) for one in places if one[: len(place)] == place}, place


async def test_long_labels_are_found_by_long_prefixes(store: Store) -> None:
    long = "\u00e9" * 290
    for last in ("x", "y"):
        await store.put([long, "inner", last], "k", last)
    assert len(await store.find(long)) == 2
    assert [one["value"] for one in await store.find(long, "inner", "y")] == ["y"]
    assert await store.find(long, "inne") == []


async def test_namespaces_are_listed_by_both_ends_cut_off_and_paged(store: Store) -> None:
    for place in (
        ["a", "b", "c"],
        ["a", "b", "d", "e"],
        ["a", "b", "d", "i"],
        ["a", "b", "f"],
        ["b", "c"],
        ["*"],
    ):
        await store.put(place, "k", 1)

    async def listed(
        prefix: list[str] | None = None, suffix: list[str] | None = None, **other: Any
    ) -> list[str]:
        ways = (("prefix", prefix), ("suffix", suffix))
        matching = [{"match": match, "path": path} for match, path in ways if path is not None]
        return ["/".join(one) for one in await store.namespaces(matching=matching, **other)]

    assert await listed(["a", "b"], max_depth=3) == ["a/b/c", "a/b/d", "a/b/f"]
    assert await listed(["a", "*", "d"]) == ["a/b/d/e", "a/b/d/i"]
    assert await listed(["a"], ["c"]) == ["a/b/c"]
    assert await listed(None, ["*", "c"]) == ["a/b/c", "b/c"]
    assert await listed(["*"]) == await listed()
    assert await listed(max_depth=1) == ["*", "a", "b"]
    assert await listed(max_depth=1, limit=1, offset=1) == ["a"]
    assert await listed([*"abcde"]) == []


async def test_a_filter_compares_numbers_as_numbers_and_nothing_with_another_kind(store: Store) -> None:
    held: dict[str, dict[str, Any]] = {
        "nine": {"n": 9, "t": "b", "x": None}, "ten": {"n": 10.0, "t": "a", "x": [1]},
        "text": {"n": "9", "t": "B"}, "none": {}, "list": {"n": [10], "o": {"p": 1, "q": 2}},
    }  # fmt: skip
    for key, value in held.items():
        await store.put(["f"], key, value)
    await store.put(["f"], "no object", [1])

    async def met(**asked: Any) -> set[str]:
        return {*await store.keys("f", filter=asked)}

    assert await met() == {*held, "no object"}
    assert await met(n=10) == {"ten"}
    assert await met(n={"$eq": "9"}) == {"text"}
    assert await met(n={"$ne": 9}) == {"ten", "text", "list"}
    assert await met(n={"$gt": 9}) == {"ten"}
    assert await met(n={"$gte": 9, "$lt": 10}) == {"nine"}
    assert await met(n={"$lte": 100}) == {"nine", "ten"}
    assert await met(t={"$lte": "b", "$gt": "a"}) >= {"nine"}
    assert await met(x=None) == {"nine"}
    assert await met(n=[10]) == {"list"}
    assert await met(o={"$eq": {"q": 2, "p": 1}}) == {"list"}
    assert await met(n={"$gt": 0}, t="a") == {"ten"}
    for asked in (
        {"o": {"p": 1}},
        {"n": {"$in": [9]}},
        {"n": {"$gt": None}},
        {"n": {"$lt": True}},
        {"n": {}},
    ):
        with pytest.raises(ValidationError, match="type=condition"):
            await store.find(filter=asked)


async def test_without_a_query_the_newest_come_first_in_pages(store: Store) -> None:
    for key in "abc":
        await store.put(ANA, key, key)
        store.house.clock.turn(seconds=1)
    await store.put(ANA, "a", "again")
    assert await store.keys() == ["a", "c", "b"]
    assert await store.keys(limit=2) == ["a", "c"]
    assert await store.keys(limit=2, offset=2) == ["b"]
    assert {one["score"] for one in await store.find()} == {None}


async def test_an_answer_ends_where_it_would_be_too_large_and_says_so(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    for key in "abc":
        await store.put(ANA, key, "x" * 100)
    monkeypatch.setattr(reading, "ANSWER_BYTES", 250)
    found = await store.ask(a.SEARCH, namespace=[])
    assert ([one["key"] for one in found["items"]], found["more"]) == (["a", "b"], True)
    first, second = await store.batch({"search": {}}, {"get": {"namespace": ANA, "key": "c"}})
    assert (len(first["items"]), second["item"], second["more"]) == (2, None, True)
    assert (await store.get(ANA, "c"))["value"] == "x" * 100


async def test_what_lives_for_a_time_lives_anew_when_it_is_read_or_written(store: Store) -> None:
    turn = store.house.clock.turn
    await store.put(ANA, "k", 1, ttl=0.5)
    turn(seconds=20)
    assert (await store.get(ANA, "k"))["value"] == 1  # lives to 50 s
    turn(seconds=20)
    assert await store.keys() == ["k"]  # to 70 s
    turn(seconds=20)
    await store.get(ANA, "k", refresh_ttl=False)
    await store.find(refresh_ttl=False)
    turn(seconds=9)
    assert await store.namespaces() == [ANA]
    turn(seconds=1)
    assert (await store.get(ANA, "k"), await store.keys(), await store.namespaces()) == (None, [], [])


async def test_what_is_written_without_a_time_stays_and_what_has_ended_begins_anew(store: Store) -> None:
    await store.put(ANA, "stays", 1, ttl=1)
    await store.put(ANA, "stays", 2)
    await store.put(ANA, "ends", 1, ttl=1)
    began = (await store.get(ANA, "ends"))["created_at"]
    store.house.clock.turn(minutes=2)
    assert await store.keys() == ["stays"]
    await store.put(ANA, "ends", 2, ttl=1)
    assert (await store.get(ANA, "ends"))["created_at"] > began


async def test_what_has_expired_is_removed_in_batches(store: Store) -> None:
    for number in range(3):
        await store.put(ANA, str(number), 1, ttl=1)
    await store.put(ANA, "stays", 1)
    store.house.clock.turn(minutes=1)
    collect = store.garbage("expired_store_items").collect
    assert [await collect(store.house.clock.now(), 2) for _ in range(2)] == [2, 1]
    assert len(await store.rows("SELECT FROM store_items WHERE tenant_id = $1")) == 1
    assert len(await store.rows("SELECT FROM store_vectors WHERE tenant_id = $1")) == 1
