"""All that there is of a user or a tenant: taken along whole, taken in once, and erased with all that tells of it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from elf.core.errors import InvalidRequest
from elf.families.store import subjects
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


async def test_large_values_are_exported_few_at_a_time(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(5):
        await store.put(PLACE, f"{number}", "x" * number * 10, index=False)
    whole = await _exported(store)
    monkeypatch.setattr(subjects, "PAGE_BYTES", 1)
    monkeypatch.setattr(subjects, "PAGE", 2)
    assert await _exported(store) == whole
    assert len(whole) == 5


async def test_paths_that_were_kept_under_wider_bounds_are_exported_as_far_as_they_are_taken_in(
    store: Store,
) -> None:
    await store.put(PLACE, "old", {"a": "x"}, index=["a"])
    many = json.dumps(["a", "a", *(f"b{number}" for number in range(40))])
    await store.rows("UPDATE store_items SET indexed = $2::text::jsonb WHERE tenant_id = $1", many)
    (line,) = await _exported(store)
    assert line["index"] == ["a", *(f"b{number}" for number in range(31))]
    other = Store(store.house, store.database, f"{store.tenant[-100:]} 3")
    assert await other.subjects.take_in([{**line, "tenant_id": other.tenant}]) == 1


async def test_any_json_is_a_value_of_an_export_but_a_value_there_is(store: Store) -> None:
    await store.put(PLACE, "k", None, index=False)
    (line,) = await _exported(store)
    new = {**line, "key": "new", "value": {"a": [1.5, None, {"b": []}]}}
    assert await store.subjects.take_in([new]) == 1
    assert (await store.get(PLACE, "new"))["value"] == new["value"]
    del new["value"]
    with pytest.raises(InvalidRequest) as caught:
        await store.subjects.take_in([new])
    assert caught.value.fields == ("$[0].value",)
