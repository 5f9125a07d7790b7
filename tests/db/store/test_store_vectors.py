"""Values found by their words: which texts have vectors, how they are ranked, and a model that is away."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pytest

from elf.core.errors import InvalidRequest, Unavailable
from elf.families.store import jobs, writing
from elf.outbox.chores import Due
from tests.db.store.store_kit import Store

pytestmark = pytest.mark.anyio

TEA, COFFEE = "green tea", "black coffee"


def _between(share: float) -> Any:
    """Return a vector whose cosine with the first axis is `share`."""
    return np.array([share, (1 - share**2) ** 0.5, *[0.0] * 382], dtype=np.float32)


@pytest.fixture
def known(store: Store) -> dict[str, Any]:
    """What the model makes of texts."""
    store.house.model.known |= {
        "?": _between(1.0),
        TEA: _between(0.9),
        COFFEE: _between(0.5),
        "noise": _between(0.0),
    }
    return store.house.model.known


async def test_the_likest_text_of_a_value_is_its_score_which_is_the_cosine(
    store: Store, known: dict[str, Any]
) -> None:
    await store.put(["d"], "both", {"drinks": [COFFEE, TEA], "n": 1}, index=["drinks[*]"])
    await store.put(["d"], "coffee", {"drinks": [COFFEE], "n": 2}, index=["drinks[*]"])
    await store.put(["d"], "none", {"drinks": [TEA]}, index=False)
    await store.put(["d"], "no such path", {"drinks": [TEA]}, index=["food"])
    found = await store.find("d", query="?")
    assert [(one["key"], round(one["score"], 5)) for one in found] == [("both", 0.9), ("coffee", 0.5)]
    assert await store.keys("d", query="?", offset=1) == ["coffee"]
    assert await store.keys("d", query="?", limit=1) == ["both"]
    assert await store.keys("d", query="?", filter={"n": {"$gt": 1}}) == ["coffee"]
    assert await store.keys("e", query="?") == []
    assert len(await store.find("d")) == 4


async def test_without_paths_all_of_a_value_is_found_by_its_json(store: Store, known: dict[str, Any]) -> None:
    known['{"a": 1, "b": "\u00e9"}'] = _between(0.7)
    await store.put(["d"], "k", {"b": "\u00e9", "a": 1})
    (found,) = await store.find(query="?")
    assert round(found["score"], 5) == 0.7


async def test_what_is_written_again_has_the_vectors_of_that_alone(
    store: Store, known: dict[str, Any]
) -> None:
    await store.put(["d"], "k", {"t": [TEA, COFFEE]}, index=["t[*]"])
    await store.put(["d"], "k", {"t": ["noise"]}, index=["t[*]"])
    (found,) = await store.find(query="?")
    assert round(found["score"], 5) == 0.0
    await store.put(["d"], "k", {"t": [TEA]}, index=False)
    assert await store.find(query="?") == []
    assert await store.rows("SELECT FROM store_vectors WHERE tenant_id = $1") == []


async def test_while_the_model_is_away_values_are_kept_and_get_their_vectors_later(
    store: Store, known: dict[str, Any]
) -> None:
    store.house.model.away = True
    texts = {"k": TEA, "again": COFFEE, "gone": "noise"}
    await store.batch(
        *(
            {"put": {"namespace": ["d"], "key": key, "value": {"t": text}, "index": ["t"]}}
            for key, text in texts.items()
        )
    )
    await store.batch({"delete": {"namespace": ["d"], "key": "gone"}})
    assert len(await store.keys()) == 2
    with pytest.raises(Unavailable):
        await store.find(query="?")
    store.house.model.away = False
    await store.put(["d"], "again", {"t": "noise"}, index=["t"])
    await store.house.settle("store")
    assert [(one["key"], round(one["score"], 5)) for one in await store.find(query="?")] == [
        ("k", 0.9),
        ("again", 0.0),
    ]
    open_jobs = "SELECT FROM store_outbox WHERE tenant_id = $1 AND status <> 'DONE'"
    assert await store.rows(open_jobs) == []
    in_two_days = datetime.now(UTC) + timedelta(days=2)  # jobs are done by the clock of the database
    assert await store.garbage("done_store_jobs").collect(in_two_days, 100) >= 3


async def test_vectors_of_another_model_are_not_compared_and_are_made_anew(
    store: Store, known: dict[str, Any]
) -> None:
    await store.put(["d"], "k", {"t": TEA}, index=["t"])
    await store.rows("UPDATE store_vectors SET embedding_version = 'other' WHERE tenant_id = $1")
    assert await store.find(query="?") == []
    (chore,) = store.house.opened["store"].chores
    for attempt in (1, 2):
        await chore.run(Due("", store.house.clock.now(), attempt))
    await store.house.settle("store")
    assert await store.keys(query="?") == ["k"]
    assert len(await store.rows("SELECT FROM store_outbox WHERE tenant_id = $1")) == 1


async def test_a_value_has_so_many_vectors_at_most(store: Store) -> None:
    await store.put(["d"], "k", [*map(str, range(500))], index=["[*]"])
    with pytest.raises(InvalidRequest, match="leads to more than 500 texts") as caught:
        await store.put(["d"], "k", [*map(str, range(501))], index=["[*]"])
    assert caught.value.fields == ("$.index",)
    assert len(await store.rows("SELECT FROM store_vectors WHERE tenant_id = $1")) == 500


async def test_no_credential_is_told_to_the_model(store: Store) -> None:
    key = "AKIA" + "IOSFODNN7" + "EXAMPLE"
    await store.put(["d"], "k", {"t": f"the key {key}"}, index=["t"])
    assert (await store.get(["d"], "k"))["value"] == {"t": f"the key {key}"}
    assert not any(key in text for text in store.house.model.texts)


@pytest.mark.parametrize("status", ["GIVEN_UP", "DISCARDED"])
async def test_vectors_that_were_given_up_are_made_only_after_a_change(
    store: Store, known: dict[str, Any], status: str
) -> None:
    await store.put(["d"], "k", {"t": TEA}, index=["t"])
    await store.put(["d"], "gone", {"t": COFFEE}, index=["t"])
    await store.rows("UPDATE store_vectors SET embedding_version = 'other' WHERE tenant_id = $1")
    (chore,) = store.house.opened["store"].chores
    due = Due("", store.house.clock.now(), 1)
    await chore.run(due)
    await store.rows("UPDATE store_outbox SET status = $2 WHERE tenant_id = $1", status)
    await chore.run(due)
    await store.house.settle("store")
    assert await store.keys(query="?") == []
    statuses = "SELECT status FROM store_outbox WHERE tenant_id = $1 ORDER BY status"
    assert [row["status"] for row in await store.rows(statuses)] == [status, status]
    assert (await store.get(["d"], "k"))["value"] == {"t": TEA}
    await store.batch({"delete": {"namespace": ["d"], "key": "gone"}})
    await store.put(["d"], "k", {"t": COFFEE}, index=["t"])
    assert await store.rows(statuses) == []
    assert await store.keys(query="?") == ["k"]


@pytest.mark.parametrize("status", ["GIVEN_UP", "DISCARDED"])
async def test_a_job_that_was_given_up_stays_for_as_long_as_its_value(
    store: Store, known: dict[str, Any], status: str
) -> None:
    store.house.model.away = True
    for key in ("kept", "gone"):
        await store.put(["d"], key, {"t": TEA}, index=["t"])
    store.house.model.away = False
    await store.rows("UPDATE store_outbox SET status = $2 WHERE tenant_id = $1", status)
    await store.rows("DELETE FROM store_items WHERE tenant_id = $1 AND key = 'gone'")
    in_two_days = datetime.now(UTC) + timedelta(days=2)  # jobs are given up by the clock of the database
    await store.garbage("done_store_jobs").collect(in_two_days, 100)
    left = "SELECT i.key FROM store_outbox AS o LEFT JOIN store_items AS i USING (revision) WHERE o.tenant_id = $1"
    assert [row["key"] for row in await store.rows(left)] == ["kept"]


async def test_values_that_were_kept_under_wider_bounds_get_the_vectors_that_are_allowed_now(
    store: Store, known: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jobs, "BYTES_AT_ONCE", 1)
    store.house.model.away = True
    value = {"t": [TEA, *map(str, range(600))]}
    keys = ("paths", "texts", "visits")
    puts = [{"namespace": ["d"], "key": key, "value": value, "index": ["t[0]"]} for key in keys]
    await store.batch(*({"put": put} for put in puts))
    store.house.model.away = False
    kept = {
        "paths": ["t[0]"] * 40_000 + [f"t[{number}]" for number in range(1, 50)],
        "texts": ["t[*]"],
        "visits": ["t[0]", *(f"t[*].{number}" for number in range(31))],
    }
    for key, paths in kept.items():
        statement = "UPDATE store_items SET indexed = $3::text::jsonb WHERE tenant_id = $1 AND key = $2"
        await store.rows(statement, key, json.dumps(paths))
    monkeypatch.setattr(writing, "MAX_VISITS", 700)
    await store.house.settle("store")
    made = await store.rows(
        "SELECT i.key, count(*) AS vectors FROM store_items AS i JOIN store_vectors AS v USING (item_id)"
        " WHERE i.tenant_id = $1 GROUP BY i.key"
    )
    assert {row["key"]: row["vectors"] for row in made} == {"paths": 32, "texts": 500, "visits": 1}
    assert len(await store.find(query="?", limit=10)) == 3
