"""What is kept of checkpoints for readers that are no graph: nothing that the graph's serializer encrypts."""

from __future__ import annotations

from base64 import b64encode
from pathlib import Path
from typing import Any

import pytest

from elf.db.database import Database
from tests.db.assistant.assistant_kit import TENANT, AssistantHouse, house_at

pytestmark = pytest.mark.anyio

SECRET = "Ana moves to Porto."


async def put(house: AssistantHouse, number: int, *, kind: str = "msgpack", **facts: Any) -> None:
    typed = {"type": kind, "data": b64encode(b"opaque").decode()}
    summary = {
        "step": number, "ts": "2026-03-01T12:00:00+00:00", "graph_state": {"note": SECRET},
        "memory_context": None, "conversation_history": [SECRET],
    }  # fmt: skip
    await house.post(
        "checkpoints", 204, thread_id="t1", checkpoint_id=f"1-{number}", checkpoint=typed, metadata=typed,
        facts={"step": number} | facts, versions={"messages": "int:1", "__start__": "int:1"},
        values=[{"channel": "messages", "version": "int:1", **typed}], summary=summary,
    )  # fmt: skip


async def stored(house: AssistantHouse) -> str:
    rows = await house.rows("SELECT checkpoint_data::text AS data FROM supervisor_checkpoints")
    return " ".join(row["data"] for row in rows)


async def is_metadata(house: AssistantHouse, number: int) -> None:
    told = await house.get("threads/t1/checkpoint")
    assert told["encrypted"] is True
    assert (told["checkpoint_data"]["checkpoint_id"], told["checkpoint_data"]["step"]) == (
        f"1-{number}", number,
    )  # fmt: skip
    assert SECRET not in str(told)
    assert SECRET not in await stored(house)


async def test_what_the_serializer_encrypts_has_no_readable_copy(house: AssistantHouse) -> None:
    await put(house, 1)
    told = await house.get("threads/t1/checkpoint")
    assert (told.get("encrypted"), told["checkpoint_data"]["conversation_history"]) == (False, [SECRET])
    await put(house, 2, kind="msgpack+aes")
    await is_metadata(house, 2)


async def test_a_setting_keeps_no_readable_copy(database: Database, tmp_path: Path) -> None:
    async with house_at(database, tmp_path, "readable_checkpoints = false\n") as house:
        await put(house, 1)
        await is_metadata(house, 1)


async def test_a_command_removes_readable_copies_of_a_user_and_of_a_tenant(house: AssistantHouse) -> None:
    await put(house, 1)
    for body, redacted in (({"user_id": "ben"}, 0), ({"user_id": "ana"}, 1), ({}, 0)):
        answer = await house.client.post(
            "/v1/admin/assistant/checkpoints/redact", json={"tenant_id": TENANT} | body
        )
        assert (answer.status_code, answer.json()) == (200, {"redacted": redacted})
    await is_metadata(house, 1)


async def test_what_other_callers_keep_of_a_thread_stays(house: AssistantHouse) -> None:
    await house.post("threads/t2/checkpoint", checkpoint_data={"note": "Mine.", "encrypted": True})
    answer = await house.client.post("/v1/admin/assistant/checkpoints/redact", json={"tenant_id": TENANT})
    assert answer.json() == {"redacted": 0}
    told = await house.get("threads/t2/checkpoint")
    assert (told["encrypted"], told["checkpoint_data"]["note"]) == (False, "Mine.")


async def test_a_thread_points_to_the_newest_checkpoint_that_is_left(house: AssistantHouse) -> None:
    await put(house, 1, run_id="r1")
    await put(house, 2, run_id="r2")
    await house.post("checkpoints/delete", 204, run_ids=["r2"])
    told = (await house.get("threads/t1/checkpoint"))["checkpoint_data"]
    assert (told["checkpoint_id"], told["step"], told["left_out"]) == ("1-1", 1, ["messages"])
    await house.post("checkpoints/delete", 204, run_ids=["r1"])
    await house.get("threads/t1/checkpoint", 404)


async def test_a_thread_whose_id_has_slashes_is_read_by_its_path(house: AssistantHouse) -> None:
    for thread, encoded in (("a/b", "a%2Fb"), ("a/b/checkpoint", "a%2fb%2Fcheckpoint"), ("a%2Fb", "a%252Fb")):
        data = {"note": thread}
        saved = await house.post(f"threads/{encoded}/checkpoint", checkpoint_data=data)
        assert saved["thread_id"] == thread
        assert (await house.get(f"threads/{encoded}/checkpoint"))["checkpoint_data"] == data
    await house.get("threads%2Fa/checkpoint", 404)
    await house.get("memories%2F" + "0" * 32, 404)
