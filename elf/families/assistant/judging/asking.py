"""Asks a language model about pairs of memories that rules are not sure of."""

from __future__ import annotations

from collections.abc import Sequence

from elf.families.assistant.judging.prompt import MOST_PAIRS, PAIRS, Pair, Told, in_order, pairs_prompt
from elf.providers.port import Chat


async def told_of(pairs: Sequence[Pair], chat: Chat) -> list[Told]:
    """Return what the model says of up to MOST_PAIRS pairs in their order, by one question; `text` is as it came.

    Raises ProviderUnavailable as the model does.
    """
    assert len(pairs) <= MOST_PAIRS, "more pairs need more questions"
    return in_order(await chat.ask(pairs_prompt(pairs), PAIRS), len(pairs))
