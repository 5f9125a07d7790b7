"""What the text of a memory has to be like."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from elf.core.sentences import sentence_ends
from elf.families.assistant.model import MEMORY_TYPES, MemoryType
from elf.families.assistant.rules.english import is_english
from elf.families.assistant.rules.texts import normalised
from elf.families.assistant.rules.validators import (
    MAX_CHARS,
    Accepted,
    Fault,
    Rejected,
    accepted,
    faults_of,
)


@pytest.mark.parametrize(
    "text",
    [
        "User prefers tea.",
        "User lives in Berlin, in the US district, since World War I.",
        "The deploy runs at 03:00 UTC; type I errors page the on-call engineer.",
        'User says "I love my tea today" about tea.',
        "User works in a mine, i.e. underground.",
        "The store delivers in 3 days.",
        "User finished the course in three weeks.",
        "User's last week at Acme was in May 2020.",
        "Ana's manager is Ben.",
        "User's pronouns are she/her.",
    ],
)
def test_good_texts_have_no_faults(text: str) -> None:
    assert faults_of(text, "semantic") == []


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", "EMPTY"),
        ("I prefer tea.", "PRONOUN"),
        ("User said that they like tea.", "PRONOUN"),
        ("User's sister lent him her car.", "PRONOUN"),
        ("The team told us about tea.", "PRONOUN"),
        ("User will ship the release soon.", "TIME_BOUND"),
        ("User moved to Berlin last week.", "TIME_BOUND"),
        ("User met Ben three days ago.", "TIME_BOUND"),
        ("The exam is in two weeks.", "TIME_BOUND"),
        ("User has slept badly for the past two weeks.", "TIME_BOUND"),
        ("User met Ben a fortnight ago.", "TIME_BOUND"),
        ("User flies to Oslo in three days.", "TIME_BOUND"),
        ("User lives in Porto at present.", "TIME_BOUND"),
        ("User currently lives in Porto.", "TIME_BOUND"),
        ("User joined Acme last week.", "TIME_BOUND"),
        ("User leaves Tomorrow.", "TIME_BOUND"),
        ("One. Two. Three.", "TOO_MANY_SENTENCES"),
        ("x" * 281, "TOO_LONG"),
    ],
)
def test_each_fault_is_found(text: str, fault: Fault) -> None:
    assert fault in faults_of(text, "semantic")
    assert fault in faults_of(text, "insight")


@pytest.mark.parametrize(
    ("text", "faults"),
    [
        ("User and assistant decided to ship on 2026-03-01.", []),
        ("User went to Rome.", []),
        ("User prefers tea.", ["NOT_PAST_TENSE"]),
    ],
)
def test_what_happened_is_told_in_the_past(text: str, faults: list[Fault]) -> None:
    assert faults_of(text, "episodic") == faults


@pytest.mark.parametrize(
    "text",
    [
        "Ich mag heute meinen Tee, und er ist gut.",
        "Он любит чай.",
        "彼は今日お茶を飲む。",
        "El usuario he comido",
    ],
)
def test_other_languages_are_judged_by_length_and_sentences_alone(text: str) -> None:
    assert not is_english(text)
    assert faults_of(text, "semantic") == []
    assert faults_of(text * 30, "semantic") != []


def test_a_text_that_is_too_long_keeps_the_whole_sentences_that_fit() -> None:
    first, second = f"The {'a' * 100} is first.", f"The {'b' * 200} is second."
    assert accepted(f"{first} {second}", "semantic") == Accepted(first, trimmed=True)
    assert accepted("The b" + "b" * 300, "semantic") == Rejected("TOO_LONG")
    assert accepted("A is a. B is b. C is c.", "semantic") == Accepted("A is a. B is b.", trimmed=True)


def test_a_time_is_never_cut_out_of_a_text() -> None:
    assert accepted("User moved to Berlin last week.", "semantic") == Rejected("TIME_BOUND")
    assert accepted("A is a. B is b. C is due tomorrow.", "semantic") == Accepted(
        "A is a. B is b.", trimmed=True
    )


@given(st.text(max_size=700), st.sampled_from(MEMORY_TYPES))
def test_what_is_accepted_is_a_beginning_without_faults(text: str, type: MemoryType) -> None:
    whole = normalised(text)
    found = accepted(text, type)
    if isinstance(found, Accepted):
        assert 1 <= len(found.text) <= MAX_CHARS
        assert len(list(sentence_ends(found.text))) <= 2
        assert faults_of(found.text, type) == []
        assert whole.startswith(found.text) or found.trimmed
        assert found.trimmed == (found.text != whole)
    else:
        assert faults_of(whole, type)


@given(st.text())
def test_the_normal_form_is_one_form(text: str) -> None:
    once = normalised(text)
    assert normalised(once) == once
    assert unicodedata.is_normalized("NFC", once)
    assert not set("\u2018\u2019\u201c\u201d\u00a0\n\t\x00") & set(once)
    assert "  " not in once
    assert once == once.strip()
