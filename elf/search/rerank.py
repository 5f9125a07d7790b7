"""Reranking with its fallback: a reranker that is away or answers nonsense never fails a search."""

from __future__ import annotations

import math
from collections.abc import Sequence

import structlog

from elf.core.errors import InternalError, ProviderUnavailable
from elf.providers.port import Reranker

log = structlog.get_logger()


async def rerank_scores(reranker: Reranker, query: str, documents: Sequence[str]) -> list[float] | None:
    """Return a finite score for each document, or None when there are none to be had.

    A document without a finite score gets the lowest one there is: it was looked at and nothing good is known of it.
    """
    if not documents:
        return []
    try:
        scores = await reranker.rerank(query, documents)
    except (ProviderUnavailable, InternalError) as error:
        log.warning("rerank_failed", documents=len(documents), error=error.message)
        return None
    finite = [score for score in scores if math.isfinite(score)]
    if not finite:
        log.warning("rerank_without_scores", documents=len(documents))
        return None
    lowest = min(finite)
    return [score if math.isfinite(score) else lowest for score in scores]
