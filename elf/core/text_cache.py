"""Keeping what was made of texts: a number of results, and none of a long text, so that their bytes are bounded too."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, wraps
from typing import TypeVar

T = TypeVar("T")


def text_cache(*, max_texts: int, max_chars: int) -> Callable[[Callable[[str], T]], Callable[[str], T]]:
    """Have a function of a text keep its results for the `max_texts` used last, of those of up to `max_chars`."""

    def decorate(function: Callable[[str], T]) -> Callable[[str], T]:
        kept = lru_cache(max_texts)(function)

        @wraps(function)
        def call(text: str) -> T:
            return kept(text) if len(text) <= max_chars else function(text)

        return call

    return decorate
