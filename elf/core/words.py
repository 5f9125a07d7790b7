"""Which of a query's own words a result holds: `matched_terms` and `matched_fields` of a search answer."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

import Stemmer

MAX_TERMS: Final = 8
_MAX_KEPT_WORDS: Final = 10_000
_MAX_KEPT_CHARS: Final = 40  # of a word: no English one is longer, and what is may be as long as a text

_WORD: Final = re.compile(r"[^\W_]+(?:['\u2019][^\W_]+)*")
_APOSTROPHES: Final = ("'", "\u2019")
_ENDING: Final = re.compile(r"(?:n['\u2019]t|['\u2019](?:s|re|ve|ll|d|m))$", re.IGNORECASE)

_STOP_WORDS: Final = frozenset(
    """
    a about after again against all also am an and any are as at be because been before being below between
    both but by can cannot could did do does doing down during each either else ever every few for from
    further get got had has have having he her here hers herself him himself his how i if in into is it its
    itself just let many may me might mine more most much must my myself neither no nor not now of off on once
    one only or other ought our ours ourselves out over own please same shall she should so some such tell
    than that the their theirs them themselves then there these they this those though through to too under
    until up upon us very was we were what when where whether which while who whom whose why will with within
    without would yes yet you your yours yourself yourselves ain't can't shan't won't
    """.split()  # noqa: SIM905 - a list of 170 quoted words is harder to read
)


def without_stop_words(words: Iterable[str]) -> list[str]:
    """Return those of the words, in lower case, that say something of their own."""
    return [word for word in words if word not in _STOP_WORDS]


class TermMatch(NamedTuple):
    """`terms`: the query's words, as written and in its order, that a result holds; `fields`: where, sorted."""

    terms: list[str]
    fields: list[str]


class Stems:
    """English Snowball stems of words. Keeps a cache of words seen; not to be shared between threads."""

    def __init__(self) -> None:
        self._stemmer = Stemmer.Stemmer("english", _MAX_KEPT_WORDS)
        self._stemmer_of_long_words = Stemmer.Stemmer("english", 0)

    def of(self, words: Iterable[str]) -> list[str]:
        """Return the stem of each word, whatever its case."""
        lower = [word.lower() for word in words]
        is_kept = max(map(len, lower), default=0) <= _MAX_KEPT_CHARS
        stems: list[str] = (self._stemmer if is_kept else self._stemmer_of_long_words).stemWords(lower)
        return stems


class TermMatcher:
    """Compares one query with many results; the query is stemmed once.

    Words are runs of letters and digits: a key such as `preferred_language` is two words. Two words are the
    same when their stems are.
    """

    def __init__(self, query: str, stems: Stems) -> None:
        self._stems = stems
        self._terms: dict[str, str] = {}
        words = [word for word in words_of(query) if word.lower() not in _STOP_WORDS]
        for word, stem in zip(words, stems.of(words), strict=True):
            self._terms.setdefault(stem, word)
        self._beginnings = [(stem, beginning) for stem in self._terms for beginning in _beginnings(stem)]

    def match(self, text: str, key: str | None, limit: int = MAX_TERMS) -> TermMatch:
        """Return which words of the query, at most `limit`, the text or the key holds."""
        in_key, in_text = self._present(key), self._present(text)
        terms = [word for stem, word in self._terms.items() if stem in in_key or stem in in_text]
        return TermMatch(terms[:limit], ["key"] * bool(in_key) + ["text"] * bool(in_text))

    def _present(self, text: str | None) -> set[str]:
        if not text or not self._terms:
            return set()
        # A stem begins as its words do: where no word begins so, there is nothing to stem.
        lower = text.lower()
        return {stem for stem, beginning in self._beginnings if self._holds(lower, stem, beginning)}

    def _holds(self, text: str, stem: str, beginning: str) -> bool:
        place = text.find(beginning)
        while place >= 0:
            if not _is_within_word(text, place):
                word = _WORD.match(text, place)
                if word is not None and self._stems.of([_without_ending(word[0])]) == [stem]:
                    return True
            place = text.find(beginning, place + 1)
        return False


def _is_within_word(text: str, place: int) -> bool:
    before = text[place - 1 : place]
    return before.isalnum() or (before in _APOSTROPHES and text[place - 2 : place - 1].isalnum())


def _beginnings(stem: str) -> tuple[str, ...]:
    """Return what the words with this stem begin with: it but for its last letter, save dying, lying and tying."""
    if stem in ("die", "lie", "tie"):
        return stem[:2], stem[0] + "y"
    return (stem[: max(2, len(stem) - 1)],)


def words_of(text: str) -> Iterator[str]:
    """Yield the words of a text as written, possessive and contracted endings left off ("Ann's" is "Ann")."""
    return map(_without_ending, _WORD.findall(text))


def _without_ending(word: str) -> str:
    return word if word.isalnum() or word.lower() in _STOP_WORDS else _ENDING.sub("", word)
