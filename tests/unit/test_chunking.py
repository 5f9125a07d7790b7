from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from elf.core.chunking import (
    WINDOW_CHARS,
    Chunk,
    TokenCounter,
    counting_tokens,
    spans_in_windows,
    split,
    windows,
)
from elf.core.slices import at_once


class Words:
    """A token is a word or a punctuation mark."""

    def spans(self, text: str) -> list[tuple[int, int]]:
        return [match.span() for match in re.finditer(r"\w+|[^\w\s]", text)]


class Bytes:
    """A token is a byte, as in byte-level vocabularies: a character may be several tokens."""

    def spans(self, text: str) -> list[tuple[int, int]]:
        return [(i, i + 1) for i, char in enumerate(text) for _ in char.encode("utf-8", "surrogatepass")]


class SpacedPairs:
    """A token is a space with two letters of its word; a word cut in its middle has other tokens alone."""

    def spans(self, text: str) -> list[tuple[int, int]]:
        return [match.span() for match in re.finditer(r"\s?\S{1,2}", text)]


class Memo:
    """Whole words are known when a space stands before them; anything else is spelt out in letters."""

    def spans(self, text: str) -> list[tuple[int, int]]:
        return [match.span() for match in re.finditer(r"(?<=\s)\w+|\S", text)]


TOKENIZERS: list[TokenCounter] = [Words(), Bytes(), SpacedPairs(), Memo()]
WORDS = Words()

prose = st.lists(
    st.sampled_from(["The cat sat. ", "Dr. Who ran 3.5 miles! ", "why? ", "word ", "supercalifragilistic",
    "é", "🙂 ",
                     "\n\n", "   ", "x", ". ", "e\u0301", "ünder", "a-b-c "]),
    max_size=40,
).map("".join)  # fmt: skip


def texts(chunks: list[Chunk]) -> list[str]:
    return [chunk.text for chunk in chunks]


def assert_tiles(text: str, chunks: list[Chunk]) -> None:
    assert [chunk.index for chunk in chunks] == list(range(len(chunks)))
    assert all(chunk.text == text[chunk.start : chunk.end] for chunk in chunks)
    assert all(chunk.text for chunk in chunks)
    starts_and_ends = [(chunk.start, chunk.end) for chunk in chunks]
    for (start, end), (next_start, next_end) in pairwise(starts_and_ends):
        assert start < next_start <= end < next_end
    assert (chunks[0].start, chunks[-1].end) == (0, len(text)) if text else chunks == []


@given(
    text=prose | st.text(max_size=80),
    sizes=st.integers(1, 12).flatmap(lambda most: st.tuples(st.just(most), st.integers(0, most - 1))),
    tokens=st.sampled_from(TOKENIZERS),
)
def test_chunks_tile_any_text_and_keep_the_limit(
    text: str, sizes: tuple[int, int], tokens: TokenCounter
) -> None:
    max_tokens, overlap_tokens = sizes
    chunks = split(text, max_tokens=max_tokens, overlap_tokens=overlap_tokens, tokens=tokens)
    assert_tiles(text, chunks)
    for chunk in chunks:
        assert len(tokens.spans(chunk.text)) <= max_tokens or len(chunk.text) == 1


@dataclass(frozen=True)
class Windowed:
    """A tokenizer that is given long texts window by window."""

    whole: TokenCounter
    most: int

    def spans(self, text: str) -> list[tuple[int, int]]:
        return spans_in_windows(text, self.whole.spans, self.most)


