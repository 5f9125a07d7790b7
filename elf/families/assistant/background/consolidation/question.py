"""How pairs of memories are put to a language model once a day: one question for several, at a price known before."""

from __future__ import annotations

from collections.abc import Sequence

from elf.core.chunking import TokenCounter, counting_tokens
from elf.core.slices import Slices
from elf.families.assistant.background.answers import object_in
from elf.families.assistant.background.consolidation.likeness import Pair
from elf.families.assistant.judging.prompt import MOST_PAIRS, PAIRS, Told, pairs_prompt
from elf.families.assistant.judging.prompt import Pair as Texts
from elf.providers.port import Prompt


def question(pairs: Sequence[Pair]) -> Prompt:
    """Return the question about pairs, of which there are at most MOST_PAIRS."""
    return pairs_prompt([Texts(pair.newer.text, pair.older.text) for pair in pairs])


def tokens_of(prompt: Prompt, tokens: TokenCounter) -> Slices[int]:
    """Return how many tokens a question and its answer have at most."""
    assert prompt.max_tokens is not None, "a question about pairs is bounded"
    asked = 0
    for text in (prompt.system, prompt.user):
        asked += yield from counting_tokens(text, tokens)
    return asked + prompt.max_tokens


def in_questions(pairs: Sequence[Pair]) -> list[Sequence[Pair]]:
    """Return pairs in as few questions as can be, all of nearly one length: of 5 to 10 where there are 5."""
    count = -(-len(pairs) // MOST_PAIRS)
    return [pairs[len(pairs) * place // count : len(pairs) * (place + 1) // count] for place in range(count)]


def read_answers(text: str, pairs: Sequence[Pair]) -> list[Told | None]:
    """Return what an answer says of each pair, in their order; None where that cannot be read."""
    try:
        told = PAIRS.read(object_in(text))
    except ValueError:
        told = {}
    return [told.get(number) for number in range(1, len(pairs) + 1)]
