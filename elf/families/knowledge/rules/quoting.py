"""The words of episodes that a memory was drawn from, as they were said."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

_END: Final = re.compile(r"(?<=[.!?])\s+|\n+")
_SPEAKER: Final = re.compile(r"^\s*(?:user|assistant|human|ai)\s*:\s*", re.IGNORECASE)
_FEWEST_WORDS: Final = 3
"""Fewer stand in many other sentences, too."""


def quotes_of_episode(content: str) -> list[str]:
    """Return the whole of an episode and each of its sentences, without who speaks."""
    return list(dict.fromkeys([content.strip(), *_sentences(content)]))


def quotes_of(content: str, episodes: Iterable[str]) -> list[str]:
    """Return the sentences of episodes that hold what a fact or a rule says, in any case."""
    said = content.strip().rstrip(".!?").casefold()
    found = (one for episode in episodes for one in _sentences(episode) if said in one.casefold())
    return list(dict.fromkeys(found)) if said else []


def _sentences(text: str) -> Iterator[str]:
    for part in _END.split(text):
        sentence = _SPEAKER.sub("", part).strip()
        if len(sentence.split()) >= _FEWEST_WORDS:
            yield sentence
