"""Seed phrases: the words that hold the keys of a wallet (BIP-39)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import Final

from mnemonic import Mnemonic

from elf.core.secrets.finding import SecretFinding
from elf.core.secrets.folding import lower

SHORTEST: Final = 12
_SHORTEST_CHARS: Final = SHORTEST * 3 + SHORTEST - 1  # no word of the list is shorter than three letters
_RUN: Final = b"\x01" * SHORTEST

_WORD: Final = re.compile(r"[a-z]+")
_WIDEST_GAP: Final = 12  # between two words: a comma, a line break, a number such as " 12. "


def find_seed_phrases(text: str) -> Iterator[SecretFinding]:
    """Yield every run of at least 12 words that are all of the English list, whatever stands between them.

    The checksum is not asked for: prose hardly ever strings twelve of these words together, and a phrase with
    a mistyped word still gives most of a key away.
    """
    if len(text) < _SHORTEST_CHARS:
        return
    lowered = lower(text)
    vocabulary = _vocabulary()
    words = _WORD.findall(lowered)
    if _RUN not in bytes(map(vocabulary.__contains__, words)):
        return
    run: list[tuple[int, int]] = []
    for match in _WORD.finditer(lowered):
        if match.group() in vocabulary and (not run or match.start() - run[-1][1] <= _WIDEST_GAP):
            run.append(match.span())
            continue
        yield from _phrase(run)
        run = [match.span()] if match.group() in vocabulary else []
    yield from _phrase(run)


def _phrase(run: list[tuple[int, int]]) -> Iterator[SecretFinding]:
    if len(run) >= SHORTEST:
        yield SecretFinding("seed_phrase", run[0][0], run[-1][1])


@cache
def _vocabulary() -> frozenset[str]:
    return frozenset(Mnemonic("english").wordlist)
