"""Asking the memory of a user as agents do: over HTTP."""

from __future__ import annotations

from typing import Any

import pytest

from tests.db.assistant.assistant_kit import USER, AssistantHouse
from tests.db.assistant.query_kit import QUERY, ask, near, texts
from tests.notes_kit import unit

pytestmark = pytest.mark.anyio


async def test_items_are_what_suits_best_in_a_line_each(house: AssistantHouse) -> None:
    plan = await near(house, 0.9, "Release goes out on Friday.")
    await near(house, 0.2, "Desk is by the window.")
    answer = await ask(house, top_k=1)
    assert answer["items"] == [
        {"id": plan["id"], "category": "tasks", "text": "[tasks] Release goes out on Friday."}
    ]
    assert (answer["degraded"], answer["warnings"], answer["explanations"]) == ([], [], None)


async def test_full_items_have_all_that_is_known_and_their_score(house: AssistantHouse) -> None:
    plan = await near(house, 0.9, "Release goes out on Friday.", tags=["release"], importance=4)
    (item,) = (await ask(house, **{"return": "full"}))["items"]
    assert item.pop("score") > 0.55 * 0.9
    assert item == plan


async def test_a_score_is_the_sum_of_what_is_explained(house: AssistantHouse) -> None:
    first = await near(house, 0.9, "Release goes out on Friday.", importance=5, pinned=True)
    second = await near(house, 0.8, "Release notes are a draft.", type="insight")
    house.clock.turn(days=1)
    answer = await ask(house, explain=True)
    explained = {one["id"]: one for one in answer["explanations"]}
    assert [one["id"] for one in answer["items"]] == list(explained) == [first["id"], second["id"]]
    for one in explained.values():
        assert sum(one["terms"].values()) == pytest.approx(one["score"], abs=1e-12)
    strength = 0.9 * 0.8 + (1 - 0.9**2) ** 0.5 * (1 - 0.8**2) ** 0.5
    assert explained[first["id"]]["terms"] == {
        "cosine": pytest.approx(0.55 * 0.9, abs=1e-6), "words": 0.0, "importance": pytest.approx(0.2),
        "recency": pytest.approx(0.075), "pinned": pytest.approx(0.1),
        "related": pytest.approx(0.05 * strength, abs=1e-6),
    }  # fmt: skip
    terms = explained[second["id"]]["terms"]
    assert terms["insight"] == pytest.approx(-explained[second["id"]]["score"])


async def test_the_two_most_similar_stay_whatever_else_matters(house: AssistantHouse) -> None:
    await near(house, 0.30, "Alpha is first.", importance=1)
    await near(house, 0.29, "Beta is second.", importance=1)
    await near(house, 0.25, "Gamma is third.", importance=5, pinned=True)
    await near(house, 0.24, "Delta is fourth.", importance=5, pinned=True)
    assert texts((await ask(house))["items"]) == [
        "[tasks] Alpha is first.", "[tasks] Beta is second.", "[tasks] Gamma is third.",
    ]  # fmt: skip


async def test_half_of_an_answer_at_most_is_episodic_unless_that_is_asked_for(house: AssistantHouse) -> None:
    for number, cosine in enumerate((0.9, 0.8, 0.7, 0.6)):
        await near(house, cosine, f"Meeting {number} was held.", type="episodic")
    await near(house, 0.1, "Release goes out on Friday.")
    assert len((await ask(house))["items"]) == 2
    assert len((await ask(house, top_k=4))["items"]) == 3
    assert len((await ask(house, types=["episodic"]))["items"]) == 3


async def test_a_threshold_drops_what_is_less_similar_whatever_words_it_holds(house: AssistantHouse) -> None:
    await near(house, 0.66, "Release goes out on Friday.")
    await near(house, 0.64, f"{QUERY} is told elsewhere.")
    assert len((await ask(house))["items"]) == 2
    assert texts((await ask(house, threshold=0.65))["items"]) == ["[tasks] Release goes out on Friday."]


async def test_without_vectors_words_answer_and_the_answer_says_so(house: AssistantHouse) -> None:
    await near(house, 0.9, "Release goes out on Friday.")
    await near(house, 0.0, "Deployment is on hold, the plan is to wait.")
    await near(house, 0.0, "Plan B is ready.", importance=3)
    house.model.away = True
    answer = await ask(house, threshold=0.65)
    assert texts(answer["items"]) == [
        "[tasks] Deployment is on hold, the plan is to wait.", "[tasks] Plan B is ready.",
    ]  # fmt: skip
    assert answer["degraded"] == ["embedding", "threshold"]


async def test_what_has_no_vector_yet_is_found_by_its_words(house: AssistantHouse) -> None:
    house.model.away = True
    await house.add("Deployment waits for Ana.", "tasks")
    house.model.away = False
    assert texts((await ask(house))["items"]) == ["[tasks] Deployment waits for Ana."]
    assert (await ask(house, threshold=0.1))["items"] == []


