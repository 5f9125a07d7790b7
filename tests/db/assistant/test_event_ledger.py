"""The events of an hour, against what who asked for it all has written down."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from random import Random
from typing import Any, Final

import pytest

from elf.db.database import Database
from tests.db.assistant.assistant_kit import AssistantHouse, house_at
from tests.db.assistant.chat_kit import ScriptedModel, take
from tests.db.assistant.query_kit import ask
from tests.notes_kit import unit

pytestmark = pytest.mark.anyio

SEED: Final = 14
FACTS: Final = (
    "User prefers green tea.", "User prefers black tea.", "User hates figs.", "User loves figs.", "User lives in Rome.",
    "User lives in Oslo.", "User is not fond of jazz.", "User isn't fond of jazz.", "User drinks tea today.",
)  # fmt: skip
AXES: Final = ((1,), (0, 1), (0, 0, 1), (0, 0, 0, 1), (0, 0, 0, 0, 1))
SAID: Final = {
    "I prefer green tea.": FACTS[0], "I prefer black tea.": FACTS[1], "I hate figs.": FACTS[2],
    "I love figs.": FACTS[3], "I live in Rome.": FACTS[4], "I live in Oslo.": FACTS[5],
    "I am not fond of jazz.": FACTS[6], "I got married last week.": "User got married last week.",
}  # fmt: skip
"""What a user says, and what a model makes of it."""
TEXT_FAULTS: Final = frozenset({"TIME_BOUND"})
BY_WRITE: Final = {"ADD": "create", "UPDATE": "update", "RECREATE": "merge"}


class Client:
    """Does things at random, and writes down by node and op what should be counted of each answer."""

    def __init__(self, house: AssistantHouse, seed: int, model: ScriptedModel | None) -> None:
        self.ledger: Counter[tuple[str, str, str]] = Counter()
        self._house = house
        self._random = Random(seed)
        self._model = model
        self._turns = 0

    def _write_down(self, node: str, op: str, status: str = "ok") -> None:
        self.ledger[node, op, status] += 1

    async def do_something(self) -> None:
        self._house.clock.turn(seconds=self._random.randint(1, 40))
        does = [
            self._add,
            self._turn,
            self._turn,
            self._update,
            self._pin,
            self._delete,
            self._restore,
            self._query,
        ]
        await self._random.choice(does)()

    async def begin(self) -> None:
        """Have every op happen: a memory merged, one created, and one updated by turns, and one that is judged."""
        await self._add("User isn't fond of jazz.")
        for said in SAID:
            await self._say(said)

    async def end(self) -> None:
        """Remove all that is known."""
        while (found := await self._one("active")) is not None:
            await self._house.delete(f"memories/{found}", hard="true")
            self._write_down("hotpath", "delete")

    async def _add(self, fact: str | None = None) -> None:
        text = fact or self._random.choice(FACTS)
        added = await self._house.post("memories", text=text, category="preferences")
        if added["result"] == "ADD":
            self._write_down("hotpath", "create")

    async def _turn(self) -> None:
        await self._say(self._random.choice(list(SAID)))

    async def _say(self, said: str) -> None:
        self._turns += 1
        turn = f"{'model' if self._model else 'local'} {self._turns}"
        if self._model is None:
            messages = [{"role": "user", "content": said}]
            taken = await self._house.post("turn", thread_id="t1", turn_id=turn, messages=messages)
            self._count_results("hotpath", taken["results"])
            return
        self._model.facts = []
        self._model.tells(SAID[said], said, category="preferences")
        results = await take(self._house, said, turn=turn)
        self._write_down("hotpath", "classify", "skipped")  # deferred
        self._count_results("worker", results)

    def _count_results(self, node: str, results: list[dict[str, Any]]) -> None:
        for one in results:
            if one["result"] == "PROPOSED":
                continue
            is_faulty = one["reason_code"] in TEXT_FAULTS
            self._write_down(node, "classify", "skipped" if is_faulty else "ok")
            if one["result"] != "NONE" and not is_faulty:
                self._write_down(node, "search")
            if one["result"] in BY_WRITE:
                self._write_down(node, BY_WRITE[one["result"]])

    async def _update(self) -> None:
        await self._change("patch", "", importance=self._random.randint(1, 5))

    async def _pin(self) -> None:
        await self._change("post", "/pin", pinned=self._random.random() < 0.5)

    async def _change(self, method: str, path: str, **said: Any) -> None:
        found = await self._one("active")
        if found is not None:
            answer = await getattr(self._house, method)(f"memories/{found}{path}", **said)
            if answer["result"] == "UPDATE":
                self._write_down("hotpath", "update")

    async def _delete(self) -> None:
        found = await self._one("active")
        if found is not None:
            hard = self._random.random() < 0.3
            await self._house.delete(f"memories/{found}", hard=str(hard).lower())
            self._write_down("hotpath", "delete")

    async def _restore(self) -> None:
        found = await self._one("soft_deleted")
        if found is not None:
            await self._house.post(f"memories/{found}/restore")
            self._write_down("hotpath", "update")

    async def _query(self) -> None:
        await ask(self._house, agent="stylist")
        self._write_down("context", "search")

    async def _one(self, state: str) -> str | None:
        items = (await self._house.get("memories", state=state))["items"]
        return str(self._random.choice(items)["id"]) if items else None


async def test_counts_by_node_and_op_are_those_of_the_client(database: Database, tmp_path: Path) -> None:
    ledger: Counter[tuple[str, str, str]] = Counter()
    model = ScriptedModel()
    limits = "[assistant.extraction]\nmax_writes_per_day = 10000\n"
    for chat in (None, model.chat):
        async with house_at(database, tmp_path, limits, chat=chat) as house:
            # Those of one kind are as like as can be, and of different kinds not at all.
            house.model.known |= {text: unit(*AXES[place // 2]) for place, text in enumerate(FACTS)}
            client = Client(house, SEED, None if chat is None else model)
            await client.begin()
            for _ in range(80):
                await client.do_something()
            await client.end()
            ledger += client.ledger
    # What is done in the background nobody has asked for; it is told by its categories.
    rows = await house_rows(database)
    assert {key: count for key, count in rows.items() if key[0] != "episodic"} == dict(ledger)
    assert {(node, op) for node, op, _ in ledger} >= {
        (node, op)
        for node in ("hotpath", "worker")
        for op in ("classify", "search", "create", "update", "merge")
    } | {("hotpath", "delete"), ("context", "search")}
    assert len(model.judged) > 0


async def house_rows(database: Database) -> dict[tuple[str, str, str], int]:
    async with database.connection() as connection:
        rows = await connection.fetch(
            "SELECT node, op, status, count(*) AS events FROM assistant_events"
            " WHERE category IS DISTINCT FROM 'relationship_dynamic' AND category IS DISTINCT FROM 'activity'"
            " GROUP BY node, op, status"
        )
    return {(row["node"], row["op"], row["status"]): row["events"] for row in rows}


async def test_events_name_the_engine_and_how_like_the_nearest_is(database: Database, tmp_path: Path) -> None:
    model = ScriptedModel()
    model.tells("User prefers green tea.")
    async with house_at(database, tmp_path, chat=model.chat) as house:
        await take(house, "User prefers green tea.")
        rows = await house.rows(
            "SELECT node, op, status, reason, thread_id FROM assistant_events"
            " WHERE category IS DISTINCT FROM 'activity' AND category IS DISTINCT FROM 'relationship_dynamic'"
        )
    assert {tuple(row.values()) for row in rows} == {
        ("hotpath", "classify", "skipped", "scripted:DEFERRED", "t1"),
        ("worker", "classify", "ok", "scripted:FIRST_PASS", "t1"),
        ("worker", "search", "ok", "scripted", "t1"),
        ("worker", "create", "ok", "scripted", "t1"),
    }
