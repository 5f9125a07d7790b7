"""What is no moment, and what is no cursor, is refused by its name."""

from __future__ import annotations

from typing import Any

import pytest

from tests.db.assistant.assistant_kit import AssistantHouse

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(
    "moment", ["0.5", "1700000000", "2026-01-02", "2026-01-02 03:04:05Z", "2026-01-02T03:04:05"]
)
async def test_a_moment_is_written_as_one(house: AssistantHouse, moment: str) -> None:
    refused = await house.get("memories", 400, updated_after=moment)
    assert refused["fields"] == ["$.updated_after"]


@pytest.mark.parametrize("cursor", ["0", "0" * 512, "é", "MHww", "%"])
async def test_a_cursor_of_no_listing_is_refused(house: AssistantHouse, cursor: str) -> None:
    for path in ("memories", "history", "proposals"):
        assert (await house.get(path, 400, cursor=cursor))["fields"] == ["$.cursor"]
    assert (await house.post("checkpoints/list", 400, cursor=cursor))["fields"] == ["$.cursor"]


@pytest.mark.parametrize("data", [{"a": "\x00"}, {"a\x00": 1}, {"\U000e0101": "\x00"}, {"\u4e2d": ["\x00"]}])
async def test_what_postgres_cannot_hold_is_refused_in_json_of_any_form(
    house: AssistantHouse, data: dict[str, Any]
) -> None:
    refused = await house.post("threads/t/checkpoint", 400, checkpoint_data=data)
    assert refused["fields"][0].startswith("$.checkpoint_data[")
