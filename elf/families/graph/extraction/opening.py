"""Opens what takes candidates out of texts, as the config says: with a language model, or by the rules alone."""

from __future__ import annotations

from typing import Final

from elf.config.model import ChatProvider
from elf.families.graph.extraction.chat import TextExtractor
from elf.providers.port import Chat
from elf.search.breaker import CircuitBreaker
from elf.search.guards import GuardedChat

OPEN_S: Final = 60.0
"""A text does as well without the model, so one that is away is asked once a minute."""


def text_extractor(chat: Chat | None, provider: ChatProvider) -> TextExtractor:
    """Return the extractor of a process; `chat` is its model, None where it has none.

    One that is `local:` knows the extraction of notes alone: here the rules are asked themselves.
    """
    if chat is None or provider.is_local:
        return TextExtractor(None)
    breaker = CircuitBreaker("extraction of the graph", open_s=OPEN_S, longest_open_s=OPEN_S)
    return TextExtractor(GuardedChat(chat, breaker))
