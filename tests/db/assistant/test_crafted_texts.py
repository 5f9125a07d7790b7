"""Texts that a model crafts badly: none is stored as it came, and what is stored of one is as it has to be."""

from __future__ import annotations

import json
from itertools import islice, product
from pathlib import Path
from typing import Final

import pytest

from elf.db.database import Database
from elf.families.assistant.rules.validators import faults_of
from tests.db.assistant.assistant_kit import AssistantHouse, house_at
from tests.db.assistant.chat_kit import ScriptedModel, take

pytestmark = pytest.mark.anyio

SAID = "I want to tell you all about my tea. " * 12

NOUNS = ("tea", "rice", "figs", "jazz", "chess", "Rome", "wool")
_ENDINGS = ("", " in Rome", " at 7:00", " with Ana", " for 3 years", " on principle", " (mostly)")
_BAD: Final = (
    "I like {noun}{end}.", "We like {noun}{end}.", "User likes my {noun}{end}.", "She likes {noun}{end}.",
    "User knows that they like {noun}{end}.", "User told us of {noun}{end}.", "User's {noun} is yours{end}.",
    "User bought {noun} yesterday{end}.", "User buys {noun} next week{end}.", "User sold {noun} two days ago{end}.",
    "User sells {noun} soon{end}.", "Lately, user likes {noun}{end}.", "User likes {noun}{end} at the moment.",
    "User likes {noun}{end}. User knows {noun}{end}. User sells {noun}{end}.",
    "User likes {noun}{end}, " + "and likes it a lot, " * 20 + "always.",
    "User likes {noun}{end}. " + "User likes it very much, more than anything, " * 8 + "always.",
    "  User   likes {noun}{end}.", "User likes {noun}{end}.\n", "User \u201clikes\u201d {noun}{end}.",
    "User\u2019s {noun} is good{end}.", "User likes {noun}\x00{end}.", "User likes {noun} cafe\u0301{end}.",
    " ", "\u2003\n\t",
)  # fmt: skip


def crafted(count: int) -> list[str]:
    """Return so many texts, no two of them equal."""
    drawn = (bad.format(noun=noun, end=end) for noun, end, bad in product(NOUNS, _ENDINGS, _BAD))
    return list(islice(dict.fromkeys(drawn), count))


async def test_no_crafted_text_is_stored_as_it_came(database: Database, tmp_path: Path) -> None:
    bad = crafted(300)
    assert len(bad) == 300
    model = ScriptedModel()
    limits = "[assistant.extraction]\nmax_writes_per_turn = 5\nmax_writes_per_day = 10000\n"
    async with house_at(database, tmp_path, limits, chat=model.chat) as house:
        told = []
        for first in range(0, len(bad), 5):
            facts = [
                {"text": text, "category": "tasks", "importance": 2, "confidence": 0.9, "quote": "my tea"}
                for text in bad[first : first + 5]
            ]
            model.content = json.dumps({"facts": facts})
            told += await take(house, SAID, turn=str(first))
        rows = await house.rows("SELECT text FROM assistant_memories")
        stored = {row["text"] for row in rows}
    assert len(told) == 300
    assert {one["result"] for one in told} == {"REJECTED", "ADD", "NONE"}
    assert stored.isdisjoint(bad)
    assert {text: faults_of(text, "semantic") for text in stored} == {text: [] for text in stored}
    rejected = {one["reason_code"] for one in told if one["result"] == "REJECTED"}
    assert rejected == {"PRONOUN", "TIME_BOUND", "TOO_LONG", "EMPTY"}
    assert model.reads == 60
    outcomes = {outcome for engine, outcome in _passes(house)}
    assert outcomes == {"first_pass", "trimmed", "rejected"}
    assert sum(_passes(house).values()) == 300


def _passes(house: AssistantHouse) -> dict[tuple[str, ...], float]:
    """Return what an operator sees of texts that engines took out of turns."""
    (metric,) = (one for one in house.opened.totals if one.name == "elf_assistant_turn_texts_total")
    return dict(metric.read())
