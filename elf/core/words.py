"""Which of a query's own words a result holds: `matched_terms` and `matched_fields` of a search answer."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

import Stemmer

MAX_TERMS: Final = 8

_WORD: Final = re.compile(r"[^\W_]+(?:['\u2019][^\W_]+)*")
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


class TermMatcher:
    """Compares one query with many results; the query is stemmed once. Not to be shared between threads.

    Words are runs of letters and digits: a key such as `preferred_language` is two words. Two words are the
    same when their English Snowball stems are.
    """

    def __init__(self, query: str) -> None:
        self._stemmer = Stemmer.Stemmer("english")
        self._terms: dict[str, str] = {}
        words = [word for word in _words(query) if word.lower() not in _STOP_WORDS]
        for word, stem in zip(words, self._stems(words), strict=True):
            self._terms.setdefault(stem, word)

    def matched_terms(self, snippet: str, key: str | None, limit: int = MAX_TERMS) -> list[str]:
        """Return the query's words, as written and in its order, that occur in the snippet or the key."""
        present = self._present(snippet) | self._present(key)
        return [word for stem, word in self._terms.items() if stem in present][:limit]

    def matched_fields(self, text: str, key: str | None) -> list[str]:
        """Return which of "key" and "text" hold a word of the query, sorted."""
        return [name for name, field in (("key", key), ("text", text)) if self._present(field)]

    def _present(self, text: str | None) -> set[str]:
        if not text or not self._terms:
            return set()
        return self._terms.keys() & set(self._stems(list(_words(text))))

    def _stems(self, words: list[str]) -> list[str]:
        stems: list[str] = self._stemmer.stemWords([word.lower() for word in words])
        return stems


def _words(text: str) -> Iterator[str]:
    """Yield the words of a text as written, possessive and contracted endings left off ("Ann's" is "Ann")."""
    for match in _WORD.finditer(text):
        word = match.group()
        yield word if word.isalnum() or word.lower() in _STOP_WORDS else _ENDING.sub("", word)


def matched_terms(query: str, snippet: str, key: str | None, limit: int = MAX_TERMS) -> list[str]:
    """Return up to `limit` of the query's own words that occur in the snippet or key, stop words left out."""
    return TermMatcher(query).matched_terms(snippet, key, limit)


def matched_fields(query: str, text: str, key: str | None) -> list[str]:
    """Return which of "key" and "text" hold a word of the query, sorted."""
    return TermMatcher(query).matched_fields(text, key)
