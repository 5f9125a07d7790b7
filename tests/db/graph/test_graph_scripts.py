"""Memories of any script are found by their words, and what is wrong with a name is said."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import apsw
import pytest

from elf.db.database import Database
from elf.families.graph.store.schema import read_steps
from tests.db.graph.house import FACT, House, eventually, fact, house_at
from tests.db.graph.ingest_kit import json_file, told

pytestmark = pytest.mark.anyio
WORDS = {"top_k_vector": 0}


@pytest.mark.parametrize(
    ("content", "query"),
    [
        ("İstanbul is by the sea.", "İstanbul"),
        ("İstanbul is by the sea.", "istanbul"),
        ("istanbul is by the sea.", "İSTANBUL"),
        ("東京タワーは芝公園にあります。", "東京タワー"),
        ("東京タワーは芝公園にあります。", "芝公園"),
        ("東京タワーは芝公園にあります。", "公園はどこですか"),
        ("東京タワーは芝公園にあります。", "園"),
        ("会议在上海举行", "上海"),
        ("회의는 서울에서 열립니다", "서울"),
        ("Meet at 渋谷駅 at noon.", "渋谷"),
        ("The café is closed.", "CAFE"),
    ],
)
async def test_a_memory_is_found_by_its_words_in_any_script(house: House, content: str, query: str) -> None:
    await house.post(
        "memories", memories=[fact("m1", content=content), fact("m2", content="Nothing of it: 大阪.")]
    )
    found = await house.post("recall", query=query, **WORDS)
    assert [(node["memory"]["memoryId"], node["snippet"]) for node in found["nodes"]] == [("m1", content)]
    await house.post("memories/m1/update", content="It is elsewhere.")
    assert (await house.post("recall", query=query, **WORDS))["nodes"] == []


async def test_what_was_written_before_is_found_by_a_part_of_it_too(
    database: Database, tmp_path: Path
) -> None:
    async with house_at(database, tmp_path) as house:
        await house.post("memories", memories=[fact("m1", content="東京タワーは芝公園にあります。")])
    as_it_was(house.memory() / "memory.db")
    async with house_at(database, tmp_path) as house:
        found = await house.post("recall", query="芝公園", **WORDS)
        assert [node["memory"]["memoryId"] for node in found["nodes"]] == ["m1"]


def as_it_was(path: Path) -> None:
    """Take the last step of the schema back: a run of CJK characters is one word, as it was before."""
    steps = read_steps(Path(__file__).parents[3] / "sql" / "graph" / "file")
    connection = apsw.Connection(str(path))
    connection.execute("""
        DROP TRIGGER spans_in;
        DROP TRIGGER spans_out;
        CREATE TRIGGER spans_in AFTER INSERT ON memory_spans BEGIN
          INSERT INTO memory_span_fts (rowid, text) VALUES (new.span_no, new.text);
        END;
        CREATE TRIGGER spans_out AFTER DELETE ON memory_spans BEGIN
          INSERT INTO memory_span_fts (memory_span_fts, rowid, text) VALUES ('delete', old.span_no, old.text);
        END;
        ALTER TABLE memory_spans DROP COLUMN words;
        INSERT INTO memory_span_fts (memory_span_fts) VALUES ('delete-all');
        INSERT INTO memory_span_fts (rowid, text) SELECT span_no, text FROM memory_spans;
    """)
    connection.pragma("user_version", len(steps) - 1)
    connection.close()


@pytest.mark.parametrize(
    ("memory_id", "problem"),
    [
        ("a b", "may hold only letters, digits, ., _, : and -"),
        ("ä", "may hold only letters, digits, ., _, : and -"),
        ("x" * 129, "should have at most 128 characters, and has 129"),
        ("", "should not be empty"),
    ],
)
async def test_what_is_wrong_with_an_id_is_said(house: House, memory_id: str, problem: str) -> None:
    refused = await house.post("memories", 400, memories=[{**FACT, "memoryId": memory_id}])
    assert refused["message"] == f"$.memories[0].memoryId: {problem}"
    if memory_id:
        body: dict[str, Any] = {"memory_ids": [memory_id], "orchestrator_id": "planner"}
        answer = await house.client.post("/v1/admin/graph/erase", json=body)
        assert answer.json()["message"] == f"$.memory_ids[0]: {problem}"


@pytest.mark.parametrize(
    ("orchestrator_id", "problem"),
    [
        ("-a", "should begin with a letter or a digit"),
        ("a/b", "may hold only letters, digits, ., _ and -"),
        ("x" * 129, "should have at most 128 characters, and has 129"),
    ],
)
async def test_what_is_wrong_with_an_orchestrator_is_said(
    house: House, orchestrator_id: str, problem: str
) -> None:
    refused = await house.post("recall", 400, query="office", orchestrator_id=orchestrator_id)
    assert refused["message"] == f"$.orchestrator_id: {problem}"


async def test_a_file_that_says_only_when_a_memory_was_changed_keeps_that(house: House) -> None:
    await house.post("memories", memories=[FACT])
    text = json_file(told("old", updatedAt="2020-01-02T03:04:05Z"), told("new"))
    (house.memory() / "ingest" / "told.json").write_text(text)

    async def listed() -> dict[str, Any]:
        await house.post("ingest/run")
        return {one["memoryId"]: one for one in (await house.get("memories"))["items"]}

    found = await eventually(listed, lambda found: "old" in found)
    assert (found["old"]["createdAt"], found["old"]["updatedAt"]) == ("2020-01-02T03:04:05Z",) * 2
    assert found["new"]["createdAt"] == found["new"]["updatedAt"] > "2025"
