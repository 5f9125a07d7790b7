"""The rule-based extractor of the graph: what it takes out of notes and transcripts, and what it leaves alone."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from elf.families.graph.extraction.candidate import Candidate
from elf.families.graph.extraction.rules import LONGEST_SENTENCE, extract, key_in
from elf.families.graph.model import NODE_TYPES, NodeType
from elf.families.graph.rules.subjects import Key
from ops.eval import extraction_set as s
from ops.eval.extraction import judged_texts

_PIECES = st.sampled_from(
    [
        *(text.text for text in s.texts() if not text.is_held_out),
        *("\r\n", "\n\n", "\u2028", " ", "```\n", "> ", "- [ ] ", "- [x] ", "TODO: ", "Assistant: ", "Kim: "),
        *("\u201cWe decided to go.\u201d ", "Dr. ", "\u2019", "e\u0301", "\U0001f600", "\x00", "\x85"),
    ]
)
_TEXTS = st.text() | st.lists(_PIECES | st.text(max_size=5), max_size=12).map("".join)


def _one(text: str) -> Candidate:
    (candidate,) = extract(text)
    return candidate


def _told(text: str) -> list[tuple[str, str]]:
    return [(candidate.type, candidate.quote) for candidate in extract(text)]


@pytest.mark.parametrize("held_out", [False, True])
def test_nine_in_ten_of_what_is_taken_out_of_texts_is_of_the_right_type(*, held_out: bool) -> None:
    judgement = judged_texts([text for text in s.texts() if text.is_held_out == held_out], extract)
    assert judgement.taken.total() >= 150
    assert judgement.precision >= 0.9, "" if held_out else judgement.faults
    assert judgement.recall >= 0.65
    assert judgement.not_verbatim == 0


@given(_TEXTS)
def test_a_quote_stands_word_for_word_at_its_place_in_any_text(text: str) -> None:
    candidates = extract(text)
    for one in candidates:
        assert text[one.start : one.end] == one.quote
        assert one.quote == one.quote.strip() != ""
        assert one.text.endswith(" ".join(one.quote.split()))
        assert 0 <= one.importance <= 100
        assert 0 <= one.confidence <= 1
    places = [place for one in candidates for place in (one.start, one.end)]
    assert places == sorted(places)


@given(_TEXTS, st.sampled_from(NODE_TYPES))
def test_the_key_of_a_text_is_that_of_its_first_statement_of_the_type_that_has_one(
    text: str, node_type: NodeType
) -> None:
    keys = (one.key for one in extract(text) if one.type == node_type and one.key is not None)
    assert key_in(text, node_type) == next(keys, None)


def test_texts_have_keys() -> None:
    texts = [text.text for text in s.texts()]
    assert {type for type in NODE_TYPES if any(key_in(text, type) for text in texts)} == {
        "Fact", "Preference", "Decision", "Identity",
    }  # fmt: skip


@pytest.mark.parametrize(
    "text",
    [
        *(
            piece * 50_000
            for piece in ("a. ", "Dr. ", "Ann: x\n", "- [ ] ", '"', "?", "`", "\u2028", "I aim to ")
        ),
        ("We really really really want to " * 14 + ". ") * 300,
        ("The a b c d e f " * 28 + ". ") * 300,
        "last week " * 50_000,
    ],
    ids=lambda text: repr(text[:12]),
)
def test_long_and_awkward_texts_are_read_to_their_end(text: str) -> None:
    assert [one.quote for one in extract(f"{text}\n\nTODO: water the plants")][-1:] in (
        [],
        ["water the plants"],
    )


@pytest.mark.parametrize(
    ("text", "type", "quote"),
    [
        ("We decided to move the nightly export.", "Decision", "We decided to move the nightly export."),
        ("Our goal is to close the books in a day.", "Goal", "Our goal is to close the books in a day."),
        ("TODO: rotate the key", "Todo", "rotate the key"),
        ("- [ ] buy stamps", "Todo", "buy stamps"),
        ("Yesterday we met the auditors.", "Event", "Yesterday we met the auditors."),
        ("My name is Ada Byron.", "Identity", "My name is Ada Byron."),
        ("I prefer tea.", "Preference", "I prefer tea."),
        ("The API listens on port 8080.", "Fact", "The API listens on port 8080."),
        ("Oh yeah, I prefer tea.", "Preference", "I prefer tea."),
        ("I prefer tea, which one do you have?", "Preference", "I prefer tea"),
    ],
)
def test_each_type_has_forms_that_are_recognised(text: str, type: str, quote: str) -> None:
    assert _told(text) == [(type, quote)]


@pytest.mark.parametrize(
    "text",
    [
        "- [x] buy stamps",
        "- [ ]",
        "TODO",
        "Have we decided to move?",
        "If we decided to move, it would be cheap.",
        "Maybe we decided to move.",
        "They decided to move.",
        "> We decided to move.",
        "```\nTODO: rotate the key\n```",
        'The form says "My goal is to run a marathon."',
        "The meeting is scheduled for Monday.",
        "I was here.",
        "The key is [REDACTED:api_key] and costs 5 euros.",
    ],
)
def test_questions_guesses_quotations_code_and_done_tasks_state_nothing(text: str) -> None:
    assert extract(text) == []


def test_who_speaks_is_named_and_is_no_part_of_the_quote() -> None:
    candidate = _one("Lars: I live in Aarhus with two cats.")
    assert (candidate.quote, candidate.text) == (
        "I live in Aarhus with two cats.",
        "Lars: I live in Aarhus with two cats.",
    )
    assert candidate.key == Key("lars", "home_location", "aarhus")


def test_what_an_assistant_says_is_not_taken_however_many_paragraphs_it_has() -> None:
    said = (
        "Pavel: I prefer tea.\nAssistant: We decided to go.\n\nBudget: I prefer gin.\n\nPavel: I prefer milk."
    )
    assert [one.quote for one in extract(said)] == ["I prefer tea.", "I prefer milk."]


def test_a_statement_goes_on_where_a_line_was_wrapped() -> None:
    wrapped = "After a long evening with a lot of tea we decided to\nmove the nightly export to three in the morning."
    candidate = _one(wrapped)
    assert candidate.quote == wrapped
    assert "\n" not in candidate.text


def test_a_short_line_ends_what_it_states() -> None:
    assert _told("TODO: call Bob\nthe weather is fine") == [("Todo", "call Bob")]


def test_what_is_too_long_to_be_a_sentence_is_left_alone() -> None:
    assert extract("I prefer tea " + "and tea " * (LONGEST_SENTENCE // 8)) == []


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("I live in Utrecht.", "I live in Leeds, near the river."),
        ("My favourite editor is Helix.", "My favorite editor is Emacs."),
        ("We're going with Postgres for the ledger.", "We settled on SQLite for the ledger."),
        ("The staging database runs on port 5433.", "The staging database runs on port 5434."),
        ("Please answer me in Dutch.", "Please answer me in French."),
    ],
)
def test_statements_about_the_same_with_other_values_contradict_each_other(one: str, other: str) -> None:
    first, second = _one(one), _one(other)
    assert first.key is not None
    assert second.key is not None
    assert first.type == second.type
    assert first.key.contradicts(second.key)
    assert not first.key.contradicts(first.key)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("I live in Utrecht.", "I live in Utrecht, near the river."),
        ("The API allows 100 requests per minute.", "The API allows 5 uploads per minute."),
        ("Lars: I live in Aarhus.", "Kim: I live in Oslo."),
        ("My favourite editor is Helix.", "My favourite colour is red."),
    ],
)
def test_statements_about_something_else_or_with_the_same_value_do_not_contradict_each_other(
    one: str, other: str
) -> None:
    first, second = _one(one).key, _one(other).key
    assert first is not None
    assert second is not None
    assert not first.contradicts(second)
