"""From texts to chunks and vectors: one call for all or one after the other, and the pooled vector."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

import anyio
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from elf.core.chunking import Chunk
from elf.core.errors import ProviderUnavailable
from elf.indexing.embedding import QUICK_CHARS, EmbeddedText, TextEmbedder, Vector
from elf.providers import portions
from elf.providers.token_vectors import TokenVectors
from tests.late_kit import FakeLate
from tests.notes_kit import DIM, FakeEmbedder, WordTokens, unit, vector_of

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def embedded(*rows: np.ndarray) -> EmbeddedText:
    chunks = [Chunk(index, index, index + 1, "x") for index in range(len(rows))]
    return EmbeddedText(chunks, np.stack(rows).astype(np.float32))


def test_the_pooled_vector_of_one_chunk_is_its_own() -> None:
    vector = unit(3.0, 4.0)
    pooled = embedded(vector).pooled
    assert pooled is not None
    assert np.array_equal(pooled, vector)


def test_the_pooled_vector_is_the_mean_in_float32() -> None:
    pooled = embedded(unit(1.0), unit(0.0, 1.0)).pooled
    assert pooled is not None
    assert pooled.dtype == np.float32
    assert pooled[:3].tolist() == [0.5, 0.5, 0.0]


def test_the_unit_vector_has_length_one() -> None:
    vector = embedded(unit(1.0), unit(0.0, 1.0)).unit_pooled
    assert vector is not None
    assert vector.dtype == np.float32
    assert np.linalg.norm(vector) == pytest.approx(1.0, abs=1e-6)


@pytest.mark.parametrize("length", [0.01, 1.0, 1e5])
def test_vectors_that_cancel_out_have_no_mean(length: float) -> None:
    near = unit(-1.0, 1e-7)  # what rounding leaves of the two points anywhere
    text = embedded(unit(1.0) * np.float32(length), near * np.float32(length))
    assert text.pooled is None
    assert text.unit_pooled is None


@pytest.mark.parametrize(
    "bad", [np.zeros(DIM), np.full(DIM, np.nan), np.full(DIM, 1e-40), np.full(DIM, 1e38)]
)
async def test_a_text_with_a_chunk_without_a_direction_is_not_embedded_and_the_others_are(
    bad: np.ndarray,
) -> None:
    fake = FakeEmbedder({"Five six.": bad.astype(np.float32)})
    texts = ["One two. Three four.", "Three four. Five six.", "Seven."]
    first, second, third = await TextEmbedder(fake, WordTokens(), 2, 0, "words").embed(texts)
    assert second is None
    assert first is not None
    assert third is not None
    assert np.array_equal(third.vectors[0], vector_of("Seven."))


async def test_all_chunks_of_all_texts_are_embedded_in_one_call() -> None:
    fake = FakeEmbedder()
    calls: list[int] = []

    async def count() -> None:
        calls.append(len(fake.texts))

    fake.before_answer = count
    texts = ["One two. Three four. Five six.", "Seven."]
    first, second = await TextEmbedder(fake, WordTokens(), 2, 0, "words").embed(texts)
    assert first is not None
    assert second is not None
    assert calls == [4]
    assert first is not None
    assert second is not None
    assert [chunk.text.strip() for chunk in first.chunks] == ["One two.", "Three four.", "Five six."]
    assert [chunk.text for chunk in second.chunks] == ["Seven."]
    for text in (first, second):
        assert text.vectors.shape == (len(text.chunks), DIM)
        for chunk, vector in zip(text.chunks, text.vectors, strict=True):
            assert np.array_equal(vector, vector_of(chunk.text))


async def test_chunks_with_a_known_vector_are_not_sent() -> None:
    fake = FakeEmbedder()
    embedder = TextEmbedder(fake, WordTokens(), 2, 0, "words")
    vectors = {"One two. ": unit(2.0)}
    (text,) = await embedder.embed_in_turn(["One two. Three four."], vectors)
    assert text is not None
    assert fake.texts == ["Three four."]
    assert np.array_equal(text.vectors, np.stack([unit(2.0), vector_of("Three four.")]))
    (known,) = await embedder.embed_in_turn(["One two. "], vectors)
    assert known is not None
    assert len(fake.texts) == 1


async def test_a_chunk_that_texts_share_is_sent_once() -> None:
    fake = FakeEmbedder()
    embedder = TextEmbedder(fake, WordTokens(), 2, 0, "words")
    assert None not in await embedder.embed(["One two. Three.", "One two. "])
    assert None not in await embedder.embed_in_turn(["Four five. Six.", "Four five. "], {})
    assert fake.texts == ["One two. ", "Three.", "Four five. ", "Six."]


class Tiring(FakeEmbedder):
    """Answers so many calls, and no more."""

    def __init__(self, calls: int) -> None:
        super().__init__()
        self.calls = calls

    async def embed(self, texts: Sequence[str]) -> np.ndarray:
        self.calls -= 1
        self.away = self.calls < 0
        return await super().embed(texts)


@given(st.lists(st.integers(1, 40), min_size=1, max_size=6), st.integers(0, 6))
def test_what_came_before_a_failure_is_not_asked_for_again(sizes: list[int], calls: int) -> None:
    words = (f"w{number:05}" for number in range(1000))
    texts = [" ".join(islice(words, size)) for size in sizes]
    fake, vectors = Tiring(calls), dict[str, Vector]()
    embedder = TextEmbedder(fake, WordTokens(), 1, 0, "words")

    async def embed_until_done() -> Sequence[EmbeddedText | None]:
        while True:
            try:
                return await embedder.embed_in_turn(texts, vectors)
            except ProviderUnavailable:
                assert set(fake.texts) == vectors.keys()
                fake.calls = max(1, calls)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(portions, "CALL_BYTES", 64)
        done = asyncio.run(embed_until_done())
    assert None not in done
    assert len(fake.texts) == len(set(fake.texts)) == sum(sizes)


@given(st.integers(0, 6))
def test_the_beginning_of_a_text_ends_before_the_first_chunk_without_a_vector(missing: int) -> None:
    embedder = TextEmbedder(FakeEmbedder(), WordTokens(), 1, 0, "words")
    text = "one two three four five six"
    chunks = embedder.split(text)
    vectors = {chunk.text: unit(2.0) for chunk in chunks if chunk.index != missing}
    begun = asyncio.run(embedder.beginning(text, vectors))
    assert list(begun.chunks) == chunks[:missing]
    assert len(begun.vectors) == len(begun.chunks)
    assert begun.is_whole == (missing == len(chunks))
    assert (begun.pooled is None) == (not begun.is_whole)


class ThreadsOfTokens(WordTokens):
    """Keeps in which threads it was called."""

    def __init__(self) -> None:
        self.threads: set[threading.Thread] = set()

    def spans(self, text: str) -> list[tuple[int, int]]:
        self.threads.add(threading.current_thread())
        return super().spans(text)


async def test_only_long_texts_are_cut_in_another_thread_and_one_after_the_other() -> None:
    tokens = ThreadsOfTokens()
    embedder = TextEmbedder(FakeEmbedder(), tokens, 8, 0, "words")
    await embedder.embed(["é, one two three."])
    assert tokens.threads == {threading.current_thread()}
    tokens.threads.clear()
    long = "é, one two three. " * QUICK_CHARS
    another = object()
    await embedder.threads.acquire_on_behalf_of(another)
    with anyio.move_on_after(0.01):
        await embedder.cut([long])
    assert tokens.threads == set()
    embedder.threads.release_on_behalf_of(another)
    (chunks,) = await replace(embedder, tokenizer="others").cut([long])
    assert chunks == embedder.split(long)
    assert len(tokens.threads - {threading.current_thread()}) == 1


class CallsOfLate(FakeLate):
    """Keeps what each call was given."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[Sequence[str]] = []

    async def encode(self, texts: Sequence[str]) -> list[TokenVectors]:
        self.calls.append(texts)
        return await super().encode(texts)


