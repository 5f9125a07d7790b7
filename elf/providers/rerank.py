"""Reranking over HTTP: the answers of Cohere, Jina and Voyage are understood (specs/elf-notes.md, 7.2)."""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec

from elf.config.model import RerankProvider
from elf.providers.answer import Unreadable, decoded
from elf.providers.http import ProviderHttp

# What an answer may take: it may tell the documents again, each character escaped.
_ESCAPED_BYTES = 6
_ITEM_BYTES = 1024
_ENVELOPE_BYTES = 64 * 1024


class _Item(msgspec.Struct):
    index: int
    relevance_score: float | None = None


class _Answer(msgspec.Struct):
    results: list[_Item] | None = None  # Cohere, Jina
    data: list[_Item] | None = None  # Voyage


_decoder = msgspec.json.Decoder(_Answer)


class HttpReranker:
    """The Reranker port over one HTTP provider."""

    def __init__(self, config: RerankProvider, http: ProviderHttp) -> None:
        self._config = config
        self._http = http

    async def rerank(self, query: str, documents: Sequence[str]) -> list[float]:
        """Return one score a document, aligned to `documents`; NaN where the provider gave no finite one."""
        if not documents:
            return []
        body = {"model": self._config.model, "query": query, "documents": list(documents)}
        told = sum(len(document.encode("utf-8", "surrogatepass")) for document in documents)
        return await self._http.post(
            body,
            lambda content: _scores(content, len(documents)),
            most_bytes=told * _ESCAPED_BYTES + len(documents) * _ITEM_BYTES + _ENVELOPE_BYTES,
        )


def _scores(content: bytes, count: int) -> list[float]:
    scores = [math.nan] * count
    seen: set[int] = set()
    for item in _items(content):
        if not 0 <= item.index < count or item.index in seen:
            raise Unreadable(f"names a document wrongly; {count} were sent")
        seen.add(item.index)
        if item.relevance_score is not None and math.isfinite(item.relevance_score):
            scores[item.index] = item.relevance_score
    return scores


def _items(content: bytes) -> list[_Item]:
    answer = decoded(_decoder, content, "is not an answer to a rerank request")
    items = answer.results if answer.results is not None else answer.data
    if items is None:
        raise Unreadable("holds neither results nor data")
    return items
