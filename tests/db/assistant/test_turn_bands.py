"""The bands as a table: which path a candidate takes, what the model is asked, and what is kept then."""

from __future__ import annotations

import math
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from elf.db.database import Database
from tests.db.assistant.assistant_kit import AssistantHouse, house_at
from tests.db.assistant.chat_kit import ScriptedModel, take, texts
from tests.notes_kit import at_cosine, unit

pytestmark = pytest.mark.anyio

EDGES = {"auto_update": 0.85, "check_low": 0.60, "fallback_low": 0.30}
INSIDE, OUTSIDE = "preferences", "tasks"
"""A category in which a faint likeness is looked at, and one in which it is not."""

NEW = "User has bees in hives."
LIKE, LESS_LIKE = "User keeps bees.", "User sells honey of bees."
WORDLESS = "Apiaries abound at home."  # shares no word with the new text
BOTH = "User keeps bees in hives."


@asynccontextmanager
async def house_with(
    database: Database, folder: Path, model: ScriptedModel, *, mode: str = "recreate", **edges: float
) -> AsyncIterator[AssistantHouse]:
    lines = [f"{name} = {value!r}" for name, value in (EDGES | edges).items()]
    table = "\n".join(
        ["[assistant.merging]", f'mode = "{mode}"', f'fallback_categories = ["{INSIDE}"]', *lines]
    )
    async with house_at(database, folder, f"{table}\n", chat=model.chat) as house:
        yield house


async def measured(database: Database, folder: Path, older: str, cosine: float) -> float:
    """Return the cosine of a text to NEW, planted with this one, as the database has it to the last bit."""
    async with house_at(database, folder) as house:
        house.model.known |= {NEW: unit(1.0), older: at_cosine(cosine)}
        for text in (NEW, older):
            await house.add(text, "scratch", user_id="measured")
        (row,) = await house.rows(
            "SELECT 1 - (a.embedding <=> b.embedding) AS cosine FROM assistant_vectors AS a"
            " JOIN assistant_memories AS m USING (tenant_id, user_id, memory_id), assistant_vectors AS b"
            " JOIN assistant_memories AS n USING (tenant_id, user_id, memory_id) WHERE m.text = $1 AND n.text = $2",
            older, NEW,
        )  # fmt: skip
        return float(row["cosine"])


@pytest.mark.parametrize("category", [INSIDE, OUTSIDE])
@pytest.mark.parametrize("reaches", [True, False])
@pytest.mark.parametrize(
    ("edge", "nearest", "asked_at", "asked_below"),
    [
        ("auto_update", LIKE, [LIKE], [LIKE, LESS_LIKE]),  # only the nearest; all that are in the next band
        ("check_low", WORDLESS, [WORDLESS], []),  # looked at in any case; only where words are shared
        ("fallback_low", LIKE, [LIKE], []),
    ],
)
async def test_each_band_begins_at_its_edge_to_the_last_bit(
    database: Database, tmp_path: Path, edge: str, nearest: str, asked_at: list[str], asked_below: list[str],
    reaches: bool, category: str,
) -> None:  # fmt: skip
    exact = await measured(database, tmp_path, nearest, EDGES[edge])
    model = ScriptedModel()
    model.tells(NEW, category=category)
    model.judges(NEW, nearest, "same", BOTH)
    bound = exact if reaches else math.nextafter(exact, 2.0)
    async with house_with(database, tmp_path, model, **{edge: bound}) as house:
        house.model.known |= {NEW: unit(1.0), nearest: at_cosine(EDGES[edge]), LESS_LIKE: at_cosine(0.8)}
        old = await house.add(nearest, category)
        if edge == "auto_update":
            await house.add(LESS_LIKE, category)
        (result,) = await take(house, NEW)
        asked = asked_at if reaches else asked_below
        if edge == "fallback_low" and category == OUTSIDE:
            asked = []
        assert model.judged == ([[(NEW, one) for one in asked]] if asked else [])
        assert result["result"] == ("RECREATE" if asked else "ADD")
        assert result["sim"] == (pytest.approx(exact, abs=1e-6) if asked else None)
        assert (nearest in await texts(house)) == (not asked)
        assert old["id"] != result["memory_id"]
        assert result["text"] == (BOTH if asked else NEW)


