"""Runs a local model: texts in, sentence vectors and token vectors out, never on the event loop."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import TypeVar

import anyio
import anyio.to_thread
import numpy as np
import numpy.typing as npt
from threadpoolctl import threadpool_limits
from tokenizers import Encoding, Tokenizer

from elf.config.optional import LocalModel
from elf.core.errors import StartupError
from elf.providers.local.catalog import MINILM, ModelSpec
from elf.providers.local.model_cache import cache_folder, fetch_model
from elf.providers.local.onnx_cache import cached_graph
from elf.providers.local.rerank import QueryTokens, rarity
from elf.providers.local.runtime import onnxruntime
from elf.providers.local.token_cache import TokenCache
from elf.providers.port import Matrix
from elf.providers.token_vectors import TokenVectors, pack

T = TypeVar("T")

# One batch holds the cores for about 0.2 s: long enough to be efficient, short enough to take turns.
_BATCH_TEXTS = 64
_BATCH_TOKENS = 1024
# What goes through the quick lane: a query or a note or two.
_QUICK_TEXTS = 4
_QUICK_CHARS = 2048
_QUICK_LANE = 2
# A query is tokenised to embed it and again to weigh its words when it is reranked.
_REMEMBERED_ENCODINGS = 128

_ERRORS_ONLY = 3


@dataclass(frozen=True, slots=True)
class Encoded:
    """What one pass yields for a text: its unit sentence vector, float32 (dimensions,), and its token vectors."""

    sentence: npt.NDArray[np.float32]
    tokens: TokenVectors


class Encoder:
    """The model on onnxruntime.

    Work runs in worker threads in two lanes over one session: big jobs take turns batch by batch in the
    bulk lane, small or urgent ones go through the quick lane at once and share the cores with a running
    batch instead of waiting behind the queue.
    """

    def __init__(
        self,
        session: onnxruntime.InferenceSession,
        tokenizer: Tokenizer,
        token_cache: TokenCache,
        *,
        model: ModelSpec = MINILM,
        words_per_text: int | None = None,
    ) -> None:
        self._session = session
        self.model = model
        self.words_per_text = model.architecture.max_tokens if words_per_text is None else words_per_text
        self._tokenizer = tokenizer
        self._cache = token_cache
        self._bulk = anyio.CapacityLimiter(1)
        self._quick = anyio.CapacityLimiter(_QUICK_LANE)
        self._encoding_of = lru_cache(_REMEMBERED_ENCODINGS)(self._tokenise_one)
        self._is_word = cache(self._holds_letter_or_digit)  # the vocabulary is its bound

    @classmethod
    def open(
        cls, config: LocalModel, *, model: ModelSpec = MINILM, words_per_text: int | None = None
    ) -> Encoder:
        """Load a model; blocks for a fraction of a second, at the first start until it is fetched and built.

        `words_per_text` is how many token vectors of a text there are at most; they are those of its rarest words.
        Raises StartupError when the model cannot be fetched or the cache folder cannot be used.
        """
        # The threads of numpy's products wait for each other's cores: beside a busy process, comparing 100 documents
        # took 8 ms instead of 3. One thread is as quick alone.
        threadpool_limits(limits=1, user_api="blas")
        cache = cache_folder(config)
        folder = fetch_model(model, cache, proven=(model.tokenizer,))
        tokenizer = Tokenizer.from_file(str(folder / model.tokenizer.name))
        tokenizer.no_padding()
        tokenizer.enable_truncation(model.architecture.max_tokens)
        session = _open_session(cached_graph(model, cache), threads=config.threads)
        tokens = TokenCache(config.token_cache_mb << 20)
        return cls(session, tokenizer, tokens, model=model, words_per_text=words_per_text)

    @property
    def token_cache(self) -> TokenCache:
        return self._cache

    async def sentences(self, texts: Sequence[str]) -> Matrix:
        """Return the unit sentence vectors, float32 of shape (len(texts), dimensions), in the order of the texts."""
        small = len(texts) <= _QUICK_TEXTS and sum(map(len, texts)) <= _QUICK_CHARS
        encoded = await self._encode(texts, lane=self._quick if small else self._bulk)
        if not encoded:
            return np.empty((0, self.model.dimensions), dtype=np.float32)
        return np.array([one.sentence for one in encoded])

    async def tokens(self, texts: Sequence[str]) -> list[TokenVectors]:
        """Return the token vectors of each text: from the cache, the others from passes of the quick lane."""
        found = self._cache.get_many(texts)
        pairs = list(zip(texts, found, strict=True))
        missing = list(dict.fromkeys(text for text, tokens in pairs if tokens is None))
        encoded = dict(zip(missing, await self._encode(missing, lane=self._quick), strict=True))
        return [encoded[text].tokens if tokens is None else tokens for text, tokens in pairs]

    def words(self, text: str, tokens: TokenVectors) -> QueryTokens:
        """Return the token vectors of a query with the rarity of each; `tokens` are those of the text."""
        encoding = self._encoding_of(text)
        ids = encoding.ids
        return QueryTokens(tokens.unpack(), rarity([ids[place] for place in self._word_places(encoding)]))

    async def run(self, work: Callable[[], T]) -> T:
        """Run other arithmetic of a request in the quick lane."""
        return await anyio.to_thread.run_sync(work, limiter=self._quick)

    async def _encode(self, texts: Sequence[str], *, lane: anyio.CapacityLimiter) -> list[Encoded]:
        if not texts:
            return []
        if len(texts) == 1:
            return await anyio.to_thread.run_sync(self._encode_now, texts, limiter=lane)
        encodings = await anyio.to_thread.run_sync(self._tokenise, texts, limiter=lane)
        encoded: dict[int, Encoded] = {}
        for batch in _batches([len(encoding) for encoding in encodings]):
            work = _Batch([texts[place] for place in batch], [encodings[place] for place in batch])
            done = await anyio.to_thread.run_sync(self._forward, work, limiter=lane)
            encoded.update(zip(batch, done, strict=True))
        return [encoded[place] for place in range(len(texts))]

    def _encode_now(self, texts: Sequence[str]) -> list[Encoded]:
        return self._forward(_Batch(texts, [self._encoding_of(text) for text in texts]))

    def _tokenise_one(self, text: str) -> Encoding:
        return self._tokenise([text])[0]

    def _tokenise(self, texts: Sequence[str]) -> list[Encoding]:
        encodings: list[Encoding] = self._tokenizer.encode_batch_fast(list(texts))
        return encodings

    def _word_places(self, encoding: Encoding) -> list[int]:
        """Return the places of the tokens that hold a letter or digit; when none does, of all but [CLS] and [SEP].

        A word compared with a comma says nothing. Without the commas of documents, a fifth of their tokens, reranking
        is that much cheaper and finds as much: on LoCoMo .649 @5 and .791 @20 for .641 and .791, on 955 questions of
        software FAQs .677 @10 for .676.
        """
        inner = range(1, len(encoding) - 1)
        ids = encoding.ids
        places = [place for place in inner if self._is_word(ids[place])] or list(inner)
        if len(places) <= self.words_per_text:
            return places
        # The vocabulary is sorted by how frequent its words are.
        return sorted(sorted(places, key=ids.__getitem__, reverse=True)[: self.words_per_text])

    def _holds_letter_or_digit(self, token_id: int) -> bool:
        # By its id: what encode_batch_fast returns has no names of tokens.
        return any(map(str.isalnum, self._tokenizer.id_to_token(token_id) or ""))

    def _forward(self, batch: _Batch) -> list[Encoded]:
        lengths = [len(encoding) for encoding in batch.encodings]
        ids = np.zeros((len(lengths), max(lengths)), dtype=np.int64)
        mask = np.zeros_like(ids, dtype=np.int32)
        for row, encoding in enumerate(batch.encodings):
            ids[row, : lengths[row]] = encoding.ids
            mask[row, : lengths[row]] = 1
        sentences, hidden = self._session.run(["sentence", "tokens"], {"input_ids": ids, "mask": mask})
        packed = pack(hidden, [self._word_places(encoding) for encoding in batch.encodings])
        self._cache.put_many(zip(batch.texts, packed, strict=True))
        return [Encoded(sentence, tokens) for sentence, tokens in zip(sentences, packed, strict=True)]


@dataclass(frozen=True, slots=True)
class _Batch:
    texts: Sequence[str]
    encodings: Sequence[Encoding]


def _batches(lengths: Sequence[int]) -> Iterator[list[int]]:
    """Group places by similar length, so that little is padding, within the bounds of a batch."""
    batch: list[int] = []
    for place in sorted(range(len(lengths)), key=lengths.__getitem__):
        # The order is ascending, so the newest text sets the padded length.
        if batch and (len(batch) >= _BATCH_TEXTS or (len(batch) + 1) * lengths[place] > _BATCH_TOKENS):
            yield batch
            batch = []
        batch.append(place)
    if batch:
        yield batch


def _open_session(graph: Path, *, threads: int) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = _ERRORS_ONLY
    # A short spin, and work cut small enough that a thread which lost its core holds nobody up. Measured on 2 cores
    # for one query: without a spin 7.8 ms alone and 7.7 ms beside a busy process; with one of 30 us 5.5 to 7.1 and 8.6;
    # with the default, which may be milliseconds, 4.7 and 13.7. Keeping the threads on cores of their own makes a query
    # after a pause 2 ms faster, and writes up to 7 ms slower while notes are being indexed.
    options.add_session_config_entry("session.intra_op.allow_spinning", "1")
    options.add_session_config_entry("session.intra_op.spin_duration_us", "30")
    options.add_session_config_entry("session.dynamic_block_base", "4")
    try:
        return onnxruntime.InferenceSession(str(graph), options, providers=["CPUExecutionProvider"])
    except Exception as error:  # the runtime's errors share no nearer root
        raise StartupError(f"the model graph {graph} cannot be loaded: {error}") from error
