"""The store by its client and by its commands."""

from __future__ import annotations

import pytest

from elf.client import AsyncClient, Client, InvalidRequest
from elf.client.families.store import StoreClient
from tests.families.command_line import CommandLine
from tests.system.service import RunningService

ANA = ["users", "ana"]


def test_values_are_kept_found_listed_and_removed(client: Client) -> None:
    store = client.store
    for user in ("ana", "ben"):
        store.put(ANA, "drink", {"says": f"{user} drinks green tea"}, index=["says"], user_id=user)
    store.put(ANA, "null", None, is_indexed=False, ttl=5, user_id="ana")
    kept = store.get(ANA, "null", user_id="ana")
    assert kept is not None
    assert (kept.value, kept.expires_at is None) == (None, False)
    found = store.search("green tea", namespace=["users"], user_id="ana")
    assert [item.value for item in found.items] == [{"says": "ana drinks green tea"}]
    assert store.search(filter={"says": {"$gt": "a"}}, user_id="ana").items[0].score is None
    assert store.namespaces(suffix=["ana"], user_id="ana").namespaces == [ANA]
    store.delete(ANA, "drink", user_id="ana")
    assert store.get(ANA, "drink", user_id="ana") is None
    assert store.get(ANA, "drink", user_id="ben") is not None


def test_what_is_wrong_is_named_by_its_place(client: Client) -> None:
    for call, field in (
        (lambda: client.store.put(["a.b"], "k", 1), "namespace[0]"),
        (lambda: client.store.search(filter={"n": {"$in": [1]}}), "filter.n.$in"),
        (lambda: client.store.search(filter={"n": {"$gt": [1]}}), "filter.n.$gt"),
        (lambda: client.store.search(filter={"a": 1, "n": {}}), "filter.n"),
        (lambda: client.store.search(filter={"$or": [{"n": 1}, {"n": 2}]}), "filter.$or"),
        (lambda: client.store.search(filter={"$and": [{"n": 1}]}), "filter.$and"),
        (lambda: client.store.search(filter={"$ref": 1}), "filter.$ref"),
        (
            lambda: client.store.batch([{"search": {}}, {"search": {"filter": {"$or": []}}}]),
            "ops[1].search.filter.$or",
        ),
        (
            lambda: client.store.batch([{"get": {"namespace": ANA, "key": "k"}}, {"put": {"key": "k"}}]),
            "ops[1].put",
        ),
    ):
        with pytest.raises(InvalidRequest) as caught:
            call()
        assert caught.value.fields[0].startswith(field)


@pytest.mark.anyio
@pytest.mark.parametrize("anyio_backend", ["asyncio", "trio"])
async def test_the_same_client_serves_async_code(service: RunningService, context: dict[str, str]) -> None:
    async with AsyncClient(service.url, **context) as client:
        await client.store.put(ANA, "k", 1)
        results = (
            await client.store.batch([{"get": {"namespace": ANA, "key": "k"}}, {"search": {}}])
        ).results
        assert results[0].item is not None
        assert results[1].items == [results[0].item]


def test_each_call_has_a_command(elf: CommandLine) -> None:
    whose = ("--user-id", "ana")
    assert elf(StoreClient, "put", *ANA, "k", '{"says": "green tea"}', "--index", "says", *whose) == (
        0,
        "indexed_chars  -\n",
        "",
    )
    item = elf.data(StoreClient, "get", *ANA, "k", *whose)["item"]
    assert (item["namespace"], item["value"]) == (ANA, {"says": "green tea"})
    assert (
        elf.data(StoreClient, "search", "--query", "tea", "--namespace", "users", *whose)["items"][0]["key"]
        == "k"
    )
    assert elf.data(StoreClient, "namespaces", "--prefix", "users", *whose) == {"namespaces": [ANA]}
    done = elf.data(StoreClient, "batch", '{"delete": {"namespace": ["users", "ana"], "key": "k"}}', *whose)
    assert len(done["results"]) == 1
    assert elf(StoreClient, "get", *ANA, "k", *whose).code == 0
    assert elf(StoreClient, "delete", *ANA, "k", *whose) == (0, "", "")
    assert "namespace[0]: must hold no dot" in elf(StoreClient, "get", "a.b", "k").err