@dataclass(frozen=True)
class Row:
    """A pair of texts, what the model says of them (None: it is not to be asked), and what becomes of them.

    `outcome` ONE is RECREATE or UPDATE, as the mode says; `kept` are the texts of active memories afterwards.
    """

    name: str
    newer: str
    older: str
    said: tuple[str, str] | None
    outcome: str
    kept: tuple[str, ...]
    similar: bool = False
    opposite: bool = False
    ids: list[str] | None = None
    near_by_rule: bool = False


LONG_NEW = f"User keeps bees and {'honey ' * 25}comb."
LONG_OLD = f"User has hives of {'many ' * 30}bees."
FOND = "User is not fond of bees."
FARM = "User works at the Bee Farm."
HATED = ("User hates bees.", "User loves bees.")
ROWS = (
    Row("composed", NEW, LIKE, ("same", BOTH), "ONE", (BOTH,)),
    Row("composed with a pronoun", NEW, LIKE, ("same", "I keep bees."), "ONE", (f"{LIKE} {NEW}",)),
    Row(
        "composed of others", NEW, LIKE, ("same", BOTH), "ONE", (f"{LIKE} {NEW}",), ids=["1-new", "2-old"]
    ),
    Row(
        "composed with a new number",
        NEW,
        LIKE,
        ("same", "User keeps bees in 7 hives."),
        "ONE",
        (f"{LIKE} {NEW}",),
    ),
    Row(
        "composed with a new name", NEW, LIKE, ("same", "User keeps bees in Rome."), "ONE", (f"{LIKE} {NEW}",)
    ),
    Row("not composed", NEW, LIKE, ("same", ""), "ONE", (f"{LIKE} {NEW}",)),
    Row(
        "too long together", LONG_NEW, LONG_OLD, ("same", ""), "ADD", (LONG_OLD, LONG_NEW), similar=True
    ),
    Row("newer holds older", "User keeps bees at home.", LIKE, None, "ONE", ("User keeps bees at home.",)),
    Row("older holds newer", LIKE, "User keeps bees at home.", None, "KNOWN", ("User keeps bees at home.",)),
    Row("changed", NEW, "User has bees in boxes.", ("changed", ""), "UPDATE", (NEW,)),
    Row("opposite", NEW, LIKE, ("opposite", ""), "ADD", (NEW, LIKE), opposite=True),
    Row("different", NEW, LIKE, ("different", ""), "ADD", (NEW, LIKE)),
    Row("no verdict", NEW, LIKE, ("maybe", ""), "ADD", (NEW, LIKE), similar=True),
    Row("same by rule", FOND, "User isn't fond of bees.", None, "ONE", (FOND,)),
    Row("changed by rule", FARM, "User works at the Bee House.", ("changed", ""), "UPDATE", (FARM,), near_by_rule=True),
    Row("opposite by rule", *HATED, None, "ADD", HATED, opposite=True),
    Row("equal", LIKE, LIKE, None, "NONE", (LIKE,)),
)  # fmt: skip
COSINES = {"auto": 0.9, "check": 0.7, "fallback": 0.4, "below": 0.2}


@pytest.mark.parametrize(
    ("row", "mode"),
    [(row, "recreate") for row in ROWS] + [(row, "update") for row in ROWS if row.outcome == "ONE"],
    ids=lambda one: getattr(one, "name", one),
)
async def test_what_is_judged_is_kept_as_the_verdict_says(
    database: Database, tmp_path: Path, row: Row, mode: str
) -> None:
    model = ScriptedModel()
    if row.said is not None:
        model.judges(row.newer, row.older, *row.said, ids=row.ids)
    async with house_with(database, tmp_path, model, mode=mode) as house:
        for band in COSINES:
            for category in (INSIDE, OUTSIDE):
                await _check(house, model, row, mode, band, category)


