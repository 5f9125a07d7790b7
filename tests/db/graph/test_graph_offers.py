"""What the graph offers to whoever stands above all families."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from elf.api.caller import Caller
from elf.core.errors import Forbidden, NotFound
from elf.db.database import Database
from elf.offers import Items, Question, Recall, Subject
from tests.db.graph.house import FACT, TENANT, House, fact, house_at, link
from tests.notes_kit import vector_of

pytestmark = pytest.mark.anyio
PLANNER = Subject(tenant_id=TENANT, agent_id="planner")
ANA = Subject(tenant_id=TENANT, agent_id="planner", user="ana")
SAID = {"sourceType": "channel_transcript", "capturedBy": "system", "conversationId": "c1"}
OTHERS = [
    (Subject(tenant_id=TENANT, agent_id="other"), Caller()),
    (Subject(tenant_id="rival", agent_id="planner"), Caller()),
    (ANA, Caller()),
    (PLANNER, Caller(user="ana")),
    (ANA, Caller(user="bob")),
    (PLANNER, Caller(bound={"agent_id": "other"})),
    (PLANNER, Caller(bound={"tenant_id": "rival"})),
]


def asked(text: str, subject: Subject = PLANNER, **other: Any) -> Question:
    return Question(**{"text": text, "vector": None, "subject": subject, "limit": 5, **other})


def recall_of(house: House) -> Recall:
    assert house.opened.recall is not None
    return house.opened.recall


def items_of(house: House) -> Items:
    assert house.opened.items is not None
    return house.opened.items


async def test_memories_are_candidates_with_where_they_are_from(house: House) -> None:
    await house.post("memories", memories=[{**FACT, "source": SAID}])
    (item,) = await recall_of(house)(asked("Where is the office?", vector=vector_of("office") * 3), Caller())
    assert (item.kind, item.id, item.text) == ("planner", "m1", FACT["content"])
    assert (item.provenance, item.conversation, item.states) == (["conversation:c1"], "c1", [])
    assert item.score > 0
    read = await items_of(house).read("planner", "m1", PLANNER, Caller())
    assert (read.text, read.at, read.conversation) == (item.text, item.at, "c1")


@pytest.mark.parametrize(("subject", "caller"), OTHERS)
async def test_nobody_else_has_candidates_or_items(house: House, subject: Subject, caller: Caller) -> None:
    await house.post("memories", memories=[FACT])
    assert await recall_of(house)(asked("office", subject), caller) == []
    with pytest.raises(NotFound):
        await items_of(house).read("planner", "m1", subject, caller)
    with pytest.raises(NotFound):
        await items_of(house).forget("planner", "m1", subject, caller)
    assert not house.memory("other").exists()
    assert (await items_of(house).read("planner", "m1", PLANNER, Caller())).id == "m1"


async def test_without_an_agent_there_are_no_candidates_but_items_by_their_orchestrator(house: House) -> None:
    await house.post("memories", memories=[FACT])
    anyone = Subject(tenant_id=TENANT)
    assert await recall_of(house)(asked("office", anyone), Caller()) == []
    assert (await items_of(house).read("planner", "m1", anyone, Caller())).text == FACT["content"]
    for kind, item_id in (("note", "m1"), ("not a name", "m1"), ("planner", "m2")):
        with pytest.raises(NotFound):
            await items_of(house).read(kind, item_id, anyone, Caller())


async def test_a_user_is_told_of_conversations_and_of_shared_files(
    database: Database, tmp_path: Path
) -> None:
    folders = [tmp_path / name for name in ("docs", "own")]
    for folder in folders:
        folder.mkdir()
        (folder / "a.txt").touch()
    shared, private = (
        {"sourceType": "manual", "capturedBy": "user", "sourcePath": str(folder / "a.txt")}
        for folder in folders
    )
    table = """
        [graph.shared_workspaces]
        docs = "docs"
        [[graph.orchestrators]]
        tenant_id = "acme"
        orchestrator_id = "planner"
        private_workspace = "own"
        shared_access = ["docs"]
    """
    sources = {"said": SAID, "shared": shared, "private": private, "nowhere": FACT["source"]}
    async with house_at(database, tmp_path, table) as house:
        await house.post("memories", memories=[fact(id, source=source) for id, source in sources.items()])
        recall, items = recall_of(house), items_of(house)
        for vector in (None, vector_of(FACT["content"])):
            found = await recall(asked("office", ANA, vector=vector), Caller())
            assert {one.id: one.conversation for one in found} == {"said": "c1", "shared": None}
        for id in ("private", "nowhere"):
            with pytest.raises(NotFound):
                await items.read("planner", id, ANA, Caller())
        with pytest.raises(Forbidden):
            await items.forget("planner", "shared", ANA, Caller())
        await items.forget("planner", "said", ANA, Caller())
        assert {one.id for one in await recall(asked("office"), Caller())} == {"shared", "private", "nowhere"}
        (folders[0] / "a.txt").unlink()
        (folders[0] / "a.txt").symlink_to(folders[1] / "a.txt")
        assert await recall(asked("office", ANA), Caller()) == []


async def test_candidates_are_of_the_kinds_and_the_time_that_are_asked_for(house: House) -> None:
    early, late = house.clock.now() - timedelta(days=9), house.clock.now()
    old = fact("old", createdAt=early.isoformat())
    await house.post("memories", memories=[old, fact("new"), fact("changed", createdAt=early.isoformat())])
    await house.post("memories", memories=[fact("changed", content="The office is in Porto.")])

    async def ids(**bounds: Any) -> set[str]:
        found = await recall_of(house)(asked("office", vector=vector_of("office"), **bounds), Caller())
        return {one.id for one in found}

    assert await ids(since=late) == {"new", "changed"}
    assert await ids(until=late) == {"old"}
    assert await ids(since=early, until=early + timedelta.resolution) == {"old"}
    assert await ids(kinds=frozenset({"planner", "entry"})) == {"old", "new", "changed"}
    assert await ids(kinds=frozenset({"memory"})) == set()
    assert (await items_of(house).read("planner", "old", PLANNER, Caller())).at == early


async def test_what_is_in_doubt_says_so(house: House) -> None:
    memories = [fact("m1"), fact("m2", content="The office is in Porto.")]
    await house.post("memories", memories=memories, edges=[link("m2", "m1", "Contradicts", edgeId="e1")])
    found = await recall_of(house)(asked("office"), Caller())
    assert [one.states for one in found] == [["contradicted"]] * 2
    await house.post("contradictions/e1/resolve", keep="FROM", reason="It moved.")
    (kept,) = await recall_of(house)(asked("office"), Caller())
    assert (kept.id, kept.states) == ("m2", [])
    read = await items_of(house).read("planner", "m1", PLANNER, Caller())
    assert read.states == ["superseded_by:m2"]


async def test_a_memory_that_is_forgotten_is_retracted_and_not_there_any_more(house: House) -> None:
    await house.post("memories", memories=[FACT])
    items = items_of(house)
    await items.forget("planner", "m1", PLANNER, Caller())
    assert (await house.get("memories/m1"))["memory"]["status"] == "retracted"
    assert await recall_of(house)(asked("office"), Caller()) == []
    for ask in (items.read, items.forget):
        with pytest.raises(NotFound):
            await ask("planner", "m1", PLANNER, Caller())
