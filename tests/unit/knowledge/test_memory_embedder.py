"""Vectors of memories: one a text, whatever the text."""

from __future__ import annotations

from collections.abc import Sequence

import anyio
import numpy as np
import pytest

from elf.indexing.embedding import TextEmbedder
from elf.memory_embedding import MemoryEmbedder
from elf.providers.port import Matrix
from tests.notes_kit import FakeEmbedder, WordTokens, vector_of

pytestmark = pytest.mark.anyio


@pytest.fixture
def model() -> FakeEmbedder:
    return FakeEmbedder()


@pytest.fixture
def embedder(model: FakeEmbedder) -> MemoryEmbedder:
    return MemoryEmbedder(TextEmbedder(model, WordTokens(), 4, 0, "words"), family="knowledge")


async def test_single_text_embedding(embedder: MemoryEmbedder, model: FakeEmbedder) -> None:
    (vector,) = await embedder.embed(["Ana flew."])
    assert vector is not None
    assert vector.dimensions() == 384
    assert vector.to_numpy() == pytest.approx(vector_of("Ana flew."), abs=1e-6)
    for empty in ("", "\0"):
        (vector,) = await embedder.embed([empty])
        assert vector is not None
        assert vector.to_numpy() == pytest.approx(vector_of(" "), abs=1e-6)
    assert model.texts == ["Ana flew.", " ", " "]


async def test_batch_embedding(embedder: MemoryEmbedder) -> None:
    texts = ["Ana flew.", "Ben slept.", "Ana flew."]
    vectors = [vector.to_numpy() for vector in await embedder.embed(texts) if vector is not None]
    assert [len(vector) for vector in vectors] == [384] * 3
    assert np.array_equal(vectors[0], vectors[2])
    assert not np.allclose(vectors[0], vectors[1])
    assert await embedder.embed([]) == []


async def test_a_long_text_has_the_mean_of_its_windows(embedder: MemoryEmbedder, model: FakeEmbedder) -> None:
    (vector,) = await embedder.embed(["a b c d e f g h"])
    assert len(model.texts) == 2
    mean = np.mean([vector_of(text) for text in model.texts], axis=0)
    assert vector is not None
    assert vector.to_numpy() == pytest.approx(mean / np.linalg.norm(mean), abs=1e-6)


class SilentEmbedder(FakeEmbedder):
    """Never answers."""

    async def embed(self, texts: Sequence[str]) -> Matrix:
        await anyio.sleep_forever()
        raise AssertionError("nobody wakes it")


async def test_what_is_stored_in_any_case_does_not_wait_for_a_model_that_is_silent() -> None:
    texts = TextEmbedder(SilentEmbedder(), WordTokens(), 4, 0, "words")
    found = await MemoryEmbedder(texts, family="knowledge", patience_s=lambda: 0.01).embed_if_there(
        ["Ana flew.", "Ben slept."]
    )
    assert (found.vectors, found.is_away, found.degraded) == ([None, None], True, ["embedding"])


async def test_a_call_that_comes_in_time_is_waited_for(model: FakeEmbedder) -> None:
    texts = TextEmbedder(model, WordTokens(), 4, 0, "words")
    found = await MemoryEmbedder(texts, family="knowledge", patience_s=lambda: 30.0).embed_if_there(
        ["Ana flew."]
    )
    assert not found.is_away
    assert found.vectors[0] is not None
