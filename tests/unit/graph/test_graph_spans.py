"""Spans of a content: its sentences, at most 320 characters each, with offsets."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from elf.families.graph.model import MAX_SPAN_CHARS
from elf.families.graph.rules.spans import spans_of

prose = st.lists(
    st.sampled_from(["We chose Postgres. ", "Why? ", "Dr. Who ran 3.5 miles! ", "word ", "x" * 70, "y" * 400,
                     "🙂", "e\u0301 ", "\u00a0", "\n\n", "記憶。", " "]),
    max_size=30,
).map("".join)  # fmt: skip


@given(content=prose | st.text(max_size=60))
def test_spans_hold_all_that_can_be_seen_in_order(content: str) -> None:
    spans = spans_of(content)
    assert [span.ordinal for span in spans] == list(range(len(spans)))
    assert all(content[span.start : span.end] == span.text for span in spans)
    assert all(0 < len(span.text) <= MAX_SPAN_CHARS and span.text.strip() == span.text for span in spans)
    bounds = [(0, 0), *((span.start, span.end) for span in spans), (len(content), len(content))]
    assert all(content[end:start].strip() == "" and end <= start for (_, end), (start, _) in pairwise(bounds))


def test_each_sentence_is_a_span() -> None:
    content = "We chose Postgres. It is fast! Who agreed, e.g. you?"
    assert [span.text for span in spans_of(content)] == [
        "We chose Postgres.",
        "It is fast!",
        "Who agreed, e.g. you?",
    ]


def test_a_long_sentence_is_cut_after_words() -> None:
    content = " ".join(["word"] * 100)
    assert [len(span.text) for span in spans_of(content)] == [319, 179]


def test_a_word_that_ends_at_the_bound_is_kept_whole() -> None:
    content = "a" * 320 + " b"
    assert [(span.start, span.end) for span in spans_of(content)] == [(0, 320), (321, 322)]


def test_a_long_word_is_cut_at_320_characters() -> None:
    assert [len(span.text) for span in spans_of("z" * 700)] == [320, 320, 60]


def test_a_blank_content_has_no_spans() -> None:
    assert spans_of("") == spans_of(" \n ") == []
