"""Reranking with its fallback and its cache: a reranker that is away or answers nonsense never fails a search."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Any, Final
from uuid import UUID

import structlog

from elf.core.errors import ProviderUnavailable
from elf.providers.port import Reranker
from elf.search.cache import Answer, AnswerCache, LatePut, cache_key
from elf.search.single_flight import SingleFlight

KIND: Final = "rerank"
KEY_MATERIAL: Final = frozenset({"provider_id", "model", "rerank_version"})
GREATEST_SCORE: Final = 1e30  # models compute in float32; weights must not carry a score out of its range

log = structlog.get_logger()


class CachedReranker:
    """Scores documents; equal searches, at once and within `ttl_days`, ask the provider once.

    `material` is what the scores depend on besides the search itself: provider_id, model and rerank_version, and
    nothing else (ValueError). Without a cache nothing is kept. `later` is handed each write and must not wait for it:
    the answer does not either.
    """

    def __init__(
        self,
        *,
        reranker: Reranker,
        cache: AnswerCache | None,
        material: Mapping[str, Any],
        ttl_days: int,
        later: Callable[[LatePut], object],
    ) -> None:
        if material.keys() != KEY_MATERIAL:
            raise ValueError(f"the key material of rerank scores is {', '.join(sorted(KEY_MATERIAL))}")
        self._reranker = reranker
        self._cache = cache
        self._material = dict(material)
        self._ttl_days = ttl_days
        self._later = later
        self._flights: SingleFlight[str, tuple[float, ...] | None] = SingleFlight()

    async def scores(
        self, query: str, documents: Sequence[str], signature: Sequence[tuple[UUID, datetime]]
    ) -> list[float] | None:
        """Return a score of at most GREATEST_SCORE either way for each document, or None when there are none to be had.

        A document without one gets the lowest there is: it was looked at and nothing good is known of it.
        `signature` names the documents, in their order: each one's chunk and when its note was last changed.
        """
        if not documents:
            return []
        key = cache_key({"query": query.strip(), "signature": signature} | self._material)
        scores = await self._flights.do(key, partial(self._find, key, query, documents))
        return None if scores is None else list(scores)

    async def _find(self, key: str, query: str, documents: Sequence[str]) -> tuple[float, ...] | None:
        scores = await self._kept(key, len(documents))
        if scores is None:
            scores = await _asked(self._reranker, query, documents)
            if scores is None:
                return None
            self._keep(key, scores)
        return tuple(_complete(scores))

    async def _kept(self, key: str, number: int) -> list[float] | None:
        if self._cache is None:
            return None
        return _read_scores(await self._cache.get(KIND, key), number)

    def _keep(self, key: str, scores: Sequence[float]) -> None:
        if self._cache is not None:
            payload = [score if _is_score(score) else None for score in scores]
            self._cache.put_later(Answer(KIND, key, payload, self._ttl_days), self._later)


async def _asked(reranker: Reranker, query: str, documents: Sequence[str]) -> list[float] | None:
    """Return the provider's scores, of which at least one is a score, or None."""
    try:
        scores = await reranker.rerank(query, documents)
    except ProviderUnavailable as error:
        log.warning("rerank_failed", documents=len(documents), error=error.message)
        return None
    if not any(map(_is_score, scores)):
        log.warning("rerank_without_scores", documents=len(documents))
        return None
    return scores


def _read_scores(payload: Any, number: int) -> list[float] | None:
    """Read so many scores as `_keep` wrote them, a missing one as null; None for anything else."""
    if not isinstance(payload, list) or len(payload) != number:
        return None
    if not all(score is None or type(score) in (float, int) for score in payload):
        return None
    try:
        scores = [math.nan if score is None else float(score) for score in payload]
    except OverflowError:  # a whole number beyond all floats
        return None
    return scores if any(map(_is_score, scores)) else None


def _is_score(score: float) -> bool:
    return abs(score) <= GREATEST_SCORE  # not so of NaN


def _complete(scores: Sequence[float]) -> list[float]:
    if all(map(_is_score, scores)):
        return list(scores)
    lowest = min(score for score in scores if _is_score(score))
    return [score if _is_score(score) else lowest for score in scores]
