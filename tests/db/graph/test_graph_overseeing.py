"""What operators are told of the memories of all orchestrators."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from werkzeug.datastructures import Headers

from elf.api.caller import Caller
from elf.db.database import Database
from tests.db.graph.house import FACT, TENANT, House, house_at

pytestmark = pytest.mark.anyio
LISTED = "/v1/admin/graph/orchestrators"


async def states(house: House, **query: Any) -> list[tuple[str, str, str | None]]:
    """Return each orchestrator that is listed, its state, and why it is disabled."""
    answer = await house.client.get(LISTED, params=query)
    assert answer.status_code == 200, answer.text
    return [(one["orchestrator_id"], one["state"], one["error_code"]) for one in answer.json()["items"]]


async def free(headers: Headers) -> Caller:
    """An operator whom nothing binds."""
    return Caller()


async def test_each_orchestrator_is_listed_with_its_state(database: Database, tmp_path: Path) -> None:
    async with house_at(database, tmp_path) as house:
        assert await states(house) == []
        for name in ("broken", "disabled", "gone", "planner"):
            await house.post("memories", memories=[FACT], orchestrator_id=name)
        (home,) = {one["home"] for one in (await house.client.get(LISTED)).json()["items"]}
    assert home == (house.root / ".home").read_text()
    (house.memory("broken") / "memory.db").write_bytes(b"no database" * 1000)
    table = "\n".join(
        f'[[graph.orchestrators]]\ntenant_id = "{TENANT}"\norchestrator_id = "{name}"\nenabled = {is_on}'
        for name, is_on in (("broken", "true"), ("disabled", "false"), ("planner", "true"))
    )
    async with house_at(database, tmp_path, table, auto_register=False) as house:
        assert house.opened.warnings() == []
        assert dict(one[:2] for one in await states(house)) == {
            "broken": "closed", "disabled": "disabled", "gone": "disabled", "planner": "closed",
        }  # fmt: skip
        await house.post("memories", 503, memories=[FACT], orchestrator_id="broken")
        await house.post("memories", memories=[FACT])
        assert await states(house) == [
            ("broken", "disabled", "memory_db_corrupt"),
            ("disabled", "disabled", "memory_disabled"),
            ("gone", "disabled", "NOT_FOUND"),
            ("planner", "open", None),
        ]
        (warning,) = house.opened.warnings()
        assert warning.startswith("a memory of the graph cannot be used: ")
    async with house_at(database, tmp_path, root="elsewhere") as house:
        assert {state for _, state, _ in await states(house)} == {"elsewhere"}


async def test_the_list_comes_in_pages_by_tenant_and_name(database: Database, tmp_path: Path) -> None:
    async with house_at(database, tmp_path, identify=free) as house:
        await _in_pages(house)


async def _in_pages(house: House) -> None:
    keys = [("acme", "b"), ("acme", "a"), ("Beta", "a"), ("acme", "c")]
    for tenant, name in keys:
        await house.post("memories", memories=[FACT], tenant_id=tenant, orchestrator_id=name)
    found: list[tuple[str, str]] = []
    cursor: dict[str, str] = {}
    while True:
        page = (await house.client.get(LISTED, params={"limit": 1, **cursor})).json()
        found += [(one["tenant_id"], one["orchestrator_id"]) for one in page["items"]]
        if page["next_cursor"] is None:
            break
        cursor = {"cursor": page["next_cursor"]}
    assert len(found) == len(keys)
    assert {*found} == {*keys}
    assert [one for one in found if one[0] == "acme"] == [("acme", "a"), ("acme", "b"), ("acme", "c")]
    assert [name for name, _, _ in await states(house, tenant_id="Beta")] == ["a"]
    assert (await house.client.get(LISTED, params=cursor | {"tenant_id": "acme"})).status_code == 400


async def test_who_is_bound_to_a_tenant_is_told_of_it_alone(database: Database, tmp_path: Path) -> None:
    async with house_at(database, tmp_path, identify=free) as house:
        await house.post("memories", memories=[FACT], tenant_id="other", orchestrator_id="theirs")
        await house.post("memories", memories=[FACT], tenant_id=TENANT)
    async with house_at(database, tmp_path) as house:  # where a header binds whoever calls to its tenant
        assert [name for name, _, _ in await states(house)] == ["planner"]
        assert (await house.client.get(LISTED, params={"tenant_id": "other"})).status_code == 403
