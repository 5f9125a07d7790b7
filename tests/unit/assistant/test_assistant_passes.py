"""How many of the texts that engines write pass at first, and that a model's good and bad ones are told apart."""

from __future__ import annotations

import json
from collections import Counter

import pytest

from elf.families.assistant.rules.validators import faults_of
from elf.families.assistant.turn.extraction import Said, extract
from elf.families.assistant.turn.proposing import proposed
from elf.families.assistant.turn.writing import FIRST_PASS, TRIMMED, checked
from tests.providers_kit import ScriptedNetwork, chat_over, completion
from tests.unit.assistant.chats import chats

pytestmark = pytest.mark.anyio

SEED = 2026


def test_nearly_all_that_the_rules_take_of_conversations_passes_at_first() -> None:
    told: Counter[str] = Counter()
    left = 0
    for messages in chats(SEED, 900):
        extracted = extract(messages)
        left += extracted.left
        told.update(checked(candidate).told for candidate in extracted.candidates)
    rate = told[FIRST_PASS] / told.total()
    print(f"\n{told.total()} items, {rate:.1%} pass at first, {left} statements left")  # noqa: T201 - a measurement
    assert told.total() >= 500
    assert rate >= 0.95


GOOD = (
    "User prefers green tea.",
    "User's sister Ana lives in Lisbon. User's brother Bo lives in Ghent.",
    "User moved to Berlin in March 2024.",
    'User says "I never drink coffee" at work.',
    "User's pronouns are they/them.",
    "The billing service listens on port 8443.",
    "User is a type I diabetic.",
    "Der Benutzer trinkt gerne Tee und mag die Berge.",
    "User works 40 hours a week.",
    "User's daughter turns 18 on 2027-05-01.",
)
TRIMMED_TO = {
    "User prefers tea. User hates coffee. User lives in Rome.": "User prefers tea. User hates coffee.",
    "User prefers tea. " + "User keeps a long list of reasons for it, " * 8 + "all of them good.": (
        "User prefers tea."
    ),
}
NORMALISED_TO = {
    "  User   prefers\n tea. ": "User prefers tea.",
    "User\u2019s motto is \u201ccarpe diem\u201d.": 'User\'s motto is "carpe diem".',
    "User likes cafe\u0301s.": "User likes caf\u00e9s.",
    "User likes\x00 tea.": "User likes tea.",
}
BAD = {
    "I prefer green tea.": "PRONOUN",
    "User prefers tea because he is British.": "PRONOUN",
    "User told me about tea.": "PRONOUN",
    "You prefer tea.": "PRONOUN",
    "User and we agreed on tea.": "PRONOUN",
    "User's friends lent their car.": "PRONOUN",
    "User drinks tea today.": "TIME_BOUND",
    "User flies to Rome next week.": "TIME_BOUND",
    "User recently moved to Rome.": "TIME_BOUND",
    "User started a job two months ago.": "TIME_BOUND",
    "User will leave soon.": "TIME_BOUND",
    "": "EMPTY",
    "\u200a \n": "EMPTY",
    "x" * 281: "TOO_LONG",
    "User prefers " + "very " * 60 + "strong tea.": "TOO_LONG",
}


async def test_the_good_and_bad_answers_of_a_model_are_told_apart() -> None:
    texts = [*GOOD, *TRIMMED_TO, *NORMALISED_TO, *BAD]
    told = {text: await _told(text) for text in texts}
    assert {text: told[text] for text in GOOD} == {text: (text, FIRST_PASS) for text in GOOD}
    assert {text: told[text] for text in TRIMMED_TO} == {
        text: (kept, TRIMMED) for text, kept in TRIMMED_TO.items()
    }
    assert {text: told[text] for text in NORMALISED_TO} == {
        text: (kept, FIRST_PASS) for text, kept in NORMALISED_TO.items()
    }
    assert {text: told[text] for text in BAD} == {text: (None, fault) for text, fault in BAD.items()}
    assert all(faults_of(kept, "semantic") == [] for kept, _ in told.values() if kept is not None)


async def _told(text: str) -> tuple[str | None, str]:
    """Return what is kept of a text that a model gives for a turn, and what is said of it."""
    fact = {"text": text, "category": "tasks", "importance": 2, "confidence": 0.9, "quote": "tea"}
    chat = chat_over(ScriptedNetwork(completion(json.dumps({"facts": [fact]}))))
    (candidate,) = await proposed([Said("user", "tea")], chat, categories=["tasks"], several=False)
    found = checked(candidate)
    return found.text, found.told
