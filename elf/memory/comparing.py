"""How well each candidate of any family answers a query: asked of one reranker, so that scores meet on one scale."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import Final, Protocol
from uuid import UUID

import anyio
import structlog

from elf.core.errors import ServiceError, Unavailable
from elf.memory.gathering import Offered
from elf.memory.kept_tokens import KeptTokens
from elf.memory.ranking import Compared
from elf.memory.token_filler import TokenFiller, Wanted
from elf.providers.port import LateInteraction, Reranker
from elf.providers.token_vectors import TokenVectors
from elf.search.reranking import length_handicap
from elf.search.token_store import TokenPlace, TokenReader

MADE_AT_ONCE_CHARS: Final = 2000
"""So much text without token vectors is compared all the same: what was said just now is to be found at once."""

log = structlog.get_logger()


class Comparing(Protocol):
    """Compares candidates with a query."""

    async def scores(
        self, query: str, tenant_id: str, offers: Sequence[Offered]
    ) -> list[Compared | None] | None:
        """Return a score for each candidate, None for one that was not compared; None where none can be had."""
        ...


class ByTokens:
    """Compares the tokens of texts with those of the query, as far as token vectors are kept.

    A text that several families have is compared once: what resembles others is marked down, and one that resembles
    only itself is not to be. `length_weight` is what is taken off, as in searches, for its length, or for that of all
    that it is a passage of.
    """

    def __init__(
        self, late: LateInteraction, kept: KeptTokens, filler: TokenFiller, *, length_weight: float
    ) -> None:
        self._length_weight = length_weight
        self._late = late
        self._kept = kept
        self._filler = filler

    async def scores(
        self, query: str, tenant_id: str, offers: Sequence[Offered]
    ) -> list[Compared | None] | None:
        """Compare all candidates whose token vectors there are; those of others are made behind the answer."""
        texts = list(dict.fromkeys(one.said for one in offers))
        looking = _Looking(self._kept, tenant_id)
        await looking.look(texts, offers)
        vectors = looking.vectors
        missing = [text for text in texts if text not in vectors]
        vectors |= await self._made(missing)
        self._filler.want(Wanted(tenant_id, missing, looking.unnoted))
        compared = [text for text in texts if text in vectors]
        if not compared:
            return None if offers else []
        chars: dict[str, int] = {}
        for one in offers:
            chars[one.said] = max(one.chars, chars.get(one.said, 0))
        handicaps = [length_handicap(chars[text], weight=self._length_weight) for text in compared]
        scores = await self._late.score(query, [vectors[text] for text in compared], handicaps)
        by_text = {
            text: Compared(score.score, score.relevance) for text, score in zip(compared, scores, strict=True)
        }
        return [by_text.get(one.said) for one in offers]

    async def _made(self, missing: Sequence[str]) -> dict[str, TokenVectors]:
        """Make the token vectors of some texts at once, the best first."""
        texts: list[str] = []
        chars = 0
        for text in missing:
            chars += len(text)
            if chars > MADE_AT_ONCE_CHARS:
                break
            texts.append(text)
        if not texts:
            return {}
        return dict(zip(texts, await self._late.encode(texts), strict=True))


class _Looking:
    """Looks for the token vectors of texts where families keep them, and elsewhere for those of the others.

    `unnoted` are the texts found elsewhere whose use was not noted today.
    """

    def __init__(self, kept: KeptTokens, tenant_id: str) -> None:
        self._kept = kept
        self._tenant_id = tenant_id
        self._failed: list[Unavailable] = []
        self.vectors: dict[str, TokenVectors] = {}
        self.unnoted: list[str] = []

    async def look(self, texts: Sequence[str], offers: Sequence[Offered]) -> None:
        """Look for all of them. Raises Unavailable."""
        places: dict[str, TokenPlace] = {}
        for one in offers:
            # What a family says before a text is part of what it keeps of it, and not of what is compared.
            if one.item.tokens is not None and one.said == one.item.text:
                places.setdefault(one.said, one.item.tokens)
        by_reader: dict[TokenReader, dict[UUID, str]] = {}
        for text, place in places.items():
            by_reader.setdefault(place.reader, {})[place.chunk_id] = text
        async with anyio.create_task_group() as group:
            for reader, chunks in by_reader.items():
                group.start_soon(self._unless_away, partial(self._look_in, reader, chunks))
            lacking = [text for text in texts if text not in places]
            group.start_soon(self._unless_away, partial(self._elsewhere, lacking))
        if self._failed:
            raise self._failed[0]
        # A family may have none of a text yet, which it got a moment ago.
        await self._elsewhere([text for text in places if text not in self.vectors])

    async def _unless_away(self, look: Callable[[], Awaitable[None]]) -> None:
        # What is raised within a group comes out of it in another form.
        try:
            await look()
        except Unavailable as error:
            self._failed.append(error)

    async def _look_in(self, reader: TokenReader, chunks: Mapping[UUID, str]) -> None:
        found = await reader.read(chunks)
        self.vectors |= {chunks[chunk_id]: vectors for chunk_id, vectors in found.items()}

    async def _elsewhere(self, texts: Sequence[str]) -> None:
        found = await self._kept.read(self._tenant_id, texts)
        self.vectors |= found.vectors
        self.unnoted += found.unnoted


class ByReranker:
    """Has a reranker behind a URL compare the texts. Its scores are put on a scale of 0 to 1 for each answer.

    `tells_relevance` says whether they may be compared between answers.
    """

    def __init__(self, reranker: Reranker, *, tells_relevance: bool) -> None:
        self._reranker = reranker
        self._tells_relevance = tells_relevance

    async def scores(
        self, query: str, tenant_id: str, offers: Sequence[Offered]
    ) -> list[Compared | None] | None:
        """Compare all candidates; see the port."""
        if not offers:
            return []
        texts = list(dict.fromkeys(one.said for one in offers))
        try:
            scores = await self._reranker.rerank(query, texts)
        except ServiceError as error:
            log.warning("memory.not_compared", documents=len(texts), error=error.message)
            return None
        known = [score for score in scores if score == score]  # NaN is a missing score
        if not known:
            return None
        least, range_ = min(known), (max(known) - min(known)) or 1.0
        by_text = {
            text: Compared((score - least) / range_, score if self._tells_relevance else None)
            for text, score in zip(texts, scores, strict=True)
            if score == score
        }
        return [by_text.get(one.said) for one in offers]
