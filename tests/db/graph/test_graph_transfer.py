"""A memory is taken along with its history and evidence, all of one moment, and is the same where it is taken in."""

from __future__ import annotations

import json
from contextlib import aclosing
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import pytest

from elf.core.errors import Unavailable
from elf.db.database import Database
from elf.families.graph.store.file import FileKit
from elf.families.graph.transfer.exporting import lines_of
from tests.db.graph.graph_kit import KEY, memory, opened, put
from tests.db.graph.house import FACT, House, eventually, fact, house_at, link

pytestmark = pytest.mark.anyio
EXPORT = "/v1/admin/graph/export"
IMPORT = "/v1/admin/graph/import"
MOMENT = "2026-01-02T03:04:05Z"
MEMORY: dict[str, Any] = {
    "memoryId": "m1", "orchestratorId": "planner", "type": "Fact", "importance": 50, "content": "x", "summary": "x",
    "confidence": 0.8, "status": "active", "createdAt": MOMENT, "updatedAt": MOMENT,
    "source": {"sourceType": "manual", "capturedBy": "user"},
}  # fmt: skip
LINE: dict[str, Any] = {"memory": MEMORY, "version": 1}
EDGE: dict[str, Any] = {
    "edgeId": "e1", "fromMemoryId": "m1", "toMemoryId": "m2", "edgeType": "RelatedTo", "weight": 0.5,
    "createdAt": MOMENT,
}  # fmt: skip


async def exported(house: House, **whose: str) -> list[dict[str, Any]]:
    """Return the lines of an export."""
    answer = await house.client.get(EXPORT, params={"orchestrator_id": "planner", **whose})
    assert (answer.status_code, answer.headers["content-type"]) == (200, "text/event-stream"), answer.text
    events = [event for event in answer.text.split("\n\n") if event]
    assert all(event.startswith("data: ") for event in events), answer.text
    return [json.loads(event.removeprefix("data: ")) for event in events]


async def imported(house: House, items: list[Any], status: int = 200, **whose: str) -> Any:
    """Return the answer to an import."""
    answer = await house.client.post(IMPORT, json={"orchestrator_id": "planner", **whose, "items": items})
    assert answer.status_code == status, answer.text
    return answer.json()


async def filled(house: House) -> None:
    """Fill a memory with all that there may be in one: a file's statements, a history, and what was resolved."""
    await house.post("memories", memories=[FACT, fact("m2", content="The office is in Porto.")])
    await house.post("memories/m1/update", content="The office is in Braga.", reason="it moved")
    contradiction = link("m1", "m2", "Contradicts", edgeId="c")
    await house.post("edges", edges=[contradiction, link("m1", "m2", "PartOf", edgeId="e", reason="told so")])
    await house.post("contradictions/c/resolve", keep="FROM", reason="newer")
    await anyio.Path(house.memory() / "ingest" / "notes.md").write_text(
        "We decided to use Postgres.\n\nDone."
    )
    await eventually(lambda: house.post("ingest/run"), lambda looked: looked["files"])


