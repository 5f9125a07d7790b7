"""What a recall reads is found by an index, however large a file is."""

from __future__ import annotations

from typing import Any

import pytest

from elf.families.graph.store.file import FileKit, MemoryFile
from elf.families.graph.store.statements import Snapshot
from tests.db.graph.graph_kit import KEY

pytestmark = pytest.mark.anyio
ALL = {
    "statuses": '["active"]', "types": None, "conversation_ids": None, "min_importance": None,
    "since": 1, "until": 2, "shared": '["/docs/"]',
    "memory_ids": '["m1", "m2"]', "words": '"office"', "type": "Goal", "series": "t-1", "attempt": 1,
    "tenant_id": KEY.tenant_id, "orchestrator_id": KEY.orchestrator_id, "embedding_version": "v", "after": 0,
    "rows": "[{}]", "memory_id": "m1", "edge_types": None, "behind": "", "limit": 10, "numbers": "[1, 2]",
    "viewer": "ana", "unknown": "",
}  # fmt: skip


def explained(snapshot: Snapshot, kit: FileKit, statement: str) -> list[str]:
    rows: list[Any] = snapshot._connection.execute(
        f"EXPLAIN QUERY PLAN {kit.queries[statement]}", ALL
    ).fetchall()
    return [row[3] for row in rows]


async def plan_of(file: MemoryFile, kit: FileKit, statement: str) -> list[str]:
    return await file.read(lambda snapshot: explained(snapshot, kit, statement))


@pytest.mark.parametrize(
    "statement",
    [
        "spans_by_words",
        "memories_that_pass",
        "edges_touching",
        "contradictions_touching",
        "first_of_type",
        "writeback",
        "last_attempt",
        "memories_by_ids",
        "contradicted_by_keys",
        "still_to_make",
        "delete_vectors",
    ],
)
async def test_no_table_is_read_from_end_to_end(file: MemoryFile, kit: FileKit, statement: str) -> None:
    plan = await plan_of(file, kit, statement)
    scans = [line for line in plan if line.startswith("SCAN") and "VIRTUAL TABLE" not in line]
    assert scans == [], plan


@pytest.mark.parametrize(
    ("statement", "index"),
    [("contradicted_by_keys", "memories_by_subject"), ("edges_from_memory", "edges_by_start")],
)
async def test_who_has_just_made_a_file_looks_things_up_as_whoever_opens_it_later(
    file: MemoryFile, kit: FileKit, statement: str, index: str
) -> None:
    plan = await file.write(lambda change: explained(change, kit, statement))
    assert any(index in line for line in plan), plan
    assert plan == await plan_of(file, kit, statement)


async def test_spans_come_in_the_order_of_their_rank_without_being_sorted_again(
    file: MemoryFile, kit: FileKit
) -> None:
    plan = await plan_of(file, kit, "spans_by_words")
    assert not any("B-TREE" in line for line in plan), plan
    # The words come first, and each span is looked up when it is wanted.
    assert [line.split()[1] for line in plan if line.startswith(("SCAN f", "SEARCH s ", "SEARCH m "))] == [
        "f",
        "s",
        "m",
    ]


async def test_what_matters_most_of_a_type_comes_in_its_order(file: MemoryFile, kit: FileKit) -> None:
    (line,) = await plan_of(file, kit, "first_of_type")
    assert "COVERING INDEX memories_by_type" in line
