"""All that there is of a user or a tenant: taken along whole, taken in once, and erased with all that tells of it."""

from __future__ import annotations

from typing import Any

import pytest

from elf.core.errors import InvalidRequest
from elf.offers import Subject
from tests.db.store.store_kit import Store

pytestmark = pytest.mark.anyio

PLACE = ["users", "ana"]


async def _exported(store: Store, **of: Any) -> list[dict[str, Any]]:
    return [dict(line) async for line in store.subjects.export(Subject(tenant_id=store.tenant, **of))]


async def _filled(store: Store) -> None:
    await store.put(PLACE, "lives", {"a": "x"}, ttl=5, index=["a"])
    await store.put(PLACE, "stays", [None, 1.0], index=False)
    store.house.model.away = True
    await store.of("ben").put([], "of ben", 1)
    store.house.model.away = False


async def test_what_is_taken_along_is_there_elsewhere_as_it_was(store: Store) -> None:
    await _filled(store)
    lines = await _exported(store)
    other = Store(store.house, store.database, f"{store.tenant[-100:]} 2")
    moved = [{**line, "tenant_id": other.tenant} for line in lines]
    assert await other.subjects.take_in(moved) == 3
    assert await other.subjects.take_in(moved) == 0
    await store.house.settle("store")
    assert [{**line, "tenant_id": store.tenant} for line in await _exported(other)] == lines
    assert await other.get(PLACE, "lives", refresh_ttl=False) == await store.get(
        PLACE, "lives", refresh_ttl=False
    )
    assert [one["key"] for one in await other.find(query="x")] == ["lives"]
    (bens,) = await _exported(store, user="ben")
    assert (bens["user_id"], bens["value"]) == ("ben", 1)
    assert await _exported(store, agent_id="bot") == []


async def test_what_is_there_already_stays_and_what_is_no_export_is_named(store: Store) -> None:
    await _filled(store)
    (line, *_) = await _exported(store, user="ana")
    assert await store.subjects.take_in([{**line, "value": "other"}]) == 0
    new = {**line, "key": "new"}
    for bad, path in (
        ({"key": 1}, "$[1].key"), ({"namespace": ["a.b"]}, "$[1].namespace[0]"), ({"other": 1}, "$[1].other"),
        ({"ttl": 1.0, "expires_at": None}, "$[1].expires_at"),
    ):  # fmt: skip
        with pytest.raises(InvalidRequest) as caught:
            await store.subjects.take_in([new, {**new, **bad}])
        assert caught.value.fields == (path,)
    assert "new" not in await store.keys()


async def test_a_user_is_erased_with_vectors_and_work_that_is_left(store: Store) -> None:
    await _filled(store)
    whose = Subject(tenant_id=store.tenant, user="ana")
    assert await store.subjects.erase(Subject(tenant_id=store.tenant, agent_id="bot")) == {
        "outbox": 0, "vectors": 0, "items": 0,
    }  # fmt: skip
    assert await store.subjects.erase(whose) == {"outbox": 0, "vectors": 1, "items": 2}
    assert (await store.keys(), await store.of("ben").keys()) == ([], ["of ben"])
    assert await store.subjects.erase(Subject(tenant_id=store.tenant)) == {
        "outbox": 1, "vectors": 0, "items": 1,
    }  # fmt: skip
    for table in ("items", "vectors", "outbox"):
        assert await store.rows(f"SELECT FROM store_{table} WHERE tenant_id = $1") == []
