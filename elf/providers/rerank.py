"""Reranking over HTTP: the answers of Cohere, Jina and Voyage are understood (specs/elf-notes.md, 7.2)."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence

import msgspec

from elf.config.model import RerankProvider
from elf.core.errors import InternalError
from elf.providers.http import ProviderHttp


class _Item(msgspec.Struct):
    index: int
    relevance_score: float | None = None


class _Answer(msgspec.Struct):
    results: list[_Item] | None = None  # Cohere, Jina
    data: list[_Item] | None = None  # Voyage


_decoder = msgspec.json.Decoder(_Answer)


def _read(content: bytes) -> _Answer:
    try:
        return _decoder.decode(content)
    except msgspec.DecodeError:
        # The standard library's reader is slow, but knows NaN and Infinity, which some servers write.
        return msgspec.convert(json.loads(content), _Answer)


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
        scores = [math.nan] * len(documents)
        seen: set[int] = set()
        for item in self._items(await self._http.post(body)):
            if not 0 <= item.index < len(documents) or item.index in seen:
                raise self._broken(f"names document {item.index} wrongly; {len(documents)} were sent")
            seen.add(item.index)
            if item.relevance_score is not None and math.isfinite(item.relevance_score):
                scores[item.index] = item.relevance_score
        return scores

    def _items(self, content: bytes) -> list[_Item]:
        try:
            answer = _read(content)
        except (ValueError, RecursionError):
            raise self._broken("is not an answer to a rerank request") from None
        items = answer.results if answer.results is not None else answer.data
        if items is None:
            raise self._broken("holds neither results nor data")
        return items

    def _broken(self, problem: str) -> InternalError:
        return InternalError(f"the answer of {self._http.label} {problem}")
