"""What a user is known by: nothing sensitive without the user's agreement, the rest when it was said twice."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import pytest

from tests.db.assistant.assistant_kit import AssistantHouse
from tests.notes_kit import at_cosine, unit

pytestmark = pytest.mark.anyio


async def say(house: AssistantHouse, text: str, turn: str, status: int = 200, **other: Any) -> Any:
    messages = [{"role": "user", "content": text}]
    return await house.post("turn", status, thread_id="t1", turn_id=turn, messages=messages, **other)


async def propose(house: AssistantHouse, text: str, turn: str = "1") -> str:
    """Say something and return the id of what is proposed because of it."""
    results = (await say(house, text, turn))["results"]
    (proposed,) = [one for one in results if one["result"] == "PROPOSED"]
    return str(proposed["proposal_id"])


async def decisions(house: AssistantHouse, subject_id: str) -> list[str]:
    rows = (await house.get(f"memories/{subject_id}/history"))["items"]
    return [row["meta"]["consent"]["decision"] for row in reversed(rows) if "consent" in row["meta"]]


@pytest.mark.parametrize(
    ("said", "field", "value"),
    [
        ("Please call me Ana.", "preferred_name", "Ana"),
        ("I live in Berlin.", "city", "Berlin"),
        ("Please answer in German.", "language", "German"),
        ("Remember that my pronouns are she/her.", "pronouns", "she/her"),
    ],
)
async def test_a_sensitive_field_changes_only_when_the_user_agrees(
    house: AssistantHouse, said: str, field: str, value: str
) -> None:
    proposal_id = await propose(house, said)
    assert (await house.get("user_context"))[field] is None
    (waiting,) = (await house.get("proposals", state="pending"))["items"]
    assert (waiting["proposal_id"], waiting["field"], waiting["value"], waiting["thread_id"]) == (
        proposal_id, field, value, "t1",
    )  # fmt: skip
    assert waiting["expires_at"] == "2026-03-08T12:00:00.123456Z"
    decided = await house.post(f"proposals/{proposal_id}/decision", decision="approve")
    assert decided["state"] == "approved"
    assert (await house.get("user_context"))[field] == value
    assert await house.post(f"proposals/{proposal_id}/decision", decision="approve") == decided
    refused = await house.post(f"proposals/{proposal_id}/decision", 409, decision="reject")
    assert (refused["error_code"], refused["fields"]) == ("CONFLICT", ["$.proposal_id"])
    assert await decisions(house, proposal_id) == ["proposed", "approved"]
    assert len((await house.get("memories"))["items"]) == 1  # the memory is kept as usual


async def test_what_the_user_rejects_is_not_applied(house: AssistantHouse) -> None:
    proposal_id = await propose(house, "I live in Berlin.")
    assert (await house.post(f"proposals/{proposal_id}/decision", decision="reject"))["state"] == "rejected"
    assert (await house.get("user_context"))["city"] is None
    assert await decisions(house, proposal_id) == ["proposed", "rejected"]


async def test_the_user_agrees_in_the_chat_in_words_that_stand_there(house: AssistantHouse) -> None:
    proposal_id = await propose(house, "I live in Berlin.")
    agreed = {"proposal_id": proposal_id, "decision": "approve", "quote": "yes, do that"}
    refused = await say(house, "Hm, let me see.", "2", 400, acknowledgements=[agreed])
    assert refused["fields"] == ["$.acknowledgements[0].quote"]
    assert (await house.get("user_context"))["city"] is None
    missing = {**agreed, "proposal_id": str(uuid4())}
    refused = await say(house, "Oh yes, do that!", "2", 404, acknowledgements=[agreed, missing])
    assert refused["fields"] == ["$.acknowledgements[1].proposal_id"]
    assert (await house.get("user_context"))["city"] is None
    await say(house, "Oh yes, do that!", "2", acknowledgements=[agreed])
    assert (await house.get("user_context"))["city"] == "Berlin"


async def test_after_seven_days_a_proposal_is_over(house: AssistantHouse) -> None:
    proposal_id = await propose(house, "I live in Berlin.")
    house.clock.turn(days=7)
    assert (await house.get("proposals"))["items"][0]["state"] == "expired"
    assert (await house.get("proposals", state="pending"))["items"] == []
    await house.post(f"proposals/{proposal_id}/decision", 409, decision="approve")
    (step,) = [one for one in house.opened.garbage if one.name == "expired_assistant_proposals"]
    assert await step.collect(house.clock.now(), 10) == 1
    assert await step.collect(house.clock.now(), 10) == 0
    assert await decisions(house, proposal_id) == ["proposed", "expired"]
    assert (await house.get("user_context"))["city"] is None


async def test_another_value_takes_the_place_of_what_waits_and_the_same_waits_once(
    house: AssistantHouse,
) -> None:
    first = await propose(house, "I live in Berlin.")
    again = await say(house, "I live in Berlin.", "2")
    assert [one["result"] for one in again["results"]] == ["NONE"]
    second = await propose(house, "I live in Paris.", "3")
    states = {one["proposal_id"]: one["state"] for one in (await house.get("proposals"))["items"]}
    assert states == {first: "superseded", second: "pending"}
    page = await house.get("proposals", limit=1)
    rest = await house.get("proposals", limit=1, cursor=page["next_cursor"])
    assert [one["proposal_id"] for one in page["items"] + rest["items"]] in ([second, first], [first, second])


async def test_a_tone_is_applied_when_two_turns_say_so(house: AssistantHouse) -> None:
    await say(house, "I prefer short answers.", "1")
    await say(house, "I prefer short answers.", "1")
    assert (await house.get("user_context"))["tone"] is None
    await say(house, "I prefer short answers.", "2")
    assert (await house.get("user_context"))["tone"] == "short"
    (memory,) = (await house.get("memories"))["items"]
    assert await decisions(house, memory["id"]) == ["corroborated"]


async def test_two_turns_a_month_apart_say_nothing_together(house: AssistantHouse) -> None:
    await say(house, "I prefer short answers.", "1")
    house.clock.turn(days=31)
    await say(house, "I prefer short answers.", "2")
    assert (await house.get("user_context"))["tone"] is None


@pytest.mark.parametrize(("cosine", "goals"), [(0.9001, 1), (0.8999, 0)])
async def test_goals_that_mean_the_same_corroborate_each_other(
    house: AssistantHouse, cosine: float, goals: int
) -> None:
    house.model.known |= {
        "User plans to run a marathon.": unit(1.0), "User intends to run marathons.": at_cosine(cosine),
    }  # fmt: skip
    await say(house, "I plan to run a marathon.", "1")
    await say(house, "I intend to run marathons.", "2")
    assert len((await house.get("user_context"))["goals"]) == goals


async def test_no_other_user_decides(house: AssistantHouse) -> None:
    proposal_id = await propose(house, "I live in Berlin.")
    answer = await house.post(f"proposals/{proposal_id}/decision", 404, user_id="ben", decision="approve")
    assert answer["fields"] == ["$.proposal_id"]
    assert (await house.get("proposals", user_id="ben"))["items"] == []
    assert (await house.get("user_context", user_id="ben"))["city"] is None


@pytest.mark.parametrize(
    "said",
    [
        "I moved to the marketing team.", "My name is Hebrew for grace.", "Remember that my name is hard to pronounce.",
        "I moved to tears at the end.", "Remember that my pronouns are often ignored.",
        "My preferred language is hard to learn.", "I live in fear of spiders.",
    ],
)  # fmt: skip
async def test_a_text_without_a_value_of_the_type_supersedes_no_proposal(
    house: AssistantHouse, said: str
) -> None:
    known = [
        await propose(house, text, str(number))
        for number, text in enumerate(
            ("I live in Berlin.", "Please call me Ana.", "Please answer in German.",
             "Remember that my pronouns are she/her.")
        )
    ]  # fmt: skip
    await say(house, said, "9")
    waiting = (await house.get("proposals"))["items"]
    assert {one["proposal_id"] for one in waiting} == set(known)
    assert {one["state"] for one in waiting} == {"pending"}


async def test_what_is_said_in_passing_takes_no_place_of_what_was_stated(house: AssistantHouse) -> None:
    stated = await propose(house, "I live in Berlin.")
    assert [one["result"] for one in (await say(house, "I'm from Porto.", "2"))["results"]] == ["ADD"]
    (waiting,) = (await house.get("proposals"))["items"]
    assert (waiting["proposal_id"], waiting["value"]) == (stated, "Berlin")
    await house.post(f"proposals/{stated}/decision", decision="reject")
    await propose(house, "I come from Lima.", "3")
    better = await propose(house, "I live in Rome.", "4")
    states = {one["proposal_id"]: one["state"] for one in (await house.get("proposals"))["items"]}
    assert (states[better], sorted(states.values())) == ("pending", ["pending", "rejected", "superseded"])


async def test_a_proposal_that_ended_goes_after_ninety_days(house: AssistantHouse) -> None:
    await house.post(f"proposals/{await propose(house, 'I live in Berlin.')}/decision", decision="approve")
    await propose(house, "Please call me Ana.", "2")
    steps = {one.name: one for one in house.opened.garbage}
    for days, left in ((89, 2), (2, 1), (90, 0)):
        house.clock.turn(days=days)
        for name in ("expired_assistant_proposals", "old_assistant_proposals"):
            await steps[name].collect(house.clock.now(), 10)
        assert len((await house.get("proposals"))["items"]) == left
    assert (await house.get("user_context"))["city"] == "Berlin"
