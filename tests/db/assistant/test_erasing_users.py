"""Erasing a user, an agent or a tenant: no row and no text is left, of whatever table."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Mapping, Sequence
from typing import Any, Final

import pytest

from elf.db.queries import sql_folder
from elf.families.assistant.background.consolidation.daily import subject_of
from elf.families.assistant.model import FAMILY, Place
from elf.families.assistant.subjects.tables import TABLES, told_name
from elf.outbox.leased import JobsFailed, LeaseLost
from tests.db.assistant.assistant_kit import TENANT, USER, AssistantHouse
from tests.families.assistant_world import checkpoint

pytestmark = pytest.mark.anyio

WORD: Final = "Zanzibarqx"
COLUMNS: Final = """
SELECT c.table_name, c.column_name FROM information_schema.columns AS c
JOIN information_schema.tables AS t USING (table_schema, table_name)
WHERE c.table_schema = 'public' AND t.table_type = 'BASE TABLE'
"""


async def columns(house: AssistantHouse) -> Mapping[str, list[str]]:
    """All columns of the database by table."""
    found: dict[str, list[str]] = {}
    for row in await house.rows(COLUMNS):
        found.setdefault(row["table_name"], []).append(row["column_name"])
    return found


async def where(house: AssistantHouse, word: str) -> set[str]:
    """The columns of the whole database that hold a word in any form that can be read."""
    b64 = b64encode(word.encode()).decode().rstrip("=")[:-1]
    hexed = word.encode().hex()
    held = set()
    for table, names in (await columns(house)).items():
        for name in names:
            text = f'"{name}"::text'
            query = f'SELECT 1 FROM "{table}" WHERE {text} ILIKE ANY ($1::text[]) LIMIT 1'
            if await house.rows(query, [f"%{one}%" for one in (word, b64, hexed)]):
                held.add(f"{table}.{name}")
    return held


async def counts(house: AssistantHouse, tenant_id: str, user_id: str) -> dict[str, int]:
    """How many rows of a user each table of the family has."""
    found = {}
    for table in TABLES:
        (row,) = await house.rows(
            f"SELECT count(*) AS many FROM {table} WHERE tenant_id = $1 AND user_id = $2", tenant_id, user_id
        )
        found[told_name(table)] = row["many"]
    return found


async def remember(house: AssistantHouse, user_id: str, word: str) -> None:
    """Have the service keep something of a user in every table there is."""
    of = {"user_id": user_id}
    first = await house.add(
        f"User sails to {word} in June.", "goals", thread_id="t1", agent_id="planner", **of
    )
    second = await house.add(f"User sails to {word} in July.", "goals", thread_id="t1", tags=[word], **of)
    await house.patch(f"memories/{first['id']}", text=f"User flies to {word} in June.", **of)
    await house.delete(f"memories/{second['id']}", **of)
    await house.post("procedures", steps=[f"Book {word}."], **of)
    said = [f"Please call me {word}.", f"I live in {word}.", "I prefer brief answers."]
    turn = [{"role": "user", "content": text} for text in said]
    await house.post("turn", thread_id="t1", turn_id="1", messages=turn, **of)
    (pending, *_) = (await house.get("proposals", **of))["items"]
    await house.post(f"proposals/{pending['proposal_id']}/decision", decision="approve", **of)
    asked = {"agent": "supervisor", "query": word, "filters": of, "thread_id": "t1", "reason": "recall"}
    await house.post("memory/query", user_id=None, **asked)
    data = b64encode(word.encode()).decode()
    put = checkpoint(f"c-{word}", data)
    await house.post("checkpoints", 204, thread_id="t1", **put, summary={"says": word}, **of)
    write = {"channel": "messages", "idx": 0, "type": "bytes", "data": data}
    after = {"checkpoint_id": f"c-{word}", "task_id": word, "writes": [write]}
    await house.post("checkpoints/writes", 204, thread_id="t1", **after, **of)
    file = {"path": f"/memories/{word}/trip.md"}
    await house.post("files/create", **file, file_text=f"We sail to {word}.\n", **of)
    await house.post("files/str_replace", **file, old_str="sail", new_str="fly", **of)
    await house.settle_hits()
    await _leave_the_rest(house, user_id, word)


async def _leave_the_rest(house: AssistantHouse, user_id: str, word: str) -> None:
    """Put a row of a user into every table that has none yet: it is somebody's all the same."""
    await house.rows(
        "INSERT INTO assistant_relations (tenant_id, user_id, from_id, to_id, strength) "
        "SELECT m.tenant_id, m.user_id, (array_agg(m.memory_id))[1], (array_agg(m.memory_id))[2], 0.9 "
        "FROM assistant_memories AS m WHERE m.user_id = $1 GROUP BY 1, 2 ON CONFLICT DO NOTHING RETURNING 1",
        user_id,
    )
    await house.rows(
        "INSERT INTO assistant_memory_sources (tenant_id, user_id, memory_id, thread_id, evidence, created_at) "
        "SELECT m.tenant_id, m.user_id, m.memory_id, $2, '[]', now() FROM assistant_memories AS m WHERE m.user_id = $1",
        user_id, word,
    )  # fmt: skip
    for table, many in (await counts(house, TENANT, user_id)).items():
        if many:
            continue
        name = table if table.startswith(("saver_", "supervisor_")) else f"assistant_{table}"
        needed = await house.rows(
            "SELECT column_name, udt_name FROM information_schema.columns WHERE table_name = $1 "
            "AND is_nullable = 'NO' AND column_default IS NULL AND is_identity = 'NO'",
            name,
        )
        values = {row["column_name"]: _any(row["udt_name"], word) for row in needed}
        values |= {"tenant_id": f"'{TENANT}'", "user_id": f"'{user_id}'"}
        await house.rows(
            f"INSERT INTO {name} ({', '.join(values)}) VALUES ({', '.join(values.values())}) RETURNING 1"
        )


