"""How well each passage answers a query: asked of the reranker, whichever it is."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final, NamedTuple, Protocol
from uuid import UUID

import structlog

from elf.config.model import Config
from elf.providers.port import LateScore
from elf.search.late_rerank import LateDocument, LateReranker
from elf.search.rerank import CachedReranker
from elf.search.retrieve import Retrieved
from elf.search.stages import Stages
from elf.search.token_store import TokenStore, TokenTable
from elf.search.toolkit import SearchToolkit

RERANK: Final = "rerank"
RERANK_SHARE: Final = 0.9
_SHORT_CHARS: Final = 240  # texts up to this length have no handicap

log = structlog.get_logger()


class Passage(NamedTuple):
    """A chunk with its own text, the text shown of it, the length of all of its subject, and when that last changed.

    `row` has what its table of token vectors says of it: see TokenStore.
    """

    point_id: UUID
    text: str
    shown: str
    subject_chars: int
    changed_at: datetime
    row: Mapping[str, Any]


class RerankScore(NamedTuple):
    """What a reranker says of a passage: a score, what its length takes off it, and how relevant it is if known."""

    score: float
    length: float = 0.0
    relevance: float | None = None


class Reranking(Protocol):
    """Scores passages against a query; `tells_relevance` says whether the scores come with a relevance."""

    @property
    def tells_relevance(self) -> bool: ...

    async def scores(self, query: str, passages: Sequence[Passage]) -> list[RerankScore] | None:
        """Return a score for each passage, or None when there are none to be had."""
        ...


class ShownReranking:
    """Has what is shown of each passage reranked. `tells_relevance`: whether the scores may be compared."""

    def __init__(self, reranker: CachedReranker, *, tells_relevance: bool) -> None:
        self._reranker = reranker
        self.tells_relevance = tells_relevance

    async def scores(self, query: str, passages: Sequence[Passage]) -> list[RerankScore] | None:
        """Return a score for each passage; see the port."""
        scores = await self._reranker.scores(
            query,
            [passage.shown for passage in passages],
            [(passage.point_id, passage.changed_at) for passage in passages],
        )
        if scores is None:
            return None
        return [RerankScore(score, relevance=score if self.tells_relevance else None) for score in scores]


class TokenReranking:
    """Compares the tokens of the passages' own texts with those of the query.

    `length_weight` is taken off a passage for each time that its subject is e times as long as 240 characters: the best
    of more words fits better by chance.
    """

    tells_relevance = True

    def __init__(self, reranker: LateReranker, store: TokenStore, *, length_weight: float) -> None:
        self._reranker = reranker
        self._store = store
        self._length_weight = length_weight

    async def scores(self, query: str, passages: Sequence[Passage]) -> list[RerankScore] | None:
        """Return a score for each passage, the lowest of all for those that were not compared; see the port."""
        documents = [
            LateDocument(
                one.point_id,
                one.text,
                self._store.words(one.row, one.text),
                length_handicap(one.subject_chars, weight=self._length_weight),
                self._store.read(one.row, one.text),
            )
            for one in passages
        ]
        scores = await self._reranker.scores(query, documents)
        if not scores:
            return None if scores is None else []
        lowest = min((score for score in scores if score is not None), key=lambda score: score.score)
        beyond = _read(lowest)._replace(relevance=None)
        return [beyond if score is None else _read(score) for score in scores]


def length_handicap(chars: int, *, weight: float) -> float:
    """Return the handicap of a text of so many characters: `weight` each time that it is e times as long as 240."""
    return weight * math.log(max(1.0, chars / _SHORT_CHARS))


async def scores_in_time(
    reranking: Reranking, query: str, passages: Sequence[Passage], retrieved: Retrieved, stages: Stages
) -> list[RerankScore] | None:
    """Return a score for each passage; None, which `retrieved` then tells, where there are none to be had in time."""
    scores: list[RerankScore] | None = None
    try:
        with stages.stage(RERANK, share=RERANK_SHARE):
            scores = await reranking.scores(query, passages)
    except TimeoutError:
        log.warning("rerank_failed", documents=len(passages), error="out of time")
    if scores is None:
        retrieved.without(RERANK)
    return scores


def open_reranking(
    config: Config, search: SearchToolkit, tokens: TokenStore | None, table: TokenTable
) -> Reranking:
    """Return what reranks as the config says, by the token vectors of a table where it is the packaged model."""
    rules, late = config.search.rerank, search.late_reranker(table)
    if rules is not None and late is not None and tokens is not None:
        return TokenReranking(late, tokens, length_weight=rules.length_weight)
    tells_relevance = rules is not None and rules.weak_below is not None
    return ShownReranking(search.reranker, tells_relevance=tells_relevance)


def _read(score: LateScore) -> RerankScore:
    return RerankScore(score.unhandicapped, score.score - score.unhandicapped, score.relevance)
