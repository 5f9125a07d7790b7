"""How a memory is, as an orchestrator is told."""

from __future__ import annotations

from pathlib import Path

import pytest

from elf.db.database import Database
from tests.db.graph.house import FACT, House, eventually, fact, house_at, link

pytestmark = pytest.mark.anyio


async def test_a_memory_tells_what_it_holds(house: House) -> None:
    memories = [FACT, fact("m2", type="Goal"), fact("m3", status="superseded")]
    edges = [link("m1", "m2", "Contradicts"), link("m2", "m3", "Contradicts"), link("m1", "m2")]
    await house.post("memories", memories=memories, edges=edges)
    status = await eventually(lambda: house.get("status"), lambda told: not told["counts"]["vectors_to_make"])
    size = status["counts"].pop("file_bytes")
    assert size > 4096
    assert status == {
        "orchestrator_id": "planner",
        "status": "ok",
        "error_code": None,
        "message": None,
        "counts": {
            "memories": {"active": {"Fact": 1, "Goal": 1}, "superseded": {"Fact": 1}},
            "edges": {"Contradicts": 2, "RelatedTo": 1},
            "unresolved_contradictions": 1,
            "vectors_to_make": 0,
        },
    }


async def test_without_its_model_it_tells_what_is_found_by_words_only(house: House) -> None:
    house.model.away = True
    await house.post("memories", memories=[FACT, fact("m2")])
    assert (await house.get("status"))["counts"]["vectors_to_make"] == 2


async def test_a_memory_that_cannot_be_used_says_why(database: Database, tmp_path: Path) -> None:
    async with house_at(database, tmp_path) as house:
        await house.post("memories", memories=[FACT])
    (house.memory() / "memory.db").write_bytes(b"no database" * 1000)
    async with house_at(database, tmp_path) as house:
        status = await house.get("status")
    assert (status["status"], status["error_code"], status["counts"]) == (
        "disabled",
        "memory_db_corrupt",
        None,
    )
    async with house_at(database, tmp_path, "enabled = false") as house:
        status = await house.get("status")
    assert (status["status"], status["error_code"]) == ("disabled", "memory_disabled")
