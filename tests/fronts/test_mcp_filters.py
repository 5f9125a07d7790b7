"""memory_search: the filters that it takes as arguments of its own, and faults told at the argument."""

from __future__ import annotations

from typing import Any

import pytest

from tests.fronts.mcp_kit import add_note, context, failure, read, within
from tests.system.service import RunningService

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def test_a_search_finds_only_what_its_filters_let_through(service: RunningService, tenant: str) -> None:
    async with within(service, **context(tenant)) as client:
        notes = {}
        for type, key in (
            ("fact", "hive/roof"),
            ("plan", "hive/roof"),
            ("plan", "Hive/yard"),
            ("fact", None),
        ):
            text = f"The bees of {type} {key} fly in May."
            notes[type, key] = await add_note(client, {"text": text, "type": type, "key": key})

        async def found(**filters: Any) -> set[str]:
            arguments = {"query": "When do the bees fly?", **filters}
            body = read(await client.call_tool("memory_search", arguments))
            return {item["note_id"] for item in body["items"]}

        def of(*keys: tuple[str, str | None]) -> set[str]:
            return {notes[key] for key in keys}

        roof, plan = ("fact", "hive/roof"), ("plan", "hive/roof")
        assert await found() == set(notes.values())
        assert await found(type="plan") == of(plan, ("plan", "Hive/yard"))
        assert await found(key_prefix="hive/", type=None) == of(roof, plan)
        assert await found(type="plan", key_prefix="hive/", since="2026-01-01") == of(plan)
        assert await found(until="2026-01-01T00:00:00Z") == await found(since="2999-12-31") == set()
        assert await found(type="plan", filters={"scope": ["agent_private"]}) == of(
            plan, ("plan", "Hive/yard")
        )


@pytest.mark.parametrize(
    ("arguments", "fields"),
    [
        ({"type": "idea"}, ["$.type"]),
        ({"type": 5}, ["$.type"]),
        ({"key_prefix": ""}, ["$.key_prefix"]),
        ({"since": "yesterday", "until": 5}, ["$.since", "$.until"]),
        ({"since": "2026-01-02", "until": "2026-01-01"}, ["$.since", "$.until"]),
        ({"type": "fact", "filters": 5}, ["$.filters"]),
    ],
    ids=str,
)
async def test_a_faulty_filter_is_told_at_the_argument(
    service: RunningService, tenant: str, arguments: dict[str, Any], fields: list[str]
) -> None:
    async with within(service, **context(tenant)) as client:
        body = failure(await client.call_tool("memory_search", {"query": "bees", **arguments}))
    assert (body["error_code"], set(body["fields"])) == ("INVALID_REQUEST", set(fields))
    assert fields[0] in body["message"]
    assert "updated_" not in body["message"]