async def test_the_token_vectors_of_a_text_are_made_call_by_call() -> None:
    late = CallsOfLate()
    embedder = TextEmbedder(FakeEmbedder(), WordTokens(), 64, 0, "words", late=late)
    (text,) = await embedder.embed_in_turn([" ".join(f"word {n}." for n in range(6000))], {})
    assert text is not None
    assert len(text.tokens) == len(text.chunks)
    assert len(late.calls) > 1
    assert all(sum(map(len, call)) <= portions.CALL_BYTES for call in late.calls)


async def test_a_text_without_chunks_has_no_mean() -> None:
    (text,) = await TextEmbedder(FakeEmbedder(), WordTokens(), 2, 0, "words").embed([""])
    assert text is not None
    assert (list(text.chunks), text.pooled) == ([], None)


@pytest.mark.parametrize("change", [{"max_tokens": 3}, {"overlap_tokens": 1}, {"tokenizer": "others"}])
def test_the_chunking_is_named_by_all_that_decides_it(change: dict[str, Any]) -> None:
    embedder = TextEmbedder(FakeEmbedder(), WordTokens(), 2, 0, "words")
    assert replace(embedder, **change).chunking != embedder.chunking
    assert replace(embedder, embedder=FakeEmbedder()).chunking == embedder.chunking


async def test_no_texts_make_no_call() -> None:
    fake = FakeEmbedder()
    fake.away = True
    assert await TextEmbedder(fake, WordTokens(), 2, 0, "words").embed([]) == []