async def test_a_category_that_comes_whole_is_context_and_no_item(house: AssistantHouse) -> None:
    for number in range(3):
        await house.add(f"Fact {number} of Ana.", "profile", importance=number + 1)
    goal = await near(house, 0.5, "Ship version one.", "goals")
    answer = await ask(house, agent="supervisor")
    assert texts(answer["context"]) == [f"[profile] Fact {number} of Ana." for number in (2, 1, 0)]
    assert [item["id"] for item in answer["items"]] == [goal["id"]]


async def test_context_has_half_of_the_budget_and_what_does_not_fit_is_ranked(house: AssistantHouse) -> None:
    for number in range(6):
        await near(house, 0.5, f"Fact {number} of Ana is here.", "profile")
    answer = await ask(house, agent="supervisor", budget_tokens=36, top_k=50)  # 7 words each
    assert (len(answer["context"]), len(answer["items"])) == (2, 3)
    assert not {one["id"] for one in answer["context"]} & {one["id"] for one in answer["items"]}
    assert answer["tokens"] == {"budget": 36, "used": 35, "tokenizer": "words"}


async def test_what_does_not_fit_is_passed_over(house: AssistantHouse) -> None:
    await near(house, 0.9, "Release " + "very " * 20 + "soon.")
    await near(house, 0.5, "Release goes out on Friday.")
    answer = await ask(house, budget_tokens=16)
    assert texts(answer["items"]) == ["[tasks] Release goes out on Friday."]
    assert answer["tokens"]["used"] == 6


async def test_no_more_of_a_category_are_ranked_than_the_config_says(house: AssistantHouse) -> None:
    for number in range(25):
        await near(house, 0.9 - number / 100, f"Task {number}.")
        await near(house, 0.5 - number / 100, f"Goal {number}.", "goals")
    answer = await ask(house, top_k=50, budget_tokens=8192)
    assert len(answer["items"]) == 40
    assert {item["text"] for item in answer["items"]} == {
        *(f"[tasks] Task {number}." for number in range(20)),
        *(f"[goals] Goal {number}." for number in range(20)),
    }


async def test_up_to_two_that_are_related_follow_the_items(house: AssistantHouse) -> None:
    item = await near(house, 0.9, "Release goes out on Friday.")
    others = [await near(house, cosine, f"Neighbour at {cosine}.") for cosine in (0.8, 0.7, 0.6)]
    answer = await ask(house, top_k=1)
    assert [item["id"]] == [one["id"] for one in answer["items"]]
    assert [(one["id"], one["of"], one["relation_type"]) for one in answer["related"]] == [
        (other["id"], item["id"], "related_to") for other in others[:2]
    ]
    assert answer["related"][0]["strength"] > answer["related"][1]["strength"] > 0.55


async def test_what_is_related_passes_the_filters_and_the_allowlist_too(house: AssistantHouse) -> None:
    await near(house, 0.9, "Release goes out on Friday.", importance=4)
    await near(house, 0.8, "Style is formal.", "style", importance=4)
    await near(house, 0.7, "Goal is to ship.", "goals", importance=1)
    answer = await ask(house, top_k=1, filters={"importance_min": 3})
    assert (len(answer["items"]), answer["related"]) == (1, [])


async def test_what_is_related_is_never_what_is_deleted(house: AssistantHouse) -> None:
    item = await near(house, 0.9, "Release goes out on Friday.", importance=4)
    other = await near(house, 0.8, "Freeze begins on Thursday.", importance=1)

    async def related() -> list[str]:
        answer = await ask(house, top_k=1, categories=["tasks"])
        assert [one["id"] for one in answer["items"]] == [item["id"]]
        return [one["id"] for one in answer["related"]]

    assert await related() == [other["id"]]
    await house.delete(f"memories/{other['id']}")
    assert await related() == []
    await house.post(f"memories/{other['id']}/restore")
    assert await related() == [other["id"]]


async def test_what_is_deleted_or_of_another_user_or_tenant_is_in_no_answer(house: AssistantHouse) -> None:
    await near(house, 0.9, "Release goes out on Friday.")
    assert (await ask(house, filters={"user_id": "ben"}))["items"] == []
    await house.rows("UPDATE assistant_memories SET state = 'soft_deleted', purge_at = now()")
    assert (await ask(house))["items"] == []


async def test_how_things_are_done_is_told_only_where_it_is_asked_for(house: AssistantHouse) -> None:
    steps = {"type": "procedural", "steps_text": "1. Build.\n2. Ship."}
    house.model.known["Deploy.\n1. Build.\n2. Ship."] = unit(1.0)
    await house.add("Deploy.", "procedural", **steps)
    await house.add("Deploy.", "tasks", **steps)
    assert (await ask(house))["items"] == []
    (item,) = (await ask(house, categories=["procedural"]))["items"]
    assert item["text"] == "[procedural] Deploy.\n  1. Build.\n  2. Ship."
    assert len((await ask(house, types=["procedural"]))["items"]) == 2


