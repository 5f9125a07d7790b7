"""Memories of a user are compared once a day, within bounds: as the chore of a process has it, and an operator."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import anyio
import pytest

from elf.core.errors import Unavailable
from elf.db.database import Database
from elf.outbox.chores import Due
from tests.db.assistant.assistant_kit import TENANT, USER, AssistantHouse, house_at
from tests.db.assistant.consolidation_kit import (
    FIRST,
    MERGED,
    SECOND,
    Planted,
    a_day,
    asked_numbers,
    daily,
    judging,
    kettles,
    pairs_in,
    plant,
    run_until_asked,
    still_double,
    tokens_at_the_wire,
)
from tests.db.assistant.model_kit import ScriptedModel
from tests.db.assistant.query_kit import ask
from tests.notes_kit import at_cosine, unit

pytestmark = pytest.mark.anyio


async def consolidate(house: AssistantHouse, status: int = 200, **body: Any) -> Any:
    answer = await house.client.post("/v1/admin/assistant/consolidate", json=body)
    assert answer.status_code == status, answer.text
    return answer.json()


async def test_two_hundred_doubles_among_two_thousand_memories(database: Database, tmp_path: Path) -> None:
    model = judging(lambda number: number % 5 > 0)
    async with house_at(database, tmp_path, chat=model.chat) as house:
        await plant(house, kettles(200), lone=1600)
        before = len(await still_double(house, 200))
        began, asked_on = time.perf_counter(), []
        for _ in range(4):
            since = len(model.asked)
            assert await a_day(house) == 1
            asked_on.append(asked_numbers(model, since))
            assert all(5 <= len(pairs_in(question)) <= 10 for question in model.questions[since:])
        seconds = time.perf_counter() - began
        after = await still_double(house, 200)
        told = f"{before} doubles before, {len(after)} after 4 days, in {seconds:.2f} s"
        print(f"\n{told}")  # noqa: T201 - a measurement
        assert [len(numbers) for numbers in asked_on] == [50] * 4
        assert asked_on[0] == list(range(50))  # the likest first
        assert after == [number for number in range(200) if number % 5 == 0]
        since = len(model.asked)
        for days in (5, 4):  # the last of them is the 13th day after the first
            await a_day(house)
            house.clock.turn(days=days - 1)
        await a_day(house)
        assert model.asked[since:] == []
        await a_day(house)
        assert asked_numbers(model, since) == [number for number in range(50) if number % 5 == 0]


async def test_what_is_merged_is_told_and_in_the_history_with_the_ids_of_both(
    database: Database, tmp_path: Path
) -> None:
    model = judging()
    async with house_at(database, tmp_path, chat=model.chat) as house:
        await plant(house, kettles(1))
        await ask(house, thread_id="t1", query="nothing", agent="supervisor")
        house.clock.turn(minutes=1)
        seen = await house.rows("SELECT memory_id::text AS id FROM assistant_memories ORDER BY text DESC")
        first, second = (row["id"] for row in seen)
        await a_day(house)
        (memory,) = (await house.get("memories"))["items"]
        assert (memory["text"], memory["importance"]) == (MERGED.format(0), 3)
        rows = (await house.get(f"memories/{memory['id']}/history"))["items"]
        merged = [(row["old_ref"]["id"], row["new_ref"]["id"]) for row in rows if row["event"] == "MERGE"]
        assert sorted(merged) == sorted([(first, memory["id"]), (second, memory["id"])])
        for gone in (first, second):
            assert (await house.get(f"memories/{gone}"))["state"] == "soft_deleted"
        told = await house.rows(
            "SELECT event, meta FROM assistant_changes WHERE memory_id = $1", memory["id"]
        )
        assert [(row["event"], row["meta"]["text"]) for row in told] == [
            ("merged", f"Combined 2 notes: {MERGED.format(0)}")
        ]
        events = await house.rows("SELECT node, op FROM assistant_events WHERE op <> 'search'")
        assert [tuple(row.values()) for row in events] == [("worker", "merge")]


async def test_a_merge_may_keep_the_older_id(database: Database, tmp_path: Path) -> None:
    model = judging()
    async with house_at(
        database, tmp_path, '[assistant.merging]\nmode = "update"\n', chat=model.chat
    ) as house:
        await plant(house, kettles(1))
        (older, newer) = await house.rows(
            "SELECT memory_id::text AS id FROM assistant_memories ORDER BY updated_at"
        )
        await a_day(house)
        (memory,) = (await house.get("memories"))["items"]
        assert (memory["id"], memory["text"]) == (older["id"], MERGED.format(0))
        rows = (await house.get(f"memories/{older['id']}/history"))["items"]
        (update,) = (row for row in rows if row["event"] == "UPDATE")
        assert update["meta"]["merged_from"] == [older["id"], newer["id"]]


async def test_two_workers_do_a_user_once_a_day(database: Database, tmp_path: Path) -> None:
    model = judging()
    async with house_at(database, tmp_path, chat=model.chat) as house:
        await plant(house, kettles(10))
        chore = daily(house)
        (subject,) = await chore.subjects()
        due = Due(subject, house.clock.now(), 1)
        answers = anyio.Event()
        model.before_answer = answers.wait
        async with anyio.create_task_group() as group:
            group.start_soon(chore.run, due)
            await model.is_asked.wait()
            with pytest.raises(Unavailable):
                await chore.run(due)
            answers.set()
        await chore.run(due)
        assert await chore.subjects() == []
        assert asked_numbers(model) == list(range(10))
        assert await still_double(house, 10) == []


async def test_a_run_that_was_killed_goes_on_and_asks_nothing_twice(
    database: Database, tmp_path: Path
) -> None:
    model = judging()
    async with house_at(database, tmp_path, chat=model.chat) as house:
        await plant(house, kettles(60))
        await run_until_asked(house, model, questions=2)
        assert await still_double(house, 60) == list(range(10, 60))
        house.clock.turn(minutes=3)
        (subject,) = await daily(house).subjects()
        await daily(house).run(Due(subject, house.clock.now(), 2))
        assert asked_numbers(model) == list(range(50))
        assert await still_double(house, 60) == [*range(10, 20), *range(50, 60)]


async def test_a_tenant_has_so_many_tokens_a_day_and_no_more(database: Database, tmp_path: Path) -> None:
    model = judging()
    budget = 4500
    table = f"[assistant.consolidation]\ntoken_budget_per_day = {budget}\n"
    async with house_at(database, tmp_path, table, chat=model.chat) as house:
        await plant(house, kettles(50))
        report = await consolidate(house, tenant_id=TENANT)
        assert report["tokens"] == tokens_at_the_wire(model) <= budget
        assert report["pairs_asked"] == report["merged"] == 20
        assert report["skipped"] == {"TOKEN_BUDGET": 30}
        assert (report["duplicates_before"], report["duplicates_after"]) == (50, 30)
        again = await consolidate(house, tenant_id=TENANT)
        assert (again["pairs_asked"], again["skipped"]) == (0, {"TOKEN_BUDGET": 30})
        house.clock.turn(days=1)
        assert (await consolidate(house, tenant_id=TENANT))["merged"] == 20


async def test_a_dry_run_changes_nothing(database: Database, tmp_path: Path) -> None:
    model = judging()
    async with house_at(database, tmp_path, chat=model.chat) as house:
        await plant(house, kettles(60))
        report = await consolidate(house, tenant_id=TENANT, user_id=USER, dry_run=True)
        assert (report["pairs_asked"], report["merged"], report["skipped"]) == (50, 0, {"PAIRS_CAP": 10})
        assert report["duplicates_before"] == report["duplicates_after"] == 60
        assert model.asked == []
        real = await consolidate(house, tenant_id=TENANT, user_id=USER)
        assert (real["pairs_asked"], real["tokens"]) == (50, report["tokens"])


async def test_a_user_is_asked_for_with_a_tenant(house: AssistantHouse) -> None:
    del house.client.headers["x-tenant"]
    refused = await consolidate(house, 400, user_id=USER)
    assert refused["fields"] == ["$.tenant_id"]


async def test_what_a_model_answers_unreadably_counts_as_asked(database: Database, tmp_path: Path) -> None:
    model = judging()
    model.script = lambda _: '{"pairs":[{"pair":1,"verdict":"perhaps"},{"pair":"2"},7]}'
    async with house_at(database, tmp_path, chat=model.chat) as house:
        await plant(house, kettles(6))
        assert (await consolidate(house, tenant_id=TENANT))["skipped"] == {"UNREADABLE": 6}
        again = await consolidate(house, tenant_id=TENANT)
        assert (again["skipped"], len(model.asked)) == ({"COMPARED_LATELY": 6}, 1)


async def test_while_the_model_is_away_pairs_wait(database: Database, tmp_path: Path) -> None:
    model = judging(timeout_ms=100)
    async with house_at(database, tmp_path, chat=model.chat) as house:
        await plant(house, kettles(6))
        model.status = 400  # refused: it is there, and will not say
        assert (await consolidate(house, tenant_id=TENANT))["skipped"] == {"UNREADABLE": 6}
        house.clock.turn(days=14)
        model.status = 429
        report = await consolidate(house, tenant_id=TENANT)
        assert report["skipped"] == {"MODEL_AWAY": 6}
        model.status = 200
        house.clock.turn(days=1)
        assert (await consolidate(house, tenant_id=TENANT))["merged"] == 6


async def test_the_time_of_a_user_is_bounded(database: Database, tmp_path: Path) -> None:
    model = judging()
    table = "[assistant.consolidation]\nseconds_per_user = 0.2\n"
    async with house_at(database, tmp_path, table, chat=model.chat) as house:
        await plant(house, kettles(20))
        model.before_answer = anyio.sleep_forever
        report = await consolidate(house, tenant_id=TENANT)
        assert report["skipped"] == {"UNREADABLE": 10, "TIME": 10}


async def test_without_a_model_rules_decide_and_the_rest_stays(house: AssistantHouse) -> None:
    await plant(
        house,
        [
            Planted("User isn't fond of jazz 1.", "User is not fond of jazz 1.", 0.5),
            Planted("User's height is 181 cm.", "User's height is 191 cm.", 0.5),
            Planted("User loves chess 4.", "User hates chess 4.", 0.5),
            Planted("User has a cat called Tom 5.", "The cat Tom 5 belongs to User.", 0.5),
        ],
    )
    report = await consolidate(house, tenant_id=TENANT)
    assert (report["merged"], report["contradictions"], report["pairs_asked"]) == (2, 1, 0)
    assert report["skipped"] == {"UNDECIDED": 1}
    texts = sorted(item["text"] for item in (await house.get("memories"))["items"])
    assert texts == [
        "The cat Tom 5 belongs to User.", "User has a cat called Tom 5.", "User hates chess 4.",
        "User is not fond of jazz 1.", "User loves chess 4.", "User's height is 191 cm.",
    ]  # fmt: skip
    again = await consolidate(house, tenant_id=TENANT)
    assert (again["merged"], again["skipped"]) == (0, {"COMPARED_LATELY": 2})


async def test_only_pairs_of_the_band_that_share_words_in_a_category_are_compared(
    house: AssistantHouse,
) -> None:
    said = [("User sings bass.", 0.60), ("User sings tenor.", 0.30), ("User sings solo.", 0.29)]
    house.model.known["User sings alto."] = unit(1.0)
    await house.add("User sings alto.", "hobbies")
    for place, (text, cosine) in enumerate(said):
        house.model.known[text] = unit(cosine, *[0.0] * place, float((1 - cosine**2) ** 0.5))
        await house.add(text, "hobbies")
    house.model.known["Quartets meet."] = at_cosine(0.5)
    await house.add("Quartets meet.", "hobbies")
    house.model.known["User sings there."] = at_cosine(0.5)
    await house.add("User sings there.", "event")
    await house.rows("UPDATE assistant_memories SET unchecked = false")  # as after a first comparison
    report = await consolidate(house, tenant_id=TENANT, dry_run=True)
    rows = await house.rows("SELECT count(*) FROM assistant_fingerprints")
    assert (report["pairs_seen"], rows[0]["count"]) == (1, 0)


async def test_what_was_stored_while_the_embedder_was_away_is_compared_later(house: AssistantHouse) -> None:
    known = {"User is not fond of jazz.": unit(1.0), "User isn't fond of jazz.": at_cosine(0.97)}
    house.model.known |= known
    await house.add("User is not fond of jazz.")
    house.clock.turn(minutes=1)
    house.model.away = True
    await house.add("User isn't fond of jazz.")
    house.model.away = False
    await house.do_jobs()
    assert await a_day(house) == 1
    assert [item["text"] for item in (await house.get("memories"))["items"]] == ["User isn't fond of jazz."]
    assert await house.rows("SELECT FROM assistant_memories WHERE state = 'active' AND unchecked") == []


async def test_what_changed_while_the_model_thought_stays(database: Database, tmp_path: Path) -> None:
    model = judging()
    async with house_at(database, tmp_path, chat=model.chat) as house:
        await plant(house, kettles(2))
        rows = await house.rows(
            "SELECT memory_id::text AS id FROM assistant_memories WHERE text = $1", FIRST.format(0)
        )

        async def meanwhile() -> None:
            await house.delete(f"memories/{rows[0]['id']}")

        model.before_answer = meanwhile
        report = await consolidate(house, tenant_id=TENANT)
        assert (report["merged"], report["skipped"]) == (1, {"CHANGED": 1})
        texts = sorted(item["text"] for item in (await house.get("memories"))["items"])
        assert texts == sorted([SECOND.format(0), MERGED.format(1)])


async def test_users_have_their_turn_at_different_times_and_a_missed_one_once(house: AssistantHouse) -> None:
    users = [f"user {number}" for number in range(12)]
    for user in users:
        await house.add(f"Something of {user}.", user_id=user)
    assert await a_day(house) == 12
    house.clock.turn(days=-1)
    seen = []
    for _ in range(24):
        house.clock.turn(hours=1)
        subjects = await daily(house).subjects()
        seen.append(len(subjects))
        for subject in subjects:
            await daily(house).run(Due(subject, house.clock.now(), 1))
    assert (sum(seen), max(seen) < 12) == (12, True)
    house.clock.turn(days=3)
    assert await a_day(house) == 12


async def test_what_was_added_by_hand_or_imported_is_compared_however_like_it_is(
    database: Database, tmp_path: Path
) -> None:
    model = ScriptedModel(
        lambda question: json.dumps(
            {
                "pairs": [
                    {"pair": one["pair"], "verdict": "same", "text": "", "from": []}
                    for one in pairs_in(question)
                ]
            }
        )
    )
    line = {
        "id": "00000000-0000-4000-8000-000000000009", "type": "semantic", "category": "preferences",
        "importance": 2, "text": "User enjoys swimming in lakes.", "pinned": False, "state": "active",
        "source": "turn", "created_at": "2026-02-02T03:04:05Z", "updated_at": "2026-02-02T03:04:05Z",
    }  # fmt: skip
    async with house_at(database, tmp_path, chat=model.chat) as house:
        house.model.known |= {
            "User likes a swim in a lake.": unit(1.0), "User loves lake swimming.": at_cosine(0.8),
            line["text"]: at_cosine(0.7),
        }  # fmt: skip
        await house.add("User likes a swim in a lake.")
        await house.add("User loves lake swimming.")
        await house.client.post(
            "/v1/admin/assistant/import",
            json={"tenant_id": TENANT, "items": [{"user_id": USER, "memory": line}]},
        )
        assert len((await house.get("memories"))["items"]) == 3
        for _ in range(2):
            await consolidate(house, tenant_id=TENANT, user_id=USER)
        assert len((await house.get("memories"))["items"]) < 3
