"""Packing token vectors into bytes, comparing them, keeping the ones used last."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from elf.providers.local.token_cache import TokenCache
from elf.providers.token_vectors import TokenVectors, joined, means, pack


def some_vectors(count: int, *, seed: int = 0, dimensions: int = 384) -> TokenVectors:
    hidden = np.random.default_rng(seed).standard_normal((1, count + 2, dimensions), dtype=np.float32)
    return pack(hidden, [list(range(1, count + 1))])[0]


def test_packing_keeps_the_tokens_at_the_given_places() -> None:
    hidden = np.random.default_rng(1).standard_normal((3, 6, 8), dtype=np.float32)
    packed = pack(hidden, [[1, 2, 4], [3], []])
    assert [len(vectors) for vectors in packed] == [3, 1, 0]
    for row, places in enumerate([[1, 2, 4], [3]]):
        expected = hidden[row, places] / np.linalg.norm(hidden[row, places], axis=1, keepdims=True)
        np.testing.assert_allclose(packed[row].unpack(), expected, atol=0.01)


@given(st.integers(0, 2**32 - 1), st.floats(1e-6, 1e6))
def test_unpacked_vectors_have_length_one_and_keep_their_direction(seed: int, scale: float) -> None:
    hidden = np.random.default_rng(seed).standard_normal((1, 5, 384), dtype=np.float32) * np.float32(scale)
    unpacked = pack(hidden, [[1, 2, 3]])[0].unpack()
    np.testing.assert_allclose(np.linalg.norm(unpacked, axis=1), 1.0, atol=1e-5)
    directions = hidden[0, 1:4] / np.linalg.norm(hidden[0, 1:4], axis=1, keepdims=True)
    assert (np.sum(unpacked * directions, axis=1) > 0.9999).all()


def test_a_vector_of_zeros_stays_zero() -> None:
    assert not pack(np.zeros((1, 3, 4), dtype=np.float32), [[1]])[0].unpack().any()


@given(st.lists(st.integers(0, 12), max_size=6), st.integers(0, 2**31))
def test_joined_texts_stand_one_behind_the_other(counts: list[int], seed: int) -> None:
    texts = [some_vectors(count, seed=seed + place) for place, count in enumerate(counts)]
    assert [len(text) for text in texts] == counts
    values, scales = joined(texts)
    expected = [vector for text in texts for vector in text.unpack().tolist()]
    assert (values * scales[:, None]).tolist() == expected


@given(st.lists(st.integers(1, 12), min_size=1, max_size=6), st.integers(0, 2**31))
def test_the_mean_of_a_text_is_that_of_its_tokens(counts: list[int], seed: int) -> None:
    texts = [some_vectors(count, seed=seed + place) for place, count in enumerate(counts)]
    expected = [text.unpack().mean(axis=0) for text in texts]
    np.testing.assert_allclose(means(texts), expected, atol=0.001)


@pytest.mark.parametrize(
    "content", [b"", b"1234567", some_vectors(1).content, some_vectors(2).content + b"1"]
)
def test_bytes_that_are_not_those_of_so_many_tokens_are_refused(content: bytes) -> None:
    with pytest.raises(ValueError, match="not those of its tokens"):
        joined([some_vectors(3), TokenVectors(content, 2)])


def test_the_cache_returns_what_was_put_and_none_for_the_rest() -> None:
    cache = TokenCache(1 << 20)
    kept = some_vectors(4)
    cache.put_many([("kept", kept)])
    assert cache.get_many(["other", "kept"]) == [None, kept]
    statistics = cache.statistics()
    assert (statistics.entries, statistics.hits, statistics.misses) == (1, 1, 1)


def test_the_cache_drops_what_was_unused_for_longest() -> None:
    cache = TokenCache(10_000)  # four entries of four tokens fit, a fifth does not
    cache.put_many([(str(number), some_vectors(4)) for number in range(4)])
    cache.get_many(["0"])
    cache.put_many([("4", some_vectors(4))])
    assert [found is not None for found in cache.get_many("01234")] == [True, False, True, True, True]


def test_putting_a_text_again_does_not_count_it_twice() -> None:
    cache = TokenCache(1 << 20)
    cache.put_many([("a", some_vectors(4))])
    before = cache.statistics().bytes
    cache.put_many([("a", some_vectors(4))])
    assert cache.statistics().bytes == before


def test_a_cache_of_no_bytes_keeps_nothing() -> None:
    cache = TokenCache(0)
    cache.put_many([("a", some_vectors(4))])
    assert cache.get_many(["a"]) == [None]
    assert cache.statistics().bytes == 0


def test_threads_leave_the_cache_within_its_bytes_and_its_sum_right() -> None:
    cache = TokenCache(40_000)
    start = threading.Barrier(4)

    def work(seed: int) -> None:
        start.wait()
        for number in range(200):
            cache.put_many([(str((number * 7 + seed) % 50), some_vectors(number % 6, seed=seed))])
            cache.get_many([str(number % 50)])

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    texts = [str(number) for number in range(50)]
    held = [vectors for vectors in cache.get_many(texts) if vectors is not None]
    statistics = cache.statistics()
    assert statistics.bytes <= 40_000
    assert statistics.entries == len(held)
    assert statistics.bytes - sum(len(vectors.content) for vectors in held) == 480 * len(held)