async def test_what_is_given_is_counted_after_the_answer(house: AssistantHouse) -> None:
    given = await near(house, 0.9, "Release goes out on Friday.")
    await near(house, 0.1, "Desk is by the window.")
    for _ in range(2):
        await ask(house, top_k=1)
    await house.settle_hits()
    counted = await house.rows(
        "SELECT memory_id, hit_count, last_accessed FROM assistant_memories WHERE hit_count > 0"
    )
    assert [(str(row["memory_id"]), row["hit_count"], row["last_accessed"]) for row in counted] == [
        (given["id"], 2, house.clock.now())
    ]


@pytest.mark.parametrize(
    ("body", "paths"),
    [
        ({"agent": "stranger"}, ["$.agent"]),
        ({"categories": ["tasks", "style", "preferences"]}, ["$.categories[1]", "$.categories[2]"]),
        ({"filters": {"category": "style"}}, ["$.filters.category"]),
        ({"agent": "stylist", "types": ["procedural"]}, ["$.types[0]"]),
        ({"agent": "planner", "agent_id": "stylist"}, ["$.agent"]),
    ],
)
async def test_what_an_agent_may_not_read_is_refused_with_its_path(
    house: AssistantHouse, body: dict[str, Any], paths: list[str]
) -> None:
    answer = await ask(house, 403, **body)
    assert (answer["error_code"], answer["fields"]) == ("SCOPE_DENIED", paths)
    assert house.model.texts == []


@pytest.mark.parametrize(
    ("body", "paths"),
    [
        ({"reason": "recall", "top_k": 4}, ["$.top_k"]),
        (
            {"reason": "recall", "return": "full", "budget_tokens": 513},
            ["$.return", "$.budget_tokens"],
        ),
        ({"since_rev": 1}, ["$.since_rev"]),
        ({"agent": None}, ["$.agent"]),
        ({"budget_tokens": 15}, ["$.budget_tokens"]),
        ({"top_k": 51}, ["$.top_k"]),
        ({"query": " "}, ["$.query"]),
        ({"query": "x" * 2049}, ["$.query"]),
        ({"filters": {"updated_after": "2025-07-01T00:00:00"}}, ["$.filters.updated_after"]),
        ({"filters": {"updated_before": "0001-01-01T00:00:00+14:00"}}, ["$.filters.updated_before"]),
        ({"filters": {"colour": "red"}}, ["$.filters.colour"]),
    ],
)
async def test_what_cannot_be_asked_is_refused_with_its_path(
    house: AssistantHouse, body: dict[str, Any], paths: list[str]
) -> None:
    answer = await ask(house, 400, **body)
    assert (answer["error_code"], answer["fields"]) == ("INVALID_REQUEST", paths)


async def test_the_agent_that_a_caller_is_bound_to_asks(house: AssistantHouse) -> None:
    await near(house, 0.9, "Release goes out on Friday.")
    assert len((await ask(house, agent=None, agent_id="planner"))["items"]) == 1


async def test_the_example_of_the_documents_is_answered(house: AssistantHouse) -> None:
    task = await near(
        house, 0.9, "Release goes out on Friday.", role="assistant", agent_id="a", run_id="r", actor_id="c"
    )
    answer = await house.post("memory/query", user_id=None, **{
        "agent": "planner", "query": QUERY, "categories": ["tasks", "projects"],
        "filters": {
            "user_id": USER, "agent_id": "a", "run_id": "r", "actor_id": "c", "role": "assistant", "pinned": False,
            "importance_min": 1, "importance_max": 5, "updated_after": "2025-07-01", "updated_before": None,
        },
        "top_k": 3, "return": "bullets", "budget_tokens": 512,
    })  # fmt: skip
    assert [item["id"] for item in answer["items"]] == [task["id"]]


async def test_recalls_beyond_a_tenth_of_the_turns_are_answered_with_a_warning(house: AssistantHouse) -> None:
    async def recall(agent: str = "planner") -> list[str]:
        answer = await ask(house, agent=agent, thread_id="t1", reason="recall")
        warnings: list[str] = answer["warnings"]
        return warnings

    assert await recall() == []  # no turn was taken in, so there is no share
    await house.rows("UPDATE assistant_threads SET turns = 20")
    assert await recall() == []
    assert await recall("executor") == []
    assert await recall() == ["RECALL_RATE"]
    assert (await ask(house, thread_id="t1"))["warnings"] == []
    assert (await ask(house, thread_id="t2", reason="recall"))["warnings"] == []
    counted = await house.rows(
        "SELECT thread_id, agent_id, recalls FROM assistant_recalls WHERE recalls > 0 ORDER BY 1, 2"
    )
    assert [tuple(row) for row in counted] == [
        ("t1", "executor", 1),
        ("t1", "planner", 3),
        ("t2", "planner", 1),
    ]


async def test_each_query_is_an_event(house: AssistantHouse) -> None:
    await near(house, 0.9, "Release goes out on Friday.")
    await ask(house, thread_id="t1")
    (event,) = await house.rows("SELECT * FROM assistant_events WHERE node = 'context'")
    assert (event["op"], event["status"], event["thread_id"]) == ("search", "ok", "t1")
    assert event["sim"] == pytest.approx(0.9, abs=1e-6)
