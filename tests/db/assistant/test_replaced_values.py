"""Statements that begin alike: none is lost, and another value of the same attribute takes the place of the old one.

tests/data/assistant-value-pairs.tsv has 60 pairs of each kind.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest

from elf.db.database import Database
from tests.db.assistant.assistant_kit import TENANT, AssistantHouse, house_at
from tests.db.assistant.chat_kit import ScriptedModel, take, texts
from tests.db.assistant.consolidation_kit import pairs_in
from tests.db.assistant.model_kit import ScriptedModel as ComparingModel
from tests.db.assistant.test_consolidation import consolidate
from tests.notes_kit import at_cosine, unit

pytestmark = pytest.mark.anyio

PAIRS: Final = Path(__file__).parents[2] / "data" / "assistant-value-pairs.tsv"
BANDS: Final = {"automatic": 0.9, "checked": 0.7, "fallback": 0.4}
LOSSY: Final = "User has told something."
"""What a model composes of two texts that leaves both out."""


class Pair(NamedTuple):
    older: str
    newer: str


def pairs(kind: str) -> Sequence[Pair]:
    with PAIRS.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    return [Pair(row["older"], row["newer"]) for row in rows if row["kind"] == kind]


UNRELATED, REPLACEMENTS = pairs("unrelated"), pairs("replacement")


def plant(house: AssistantHouse, pair: Pair, cosine: float) -> None:
    house.model.known |= {pair.newer: unit(1.0), pair.older: at_cosine(cosine)}


async def told(house: AssistantHouse, pair: Pair, user: str) -> list[str]:
    """Have one statement known, and the other one said; returns what is known then."""
    await house.add(pair.older, "profile", user_id=user)
    await take(house, pair.newer, user_id=user)
    return await texts(house, user_id=user)


async def replaced(house: AssistantHouse, pair: Pair, user: str) -> bool:
    """Tell whether the newer statement is in the place of the older one, which the history still has."""
    memories = (await house.get("memories", user_id=user))["items"]
    if len(memories) != 1:
        return False
    (memory,) = memories
    rows = (await house.get(f"memories/{memory['id']}/history", user_id=user))["items"]
    refs = [row["old_ref"]["text"] for row in rows if row["old_ref"] is not None]
    return memory["text"] == pair.newer and pair.older in refs


class _Answering(ScriptedModel):
    """Answers each question about pairs with the same object."""

    def __init__(self, answer: Any) -> None:
        super().__init__()
        self._answer_of_pairs = answer

    def _pairs(self, user: str) -> Any:
        super()._pairs(user)
        return self._answer_of_pairs


def model_that(says: str) -> ScriptedModel:
    wrong = {"wrong JSON": {"pairs": ["same", {"pair": "1", "verdict": "same"}]}, "nothing": {"pairs": []}}
    model = _Answering(wrong[says]) if says in wrong else ScriptedModel()
    for pair in (*UNRELATED, *REPLACEMENTS):
        model.tells(pair.newer, category="profile")
        model.judges(pair.newer, pair.older, says, LOSSY if says == "same" else "")
    return model


ANSWERS: Final = ("same", "changed", "different", "wrong JSON", "nothing")


@pytest.mark.parametrize("band", BANDS)
@pytest.mark.parametrize("says", ANSWERS)
async def test_no_unrelated_statement_is_lost_whatever_a_model_says(
    database: Database, tmp_path: Path, says: str, band: str
) -> None:
    async with house_at(database, tmp_path, chat=model_that(says).chat) as house:
        lost = []
        for number, pair in enumerate(UNRELATED if band == "automatic" else UNRELATED[::6]):
            plant(house, pair, BANDS[band])
            known = " ".join(await told(house, pair, f"u{number}"))
            if pair.older not in known or pair.newer not in known:
                lost.append(pair)
    assert lost == []


@pytest.mark.parametrize("says", ANSWERS)
async def test_another_value_that_is_near_takes_the_place_of_the_old_one_by_rule(
    database: Database, tmp_path: Path, says: str
) -> None:
    model = model_that(says)
    async with house_at(database, tmp_path, chat=model.chat) as house:
        stale = []
        for number, pair in enumerate(REPLACEMENTS):
            plant(house, pair, BANDS["automatic"])
            await told(house, pair, f"u{number}")
            if not await replaced(house, pair, f"u{number}"):
                stale.append(pair)
    assert (stale, model.judged) == ([], [])


@pytest.mark.parametrize("says", ANSWERS)
@pytest.mark.parametrize("band", ["checked", "fallback"])
async def test_a_model_decides_about_another_value_that_is_less_near(
    database: Database, tmp_path: Path, says: str, band: str
) -> None:
    model = model_that(says)
    async with house_at(database, tmp_path, chat=model.chat) as house:
        for number, pair in enumerate(REPLACEMENTS[::6]):
            plant(house, pair, BANDS[band])
            known = await told(house, pair, f"u{number}")
            if says in ("same", "changed"):
                assert await replaced(house, pair, f"u{number}"), pair
            else:
                assert known == sorted(pair), pair
    assert model.judged[0] == [(REPLACEMENTS[0].newer, REPLACEMENTS[0].older)]


def first_person(text: str) -> str:
    """Return what a user says of whom a text is told; the local engine says it in the third person again."""
    said = text.replace("User's ", "my ").replace("User is ", "I am ").replace("User ", "I ")
    verbs = {"works": "work", "lives": "live", "resides": "reside", "goes": "go", "uses": "use", "wants": "want",
             "prefers": "prefer"}  # fmt: skip
    words = [verbs.get(word, word) if place <= 2 else word for place, word in enumerate(said.split())]
    return f"Remember that {' '.join(words)}"


@pytest.mark.parametrize("band", BANDS)
async def test_rules_alone_lose_no_unrelated_statement(house: AssistantHouse, band: str) -> None:
    lost = []
    for number, pair in enumerate(UNRELATED):
        plant(house, pair, BANDS[band])
        said = [{"role": "user", "content": first_person(pair.newer)}]
        await house.add(pair.older, "profile", user_id=f"u{number}")
        await house.post("turn", thread_id="t", turn_id="1", messages=said, user_id=f"u{number}")
        known = await texts(house, user_id=f"u{number}")
        if pair.older not in known or len(known) != 2:
            lost.append((pair, known))
    assert lost == []


@pytest.mark.parametrize("band", BANDS)
async def test_rules_alone_replace_each_value(house: AssistantHouse, band: str) -> None:
    stale = []
    for number, pair in enumerate(REPLACEMENTS):
        plant(house, pair, BANDS[band])
        user = f"u{number}"
        said = [{"role": "user", "content": first_person(pair.newer)}]
        first = [{"role": "user", "content": first_person(pair.older)}]
        await house.post("turn", thread_id="t", turn_id="1", messages=first, user_id=user)
        await house.post("turn", thread_id="t", turn_id="2", messages=said, user_id=user)
        if not await replaced(house, pair, user):
            stale.append((pair, await texts(house, user_id=user)))
    assert stale == []


def comparing_model_that(says: str) -> ComparingModel:
    """Return a model that says the same of each pair which the daily job asks about."""

    def answer(question: str) -> str:
        if says == "wrong JSON":
            return '{"pairs": [{"pair": 1,'
        ids = [[pair["newer"]["id"], pair["older"]["id"]] for pair in pairs_in(question)]
        told = [
            {"pair": pair["pair"], "verdict": says, "text": LOSSY, "from": both}
            for pair, both in zip(pairs_in(question), ids, strict=True)
        ]
        return json.dumps({"pairs": told if says != "nothing" else []})

    return ComparingModel(answer)


@pytest.mark.parametrize("band", BANDS)
@pytest.mark.parametrize("says", [None, *ANSWERS])
async def test_the_daily_job_loses_no_unrelated_statement(
    database: Database, tmp_path: Path, says: str | None, band: str
) -> None:
    chat = None if says is None else comparing_model_that(says).chat
    async with house_at(database, tmp_path, chat=chat) as house:
        lost = []
        for number, pair in enumerate(UNRELATED[::6]):
            user = f"u{number}"
            plant(house, pair, BANDS[band])
            for text in pair:
                await house.add(text, "profile", user_id=user)
            await consolidate(house, tenant_id=TENANT, user_id=user)
            known = " ".join(await texts(house, user_id=user))
            if pair.older not in known or pair.newer not in known:
                lost.append((pair, known))
    assert lost == []
