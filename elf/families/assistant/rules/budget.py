"""How many tokens an answer may have, counted as the embedding model counts them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, TypeVar

from elf.core.chunking import TokenCounter, counting_tokens
from elf.core.slices import Slices

T = TypeVar("T")

LEAST_TOKENS: Final = 4
"""No bullet has fewer: its category in brackets, and a word."""


class Budget:
    """The tokens of an answer. Each text counts with the line break that ends it."""

    def __init__(self, tokens: int, counter: TokenCounter) -> None:
        self.tokens = tokens
        self.used = 0
        self._counter = counter

    def take(self, text: str, *, most: int | None = None) -> Slices[bool]:
        """Take the tokens of a text and tell so, unless there would be more than `most`, or than there are."""
        left = min(self.tokens, self.tokens if most is None else most) - self.used
        tokens = yield from counting_tokens(f"{text}\n", self._counter, most=left)
        if tokens > left:
            return False
        self.used += tokens
        return True

    def is_full(self, *, most: int | None = None) -> bool:
        """Tell whether no bullet fits any more."""
        return min(self.tokens, self.tokens if most is None else most) - self.used < LEAST_TOKENS


def fitting(
    things: Sequence[T],
    text_of: Callable[[T], str],
    budget: Budget,
    *,
    count: int,
    may: Callable[[T, Sequence[T]], bool] = lambda _thing, _taken: True,
    most: int | None = None,
) -> Slices[list[T]]:
    """Take up to `count` things in their order; what does not fit is passed over.

    `may` tells whether one may join those that were taken, `most` is how much of the budget may be used then.
    """
    taken: list[T] = []
    for thing in things:
        if len(taken) == count or budget.is_full(most=most):
            break
        if may(thing, taken) and (yield from budget.take(text_of(thing), most=most)):
            taken.append(thing)
        yield
    return taken
