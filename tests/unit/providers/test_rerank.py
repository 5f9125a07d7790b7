"""Late interaction: the score of each document against a query."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from elf.providers.local.rerank import QueryTokens, calibrated, likeness, rarity
from elf.providers.token_vectors import TokenVectors, pack


def some_vectors(count: int, *, seed: int = 0, dimensions: int = 384) -> TokenVectors:
    hidden = np.random.default_rng(seed).standard_normal((1, count + 2, dimensions), dtype=np.float32)
    return pack(hidden + 0.3, [list(range(1, count + 1))])[0]


Rows = npt.NDArray[np.float64]

NOTHING = 1.0 / (1.0 + math.exp(14.0))  # what the least likeness is mapped to


def query_of(vectors: TokenVectors) -> QueryTokens:
    return QueryTokens(vectors.unpack(), rarity(range(2000, 2000 + 50 * len(vectors), 50)))


def unit(rows: Rows) -> Rows:
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def relevance(query: QueryTokens, documents: list[TokenVectors]) -> npt.NDArray[np.float32]:
    return calibrated(likeness(query, documents).told_apart)


def by_hand(query: QueryTokens, documents: list[TokenVectors]) -> list[float]:
    """The score as its definition reads: centre, compare, weigh, take off what resembles many, map."""
    present = [document.unpack().astype(np.float64) for document in documents if len(document)]
    if not present or not len(query.rarity):
        return [NOTHING] * len(documents)
    count = len(present)
    mean = np.concatenate(present).mean(axis=0) * count / (count + 8.0)
    words = unit(query.vectors.astype(np.float64) - mean)
    best = np.array([[max(unit(tokens - mean) @ word) for word in words] for tokens in present])
    common = (best.sum(axis=0) + 8.0 * 0.3) / (count + 8.0)
    weights = query.rarity * np.clip(1.0 - common, 0.05, 1.0)
    raw = best @ weights / weights.sum() - 0.22 * count / (count + 8.0) * above_median(near_by_hand(present))
    scores = iter(1.0 / (1.0 + np.exp(-(raw - 0.4) / 0.1)))
    return [float(next(scores)) if len(document) else NOTHING for document in documents]


def near_by_hand(documents: list[Rows]) -> list[float]:
    """The mean cosine of each document with the up to 20 others that are nearest."""
    directions = unit(np.array([tokens.mean(axis=0) for tokens in documents]))
    others = [np.delete(directions, place, axis=0) @ own for place, own in enumerate(directions)]
    return [float(np.sort(cosines)[::-1][:20].mean()) if len(cosines) else 0.0 for cosines in others]


def above_median(values: list[float]) -> Rows:
    return np.array(values) - np.median(values)


@given(
    st.integers(0, 20),
    st.lists(st.integers(0, 30), min_size=1, max_size=30),
    st.integers(0, 2**31),
)
def test_the_score_is_what_its_definition_says(words: int, lengths: list[int], seed: int) -> None:
    query = query_of(some_vectors(words, seed=seed))
    documents = [some_vectors(length, seed=seed + place + 1) for place, length in enumerate(lengths)]
    np.testing.assert_allclose(relevance(query, documents), by_hand(query, documents), atol=1e-4)


def test_more_tokens_than_one_pass_takes_score_the_same() -> None:
    query = query_of(some_vectors(5))
    documents = [some_vectors(200, seed=seed) for seed in range(90)]
    np.testing.assert_allclose(relevance(query, documents), by_hand(query, documents), atol=1e-4)


def test_the_same_text_scores_near_one_and_unrelated_ones_near_zero() -> None:
    text = some_vectors(7, seed=1)
    others = [some_vectors(9, seed=seed) for seed in range(2, 12)]
    same, *unrelated = relevance(query_of(text), [text, *others])
    assert same > 0.95
    assert max(unrelated) < 0.2


def test_a_word_that_every_candidate_holds_counts_less() -> None:
    shared, telling = some_vectors(1, seed=1), some_vectors(1, seed=2)
    filler = [some_vectors(4, seed=seed) for seed in range(10, 20)]
    with_shared = [together(shared, text) for text in filler]
    target = together(telling, filler[0])
    query = QueryTokens(np.vstack([shared.unpack(), telling.unpack()]), rarity([5000, 5000]))
    scores = relevance(query, [target, *with_shared[1:]])
    assert int(np.argmax(scores)) == 0


def together(*texts: TokenVectors) -> TokenVectors:
    tokens = np.concatenate([text.unpack() for text in texts])
    return pack(tokens[None], [list(range(len(tokens)))])[0]


def test_of_two_that_fit_alike_the_one_that_resembles_all_others_comes_second() -> None:
    word, usual = some_vectors(1, seed=1), some_vectors(6, seed=2)
    like_many = together(word, usual)
    unlike = together(word, some_vectors(6, seed=3))
    others = [together(usual, some_vectors(1, seed=seed)) for seed in range(10, 30)]
    query = QueryTokens(word.unpack(), rarity([5000]))
    found = likeness(query, [like_many, unlike, *others])
    assert found.told_apart[1] > found.told_apart[0] + 0.02
    assert found.plain[0] == pytest.approx(found.plain[1])


def test_what_has_no_tokens_is_like_nothing() -> None:
    nothing, something = some_vectors(0), some_vectors(3)
    assert np.stack(likeness(query_of(nothing), [something])).tolist() == [[-1.0], [-1.0]]
    assert np.stack(likeness(query_of(something), [nothing, nothing])).tolist() == [[-1.0, -1.0]] * 2
    assert np.stack(likeness(query_of(something), [])).tolist() == [[], []]


@given(st.integers(1, 8), st.lists(st.integers(1, 30), min_size=1, max_size=12), st.integers(0, 2**31))
def test_the_plain_likeness_of_a_document_does_not_depend_on_the_others(
    words: int, lengths: list[int], seed: int
) -> None:
    query = query_of(some_vectors(words, seed=seed))
    documents = [some_vectors(length, seed=seed + place + 1) for place, length in enumerate(lengths)]
    expected = [
        (document.unpack() @ query.vectors.T).max(axis=0) @ query.rarity / query.rarity.sum()
        for document in documents
    ]
    np.testing.assert_allclose(likeness(query, documents).plain, expected, atol=1e-4)


def test_rarity_grows_with_the_rank_in_the_vocabulary() -> None:
    ids = [0, 1012, 1996, 2003, 5000, 15_000, 30_521]
    values = rarity(ids).tolist()
    assert values == sorted(values)
    assert values[0] == pytest.approx(math.sqrt(math.log(2) / math.log(30_522 - 1995)), abs=1e-6)
    assert values[-1] == pytest.approx(1.0, abs=1e-4)