@given(text=prose | st.text(max_size=80), most=st.integers(2, 30))
def test_windows_tile_any_text_and_cut_no_word_that_fits_in_half_of_one(text: str, most: int) -> None:
    parts = [text[start:end] for start, end in windows(text, most)]
    assert "".join(parts) == text
    assert all(0 < len(part) <= most for part in parts)
    for before, after in pairwise(parts):
        assert after[0].isspace() or not any(map(str.isspace, before[most // 2 + 1 :]))


@given(
    words=st.lists(
        st.text(st.characters(exclude_categories=["Z", "C"]), min_size=1, max_size=9), max_size=60
    ),
    spaces=st.sampled_from([" ", "\n", "\t", "\u3000"]),
    most=st.integers(20, 60),
    tokens=st.sampled_from([Words(), Bytes(), SpacedPairs()]),
    sizes=st.integers(1, 12).flatmap(lambda most: st.tuples(st.just(most), st.integers(0, most - 1))),
)
def test_a_text_of_words_is_cut_the_same_by_a_tokenizer_that_sees_it_in_windows(
    words: list[str], spaces: str, most: int, tokens: TokenCounter, sizes: tuple[int, int]
) -> None:
    text, (max_tokens, overlap_tokens) = spaces.join(words), sizes
    windowed = Windowed(tokens, most)
    assert windowed.spans(text) == tokens.spans(text)
    by = {"max_tokens": max_tokens, "overlap_tokens": overlap_tokens}
    assert split(text, **by, tokens=windowed) == split(text, **by, tokens=tokens)


@given(
    text=prose | st.text(max_size=80),
    most=st.integers(2, 30),
    sizes=st.integers(1, 12).flatmap(lambda most: st.tuples(st.just(most), st.integers(0, most - 1))),
    tokens=st.sampled_from(TOKENIZERS),
)
def test_chunks_tile_any_text_that_is_seen_in_windows(
    text: str, most: int, sizes: tuple[int, int], tokens: TokenCounter
) -> None:
    windowed = Windowed(tokens, most)
    chunks = split(text, max_tokens=sizes[0], overlap_tokens=sizes[1], tokens=windowed)
    assert_tiles(text, chunks)
    assert all(len(windowed.spans(one.text)) <= sizes[0] or len(one.text) == 1 for one in chunks)


class Counted:
    """Keeps how long the texts are that a tokenizer is given."""

    def __init__(self) -> None:
        self.lengths: list[int] = []

    def spans(self, text: str) -> list[tuple[int, int]]:
        self.lengths.append(len(text))
        return WORDS.spans(text)


def test_no_call_of_a_tokenizer_gets_more_than_a_window_and_counting_stops_when_there_are_enough() -> None:
    text = "one two three " * 10_000
    counter = Counted()
    assert at_once(counting_tokens(text, counter)) == 30_000
    assert max(counter.lengths) <= WINDOW_CHARS
    assert sum(counter.lengths) == len(text)
    counter.lengths.clear()
    assert at_once(counting_tokens(text, counter, most=10)) > 10
    assert len(counter.lengths) == 1


def test_a_text_that_fits_is_one_chunk() -> None:
    text = "  One. Two!\n"
    assert split(text, max_tokens=4, overlap_tokens=1, tokens=WORDS) == [Chunk(0, 0, len(text), text)]


def test_an_empty_text_has_no_chunk() -> None:
    assert split("", max_tokens=4, overlap_tokens=0, tokens=WORDS) == []


def test_a_text_of_spaces_alone_is_one_chunk() -> None:
    assert texts(split("   ", max_tokens=1, overlap_tokens=0, tokens=WORDS)) == ["   "]


def test_whole_sentences_are_packed_until_the_next_does_not_fit() -> None:
    chunks = split("One two. Three four. Five six. Seven.", max_tokens=6, overlap_tokens=0, tokens=WORDS)
    assert texts(chunks) == ["One two. Three four. ", "Five six. Seven."]


def test_the_overlap_is_whole_trailing_sentences_where_they_fit() -> None:
    chunks = split("One two. Three four. Five six. Seven.", max_tokens=6, overlap_tokens=4, tokens=WORDS)
    assert texts(chunks) == ["One two. Three four. ", "Three four. Five six. ", "Five six. Seven."]


def test_the_overlap_is_a_trailing_part_when_no_sentence_fits() -> None:
    chunks = split("One two three four. Five six seven.", max_tokens=6, overlap_tokens=2, tokens=WORDS)
    assert texts(chunks) == ["One two three four. ", "four. Five six seven."]


def test_the_overlap_shrinks_rather_than_cut_the_next_sentence() -> None:
    chunks = split("One two. Three four five six seven.", max_tokens=6, overlap_tokens=5, tokens=WORDS)
    assert texts(chunks) == ["One two. ", "Three four five six seven."]


def test_blank_lines_are_no_overlap() -> None:
    chunks = split("One two three.\n\n\nFour five six.", max_tokens=5, overlap_tokens=1, tokens=WORDS)
    assert texts(chunks) == ["One two three.\n\n\n", ".\n\n\nFour five six."]


def test_a_sentence_longer_than_a_chunk_is_cut_between_words() -> None:
    chunks = split("one two three four five six seven", max_tokens=3, overlap_tokens=1, tokens=WORDS)
    assert texts(chunks) == ["one two three ", "three four five ", "five six seven"]


def test_a_word_longer_than_a_chunk_is_cut_between_tokens() -> None:
    chunks = split("ab cdefghij", max_tokens=3, overlap_tokens=1, tokens=SpacedPairs())
    assert texts(chunks) == ["ab", " cdefgh", "ghij"]


def test_a_character_of_more_tokens_than_a_chunk_is_a_chunk_of_its_own() -> None:
    assert texts(split("🙂é", max_tokens=2, overlap_tokens=1, tokens=Bytes())) == ["🙂", "é"]


@pytest.mark.parametrize(("max_tokens", "overlap_tokens"), [(0, 0), (4, 4), (4, -1)])
def test_impossible_sizes_are_refused(max_tokens: int, overlap_tokens: int) -> None:
    with pytest.raises(ValueError, match="overlap_tokens"):
        split("text", max_tokens=max_tokens, overlap_tokens=overlap_tokens, tokens=WORDS)


@pytest.mark.parametrize("text", ["word", "Zwei W\u00f6rter", "two words of many letters"])
def test_a_text_with_no_more_tokens_than_a_chunk_may_have_is_one_chunk(text: str) -> None:
    assert split(text, max_tokens=5, overlap_tokens=1, tokens=WORDS) == [Chunk(0, 0, len(text), text)]
