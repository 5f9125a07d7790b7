"""Opens what takes candidates out of texts, as the config says: with a language model, or by the rules alone."""

from __future__ import annotations

from typing import Final

from elf.families.graph.extraction.chat import TextExtractor
from elf.providers.port import Chat
from elf.search.breaker import CircuitBreaker
from elf.search.guards import GuardedChat

OPEN_S: Final = 60.0
"""A text does as well without the model, so one that is away is asked once a minute."""


def text_extractor(chat: Chat | None) -> TextExtractor:
    """Return the extractor of a process; `chat` is its language model, None where the rules have to do."""
    if chat is None:
        return TextExtractor(None)
    breaker = CircuitBreaker("extraction of the graph", open_s=OPEN_S, longest_open_s=OPEN_S)
    return TextExtractor(GuardedChat(chat, breaker))
