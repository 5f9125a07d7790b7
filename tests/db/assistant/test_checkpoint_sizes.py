"""Checkpoints are as large as may be read at once: values that came with others count, and what tasks wrote."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from elf.db.queries import Queries, sql_folder
from elf.families.assistant.api import checkpoints as a
from elf.families.assistant.checkpoints import reading
from elf.families.assistant.model import FAMILY
from tests.db.assistant.assistant_kit import TENANT, USER, AssistantHouse

pytestmark = pytest.mark.anyio

PLACE = {"thread_id": "t", "checkpoint_ns": ""}
ONE = base64.b64encode(b"x").decode()
TEN = base64.b64encode(b"x" * 10).decode()


async def put(house: AssistantHouse, id: str, *channels: str, status: int = 204, **other: Any) -> Any:
    """Write a checkpoint of 2 bytes that has these channels, with a value of ten bytes of the last of them."""
    typed = {"type": "json", "data": ONE}
    body = {
        **PLACE, "checkpoint_id": id, "checkpoint": typed, "metadata": typed, "facts": {},
        "versions": dict.fromkeys(channels, "1"),
        "values": [{"type": "json", "data": TEN, "channel": channel, "version": "1"} for channel in channels[-1:]],
    }  # fmt: skip
    return await house.post("checkpoints", status, **(body | other))


async def write(house: AssistantHouse, task: str, status: int = 204) -> Any:
    writes = [{"type": "json", "data": TEN, "channel": "c", "idx": 0}]
    return await house.post(
        "checkpoints/writes", status, **PLACE, checkpoint_id="1", task_id=task, writes=writes
    )


async def test_values_and_writes_of_a_checkpoint_have_so_many_bytes_together(
    house: AssistantHouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(a, "MAX_CHECKPOINT_BYTES", 22)
    await put(house, "0", "a")
    await put(house, "1", "a", "b")
    refused = await put(house, "2", "a", "b", "c", status=400)
    assert refused["fields"] == ["$.values"]
    assert "would have 32 bytes" in refused["message"]
    refused = await write(house, "one", 400)
    assert refused["fields"] == ["$.writes"]
    found = await house.post("checkpoints/get", **PLACE)
    assert (found["checkpoint"]["checkpoint_id"], found["checkpoint"]["writes"]) == ("1", [])
    await put(house, "1", "a")
    await write(house, "one")


async def test_one_that_what_came_later_made_too_large_is_not_read_and_others_are(
    house: AssistantHouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "MAX_READ_BYTES", 22)
    await put(house, "0", "c", "b", "a")  # of which b and c come now
    await put(house, "1", "b")
    assert len((await house.post("checkpoints/get", **PLACE, checkpoint_id="0"))["checkpoint"]["values"]) == 2
    await put(house, "2", "c")
    for path, asked in (("get", {"checkpoint_id": "0"}), ("list", {})):
        refused = await house.post(f"checkpoints/{path}", 409, **PLACE, **asked)
        assert "at most 22 are read" in refused["message"]
    assert len((await house.post("checkpoints/get", **PLACE))["checkpoint"]["values"]) == 1


async def test_an_export_reads_few_large_checkpoints_of_threads_at_once(house: AssistantHouse) -> None:
    for thread in ("one", "two", "three"):
        await house.post(f"threads/{thread}/checkpoint", checkpoint_data={"thread": thread})
    large = (
        "UPDATE supervisor_checkpoints SET checkpoint_data = jsonb_build_object('k', repeat('word ', 600000))"
    )
    await house.rows(large)
    statement = Queries.load(sql_folder() / FAMILY)["export_thread_checkpoints"]
    first = await house.rows(statement, TENANT, USER, "", "00000000-0000-0000-0000-000000000000", 200)
    rest = await house.rows(statement, TENANT, USER, USER, first[-1]["id"], 200)
    assert (len(first), len(rest)) == (2, 1)
