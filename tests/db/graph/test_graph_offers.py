"""What the graph offers to whoever stands above all families."""

from __future__ import annotations

from typing import Any

import pytest

from elf.api.caller import Caller
from elf.core.errors import InvalidRequest, NotFound
from elf.offers import Items, Question, Recall, Subject
from tests.db.graph.house import FACT, TENANT, House
from tests.notes_kit import vector_of

pytestmark = pytest.mark.anyio
PLANNER = Subject(tenant_id=TENANT, agent_id="planner")
OTHERS = [
    (Subject(tenant_id=TENANT), Caller()),
    (Subject(tenant_id=TENANT, agent_id="other"), Caller()),
    (Subject(tenant_id="rival", agent_id="planner"), Caller()),
    (Subject(tenant_id=TENANT, agent_id="planner", user="ana"), Caller()),
    (PLANNER, Caller(bound={"agent_id": "other"})),
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
    source = {"sourceType": "channel_transcript", "capturedBy": "system", "conversationId": "c1"}
    await house.post("memories", memories=[{**FACT, "source": source}])
    (item,) = await recall_of(house)(asked("Where is the office?", vector=vector_of("office") * 3), Caller())
    assert (item.kind, item.id, item.text) == ("memory", "m1", FACT["content"])
    assert item.provenance == ["conversation:c1"]
    assert item.score > 0


@pytest.mark.parametrize(("subject", "caller"), OTHERS)
async def test_nobody_else_has_candidates_or_items(house: House, subject: Subject, caller: Caller) -> None:
    await house.post("memories", memories=[FACT])
    assert await recall_of(house)(asked("office", subject), caller) == []
    with pytest.raises(NotFound):
        await items_of(house).read("memory", "m1", subject, caller)
    with pytest.raises(NotFound):
        await items_of(house).forget("memory", "m1", subject, caller)
    assert not house.memory("other").exists()


async def test_a_memory_that_is_forgotten_is_retracted_and_no_candidate_any_more(house: House) -> None:
    await house.post("memories", memories=[FACT])
    items = items_of(house)
    assert (await items.read("memory", "m1", PLANNER, Caller())).text == FACT["content"]
    await items.forget("memory", "m1", PLANNER, Caller())
    assert (await house.get("memories/m1"))["memory"]["status"] == "retracted"
    assert await recall_of(house)(asked("office"), Caller()) == []


async def test_an_item_of_another_kind_is_an_invalid_request(house: House) -> None:
    with pytest.raises(InvalidRequest, match="should be memory"):
        await items_of(house).read("note", "m1", PLANNER, Caller())
