"""What the assistant offers to whoever stands above all families: candidates for an answer, and items."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest
from msgspec import structs

from elf.api.caller import Caller
from elf.core.errors import InvalidRequest, NotFound
from elf.offers import Item, Items, Question, Recall, Subject
from tests.db.assistant.assistant_kit import TENANT, USER, AssistantHouse

pytestmark = pytest.mark.anyio

ANA = Subject(tenant_id=TENANT, user=USER)
PLANNER = replace(ANA, agent_id="planner")


@pytest.fixture
def recall(house: AssistantHouse) -> Recall:
    assert house.opened.recall is not None
    return house.opened.recall


@pytest.fixture
def items(house: AssistantHouse) -> Items:
    assert house.opened.items is not None
    return house.opened.items


def asked(subject: Subject = ANA, **other: Any) -> Question:
    return Question(**{"text": "sail", "vector": None, "subject": subject, "limit": 5} | other)


def caller(agent: str | None = None, user: str | None = USER) -> Caller:
    bound = {"tenant_id": TENANT} | ({} if agent is None else {"agent_id": agent})
    return Caller(user=user, bound=bound)


def ids(found: Sequence[Item]) -> set[str]:
    return {one.id for one in found}


async def test_memories_are_candidates_with_what_they_rest_on(
    house: AssistantHouse, recall: Recall, items: Items
) -> None:
    evidence = [{"quote": words, "turn_id": "7"} for words in ("I want to sail", "to sail")]
    kept = await house.add("User wants to sail.", "goals", evidence=evidence, thread_id="t1")
    await house.add("User wants to ski.", "goals", user_id="bob")
    (found,) = await recall(asked(PLANNER), caller())
    assert (found.kind, found.id, found.text) == ("memory", kept["id"], "User wants to sail.")
    assert (found.provenance, found.states) == (["turn:7", "thread:t1"], [])
    assert found.at == house.clock.now()
    assert found.score == pytest.approx(sum(found.terms.values()))
    read = await items.read("memory", found.id, ANA, caller())
    assert read == structs.replace(found, terms={})


async def test_being_a_candidate_is_no_use_of_a_memory(house: AssistantHouse, recall: Recall) -> None:
    kept = await house.add("User wants to sail.", "goals")
    assert ids(await recall(asked(), caller())) == {kept["id"]}
    await house.settle_hits()
    assert (await house.get(f"memories/{kept['id']}"))["hit_count"] == 0
    assert await house.rows("SELECT FROM assistant_events WHERE op = 'search'") == []


async def test_an_agent_is_offered_what_is_on_its_list_and_a_user_all_but_how_things_are_done(
    house: AssistantHouse, recall: Recall
) -> None:
    kept = {
        name: (await house.add(f"User wants to sail: {name}.", name))["id"]
        for name in ("goals", "profile", "preferences", "boats")
    }
    steps = {"type": "procedural", "steps_text": "1. Sail."}
    await house.add("How to sail.", "procedural", **steps)
    await house.add("How to sail home.", "goals", **steps)
    everything = set(kept.values())
    for subject, who, offered in (
        (ANA, caller(), everything),
        (PLANNER, caller(), {kept["goals"]}),
        (ANA, caller("planner"), {kept["goals"]}),
        (replace(ANA, agent_id="supervisor"), caller(), everything - {kept["boats"]}),
        (replace(ANA, agent_id="supervisor"), caller("planner"), set[str]()),
        (replace(ANA, agent_id="nobody"), caller(), set[str]()),
        (ANA, caller("nobody"), set[str]()),
        (replace(ANA, user=None), caller(), everything),
        (replace(ANA, user=None), caller(user=None), set[str]()),
    ):
        assert ids(await recall(asked(subject), who)) == offered, (subject, who)


async def test_what_a_memory_was_made_of_is_named(
    house: AssistantHouse, recall: Recall, items: Items
) -> None:
    kept = await house.add("User wants to sail.", "goals")
    merged, older, drawn = (str(UUID(int=number)) for number in (1, 2, 3))
    written = """
        INSERT INTO assistant_history (tenant_id, user_id, memory_id, event, old_id, new_id, meta, ts)
        VALUES ($1, $2, $3, 'MERGE', $4, $3, '{}', now()), ($1, $2, $3, 'UPDATE', $3, $3, $5, now()),
               ($1, $2, $3, 'ADD', NULL, $3, $6, now()), ($1, $2, $3, 'LINK', NULL, NULL, $7, now())
    """
    metas = {"merged_from": [kept["id"], older]}, {"drawn_from": [drawn]}, {"to_id": str(UUID(int=9))}
    await house.rows(written, TENANT, USER, UUID(kept["id"]), UUID(merged), *metas)
    (found,) = await recall(asked(), caller())
    assert found.provenance == [f"memory:{one}" for one in (merged, older, drawn)]
    assert (await items.read("memory", kept["id"], ANA, caller())).provenance == found.provenance


async def test_what_is_in_doubt_says_so(house: AssistantHouse, recall: Recall, items: Items) -> None:
    goal, other = (
        await house.add("User wants to sail.", "goals"),
        await house.add("User does not want to sail.", "preferences"),
    )
    await house.rows(
        "INSERT INTO assistant_relations (tenant_id, user_id, from_id, to_id, relation_type, strength) "
        "VALUES ($1, $2, $3, $4, 'contradicts', 0.9)",
        TENANT, USER, UUID(other["id"]), UUID(goal["id"]),
    )  # fmt: skip

    async def states(subject: Subject, who: Caller) -> set[tuple[str, ...]]:
        return {tuple(one.states) for one in await recall(asked(subject), who)}

    assert await states(ANA, caller()) == {("contradicted",)}
    assert (await items.read("memory", goal["id"], ANA, caller())).states == ["contradicted"]
    assert await states(PLANNER, caller()) == {()}  # who may not read the other one
    await house.delete(f"memories/{other['id']}")
    assert await states(ANA, caller()) == {()}
    house.clock.turn(days=61)
    assert await states(ANA, caller()) == {("fading",)}


async def test_what_is_deleted_or_anothers_is_not_there(
    house: AssistantHouse, recall: Recall, items: Items
) -> None:
    kept = await house.add("User wants to sail.", "preferences")
    asks: tuple[Callable[..., Any], ...] = (items.read, items.forget)

    async def is_hidden_from(subject: Subject, who: Caller) -> None:
        assert await recall(asked(subject), who) == []
        for ask in asks:
            with pytest.raises(NotFound):
                await ask("memory", kept["id"], subject, who)

    for subject, who in (
        (replace(ANA, user="bob"), caller(user="bob")),
        (replace(ANA, tenant_id="rival"), Caller(user=USER)),
        (ANA, Caller(user=USER, bound={"tenant_id": "rival"})),
        (ANA, caller("planner")),
        (ANA, caller("nobody")),
    ):
        await is_hidden_from(subject, who)
    await items.forget("memory", kept["id"], ANA, caller())
    await is_hidden_from(ANA, caller())
    assert (await house.get(f"memories/{kept['id']}"))["state"] == "soft_deleted"


async def test_an_item_of_another_kind_or_with_no_id_is_refused(items: Items) -> None:
    with pytest.raises(InvalidRequest, match=r"\$\.kind"):
        await items.read("note", str(UUID(int=1)), ANA, caller())
    with pytest.raises(NotFound):
        await items.read("memory", "x", ANA, caller())
