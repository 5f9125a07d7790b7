"""What is remembered of a user, taken along and taken in: by the rules of everything that is written."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from elf.offers import Subject
from tests.db.assistant.assistant_kit import TENANT, USER, AssistantHouse
from tests.db.assistant.test_erasing_users import WORD, remember

pytestmark = pytest.mark.anyio


async def exported(
    house: AssistantHouse, path: str = "/v1/admin/assistant/export", **query: str
) -> list[Any]:
    answer = await house.client.get(path, params=query)
    assert answer.status_code == 200, answer.text
    lines = [line.removeprefix("data: ") for line in answer.text.splitlines() if line]
    return [msgspec.json.decode(line) for line in lines]


async def taken_in(house: AssistantHouse, items: list[Any], status: int = 200, **more: Any) -> Any:
    answer = await house.client.post("/v1/admin/assistant/import", json={"items": items, **more})
    assert answer.status_code == status, answer.text
    return answer.json()


def of_kind(lines: list[Any], kind: str) -> list[Any]:
    return [line[kind] for line in lines if kind in line]


def memory(**other: Any) -> dict[str, Any]:
    moments = dict.fromkeys(("created_at", "updated_at"), "2026-01-02T03:04:05Z")
    told = {
        "id": "00000000-0000-4000-8000-000000000001", "type": "semantic", "category": "goals",
        "text": "User wants to sail.", "importance": 4, "pinned": True, "state": "active", "source": "turn", **moments,
    }  # fmt: skip
    return {"user_id": USER, "memory": told | other}


async def test_all_of_a_user_is_exported_and_nothing_of_others(house: AssistantHouse) -> None:
    await remember(house, USER, WORD)
    await remember(house, "bob", "Timbuktuqx")
    lines = await exported(house, user_id=USER)
    assert {line["user_id"] for line in lines} == {USER}
    assert "Timbuktuqx" not in str(lines)
    listed = [
        one
        for state in ("active", "soft_deleted")
        for one in (await house.get("memories", state=state, limit=200))["items"]
    ]
    told = of_kind(lines, "memory")
    assert {one["id"]: one["text"] for one in told} == {one["id"]: one["text"] for one in listed}
    history = (await house.get("history", limit=200))["items"]
    by_id = {one["id"]: (one["event"], one.get("new_ref")) for one in of_kind(lines, "history")}
    assert {one["id"]: (one["event"], one["new_ref"]) for one in history}.items() <= by_id.items()
    assert len(of_kind(lines, "proposal")) == len((await house.get("proposals"))["items"])
    assert [one["thread_id"] for one in of_kind(lines, "thread")] == ["t1"]
    known_by = {name for name, value in (await house.get("user_context")).items() if value}
    assert {one["field"] for one in of_kind(lines, "user_context")} == known_by != set()
    assert await exported(house, "/v1/assistant/export", user_id=USER) == lines


async def test_of_a_tenant_all_users_are_exported_and_of_an_agent_what_it_has_kept(
    house: AssistantHouse,
) -> None:
    await house.add("User wants to sail.", "goals", agent_id="planner")
    await house.add("User wants to ski.", "goals", agent_id="supervisor", user_id="bob")
    assert {line["user_id"] for line in await exported(house)} == {USER, "bob"}
    of_agent = await exported(house, agent_id="planner")
    assert [one["text"] for one in of_kind(of_agent, "memory")] == ["User wants to sail."]
    assert {row["memory_id"] for row in of_kind(of_agent, "history")} == {
        one["id"] for one in of_kind(of_agent, "memory")
    }


async def test_what_was_exported_is_taken_in_once_with_all_that_a_memory_has(house: AssistantHouse) -> None:
    await remember(house, USER, WORD)
    lines = await exported(house, user_id=USER)
    before = {one["id"]: one for one in (await house.get("memories", limit=200))["items"]}
    known = await taken_in(house, lines)
    assert (known["new"], known["rejected"], known["proposed"]) == (0, [], 0)
    answer = await house.client.post("/v1/admin/assistant/erase", json={"what": "user", "name": USER})
    assert answer.status_code == 200
    taken = await taken_in(house, lines)
    after = {one["id"]: one for one in (await house.get("memories", limit=200))["items"]}
    assert after == before
    assert (taken["new"] >= len(before), taken["rejected"]) == (True, [])
    assert [row["event"] for row in (await house.get("history"))["items"]].count("ADD") == len(before)


async def test_an_id_that_is_taken_is_made_anew(house: AssistantHouse) -> None:
    known = await house.add("User wants to ski.", "goals")
    taken = await taken_in(house, [memory(id=known["id"])])
    assert taken["new"] == 1
    listed = {one["text"]: one["id"] for one in (await house.get("memories"))["items"]}
    assert listed.keys() == {"User wants to ski.", "User wants to sail."}
    assert listed["User wants to ski."] == known["id"]


async def test_what_is_taken_in_has_to_pass_whoever_wrote_it(house: AssistantHouse) -> None:
    new = "00000000-0000-4000-8000-00000000000{}".format
    bad = [
        memory(id=new(2), text="I want to go there tomorrow."), memory(id=new(3), text="word " * 200),
        memory(id=new(4), text="I want  to sail.", source="manual"),
        memory(id=new(5), text="User wants  to sail.", source="manual"),
    ]  # fmt: skip
    taken = await taken_in(house, bad)
    assert [(one["place"], one["reason_code"]) for one in taken["rejected"]] == [
        (0, "PRONOUN"),
        (1, "TOO_LONG"),
        (2, "PRONOUN"),
    ]
    assert [one["text"] for one in (await house.get("memories"))["items"]] == ["User wants to sail."]


async def test_nothing_sensitive_is_taken_in_but_proposed(house: AssistantHouse) -> None:
    moment = "2026-01-02T03:04:05Z"
    lines = [
        {"user_id": USER, "user_context": {"field": field, "value": value, "updated_at": moment}}
        for field, value in (("city", "Lisbon"), ("tone", "brief"), ("goals", ["Sail."]))
    ]
    taken = await taken_in(house, lines)
    assert (taken["new"], taken["proposed"]) == (2, 1), taken
    context = await house.get("user_context")
    assert (context["city"], context["tone"], context["goals"]) == (None, "brief", ["Sail."])
    (waiting,) = (await house.get("proposals", state="pending"))["items"]
    assert (waiting["field"], waiting["value"]) == ("city", "Lisbon")
    again = await taken_in(house, lines)
    assert (again["new"], again["proposed"], again["known"]) == (0, 0, 3)


async def test_lines_are_taken_in_for_somebody_else(house: AssistantHouse) -> None:
    taken = await taken_in(house, [memory()], user_id="bob")
    assert taken["new"] == 1
    assert (await house.get("memories"))["items"] == []
    (one,) = (await house.get("memories", user_id="bob"))["items"]
    assert (one["pinned"], one["importance"], one["created_at"]) == (True, 4, "2026-01-02T03:04:05Z")


@pytest.mark.parametrize(
    ("line", "path"),
    [
        ({"user_id": USER}, "$.items[0]"),
        (memory(importance=9), "$.items[0].memory.importance"),
        (memory() | {"proposal": None, "thread": 1}, "$.items[0].thread"),
    ],
)
async def test_a_line_that_is_none_is_refused_by_its_path(
    house: AssistantHouse, line: Any, path: str
) -> None:
    assert (await taken_in(house, [line], 400))["fields"] == [path]


async def test_above_all_families_it_is_the_same(house: AssistantHouse) -> None:
    await house.add("User wants to sail.", "goals")
    subjects = house.opened.subjects
    assert subjects is not None
    subject = Subject(tenant_id=TENANT, user=USER)
    lines = [line async for line in subjects.export(subject)]
    assert (await subjects.erase(subject))["memories"] == 1
    assert await subjects.take_in(lines) == len(lines)
    assert await subjects.take_in(lines) == 0
    assert [line async for line in subjects.export(subject)] == lines
    assert [one["text"] for one in (await house.get("memories"))["items"]] == ["User wants to sail."]


async def test_other_threads_of_a_memory_are_taken_in(house: AssistantHouse) -> None:
    said = {"role": "user", "turn_id": "1"}
    source = {
        "memory_id": memory()["memory"]["id"], "thread_id": "t2", "created_at": "2026-01-03T00:00:00Z",
        "evidence": [{"quote": f"I want to sail. {SECRET}"} | said],
    }  # fmt: skip
    nobodys = source | {"memory_id": "00000000-0000-4000-8000-000000000002"}
    items = [memory(thread_id="t1"), *({"user_id": USER, "source": one} for one in (source, nobodys))]
    told = await taken_in(house, items)
    assert (told["new"], told["known"], told["left"]) == (2, 0, 1)
    told = await taken_in(house, items)
    assert (told["new"], told["known"], told["left"]) == (0, 2, 1)
    (line,) = of_kind(await exported(house, user_id=USER), "source")
    assert (line["memory_id"], line["thread_id"]) == (source["memory_id"], "t2")
    assert [one["quote"].startswith("I want to sail. ") for one in line["evidence"]] == [True]
    assert SECRET not in str(line)
    subjects = house.opened.subjects
    assert subjects is not None
    subject = Subject(tenant_id=TENANT, user=USER)
    lines = [line async for line in subjects.export(subject)]
    await subjects.erase(subject)
    assert await subjects.take_in(lines) == len(lines)
    assert [line async for line in subjects.export(subject)] == lines


SECRET = "sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789ABCD"
FREE = {"text", "steps_text", "quote", "value"}


def planted(value: Any) -> Any:
    """Return what was exported with a secret in all that is said there."""
    if isinstance(value, list):
        return [planted(one) for one in value]
    if not isinstance(value, dict):
        return value
    return {
        name: f"{one} {SECRET}" if name in FREE and isinstance(one, str) else planted(one)
        for name, one in value.items()
    }


@pytest.mark.parametrize("way", ["above all families", "the family's own"])
async def test_secrets_are_blanked_as_in_what_is_written(house: AssistantHouse, way: str) -> None:
    await remember(house, USER, WORD)
    await house.add(
        "User has a plan.", "goals", evidence=[{"quote": "I have a plan.", "role": "user", "turn_id": "1"}]
    )
    subjects = house.opened.subjects
    assert subjects is not None
    subject = Subject(tenant_id=TENANT, user=USER)
    lines = [line async for line in subjects.export(subject)]
    kinds = {"memory", "history", "user_context", "proposal", "file", "file_version"}
    assert kinds <= {kind for line in lines for kind in line}
    assert str(planted(lines)).count(SECRET) > 10
    await subjects.erase(subject)
    if way == "above all families":
        assert await subjects.take_in(planted(lines)) > 10
    else:
        items = [{k: v for k, v in line.items() if k != "tenant_id"} for line in planted(lines)]
        assert (await taken_in(house, items))["new"] > 0
    back = [line async for line in subjects.export(subject)]
    assert WORD in str(back)
    assert SECRET not in str(back)
    assert SECRET not in str(await house.rows("SELECT p::text FROM assistant_proposals AS p"))


async def test_another_tenant_of_the_service_takes_in_all_of_it(house: AssistantHouse) -> None:
    await remember(house, USER, WORD)
    subjects = house.opened.subjects
    assert subjects is not None
    lines = [line async for line in subjects.export(Subject(tenant_id=TENANT, user=USER))]
    kept = [line for line in lines if not line.get("thread", {}).get("by_saver")]
    moved = [line | {"tenant_id": "another"} for line in lines]
    assert await subjects.take_in(moved) == len(kept) < len(lines)
    assert await subjects.take_in(moved) == 0
    back = [line async for line in subjects.export(Subject(tenant_id="another", user=USER))]
    assert sorted(map(str, back)) == sorted(str(line | {"tenant_id": "another"}) for line in kept)
