"""Secrets that betray themselves by their shape: provider keys and tokens, private keys, long random runs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from elf.core.secrets.finding import SecretFinding
from elf.core.secrets.token_rules import RULES
from elf.core.secrets.values import changes_kind_often

_SHORTEST_TOKEN: Final = 16
_SHORTEST_OPAQUE: Final = 40
_FEWEST_DIFFERENT_CHARS: Final = 6  # fewer is a mask such as ghp_xxxxxxxx

_PEM_BEGIN: Final = re.compile(r"-{2,5} ?BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)? ?-{2,5}")
_PEM_END: Final = re.compile(r"-{2,5} ?END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)? ?-{2,5}")
_PEM_BODY: Final = re.compile(r"[A-Za-z0-9+/=\s\\:,-]*")

# A long run of letters and digits that no provider's rule knows. Web addresses and digests hold such runs, too.
_OPAQUE: Final = re.compile(
    rf"(?<![\w+/=.-])(?!sha\d{{1,3}}-|md5-)[A-Za-z0-9+/_-]{{{_SHORTEST_OPAQUE},}}={{0,2}}(?![\w+/=-])"
)
_PUBLIC_BEFORE: Final = re.compile(
    r"(?:://|www\.)\S*$|(?:sha\d{1,3}|md5|blake\w*|ssh-\w+|ecdsa-\S+|integrity|checksum)[-:= ]*$",
    re.IGNORECASE,
)
_REACH: Final = 256

_HINTS: Final = dict.fromkeys(hint for rule in RULES for hint in rule.hints)
_RULES_BY_HINT: Final = [
    (hint, [place for place, rule in enumerate(RULES) if hint in rule.hints]) for hint in _HINTS
]


def find_tokens(text: str) -> Iterator[SecretFinding]:
    """Yield every token whose shape is known, private keys in PEM, and long runs that look random."""
    if "PRIVATE" in text:
        yield from _find_pem(text)
    longest_word = max(map(len, text.split()), default=0)
    if longest_word >= _SHORTEST_TOKEN:
        yield from _find_known(text)
    if longest_word >= _SHORTEST_OPAQUE:
        yield from _find_opaque(text)


def _find_known(text: str) -> Iterator[SecretFinding]:
    hinted = {place for hint, places in _RULES_BY_HINT if hint in text for place in places}
    for rule in map(RULES.__getitem__, sorted(hinted)):
        for match in rule.pattern.finditer(text):
            if len(set(match.group()[4:])) >= _FEWEST_DIFFERENT_CHARS:
                yield SecretFinding(rule.kind, *match.span())


def is_public_after(text: str) -> bool:
    """Tell whether a long run right behind a text is taken for a digest or a part of a web address."""
    return _PUBLIC_BEFORE.search(text[-_REACH:]) is not None


def _find_pem(text: str) -> Iterator[SecretFinding]:
    """Yield each private key up to its last line; up to where its letters stop when it was cut off."""
    position = 0
    has_end = True
    while (begin := _PEM_BEGIN.search(text, position)) is not None:
        end = _PEM_END.search(text, begin.end()) if has_end else None
        has_end = end is not None
        stop = end or _PEM_BODY.match(text, begin.end())
        position = begin.end() if stop is None else stop.end()
        yield SecretFinding("private_key", begin.start(), position)


def _find_opaque(text: str) -> Iterator[SecretFinding]:
    for match in _OPAQUE.finditer(text):
        start, end = match.span()
        if changes_kind_often(match.group()) and not is_public_after(text[max(0, start - _REACH) : start]):
            yield SecretFinding("token", start, end)
