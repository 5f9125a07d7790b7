"""Finds the secrets of a text: all detectors over the folded text, overlaps merged."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from elf.core.secrets.addresses import ADDRESSES
from elf.core.secrets.assignments import ASSIGNMENTS
from elf.core.secrets.cards import CARDS
from elf.core.secrets.connections import CONNECTIONS
from elf.core.secrets.declarations import DECLARATIONS
from elf.core.secrets.detector import Detector, detect
from elf.core.secrets.documents import DOCUMENTS
from elf.core.secrets.european_addresses import EUROPEAN_ADDRESSES
from elf.core.secrets.finding import SecretFinding
from elf.core.secrets.folding import Folded, fold, lower
from elf.core.secrets.hex_keys import HEX_KEYS, may_hold_hex_key, names_digest
from elf.core.secrets.id_numbers import ID_NUMBERS
from elf.core.secrets.logins import LOGINS, may_begin_pair
from elf.core.secrets.phrases import SEED_PHRASES
from elf.core.secrets.placeholders import MARK, apart, joined
from elf.core.secrets.private_keys import PRIVATE_KEYS
from elf.core.secrets.tokens import TOKENS, is_public_after
from elf.core.secrets.values import is_mixed
from elf.core.text_cache import text_cache

# Where findings overlap the earlier detector names the kind: the shape of a token says more than its
# surroundings. Detectors of one rank are alike.
_RANKED: Final[tuple[tuple[Detector, ...], ...]] = (
    (PRIVATE_KEYS,),
    (TOKENS,),
    (CONNECTIONS,),
    (SEED_PHRASES,),
    ID_NUMBERS,
    (DOCUMENTS,),
    (CARDS,),
    (ASSIGNMENTS,),
    (LOGINS,),
    (DECLARATIONS,),
    (HEX_KEYS,),
    (ADDRESSES,),
    EUROPEAN_ADDRESSES,
)
DETECTORS: Final = tuple((rank, detector) for rank, alike in enumerate(_RANKED) for detector in alike)

# Words that, before a number or a run of letters, tell that it is something else. No more than a few characters of
# these stand in most names, so that most names cannot hide anything.
_HIDING: Final = re.compile(
    r"[$+#@\u20ac\xa3(\[{<=]|://|part|model|sku|order|item|catalog|ref|serial|invoice|ticket|form|lot|batch|product|case"
    r"|docket|track|version|build|fax|phone|tel|cas|isbn|code|section|article|\bpn\b|p/n|mpn|upc|rma|\bpo\b|parcel|shipment"
    r"|ean|gtin|imei|iccid|barcode|time|epoch|reading|measure|sample|value|data|score|count|sequence|series|vector|array"
    r"|lottery|temperature|pressure|speed|step|population|offset|seed|snowflake|hash|uid|guid|id\b|numbers"
    r"|inc\b|llc|ltd|gmbh|corp|foundation|copyright|begin|year|circa|summer|fall|spring|winter"
)
_PLAIN_NAME: Final = re.compile(r"(?=.{1,20}$)[a-z]{1,9}(?:_[a-z]{1,9})*(?:_\d{1,4})?")


def find_secret(text: str) -> SecretFinding | None:
    """Return the first secret or personal number in a text, or None."""
    return next(iter(find_secrets(text)), None)


def find_secrets(text: str) -> list[SecretFinding]:
    """Return all secrets and personal numbers in a text, in order, without overlap, in time linear in the text.

    What `redact` writes is no secret. But anyone can write the same, so what stands around it is read twice: as if
    a new text began behind it, and as if it was not there.
    """
    folded = fold(text)
    if MARK in folded.text.lower():
        ranked = [*_detect_in(apart(folded.text)), *_detect_across(joined(folded.text))]
    else:
        ranked = list(detect(DETECTORS, folded.text))
    return [SecretFinding(kind, *folded.original(start, end)) for kind, start, end in _merged(ranked)]


def is_clean(context: str, text: str) -> bool:
    """Tell whether a text holds no secret, neither read alone nor after `context`. May be wrong by saying no.

    What stands before a text adds to what is found in it, so one look at both will do; unless the context can
    excuse a secret or use up the words that betray it (a login's): then the text is looked at alone, too. Only a
    digest may be excused, by its name.
    """
    if find_secrets(context + text):
        return False
    if not _may_hide(context) and not may_hold_hex_key(text):
        return True
    is_digest = names_digest(context)
    return all(is_digest and finding.kind == "hex_key" for finding in find_secrets(text))


@text_cache(max_texts=1024, max_chars=128)  # the same names again and again
def _may_hide(context: str) -> bool:
    plain = lower(fold(context).text)
    return _HIDING.search(plain) is not None or is_public_after(plain) or may_begin_pair(plain)


def is_plain_name(name: str) -> bool:
    """Tell whether a name is a few short words and a small number, as most keys are: no secret is like that."""
    return not name or _PLAIN_NAME.fullmatch(name) is not None


_Ranked = tuple[SecretFinding, int]


def _detect_in(read: Folded) -> Iterator[_Ranked]:
    for finding, rank in detect(DETECTORS, read.text):
        yield SecretFinding(finding.kind, *read.original(finding.start, finding.end)), rank


def _detect_across(read: Folded) -> Iterator[_Ranked]:
    """Yield what is found when a placeholder is not there; plain words behind one are no password."""
    for finding, rank in detect(DETECTORS, read.text):
        value = read.text[finding.start : finding.end]
        if finding.kind != "password" or is_mixed(value) or value.isdecimal():
            yield SecretFinding(finding.kind, *read.original(finding.start, finding.end)), rank


def _merged(ranked: list[_Ranked]) -> list[tuple[str, int, int]]:
    """Return kind, start and end of the findings in order, each cluster of overlapping ones as one: the best rank
    names the kind, among equals the first, as a detector's rules stand from the special to the general.
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
    return [(kind, start, end) for _, kind, start, end in clusters]
