"""Files that are dropped, over HTTP: taken in, listed, looked at now."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from elf.db.database import Database
from tests.db.graph.house import House, fact, house_at
from tests.db.graph.ingest_kit import json_file, told

pytestmark = pytest.mark.anyio


async def dropped(house: House, **files: str) -> list[dict[str, Any]]:
    """Drop files, a `_` in a name standing for its dot, and return what became of them."""
    (house.memory() / "ingest").mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (house.memory() / "ingest" / name.replace("_", ".")).write_text(text)
    looked = await house.post("ingest/run")
    assert looked["here"]
    found: list[dict[str, Any]] = looked["files"]
    return found


async def test_who_has_the_folder_looked_at_is_told_what_became_of_the_files(house: House) -> None:
    assert await dropped(
        house, a_md="The office is in Lisbon.", b_json=json_file(told("m1")), c_json="{"
    ) == [
        {
            "status": "processed",
            "sourcePath": str(house.memory() / "ingest" / "processed" / "a.md"),
            "reasonCode": None,
        },
        {
            "status": "processed",
            "sourcePath": str(house.memory() / "ingest" / "processed" / "b.json"),
            "reasonCode": None,
        },
        {
            "status": "rejected",
            "sourcePath": str(house.memory() / "ingest" / "rejected" / "c.json"),
            "reasonCode": "invalid_json",
        },
    ]
    found = (await house.get("memories", source_type="ingest_file"))["items"]
    assert {"m1"} < {one["memoryId"] for one in found}


async def test_files_are_listed_as_their_manifests_say(house: House) -> None:
    await dropped(house, a_json=json_file(told("m1"), told("m2")))
    await dropped(house, a_json=json_file(told("m1"), told("m2")))
    await dropped(house, b_json=json_file(told("m1", nope=1)))
    listed = (await house.get("ingest"))["items"]
    assert [(one["status"], one["memoriesWritten"], one["memoryIds"]) for one in listed] == [
        ("rejected", 0, []),
        ("duplicate", 0, ["m1", "m2"]),
        ("processed", 2, ["m1", "m2"]),
    ]
    assert (listed[0]["error"]["code"], listed[0]["error"]["fields"]) == (
        "invalid_shape",
        ["$.memories[0].nope"],
    )
    assert listed[1]["idempotencyKey"] == listed[2]["idempotencyKey"]
    (only,) = (await house.get("ingest", status="duplicate"))["items"]
    assert only == listed[1]


async def test_files_are_listed_page_by_page(house: House) -> None:
    for number in range(5):
        await dropped(house, **{f"{number}_json": json_file(told(f"m{number}"))})
    paths: list[str] = []
    page = await house.get("ingest", limit=2)
    while page["next_cursor"] is not None:
        paths += [one["sourcePath"] for one in page["items"]]
        page = await house.get("ingest", limit=2, cursor=page["next_cursor"])
    paths += [one["sourcePath"] for one in page["items"]]
    assert [path.rpartition("/")[2] for path in paths] == ["4.json", "3.json", "2.json", "1.json", "0.json"]
    refused = await house.get("ingest", 400, status="rejected", cursor=page["next_cursor"] or "none")
    assert refused["fields"] == ["$.cursor"]


async def test_another_orchestrator_neither_lists_nor_has_it_looked(house: House) -> None:
    for answer in (
        await house.get("ingest", 403, requesting_orchestrator_id="other"),
        await house.post("ingest/run", 403, requesting_orchestrator_id="other"),
    ):
        assert answer["fields"] == ["$.requesting_orchestrator_id"]


async def test_a_note_that_says_otherwise_contradicts_what_was_written(house: House) -> None:
    await house.post(
        "memories",
        memories=[fact("m1", type="Decision", content="We are going with Postgres for the ledger.")],
    )
    await dropped(house, a_md="We are going with SQLite for the ledger.")
    (found,) = (await house.get("contradictions"))["items"]
    assert found["toMemory"]["memoryId"] == "m1"
    assert found["fromMemory"]["source"]["sourceType"] == "ingest_file"


async def test_where_no_files_are_taken_in_nobody_looks(database: Database, tmp_path: Path) -> None:
    async with house_at(database, tmp_path, "[graph.ingest]\nenabled = false\n") as house:
        await house.post("ingest/run", 501)
        assert (await house.get("ingest"))["items"] == []