def _any(kind: str, word: str) -> str:
    """A value of a type as SQL, with the word in it where it is text."""
    known = {
        "uuid": "gen_random_uuid()", "timestamptz": "now()", "date": "now()::date",
        "jsonb": f"""'{{"it": "{word}"}}'""",
        "bytea": f"'{word}'::bytea", "int4": "1", "int8": "1", "float4": "1", "bool": "true", "_text": f"'{{{word}}}'",
    }  # fmt: skip
    return known.get(kind, f"'{word}'")


async def test_every_table_of_the_family_is_erased(house: AssistantHouse) -> None:
    made = {
        name
        for path in (sql_folder() / FAMILY).rglob("*.sql")
        for name in re.findall(r"CREATE TABLE IF NOT EXISTS (\w+)", path.read_text(encoding="utf-8"))
    }
    assert made == {*TABLES}
    known = await columns(house)
    assert [table for table in made if not {"tenant_id", "user_id"} <= {*known[table]}] == []


async def test_of_an_erased_user_no_row_and_no_text_is_left(house: AssistantHouse) -> None:
    user = "Ana-Wolpertinger"
    await remember(house, user, WORD)
    await remember(house, "bob", "Timbuktuqx")
    for subject in (Place(TENANT, user), Place(TENANT, "bob")):
        await house.rows(
            "INSERT INTO chore_runs (family, chore, subject, due_at) "
            "VALUES ('assistant', 'memory_consolidation', $1, now()) RETURNING 1",
            subject_of(subject),
        )
    before = await counts(house, TENANT, user)
    assert min(before.values()) > 0, before
    others = await counts(house, TENANT, "bob")
    assert len(await where(house, WORD)) > 10
    receipt = await erase(house, what="user", name=user)
    assert receipt == before | {"chore_runs": 1}
    assert await where(house, WORD) == await where(house, user) == set()
    assert {*(await counts(house, TENANT, user)).values()} == {0}
    assert await counts(house, TENANT, "bob") == others
    assert await where(house, "bob") >= {"chore_runs.subject"}
    assert {*(await erase(house, what="user", name=user)).values()} == {0}


async def test_work_in_hand_while_its_user_is_erased_is_undone(
    house: AssistantHouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    house.model.away = True
    await house.add(f"User sails to {WORD}.", "goals")
    house.model.away = False
    (queue,), jobs, embed = house.opened.queues, await house.jobs(), house.model.embed

    async def embed_meanwhile(texts: Sequence[str]) -> Any:
        await erase(house, what="user", name=USER)
        return await embed(texts)

    monkeypatch.setattr(house.model, "embed", embed_meanwhile)
    with pytest.raises(JobsFailed) as failed:
        await queue.handle(jobs)
    assert [type(error) for _, error in failed.value.failed] == [LeaseLost]
    assert await where(house, WORD) == set()
    assert {*(await counts(house, TENANT, USER)).values()} == {0}


async def test_of_an_erased_tenant_nothing_is_left(house: AssistantHouse) -> None:
    await remember(house, USER, WORD)
    await remember(house, "bob", "Timbuktuqx")
    await house.client.post(
        "/v1/assistant/memories",
        json={"user_id": USER, "text": "User is elsewhere.", "category": "goals"},
        headers={"x-tenant": "another"},
    )
    receipt = await erase(house, what="tenant")
    assert receipt["memories"] > 4
    assert await where(house, WORD) == await where(house, "Timbuktuqx") == set()
    (row,) = await house.rows("SELECT text FROM assistant_memories")
    assert row["text"] == "User is elsewhere."


async def test_of_an_erased_agent_its_memories_go_with_what_tells_of_them(house: AssistantHouse) -> None:
    kept = await house.add("User likes rain.", "goals", agent_id="supervisor", thread_id="t1")
    gone = await house.add(f"User sails to {WORD}.", "goals", agent_id="planner", thread_id="t1")
    await house.patch(f"memories/{gone['id']}", text=f"User flies to {WORD}.")
    receipt = await erase(house, what="agent", name="planner")
    assert (receipt["memories"], receipt["vectors"], receipt["history"] >= 2) == (1, 1, True)
    assert await where(house, WORD) == set()
    assert [one["id"] for one in (await house.get("memories"))["items"]] == [kept["id"]]
    assert {row["memory_id"] for row in (await house.get("history"))["items"]} == {kept["id"]}


@pytest.mark.parametrize(
    ("said", "path"),
    [({"what": "user"}, "$"), ({"what": "tenant", "name": USER}, "$"), ({"what": "all"}, "$.what")],
)
async def test_what_is_erased_is_said_exactly(house: AssistantHouse, said: Any, path: str) -> None:
    answer = await house.client.post("/v1/admin/assistant/erase", json=said)
    assert (answer.status_code, answer.json()["fields"]) == (400, [path])


async def erase(house: AssistantHouse, **said: Any) -> dict[str, int]:
    answer = await house.client.post("/v1/admin/assistant/erase", json=said)
    assert answer.status_code == 200, answer.text
    erased: dict[str, int] = answer.json()["erased"]
    return erased
