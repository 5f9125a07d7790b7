"""The encoder: right vectors, sensible batches, nothing waits behind a big job."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import anyio
import numpy as np
import pytest
from tokenizers import Tokenizer

from elf.config.optional import LocalModel
from elf.providers.local.catalog import MINILM
from elf.providers.local.encoder import Encoder
from elf.providers.local.token_cache import TokenCache
from tests.model_caches import TOKENIZER, shared_model

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

MAX_TOKENS = MINILM.architecture.max_tokens
REFERENCE = Path(__file__).parents[2] / "data" / "minilm_reference.json"


@pytest.fixture(scope="module")
def reference() -> tuple[list[str], Any]:
    """Texts and the vectors that sentence-transformers gave for them."""
    items = json.loads(REFERENCE.read_text(encoding="utf-8"))["items"]
    return [item["text"] for item in items], np.array([item["vector"] for item in items])


class FakeSession:
    """Stands in for the runtime: vectors that depend on the first token, and a gate for big batches."""

    def __init__(self) -> None:
        self.shapes: list[tuple[int, int]] = []
        self.big_batch_began = threading.Event()
        self.big_batch_may_end = threading.Event()
        self.big_batch_may_end.set()

    def run(self, outputs: list[str], inputs: dict[str, Any]) -> list[Any]:
        assert outputs == ["sentence", "tokens"]
        ids = inputs["input_ids"]
        self.shapes.append(ids.shape)
        if len(ids) > 4:
            self.big_batch_began.set()
            assert self.big_batch_may_end.wait(10)
        hidden = np.repeat(ids[:, :, None], 384, axis=2).astype(np.float32)
        return [hidden[:, 1, :], hidden]


@pytest.fixture
def session() -> FakeSession:
    return FakeSession()


@pytest.fixture
def fake_encoder(session: FakeSession) -> Encoder:
    tokenizer = Tokenizer.from_file(str(shared_model() / TOKENIZER))
    tokenizer.no_padding()
    tokenizer.enable_truncation(MAX_TOKENS)
    return Encoder(session, tokenizer, TokenCache(1 << 24))


async def test_a_batch_agrees_with_sentence_transformers(
    encoder: Encoder, reference: tuple[list[str], Any]
) -> None:
    texts, vectors = reference
    assert len(texts) == 20
    assert np.abs(await encoder.sentences(texts) - vectors).max() < 1e-5


async def test_single_texts_agree_with_sentence_transformers(
    encoder: Encoder, reference: tuple[list[str], Any]
) -> None:
    for text, vector in zip(*reference, strict=True):
        assert np.abs(await encoder.sentences([text]) - vector).max() < 1e-5, text


async def test_token_vectors_leave_out_the_special_tokens(encoder: Encoder) -> None:
    cat, nothing, long = await encoder.tokens(["the cat sat", "", "word " * 400])
    assert len(cat) == 3
    assert len(nothing) == 0
    assert len(long) == MAX_TOKENS - 2
    np.testing.assert_allclose(np.linalg.norm(cat.unpack(), axis=1), 1.0, atol=1e-5)


async def test_token_vectors_are_those_of_words_unless_there_is_none(encoder: Encoder) -> None:
    spoken, signs = await encoder.tokens(["Well, the cat's out!", "?! ..."])
    assert len(spoken) == 5  # well the cat s out
    assert len(signs) == 5


async def test_the_words_of_a_query_come_with_the_rarity_of_each(encoder: Encoder) -> None:
    (tokens,) = await encoder.tokens(["the heron, again?"])
    words = encoder.words("the heron, again?", tokens)
    assert len(words.vectors) == len(words.rarity) == len(tokens)
    assert words.rarity[0] < words.rarity[-1] < words.rarity[1:-1].max()


async def test_token_vectors_average_to_the_sentence_vector(encoder: Encoder) -> None:
    texts = ["The heron eats fish."]
    tokens = (await encoder.tokens(texts))[0].unpack().mean(axis=0)
    cosine = float(tokens @ (await encoder.sentences(texts))[0]) / float(np.linalg.norm(tokens))
    assert cosine > 0.9  # [CLS] and [SEP] and the lengths of the tokens make the rest


async def test_a_text_that_was_embedded_costs_no_pass_when_its_tokens_are_asked_for(
    fake_encoder: Encoder, session: FakeSession
) -> None:
    await fake_encoder.sentences(["first", "second"])
    passes = len(session.shapes)
    await fake_encoder.tokens(["second", "first"])
    assert len(session.shapes) == passes
    await fake_encoder.tokens(["second", "third", "third"])
    assert session.shapes[passes:] == [(1, 3)]


async def test_tokens_come_in_the_order_of_the_texts_whether_cached_or_not(encoder: Encoder) -> None:
    texts = [f"Number {'very ' * (number % 5)}{number}" for number in range(12)]
    await encoder.sentences(texts[::3])
    mixed = await encoder.tokens(texts)
    for text, vectors in zip(texts, mixed, strict=True):
        again = (await encoder.tokens([text]))[0]
        assert vectors == again


async def test_batches_are_bounded_and_hold_texts_of_like_length(
    fake_encoder: Encoder, session: FakeSession
) -> None:
    texts = ["word " * (1 + number * 37 % 300) for number in range(200)]
    await fake_encoder.sentences(texts)
    assert all(rows <= 64 and (rows * length <= 1024 or rows == 1) for rows, length in session.shapes)
    assert sum(rows for rows, _ in session.shapes) == 200
    real = sum(min(MAX_TOKENS, 3 + number * 37 % 300) for number in range(200))
    assert sum(rows * length for rows, length in session.shapes) < 1.05 * real


async def test_a_query_is_answered_while_a_big_batch_runs(
    fake_encoder: Encoder, session: FakeSession
) -> None:
    session.big_batch_may_end.clear()
    async with anyio.create_task_group() as group:
        group.start_soon(fake_encoder.sentences, ["a text"] * 100)
        await anyio.to_thread.run_sync(session.big_batch_began.wait, 10)
        with anyio.fail_after(5):
            assert (await fake_encoder.sentences(["a query"])).shape == (1, 384)
            assert len(await fake_encoder.tokens(["another query"])) == 1
        assert not session.big_batch_may_end.is_set()
        session.big_batch_may_end.set()


async def test_big_jobs_take_turns(fake_encoder: Encoder, session: FakeSession) -> None:
    """The second job's first batch runs before the first job's last one."""
    async with anyio.create_task_group() as group:
        group.start_soon(fake_encoder.sentences, ["one two three four"] * 640)
        group.start_soon(fake_encoder.sentences, ["one"] * 640)
    lengths = [length for _, length in session.shapes]
    assert lengths.index(3) < len(lengths) - 1 - lengths[::-1].index(6)
    assert lengths.index(6) < len(lengths) - 1 - lengths[::-1].index(3)


async def test_the_event_loop_runs_on_during_a_pass(fake_encoder: Encoder, session: FakeSession) -> None:
    session.big_batch_may_end.clear()
    async with anyio.create_task_group() as group:
        group.start_soon(fake_encoder.sentences, ["a text"] * 10)
        await anyio.to_thread.run_sync(session.big_batch_began.wait, 10)
        session.big_batch_may_end.set()  # only a loop that is free gets here


async def test_no_texts_need_no_pass(fake_encoder: Encoder, session: FakeSession) -> None:
    assert (await fake_encoder.sentences([])).shape == (0, 384)
    assert await fake_encoder.tokens([]) == []
    assert session.shapes == []


async def test_a_cache_of_no_bytes_still_gives_tokens(local_model: LocalModel) -> None:
    encoder = Encoder.open(local_model.model_copy(update={"token_cache_mb": 0}))
    assert [len(vectors) for vectors in await encoder.tokens(["one two", "one"])] == [2, 1]
