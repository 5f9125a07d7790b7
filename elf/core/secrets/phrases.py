"""Seed phrases: the words that hold the keys of a wallet (BIP-39)."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from hashlib import sha256
from typing import Final

from mnemonic import Mnemonic

from elf.core.secrets.detector import Detector
from elf.core.secrets.finding import SecretFinding

SHORTEST: Final = 12
_LENGTHS: Final = range(SHORTEST, 25, 3)
_WORD_BITS: Final = 11
_SHORTEST_CHARS: Final = SHORTEST * 3 + SHORTEST - 1  # no word of the list is shorter than three letters
_RUN: Final = b"\x01" * SHORTEST

_WORD: Final = re.compile(r"[a-z]+")
_WIDEST_GAP: Final = 12  # between two words: a comma, a line break, a number such as " 12. "
_FEWEST_DIFFERENT: Final = 9  # of the shortest phrase; its words are drawn at random from 2048

# Words of the list that hold sentences together: a phrase drawn at random has hardly any.
_GRAMMAR: Final = frozenset(
    """
    about again all also always another any around ask away because become before begin below between can day during
    early either end enough few find first have into just keep kind know like little make more much must never now off
    often once one only open other over own same since soon still such sure tell that then there they thing this toward
    two under until upon use very want way what when where will you
    """.split()  # noqa: SIM905 - a list of so many quoted words is harder to read
)
_MOST_GRAMMAR: Final = 3  # of the shortest phrase
_NAMING: Final = re.compile(
    r"\b(?:seed|mnemonic|recovery|recover|wallet|passphrase|secret|backup|bip-?39|ledger|trezor|metamask)"
)
_REACH: Final = 80  # how far before and behind a phrase it may be named


def _find_seed_phrases(text: str, lowered: str) -> Iterator[SecretFinding]:
    """Yield every run of at least 12 different words that are all of the English list, whatever stands between.

    Unless it is named, some of its words must have a right checksum: lists of words and parts of sentences and
    programs are like a phrase otherwise. Named it need not, for a phrase with a mistyped word still gives most of
    a key away.
    """
    if len(text) < _SHORTEST_CHARS:
        return
    vocabulary = _vocabulary()
    words = _WORD.findall(lowered)
    # A run has one in every twelve of all words.
    if not any(map(vocabulary.__contains__, words[SHORTEST - 1 :: SHORTEST])):
        return
    if _RUN not in bytes(map(vocabulary.__contains__, words)):
        return
    run: list[tuple[int, int]] = []
    for match in _WORD.finditer(lowered):
        if match.group() in vocabulary and (not run or match.start() - run[-1][1] <= _WIDEST_GAP):
            run.append(match.span())
            continue
        yield from _phrase(run, lowered)
        run = [match.span()] if match.group() in vocabulary else []
    yield from _phrase(run, lowered)


def _phrase(run: list[tuple[int, int]], lowered: str) -> Iterator[SecretFinding]:
    if len(run) < SHORTEST:
        return
    words = [lowered[start:end] for start, end in run]
    start, end = run[0][0], run[-1][1]
    drawn = _drawn_at_random(words)
    if drawn and (_is_named(start, end, lowered) or any(_has_checksum(words, first) for first in drawn)):
        yield SecretFinding("seed_phrase", start, end)


def _drawn_at_random(words: list[str]) -> list[int]:
    """Return where the shortest phrases start whose words may be drawn at random: most differ, few are grammar."""
    counts = Counter(words[: SHORTEST - 1])
    grammar = sum(map(_GRAMMAR.__contains__, words[: SHORTEST - 1]))
    drawn = []
    for first, (old, new) in enumerate(zip(words, words[SHORTEST - 1 :], strict=False)):
        counts[new] += 1
        grammar += new in _GRAMMAR
        is_varied = len(counts) >= _FEWEST_DIFFERENT and grammar <= _MOST_GRAMMAR
        if is_varied and words[first : first + SHORTEST] != sorted(words[first : first + SHORTEST]):
            drawn.append(first)
        counts[old] -= 1
        grammar -= old in _GRAMMAR
        if counts[old] == 0:
            del counts[old]
    return drawn


def _is_named(start: int, end: int, lowered: str) -> bool:
    before, after = lowered[max(0, start - _REACH) : start], lowered[end : end + _REACH]
    return _NAMING.search(before) is not None or _NAMING.search(after) is not None


def _has_checksum(words: list[str], first: int) -> bool:
    """Tell whether a phrase of one of the lengths starts at a word, by the checksum in its last bits."""
    return any(_is_right(words[first : first + count]) for count in _LENGTHS if first + count <= len(words))


def _is_right(phrase: list[str]) -> bool:
    places = _vocabulary()
    bits = 0
    for word in phrase:
        bits = bits << _WORD_BITS | places[word]
    size = len(phrase) // 3
    entropy = (bits >> size).to_bytes(size * 4, "big")
    return bits & ((1 << size) - 1) == sha256(entropy).digest()[0] >> (8 - size)


@cache
def _vocabulary() -> dict[str, int]:
    return {word: place for place, word in enumerate(Mnemonic("english").wordlist)}


SEED_PHRASES: Final = Detector(_find_seed_phrases)
