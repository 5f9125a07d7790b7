"""Finds the secrets of a text: all detectors over the folded text, overlaps merged."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Final

from elf.core.secrets.addresses import find_addresses
from elf.core.secrets.assignments import find_assignments, may_begin_pair
from elf.core.secrets.connections import find_connections
from elf.core.secrets.finding import Detector, SecretFinding
from elf.core.secrets.folding import fold, lower
from elf.core.secrets.id_numbers import find_id_numbers
from elf.core.secrets.phrases import find_seed_phrases
from elf.core.secrets.tokens import find_tokens, is_public_after

# Where findings overlap the earlier detector names the kind: the shape of a token says more than its
# surroundings.
_DETECTORS: Final[tuple[Detector, ...]] = (
    find_tokens,
    find_connections,
    find_seed_phrases,
    find_id_numbers,
    find_assignments,
    find_addresses,
)

PLACEHOLDER: Final = re.compile(r"\[REDACTED:[a-z_]+\]")
"""What `redact` writes. Nothing within one is searched, and no finding reaches across one."""

_PLAIN_NAME: Final = re.compile(r"(?=.{1,20}$)[a-z]{1,9}(?:_[a-z]{1,9})*(?:_\d{1,4})?")


def find_secret(text: str) -> SecretFinding | None:
    """Return the first secret or personal number in a text, or None."""
    return next(iter(find_secrets(text)), None)


def find_secrets(text: str) -> list[SecretFinding]:
    """Return all secrets and personal numbers in a text, in order, without overlap."""
    if "[REDACTED:" not in text:
        return _scan(text, 0)
    return [
        finding for start, end in _between_placeholders(text) for finding in _scan(text[start:end], start)
    ]


def is_clean(context: str, text: str) -> bool:
    """Tell whether a text holds no secret, neither read alone nor after `context`. May be wrong by saying no.

    What stands before a text adds to what is found in it, so one look at both will do; unless the context can excuse a
    secret (a digest's name) or use up the words that betray it (a login's), which is not looked into here.
    """
    return not _may_hide(context) and not find_secrets(context + text)


@lru_cache(maxsize=1024)
def _may_hide(context: str) -> bool:
    plain = fold(context).text
    return is_public_after(plain) or may_begin_pair(lower(plain))


def is_plain_name(name: str) -> bool:
    """Tell whether a name is a few short words and a small number, as most keys are: no secret is like that."""
    return not name or _PLAIN_NAME.fullmatch(name) is not None


def _between_placeholders(text: str) -> Iterator[tuple[int, int]]:
    start = 0
    for placeholder in PLACEHOLDER.finditer(text):
        yield start, placeholder.start()
        start = placeholder.end()
    yield start, len(text)


def _scan(text: str, offset: int) -> list[SecretFinding]:
    folded = fold(text)
    ranked = [(found, rank) for rank, detect in enumerate(_DETECTORS) for found in detect(folded.text)]
    if not ranked:
        return []
    return [
        SecretFinding(kind, start + offset, end + offset)
        for kind, span in _merged(ranked)
        for start, end in (folded.original(*span),)
    ]


def _merged(ranked: list[tuple[SecretFinding, int]]) -> list[tuple[str, tuple[int, int]]]:
    """Return kind and span of the findings in order, each cluster of overlapping ones as one: the best rank names
    the kind, among equals the first, as a detector's rules stand from the special to the general.
    """
    clusters: list[tuple[int, str, int, int]] = []
    for found, rank in sorted(ranked, key=lambda pair: (pair[0].start, pair[1])):
        if clusters and found.start < clusters[-1][3]:
            best, kind, start, end = clusters[-1]
            if rank < best:
                best, kind = rank, found.kind
            clusters[-1] = (best, kind, start, max(end, found.end))
        else:
            clusters.append((rank, found.kind, found.start, found.end))
    return [(kind, (start, end)) for _, kind, start, end in clusters]
