"""Contexts and write-backs that cannot be as asked for: what can be made of them is, and nothing is refused whole."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from elf.db.database import Database
from tests.db.graph.house import FACT, House, eventually, fact, house_at

pytestmark = pytest.mark.anyio
UNUSABLE = ["", " \n\t", "\u200b", "the\0office", "x" * 8_193, "long " * 20_000]


@pytest.mark.parametrize("text", UNUSABLE)
async def test_a_message_of_which_nothing_can_be_made_gets_the_last_bulletin_or_an_empty_one(
    house: House, text: str
) -> None:
    asked: dict[str, Any] = {"purpose": "selector", "message_id": "m1", "message": text}
    first = await house.post("context", **asked)
    assert (first["status"], first["bulletin"]["status"], first["degraded"]) == (
        "fallback",
        "empty",
        ["message"],
    )
    await house.post("memories", memories=[FACT])
    made = await house.post("context", **{**asked, "message_id": "m0", "message": "office"})
    assert (made["status"], made["bulletin"]["status"]) == ("ok", "fresh")
    again = await house.post("context", **asked)
    assert (again["status"], again["bulletin"]["status"]) == ("fallback", "previous")
    assert again["bulletin"]["citations"] == made["bulletin"]["citations"]
    logged = (house.memory() / "logs" / "memory.log").read_text()
    assert "memory.bulletin.generation_failed" in logged


@pytest.mark.parametrize("text", UNUSABLE)
async def test_a_prompt_of_which_nothing_can_be_made_leaves_the_bulletin(house: House, text: str) -> None:
    await house.post("memories", memories=[FACT])
    asked: dict[str, Any] = {"purpose": "step", "message_id": "m1", "message": "office", "prompt": text}
    step = await house.post("context", **asked)
    assert (step["status"], step["bulletin"]["status"], step["recall"]) == ("fallback", "fresh", None)
    assert step["degraded"] == ["prompt"]
    both = await house.post("context", **{**asked, "message_id": "m2", "message": text})
    assert (both["status"], both["bulletin"]["status"]) == ("fallback", "previous")
    diagnosed = await house.post("context", purpose="diagnostics", prompt=text)
    assert (diagnosed["status"], diagnosed["findings"], diagnosed["degraded"]) == (
        "fallback",
        None,
        ["prompt"],
    )


async def test_a_tenant_that_has_as_many_orchestrators_as_it_may_gets_contexts(
    database: Database, tmp_path: Path
) -> None:
    asked = {"purpose": "selector", "message_id": "m1", "message": "office"}
    async with house_at(database, tmp_path, "max_orchestrators = 1\n") as house:
        await house.post("memories", memories=[FACT])
        shutil.copytree(house.memory().parent, house.memory("other").parent)
        (house.memory("other") / "bulletins").rmdir()
        for name in ("other", "third"):
            context = await house.post("context", **asked, orchestrator_id=name)
            assert context["bulletin"]["citations"] == []
        await house.post("memories", 409, memories=[FACT], orchestrator_id="third")


@pytest.mark.parametrize(
    "long", ["x" * 17_000, "two words " * 3_000, ["x" * 9_000, "y" * 9_000], {"a": "x" * 20_000}]
)
async def test_an_output_that_is_too_long_is_skipped_and_the_others_are_written(
    house: House, long: Any
) -> None:
    outputs = {"decision": "Use SQLite.", "report": long, "todo": "Order disks."}
    written = await house.post("writeback/workflow_output", workflow_run_id="r", step_id="s", outputs=outputs)
    assert (written["status"], [one["outcome"] for one in written["memories"]]) == ("written", ["ADD", "ADD"])
    assert written["skipped"] == [{"field": "$.outputs.report", "reason": "content_too_long"}]
    assert {one["type"] for one in (await house.get("memories"))["items"]} == {"Decision", "Todo"}


@pytest.mark.parametrize("name", ["ingest", "ingest/processed", "ingest/rejected", "logs"])
async def test_a_folder_that_becomes_a_link_while_the_memory_is_open_disables_it(
    house: House, tmp_path: Path, name: str
) -> None:
    await house.post("memories", memories=[FACT])
    folder, elsewhere = house.memory() / name, tmp_path / "elsewhere"
    shutil.move(folder, elsewhere)
    before = {path: path.read_bytes() for path in elsewhere.rglob("*") if path.is_file()}
    folder.symlink_to(elsewhere)

    async def told() -> Any:
        answer = await house.client.get("/v1/graph/status", params={"orchestrator_id": "planner"})
        return answer.json() if answer.status_code == 200 else {"status": "ok"}  # it is just being closed

    status = await eventually(told, lambda told: told["status"] != "ok")
    assert (status["status"], status["error_code"]) == ("disabled", "unsafe_layout")
    assert str(tmp_path) not in status["message"]
    assert (await house.post("memories", 503, memories=[fact("m2")]))["error_code"] == "unsafe_layout"
    context = await house.post("context", purpose="selector", message_id="m", message="office")
    assert context["status"] == "disabled"
    assert len(house.opened.warnings()) == 1
    assert {path: path.read_bytes() for path in elsewhere.rglob("*") if path.is_file()} == before
