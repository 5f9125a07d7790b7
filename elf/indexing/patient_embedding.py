"""Embedding many texts so that one that cannot be embedded holds up no other, and a model that is away is left alone.

Those that never failed are embedded together. When the model refuses them together, the halves are tried, down to the
one it is about; when it does not answer, all of them fail, and they come back one after the other: one alone, and
after each answer twice as many. Calls that fail in a row have a bound, so a model that is away costs two calls a batch,
and one that refuses everything a dozen. Who comes first is drawn by lot each time, those that failed less often with
the better chances: so none stands behind a few hopeless ones for ever.
"""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable, Sequence
from typing import Final, NamedTuple
from uuid import UUID

from elf.core.errors import ProviderUnavailable, ServiceError, Unavailable
from elf.indexing.chunks import Subject
from elf.indexing.embedding import EmbeddedText

MOST_OUTAGES: Final = 2  # calls without an answer, in a row
MOST_REFUSALS: Final = 12  # in a row; finding one among a thousand by halves takes eleven


class Waiting(NamedTuple):
    """A subject whose text is to be embedded, and how often that failed before."""

    subject: Subject
    failures: int


Done = list[tuple[Subject, EmbeddedText]]
Embed = Callable[[Sequence[Subject]], Awaitable[Sequence[EmbeddedText | None]]]
Keep = Callable[[Done], Awaitable[None]]


async def embed_patiently(
    waiting: Sequence[Waiting], embed: Embed, keep: Keep, *, rng: Callable[[], float] = random.random
) -> dict[UUID, ServiceError]:
    """Embed texts by as few calls of `embed` as may be; `keep` is given those of each call that succeeded.

    `embed` answers None for a text that got no vector. Returns why the others were not embedded; raises what `keep`
    raises.
    """
    attempt = _Attempt(embed, keep)
    await attempt.embed([one.subject for one in waiting if one.failures == 0])
    again = [one.subject for one in sorted(waiting, key=lambda one: one.failures * rng()) if one.failures > 0]
    size = 1
    while again:
        group, again = again[:size], again[size:]
        size = 2 * size if await attempt.embed(group) else 1
    return attempt.failed


class _Attempt:
    def __init__(self, embed: Embed, keep: Keep) -> None:
        self._embed = embed
        self._keep = keep
        self._outages = self._refusals = 0  # in a row
        self._last_error: ServiceError | None = None
        self.failed: dict[UUID, ServiceError] = {}

    async def embed(self, subjects: Sequence[Subject]) -> bool:
        """Embed texts, by halves when they are refused together. True when one call did for all of them."""
        if not subjects:
            return True
        if self._last_error is not None and self._is_hopeless():
            self._fail(subjects, self._last_error)
            return False
        try:
            texts = await self._embed(subjects)
        except ServiceError as error:
            if isinstance(error, Unavailable) and error.concerns_all:
                self._outages += 1
                self._fail(subjects, error)
                return False
            self._outages = 0
            self._refusals += 1
            await self._halve(subjects, error)
            return False
        self._outages = self._refusals = 0
        await self._sort_out(subjects, texts)
        return True

    def _is_hopeless(self) -> bool:
        return self._outages >= MOST_OUTAGES or self._refusals >= MOST_REFUSALS

    async def _halve(self, subjects: Sequence[Subject], error: ServiceError) -> None:
        if len(subjects) == 1:
            self._fail(subjects, error)
            return
        self._last_error = error
        middle = len(subjects) // 2
        await self.embed(subjects[:middle])
        await self.embed(subjects[middle:])

    async def _sort_out(self, subjects: Sequence[Subject], texts: Sequence[EmbeddedText | None]) -> None:
        pairs = list(zip(subjects, texts, strict=True))
        self._fail(
            [one for one, text in pairs if text is None],
            ProviderUnavailable("the model gave no usable vector for this text"),
        )
        await self._keep([(one, text) for one, text in pairs if text is not None])

    def _fail(self, subjects: Sequence[Subject], error: ServiceError) -> None:
        self._last_error = error
        self.failed.update((one.subject_id, error) for one in subjects)
