"""What the tests of the search's caches share: a cache in memory, a language model and a reranker to steer."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from typing import Any, TypeVar

import anyio

from elf.providers.port import JsonAnswer, Prompt
from elf.search.cache import Answer, AnswerCache, LatePut
from tests.notes_kit import NOW

T = TypeVar("T")


class MemoryCache(AnswerCache):
    """Answers in a dict, kept for ever; it counts how often it is read, and every call waits its turn."""

    def __init__(self) -> None:
        self.entries: dict[tuple[str, str], Any] = {}
        self.ttls: list[int] = []
        self.gets = 0
        self.batches: list[list[Answer]] = []
        self.hits_counted = 0
        self.before_put: Callable[[], Awaitable[object]] = anyio.lowlevel.checkpoint

    async def get(self, kind: str, key: str) -> Any | None:
        await anyio.lowlevel.checkpoint()
        self.gets += 1
        return self.entries.get((kind, key))

    def now(self) -> datetime:
        return NOW

    async def put(
        self, kind: str, key: str, payload: Any, *, ttl_days: int, asked_at: datetime | None = None
    ) -> None:
        await self.put_many([Answer(kind, key, payload, ttl_days, asked_at)])

    async def put_many(self, answers: Sequence[Answer]) -> None:
        await self.before_put()
        self.batches.append(list(answers))
        for answer in answers:
            self.entries[answer.kind, answer.key] = answer.payload
            self.ttls.append(answer.ttl_days)

    async def count_hits(self) -> None:
        await anyio.lowlevel.checkpoint()
        self.hits_counted += 1

    def put_at_once(self, put: LatePut) -> None:
        """Stand in for a writer that is never behind."""
        self.entries[put.answer.kind, put.answer.key] = put.answer.payload
        self.ttls.append(put.answer.ttl_days)

    @property
    def payloads(self) -> list[Any]:
        return list(self.entries.values())


class FakeChat:
    """A model whose content is `content`, read as a provider reads it; a failure is raised instead."""

    def __init__(self, content: Any) -> None:
        self.content = content
        self.prompts: list[Prompt] = []
        self.before_answer: Callable[[], Awaitable[object]] = anyio.lowlevel.checkpoint

    async def ask(self, prompt: Prompt, answer: JsonAnswer[T]) -> T:
        self.prompts.append(prompt)
        await self.before_answer()
        if isinstance(self.content, Exception):
            raise self.content
        return answer.read(self.content)


class FakeReranker:
    """A reranker with a fixed answer, or a failure; remembers what it was asked."""

    def __init__(self, answer: list[float] | Exception) -> None:
        self.answer = answer
        self.asked: list[tuple[str, list[str]]] = []
        self.before_answer: Callable[[], Awaitable[object]] = anyio.lowlevel.checkpoint

    async def rerank(self, query: str, documents: Sequence[str]) -> list[float]:
        self.asked.append((query, list(documents)))
        await self.before_answer()
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer
