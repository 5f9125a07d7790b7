"""What is a user's in the memory of an orchestrator: erased, forgotten, found, and when that cannot be read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from elf.api.caller import Caller
from elf.core.errors import Forbidden, NotFound
from elf.db.database import Database
from elf.offers import Question, Subject
from tests.db.graph.house import FACT, TENANT, House, eventually, fact, house_at, link

pytestmark = pytest.mark.anyio
SAID = {"sourceType": "channel_transcript", "capturedBy": "system", "conversationId": "c1"}


async def asked(house: House, who: str | None, path: str, status: int = 200, /, **body: Any) -> Any:
    """Return the JSON of an answer to a user, or to an orchestrator that calls for none."""
    headers = {} if who is None else {"x-user": who}
    body = {"orchestrator_id": "planner", **body}
    answer = await house.client.post(f"/v1/graph/{path}", json=body, headers=headers)
    assert answer.status_code == status, answer.text
    return answer.json()


async def test_a_user_is_told_by_a_broken_memory_nothing_that_was_told_before(
    database: Database, tmp_path: Path
) -> None:
    async with house_at(database, tmp_path) as house:
        await asked(house, "ana", "memories", memories=[fact("mine", content="Ana is in Lisbon.")])
        about = {"purpose": "selector", "message_id": "m", "message": "Lisbon"}
        for who in ("ana", None):
            assert "Ana is" in (await asked(house, who, "context", **about))["bulletin"]["rendered"]
        kept = house.memory() / "bulletins"
        assert len([*kept.iterdir()]) == 2
    (house.memory() / "memory.db").write_bytes(b"no database" * 100)
    async with house_at(database, tmp_path) as house:
        for who, status in (("ana", "empty"), ("ben", "empty"), (None, "fresh")):
            answer = await asked(house, who, "context", **about)
            assert (answer["status"], answer["bulletin"]["status"]) == ("disabled", status)
        assert len([*kept.iterdir()]) == 2


async def test_nothing_of_an_erased_user_is_in_what_is_somebody_elses_by_now(house: House) -> None:
    subjects = house.opened.subjects
    assert subjects is not None
    await asked(house, "ana", "memories", memories=[fact("m1", content="Ana is in Lisbon.")])
    await asked(house, "ben", "memories", memories=[fact("m2", content="Ben is in Porto.")])
    await asked(house, "ana", "context", purpose="selector", message_id="m", message="Lisbon")
    exported = [one async for one in subjects.export(Subject(tenant_id=TENANT, user="ben"))]
    assert [one["memory"]["memoryId"] for one in exported if "memory" in one] == ["m2"]
    await house.erase(memory_ids=["m2"])
    first, version = exported
    was = {**version["memory_version"]["memory"], "userId": "ana", "content": "Ana was in Faro."}
    await subjects.take_in(
        [{**first, "version": 2}, {**version, "memory_version": {**version["memory_version"], "memory": was}}]
    )
    assert (await subjects.erase(Subject(tenant_id=TENANT, user="ana")))["memories"] == 1
    left = [one async for one in subjects.export(Subject(tenant_id=TENANT))]
    assert "ana" not in str(left).lower()
    assert [one["memory"]["userId"] for one in left if "memory" in one] == ["ben"]
    assert [*(house.memory() / "bulletins").iterdir()] == []


async def test_who_may_forget_what_across_families(house: House) -> None:
    items, recall = house.opened.items, house.opened.recall
    assert items is not None
    assert recall is not None
    await asked(house, "ana", "memories", memories=[fact("mine"), fact("shared", source=SAID)])
    await asked(house, None, "memories", memories=[fact("said", source=SAID)])
    share = {"orchestrator_id": "planner", "memory_id": "shared", "shared": True}
    assert (await house.client.post("/v1/admin/graph/share", json=share)).status_code == 200
    subjects = {who: Subject(tenant_id=TENANT, agent_id="planner", user=who) for who in ("ana", "ben")}
    found = {
        who: {one.id: one.conversation for one in await recall(_question(subject), Caller(user=who))}
        for who, subject in subjects.items()
    }
    assert found == {
        "ana": {"mine": None, "shared": "c1", "said": "c1"},
        "ben": {"shared": None, "said": "c1"},
    }
    assert (await items.read("planner", "shared", subjects["ben"], Caller(user="ben"))).conversation is None
    with pytest.raises(Forbidden):
        await items.forget("planner", "shared", subjects["ben"], Caller(user="ben"))
    with pytest.raises(NotFound):
        await items.forget("planner", "mine", subjects["ben"], Caller(user="ben"))
    # One whom the request names is a user as well, and the one that stands for all on a machine is none.
    with pytest.raises(NotFound):
        await items.read("planner", "mine", subjects["ben"], Caller(client="bot"))
    nobody = Caller(user="ana", is_default_user=True)
    assert {one.id for one in await recall(_question(subjects["ana"]), nobody)} == {"shared", "said"}
    await items.forget("planner", "mine", subjects["ana"], Caller(user="ana"))


def _question(subject: Subject) -> Question:
    return Question(text="office", vector=None, subject=subject, limit=9)


async def test_the_default_user_of_a_machine_has_all_of_a_memory(database: Database, tmp_path: Path) -> None:
    async def identify(headers: Any) -> Caller:
        named = headers.get("x-user")
        return Caller(user=named or "local", is_default_user=named is None, bound={"tenant_id": TENANT})

    async with house_at(database, tmp_path, identify=identify) as house:
        await asked(house, "ana", "memories", memories=[fact("mine")])
        await asked(house, None, "memories", memories=[fact("all")], edges=[link("all", "mine")])
        assert len((await house.get("memories"))["items"]) == 2
        (edge,) = (await house.get("memories/mine/edges"))["items"]
        assert edge["edge"]["toMemoryId"] == "mine"
        assert "userId" not in (await house.get("memories/all"))["memory"]


async def test_vectors_find_for_a_user_what_the_user_may_see(house: House) -> None:
    await asked(house, "ana", "memories", memories=[fact(f"a{number}") for number in range(90)])
    await asked(house, "ben", "memories", memories=[fact("mine")])

    async def recalled() -> list[str]:
        answer = await asked(house, "ben", "recall", query=FACT["content"], top_k_text=0)
        return [one["memory"]["memoryId"] for one in answer["nodes"]]

    assert await eventually(recalled, bool) == ["mine"]