def of_kind(lines: list[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    return [line for line in lines if kind in line]


async def test_what_is_exported_is_the_same_where_it_is_taken_in(database: Database, tmp_path: Path) -> None:
    async with house_at(database, tmp_path) as house:
        await filled(house)
        lines = await exported(house)
        history = (await house.get("memories/m2/history"))["items"]
        edges = (await house.get("memories/m1/edges"))["items"]
    assert [len(of_kind(lines, kind)) for kind in ("memory", "edge", "resolution")] == [4, 4, 1]
    assert [one["version"] for one in of_kind(lines, "memory") if one["memory"]["memoryId"] in "m1 m2"] == [
        2,
        2,
    ]
    assert len(of_kind(lines, "memory_version")) == 6
    (quoted,) = [one for one in of_kind(lines, "quote") if one["memory"]["type"] == "Decision"]
    assert (quoted["quote"]["start"], "decided to use" in quoted["quote"]["quote"]) == (0, True)
    assert quoted["memory"]["source"]["sourcePath"] == "ingest/processed/notes.md"
    async with database.connection() as connection:
        await connection.execute("DELETE FROM graph_homes")  # as in another service
    (tmp_path / "other").mkdir()
    async with house_at(database, tmp_path / "other") as house:
        assert await imported(house, lines) == {"new": len(lines), "known": 0}
        assert await exported(house) == lines
        assert await imported(house, lines) == {"new": 0, "known": len(lines)}
        assert await exported(house) == lines
        assert (await house.get("memories/m2/history"))["items"] == history
        assert (await house.get("memories/m1/edges"))["items"] == edges
        path = str(house.memory() / "ingest" / "processed" / "notes.md")
        found = (await house.get("memories", source_path=path))["items"]
        assert {one["memoryId"] for one in found} >= {quoted["memory"]["memoryId"]}
        recalled = await house.post("recall", query="Postgres")
        assert (recalled["nodes"][0]["memory"]["type"], recalled["degraded"]) == ("Decision", [])


async def test_what_is_not_found_of_a_file_is_not_found_elsewhere_until_it_says_something_else(
    house: House,
) -> None:
    await house.post("memories", memories=[FACT])
    text = f"A harbour. {'word ' * 20_000} A zeppelin."
    await anyio.Path(house.memory() / "ingest" / "long.txt").write_text(text)
    await eventually(lambda: house.post("ingest/run"), lambda looked: looked["files"])
    lines = await exported(house)
    last = next(one["memory"] for one in of_kind(lines, "memory") if "zeppelin" in one["memory"]["content"])
    assert [one["memory"]["memoryId"] for one in lines if one.get("indexed") is False] == [last["memoryId"]]
    await imported(house, lines, orchestrator_id="writer")

    async def found(query: str, whose: str) -> list[str]:
        told = await house.post("recall", query=query, orchestrator_id=whose, top_k_vector=0)
        return [node["memory"]["memoryId"] for node in told["nodes"]]

    for whose in ("planner", "writer"):
        assert len(await found("harbour", whose)) == 1
        assert await found("zeppelin", whose) == []
    changed = {"content": "The zeppelin is green.", "reason": "it was painted"}
    await house.post(f"memories/{last['memoryId']}/update", **changed)
    assert await found("zeppelin", "planner") == [last["memoryId"]]
    await house.erase(everything=True)
    assert await found("zeppelin", "planner") == []


async def test_another_orchestrator_may_take_it_in_and_has_it_for_its_own(house: House) -> None:
    await filled(house)
    lines = await exported(house)
    await imported(house, lines, orchestrator_id="writer")
    own = json.loads(json.dumps(lines).replace('"planner"', '"writer"'))
    assert await exported(house, orchestrator_id="writer") == own
    memories = (await house.get("memories", orchestrator_id="writer", status="all"))["items"]
    assert {one["orchestratorId"] for one in memories} == {"writer"}


async def test_what_is_there_stays_as_it_is(house: House) -> None:
    await house.post("memories", memories=[FACT, fact("m2")], edges=[link("m1", "m2", edgeId="mine")])
    before = await exported(house)
    lines = [LINE, {"edge": {**EDGE, "weight": 1.0}}]
    assert await imported(house, lines) == {"new": 0, "known": 2}
    assert await exported(house) == before


async def test_an_import_that_was_broken_off_is_finished_by_the_next(house: House) -> None:
    await filled(house)
    lines = await exported(house)
    broken_off = [line for line in lines if "memory" in line]
    assert await imported(house, broken_off, orchestrator_id="writer") == {"new": 4, "known": 0}
    answer = await imported(house, lines, orchestrator_id="writer")
    assert answer == {"new": len(lines) - 4, "known": 4}
    own = json.loads(json.dumps(lines).replace('"planner"', '"writer"'))
    assert await exported(house, orchestrator_id="writer") == own


async def test_no_version_is_taken_in_that_the_memory_here_never_had(house: House) -> None:
    await house.post("memories", memories=[FACT])
    version = {"version": 2, "operation": "UPDATE", "memory": MEMORY, "createdAt": MOMENT}
    assert await imported(house, [{"memory_version": version}]) == {"new": 0, "known": 1}
    assert [one["version"] for one in (await house.get("memories/m1/history"))["items"]] == [1]


SECRET = "the key is AKIAIOSFODNN7EXAMPLE"
REFUSED: dict[str, tuple[Any, str]] = {
    "nothing": ({}, "$.items[1]"),
    "two": ({**LINE, "edge": EDGE}, "$.items[1]"),
    "no version": ({"memory": MEMORY}, "$.items[1]"),
    "a bound": ({**LINE, "memory": {**MEMORY, "importance": 101}}, "$.items[1].memory.importance"),
    "an odd field": ({**LINE, "odd": 1}, "$.items[1].odd"),
    "a detour": (
        {**LINE, "memory": {**MEMORY, "source": {**MEMORY["source"], "sourcePath": "../../other/x.md"}}},
        "$.items[1].memory.source.sourcePath",
    ),
    "a source that lacks something": (
        {**LINE, "memory": {**MEMORY, "source": {"sourceType": "channel_transcript", "capturedBy": "user"}}},
        "$.items[1].memory.source.conversationId",
    ),
    "a secret": ({**LINE, "memory": {**MEMORY, "content": SECRET}}, "$.items[1].memory.content"),
    "a secret in a quote": (
        {**LINE, "quote": {"quote": SECRET, "start": 0, "end": 9}},
        "$.items[1].quote.quote",
    ),
    "a resolution of no contradiction": (
        {"edge": EDGE, "resolution": {"outcome": "both_true", "resolvedAt": MOMENT}},
        "$.items[1]",
    ),
}


@pytest.mark.parametrize(("line", "field"), REFUSED.values(), ids=REFUSED)
async def test_a_line_that_may_not_be_is_named_and_nothing_is_taken_in(
    house: House, line: dict[str, Any], field: str
) -> None:
    first = {"memory": {**MEMORY, "memoryId": "first"}, "version": 1}
    answer = await imported(house, [first, line], 400)
    assert (answer["error_code"], answer["fields"]) == ("INVALID_REQUEST", [field])
    assert (await house.get("memories", status="all"))["items"] == []


async def test_an_edge_to_a_memory_that_has_not_come_is_named(house: House) -> None:
    answer = await imported(house, [LINE, {"edge": EDGE}], 404)
    assert answer["fields"] == ["$.items[1].edge.toMemoryId"]
    await imported(house, [LINE, {"memory": {**MEMORY, "memoryId": "m2"}, "version": 1}, {"edge": EDGE}])
    other = {**EDGE, "fromMemoryId": "m2", "toMemoryId": "m1"}
    assert (await imported(house, [{"edge": other}], 409))["fields"] == ["$.items[0].edge.edgeId"]


async def test_only_the_orchestrator_itself_is_exported_and_one_that_there_is(house: House) -> None:
    await house.post("memories", memories=[FACT])
    for orchestrator, asking, code in (("planner", "writer", "SCOPE_DENIED"), ("none", "none", "NOT_FOUND")):
        whose = {"orchestrator_id": orchestrator, "requesting_orchestrator_id": asking}
        answer = await house.client.get(EXPORT, params=whose)
        assert answer.json()["error_code"] == code
    assert not house.memory("none").exists()


async def test_an_export_is_of_one_moment_whatever_is_written_meanwhile(tmp_path: Path, kit: FileKit) -> None:
    async with anyio.create_task_group() as group:
        file = await opened(group, tmp_path / "planner", KEY, kit)
        await put(file, *(memory(f"m{number}") for number in range(3)))
        look = partial(lines_of, folder=file.layout.memory)
        async with aclosing(file.read_on(look, size=1)) as pages:
            lines = [*await anext(pages)]
            await put(file, memory("m1", content="Something else."), memory("m3"))
            lines += [line async for page in pages for line in page]
        told = {line.memory.memory_id: line.memory.content for line in lines if line.memory is not None}
        assert told == {f"m{number}": memory().content for number in range(3)}
        assert await file.truncate_log()
        group.cancel_scope.cancel()


async def test_a_file_that_is_closed_ends_an_export_that_is_left_standing(
    tmp_path: Path, kit: FileKit
) -> None:
    async with anyio.create_task_group() as group:
        file = await opened(group, tmp_path / "planner", KEY, kit)
        await put(file, memory("m1"), memory("m2"))
        pages = file.read_on(partial(lines_of, folder=file.layout.memory), size=1)
        await anext(pages)
        group.cancel_scope.cancel()
    with pytest.raises(Unavailable, match="is being closed"):
        await anext(pages)
    assert not (tmp_path / "planner" / "memory" / "memory.db-wal").exists()