async def _check(
    house: AssistantHouse, model: ScriptedModel, row: Row, mode: str, band: str, category: str
) -> None:
    user = f"{band}-{category}"
    house.model.known |= {row.newer: unit(1.0), row.older: at_cosine(COSINES[band])}
    if row.newer == row.older:
        house.model.known[row.newer] = unit(1.0)
    old = await house.add(row.older, category, user_id=user)
    model.facts, model.judged = [], []
    model.tells(row.newer, category=category)
    (result,) = await take(house, row.newer, user_id=user)
    is_looked_at = band in ("auto", "check") or (band == "fallback" and category == INSIDE)
    outcome = row.outcome if is_looked_at or row.outcome == "NONE" else "ADD"
    if outcome == "KNOWN":
        outcome = "NONE"
    if outcome == "ONE":
        outcome = "RECREATE" if mode == "recreate" else "UPDATE"
    assert result["result"] == outcome, (user, result)
    by_rule = row.said is None or (row.near_by_rule and band == "auto")
    assert len(model.judged) == (is_looked_at and not by_rule)
    kept = row.kept if is_looked_at else {row.newer, row.older}
    assert await texts(house, user_id=user) == sorted(kept)
    assert (result["memory_id"] == old["id"]) == (outcome in ("UPDATE", "NONE"))
    names_neighbour = row.similar and is_looked_at and (band != "fallback" or row.said == ("same", ""))
    assert result["similar_to"] == (old["id"] if names_neighbour else None)
    assert result["contradicts"] == ([old["id"]] if row.opposite and is_looked_at else [])
    await _check_history(house, user, old, result)


async def _check_history(house: AssistantHouse, user: str, old: Any, result: dict[str, Any]) -> None:
    rows = (await house.get(f"memories/{result['memory_id']}/history", user_id=user))["items"]
    events = [row for row in reversed(rows) if row["event"] != "LINK"]
    kinds = {"ADD": ["ADD"], "NONE": ["ADD"], "UPDATE": ["ADD", "UPDATE"], "RECREATE": ["MERGE"]}
    assert [row["event"] for row in events] == kinds[result["result"]]
    if result["result"] in ("UPDATE", "RECREATE"):
        last = events[-1]
        assert (last["old_ref"]["id"], last["old_ref"]["text"]) == (old["id"], old["text"])
        assert (last["new_ref"]["id"], last["new_ref"]["text"]) == (result["memory_id"], result["text"])
    if result["result"] == "RECREATE":
        gone = await house.get(f"memories/{old['id']}", user_id=user)
        assert (gone["state"], gone["text"]) == ("soft_deleted", old["text"])


async def test_one_question_is_asked_of_all_neighbours_and_the_first_same_one_is_merged(
    database: Database, tmp_path: Path
) -> None:
    model = ScriptedModel()
    olds = [f"User sells bees number {number}." for number in range(5)]
    model.tells(NEW)
    model.judges(NEW, olds[1], "different")
    model.judges(NEW, olds[2], "same", BOTH)
    model.judges(NEW, olds[3], "same", "User sells bees.")
    async with house_with(database, tmp_path, model) as house:
        house.model.known |= {NEW: unit(1.0)} | {
            text: at_cosine(0.8 - number / 10) for number, text in enumerate(olds)
        }
        for text in reversed(olds):
            await house.add(text)
        (result,) = await take(house, NEW)
    assert model.judged == [[(NEW, text) for text in olds]]
    assert (result["result"], result["text"]) == ("RECREATE", BOTH)


async def test_a_rule_decides_without_asking_and_ends_the_question(
    database: Database, tmp_path: Path
) -> None:
    model = ScriptedModel()
    newer, older, nearer = "User is not fond of bees.", "User isn't fond of bees.", "User avoids bees."
    model.tells(newer)
    async with house_with(database, tmp_path, model) as house:
        house.model.known |= {
            newer: unit(1.0),
            nearer: at_cosine(0.8),
            older: at_cosine(0.7),
            LIKE: at_cosine(0.65),
        }
        for text in (nearer, older, LIKE):
            await house.add(text)
        (result,) = await take(house, newer)
        assert model.judged == [
            [(newer, nearer)]
        ]  # what comes after the one that the rule knows is not asked
        assert (result["result"], await texts(house)) == ("RECREATE", sorted([newer, nearer, LIKE]))


async def test_two_facts_of_one_turn_that_are_alike_are_not_asked_about_for_ever(
    database: Database, tmp_path: Path
) -> None:
    model = ScriptedModel()
    said = f"{NEW} {LIKE} " + "Let me tell you more about it. " * 15
    model.tells(NEW)
    model.tells(LIKE)
    async with house_with(database, tmp_path, model) as house:
        house.model.known |= {NEW: unit(1.0), LIKE: at_cosine(0.9)}
        first, second = await take(house, said)
        assert (first["result"], second["result"], second["similar_to"]) == ("ADD", "ADD", first["memory_id"])
        assert model.judged == []
