"""Memories of an assistant as whoever keeps them meets them: over HTTP."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import pytest
from werkzeug.datastructures import Headers

from elf.api.caller import Caller
from elf.db.database import Database
from tests.db.assistant.assistant_kit import (
    TENANT,
    USER,
    AssistantHouse,
    assistant_config,
    house_at,
    served_beside_the_others,
)
from tests.folders import fresh_folder
from tests.notes_kit import vector_of
from tests.rpc_kit import named

pytestmark = pytest.mark.anyio


async def test_a_memory_that_is_added_is_read_as_it_was_told(house: AssistantHouse) -> None:
    added = await house.post(
        "memories", text="User  prefers \u201cgreen\u201d tea.", category="preferences", tags=["food", "food"],
        importance=3, pinned=True, agent_id="planner", run_id="r1", actor_id="a1", thread_id="t1", role="user",
        evidence=[{"quote": "I prefer green tea", "role": "user", "turn_id": "7"}],
    )  # fmt: skip
    memory = added["memory"]
    assert (added["result"], added["warnings"], added["reason_code"], added["degraded"]) == (
        "ADD",
        [],
        None,
        [],
    )
    assert await house.get(f"memories/{memory['id']}") == memory
    assert memory | {"id": None, "created_at": None, "updated_at": None} == {
        "id": None, "tenant_id": TENANT, "user_id": USER, "agent_id": "planner", "run_id": "r1", "actor_id": "a1",
        "thread_id": "t1", "role": "user", "type": "semantic", "category": "preferences",
        "text": 'User prefers "green" tea.', "steps_text": None, "tags": ["food"], "importance": 3, "pinned": True,
        "state": "active", "source": "manual",
        "evidence": [{"quote": "I prefer green tea", "role": "user", "turn_id": "7"}], "created_at": None,
        "updated_at": None, "last_accessed": None, "hit_count": 0, "purge_at": None,
    }  # fmt: skip


async def test_what_is_known_letter_for_letter_is_not_added_again(house: AssistantHouse) -> None:
    first = await house.add()
    again = await house.post("memories", text=" User prefers  tea. ", category="preferences")
    assert (again["result"], again["memory"]) == ("NONE", first)
    elsewhere = await house.post("memories", text="User prefers tea.", category="food")
    assert elsewhere["result"] == "ADD"


@pytest.mark.parametrize(
    ("asked", "status"), [({"user_id": "ben"}, 404), ({"tenant_id": "rival"}, 403), ({}, 200)]
)
async def test_nobody_reads_what_is_anothers(
    house: AssistantHouse, asked: dict[str, str], status: int
) -> None:
    memory = await house.add()
    await house.get(f"memories/{memory['id']}", status, **asked)


async def test_what_is_not_there_is_not_found_by_its_field(house: AssistantHouse) -> None:
    answer = await house.get(f"memories/{uuid4()}", 404)
    assert (answer["error_code"], answer["fields"]) == ("NOT_FOUND", ["$.memory_id"])


async def test_somebody_has_to_say_whose_memory_it_is(house: AssistantHouse) -> None:
    answer = await house.post("memories", 400, user_id=None, text="x", category="y")
    assert answer["fields"] == ["$.user_id"]


def test_it_is_served_beside_the_other_families() -> None:
    with (
        fresh_folder() as folder,
        served_beside_the_others(assistant_config(Path(folder))) as url,
        httpx.Client(base_url=url, timeout=30) as client,
    ):
        body = {"tenant_id": TENANT, "user_id": USER, "text": "User prefers tea.", "category": "preferences"}
        added = client.post("/v1/assistant/memories", json=body).json()
        assert (added["result"], added["degraded"]) == ("ADD", [])
        read = client.get(
            f"/v1/assistant/memories/{added['memory']['id']}", params={"tenant_id": TENANT, "user_id": USER}
        )
        assert read.json() == added["memory"]

        def say(turn: str, text: str) -> Any:
            said = {"thread_id": "t1", "turn_id": turn, "messages": [{"role": "user", "content": text}]}
            answer = client.post("/v1/assistant/turn", json={"tenant_id": TENANT, "user_id": USER, **said})
            return next(one for one in answer.json()["results"] if one["result"] != "PROPOSED")

        old = say("1", "I live in Paris.")
        new = say("2", "I live in Berlin.")
        other = say("3", "I prefer window seats on planes.")
        assert (old["result"], new["result"], other["result"]) == ("ADD", "UPDATE", "ADD")
        assert (new["memory_id"], new["text"]) == (old["memory_id"], "User lives in Berlin.")


async def history_of(house: AssistantHouse, memory_id: str, user: str = USER) -> list[str]:
    rows = await house.get(f"memories/{memory_id}/history", user_id=user)
    return [row["event"] for row in reversed(rows["items"])]


@pytest.mark.parametrize(
    ("text", "warnings"),
    [
        ("I prefer tea.", ["PRONOUN"]),
        ("User ships the release soon.", ["TIME_BOUND"]),
        (f"{'x' * 300}.", ["TOO_LONG"]),
        ("A is a. B is b. I am c.", ["TOO_MANY_SENTENCES", "PRONOUN"]),
        ("User prefers tea.", []),
    ],
)
async def test_what_is_added_by_hand_is_kept_with_warnings(
    house: AssistantHouse, text: str, warnings: list[str]
) -> None:
    added = await house.post("memories", text=text, category="c")
    assert (added["result"], added["memory"]["text"], added["warnings"]) == ("ADD", text, warnings)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("text", " \n"), ("text", "x" * 4097), ("category", "no spaces"), ("category", ""), ("importance", 0),
        ("importance", 6), ("type", "dream"), ("tags", ["x"] * 17), ("tags", [""]), ("role", "system"),
        ("thread_id", ""), ("evidence", [{"quote": ""}]), ("steps_text", ""), ("surprise", 1),
    ],
)  # fmt: skip
async def test_a_request_that_is_out_of_bounds_is_refused_by_its_field(
    house: AssistantHouse, field: str, value: object
) -> None:
    body = {"text": "User prefers tea.", "category": "c"} | {field: value}
    answer = await house.post("memories", 400, **body)
    assert answer["error_code"] == "INVALID_REQUEST"
    assert answer["fields"][0].startswith(f"$.{field}")
    assert await house.rows("SELECT FROM assistant_memories") == []


async def test_credentials_are_blanked_in_what_is_kept(house: AssistantHouse) -> None:
    secret = "AKIA" + "QYLPMN5HHHFPZAM2"
    memory = await house.add(f"User's key is {secret}.", evidence=[{"quote": f"my key is {secret}"}])
    assert secret not in str(memory)
    assert "[REDACTED:" in memory["text"]
    assert "[REDACTED:" in memory["evidence"][0]["quote"]


async def test_a_memory_is_changed_and_its_history_tells_how(house: AssistantHouse) -> None:
    memory = await house.add(thread_id="t1")
    house.clock.turn(hours=1)
    changed = await house.patch(
        f"memories/{memory['id']}", text="User prefers  coffee.", category="food", tags=["hot"], importance=5
    )
    new = changed["memory"]
    assert (changed["result"], changed["warnings"]) == ("UPDATE", [])
    assert new == memory | {
        "text": "User prefers coffee.", "category": "food", "tags": ["hot"], "importance": 5,
        "updated_at": new["updated_at"],
    }  # fmt: skip
    assert new["updated_at"] > memory["updated_at"]
    again = await house.patch(f"memories/{memory['id']}", importance=5)
    assert (again["result"], again["memory"]) == ("NONE", new)
    update, add = (await house.get(f"memories/{memory['id']}/history"))["items"]
    assert (add["event"], add["old_ref"], add["new_ref"]["text"]) == ("ADD", None, "User prefers tea.")
    assert (update["event"], update["old_ref"]["text"], update["new_ref"]["text"]) == (
        "UPDATE", "User prefers tea.", "User prefers coffee.",
    )  # fmt: skip
    rows = await house.rows("SELECT event, rev FROM assistant_changes WHERE thread_id = 't1' ORDER BY rev")
    assert [tuple(row) for row in rows] == [("created", 1), ("updated", 2)]


async def test_a_memory_is_pinned_and_let_go(house: AssistantHouse) -> None:
    memory = await house.add()
    assert (await house.post(f"memories/{memory['id']}/pin"))["memory"]["pinned"]
    assert (await house.post(f"memories/{memory['id']}/pin"))["result"] == "NONE"
    assert not (await house.post(f"memories/{memory['id']}/pin", pinned=False))["memory"]["pinned"]
    assert await history_of(house, memory["id"]) == ["ADD", "UPDATE", "UPDATE"]


async def test_a_deleted_memory_can_be_restored_for_thirty_days(house: AssistantHouse) -> None:
    memory = await house.add(thread_id="t1")
    gone = await house.delete(f"memories/{memory['id']}")
    assert (gone["result"], gone["purge_at"]) == ("DELETE", "2026-03-31T12:00:00.123456Z")
    assert (await house.delete(f"memories/{memory['id']}"))["result"] == "NONE"
    assert (await house.get("memories"))["items"] == []
    (shown,) = (await house.get("memories", state="soft_deleted"))["items"]
    assert shown["id"] == memory["id"]
    refused = await house.patch(f"memories/{memory['id']}", 409, importance=5)
    assert (refused["error_code"], refused["fields"]) == ("CONFLICT", ["$.memory_id"])
    back = await house.post(f"memories/{memory['id']}/restore")
    assert (back["result"], back["memory"]["state"], back["memory"]["purge_at"]) == (
        "RESTORE",
        "active",
        None,
    )
    assert (await house.post(f"memories/{memory['id']}/restore"))["result"] == "NONE"
    assert await history_of(house, memory["id"]) == ["ADD", "DELETE", "RESTORE"]


async def test_what_is_deleted_may_be_said_anew(house: AssistantHouse) -> None:
    memory = await house.add()
    await house.delete(f"memories/{memory['id']}")
    assert (await house.add())["id"] != memory["id"]


async def test_a_hard_delete_leaves_no_word_of_a_memory(house: AssistantHouse) -> None:
    other = await house.add("User likes sencha.")
    for text in ("User drinks nettle tea.", "User drinks it."):
        house.model.known[f"{text}\nBoil nettle."] = vector_of("User likes sencha.")
    memory = await house.add(
        "User drinks it.", steps_text="Boil nettle.", tags=["nettle"], thread_id="t1",
        evidence=[{"quote": "nettle, please"}],
    )  # fmt: skip
    await house.patch(f"memories/{memory['id']}", text="User drinks nettle tea.")
    assert await house.rows("SELECT FROM assistant_relations") != []
    gone = await house.delete(f"memories/{memory['id']}", hard="true")
    assert (gone["result"], gone["purge_at"]) == ("DELETE", None)
    for table in ("memories", "vectors", "relations", "history", "changes", "events", "outbox"):
        rows = await house.rows(f"SELECT t::text AS said FROM assistant_{table} AS t")
        assert "nettle" not in " ".join(row["said"] for row in rows).lower(), table
    await house.get(f"memories/{memory['id']}", 404)
    assert await history_of(house, memory["id"]) == ["ADD", "LINK", "UPDATE", "DELETE"]
    purged = (await house.get(f"memories/{memory['id']}/history"))["items"][0]
    assert purged["meta"] == {"purged": True}
    assert (await house.get(f"memories/{other['id']}"))["text"] == "User likes sencha."


async def test_pages_hold_every_memory_once_and_filters_narrow_them(house: AssistantHouse) -> None:
    for number in range(5):
        await house.add(
            f"Fact {number}.", category="even" if number % 2 == 0 else "odd", importance=number + 1,
            tags=[f"n{number}"], pinned=number == 3, thread_id=f"t{number}", role="user",
        )  # fmt: skip
        house.clock.turn(minutes=1)
    texts, cursor = [], None
    while True:
        page = await house.get("memories", limit=2, **({} if cursor is None else {"cursor": cursor}))
        texts += [item["text"] for item in page["items"]]
        if (cursor := page["next_cursor"]) is None:
            break
    assert texts == [f"Fact {number}." for number in (4, 3, 2, 1, 0)]

    async def found(**filters: object) -> list[str]:
        return [item["text"][5] for item in (await house.get("memories", **filters))["items"]]

    assert await found(category="odd") == ["3", "1"]
    assert await found(importance_min=2, importance_max=3) == ["2", "1"]
    assert await found(pinned="true") == ["3"]
    assert await found(tag="n2") == ["2"]
    assert await found(thread_id="t4", role="user") == ["4"]
    assert await found(type="episodic") == []
    assert await found(updated_after="2026-03-01T12:03:00.123456Z") == ["4"]
    assert await found(updated_before="2026-03-01T13:01:00.123456+01:00") == ["0"]
    page = await house.get("memories", limit=2)
    refused = await house.get("memories", 400, category="odd", cursor=page["next_cursor"])
    assert refused["fields"] == ["$.cursor"]
    refused = await house.get("memories", 400, importance_min=3, importance_max=2)
    assert refused["fields"] == ["$.importance_min"]


async def test_the_history_of_a_user_comes_in_pages(house: AssistantHouse) -> None:
    first = await house.add("One is one.")
    await house.add("Two is two.")
    await house.delete(f"memories/{first['id']}")
    page = await house.get("history", limit=2)
    rest = await house.get("history", limit=2, cursor=page["next_cursor"])
    events = [(row["event"], row["memory_id"] == first["id"]) for row in page["items"] + rest["items"]]
    assert events == [("DELETE", True), ("ADD", False), ("ADD", True)]
    assert rest["next_cursor"] is None
    assert (await house.get("history", user_id="ben"))["items"] == []


async def test_no_other_user_changes_a_memory(house: AssistantHouse) -> None:
    memory = await house.add()
    where = f"memories/{memory['id']}"
    for ask in (
        house.patch(where, 404, user_id="ben", importance=5),
        house.post(f"{where}/pin", 404, user_id="ben"),
        house.post(f"{where}/restore", 404, user_id="ben"),
        house.delete(where, 404, user_id="ben"),
        house.get(f"{where}/history", 404, user_id="ben"),
    ):
        assert (await ask)["error_code"] == "NOT_FOUND"
    assert await house.get(where) == memory


async def test_with_proven_users_nobody_names_another(database: Database, tmp_path: Path) -> None:
    async with house_at(database, tmp_path, proves_users=True) as house:
        house.client.headers["x-user"] = "ana"
        memory = await house.add(user_id=None)
        assert memory["user_id"] == "ana"
        refused = await house.get(f"memories/{memory['id']}", 403, user_id="ben")
        assert (refused["error_code"], refused["fields"]) == ("SCOPE_DENIED", ["$.user_id"])
        del house.client.headers["x-user"]
        assert (
            await house.get(f"memories/{memory['id']}", user_id="ana") == memory
        )  # a key alone names any user


async def by_agent(headers: Headers) -> Caller:
    """Take everybody for the agent that they say they are."""
    caller = await named(headers)
    agent = headers.get("x-agent")
    return caller if agent is None else replace(caller, bound={**caller.bound, "agent_id": agent})


async def test_an_agent_by_its_key_reaches_its_categories_only(database: Database, tmp_path: Path) -> None:
    async with house_at(database, tmp_path, identify=by_agent) as house:
        goal = await house.add("User ships soup.", "goals", agent_id="planner")
        taste = await house.add(agent_id="planner")
        house.client.headers["x-agent"] = "planner"
        assert [one["id"] for one in (await house.get("memories"))["items"]] == [goal["id"]]
        assert await house.get(f"memories/{goal['id']}") == goal
        where = f"memories/{taste['id']}"
        for ask in (
            house.get(where, 404),
            house.get(f"{where}/history", 404),
            house.patch(where, 404, importance=5),
            house.post(f"{where}/pin", 404),
            house.delete(where, 404),
            house.post(f"{where}/restore", 404),
        ):
            assert "tea" not in str(await ask)
        assert [one["memory_id"] for one in (await house.get("history"))["items"]] == [goal["id"]]
        for refused in (
            await house.get("memories", 403, category="preferences"),
            await house.post("memories", 403, text="User likes soup.", category="preferences"),
            await house.patch(f"memories/{goal['id']}", 403, category="preferences"),
        ):
            assert (refused["error_code"], refused["fields"]) == ("SCOPE_DENIED", ["$.category"])
        house.client.headers["x-agent"] = "stranger"
        refused = await house.get("memories", 403)
        assert (refused["error_code"], refused["fields"]) == ("SCOPE_DENIED", ["$.agent_id"])
