from __future__ import annotations

import pytest

from elf.core.evidence import EvidenceBounds, Quote, evidence_fault, is_verbatim

BOUNDS = EvidenceBounds(min_quotes=1, max_quotes=2, max_quote_chars=20)
MESSAGES = ["I live near the sea.", "My caf\xe9 opens at 8."]


@pytest.mark.parametrize(
    ("quote", "verbatim"),
    [("near the sea", True), ("Near the sea", False), ("near  the sea", False), ("", False), (" ", False)],
)
def test_a_quote_is_verbatim_character_for_character(quote: str, verbatim: bool) -> None:
    assert is_verbatim(quote, MESSAGES[0]) is verbatim


@pytest.mark.parametrize(
    "quotes",
    [[Quote(0, "near the sea")], [Quote(0, "I live near the sea."), Quote(1, "My caf\xe9")]],
)
def test_quotes_within_bounds_prove_a_note(quotes: list[Quote]) -> None:
    assert evidence_fault(quotes, MESSAGES, BOUNDS) is None


@pytest.mark.parametrize(
    ("quotes", "reason"),
    [
        ([], "the note has 0 quotes as evidence; 1 to 2 are required"),
        ([Quote(0, "sea")] * 3, "the note has 3 quotes as evidence; 1 to 2 are required"),
        ([Quote(0, " \n")], "a quote is empty"),
        ([Quote(0, "I live near the sea. ")], "a quote has 21 characters; at most 20 are allowed"),
        ([Quote(2, "sea")], "a quote cites message 2; there are 2 messages"),
        ([Quote(-1, "opens")], "a quote cites message -1; there are 2 messages"),
        ([Quote(0, "sea"), Quote(0, "opens at 8")], "a quote does not stand word for word in message 0"),
    ],
)
def test_what_is_wrong_with_the_evidence_is_said(quotes: list[Quote], reason: str) -> None:
    assert evidence_fault(quotes, MESSAGES, BOUNDS) == reason
