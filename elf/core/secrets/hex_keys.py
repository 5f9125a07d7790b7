"""Keys of 256 bits and more written as hexadecimal digits, told from digests by the words around them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from elf.core.secrets.detector import Detector
from elf.core.secrets.finding import SecretFinding
from elf.core.secrets.folding import lower

_RUN: Final = re.compile(r"[0-9a-f](?<![0-9a-wyz].)[0-9a-f]{63}(?:[0-9a-f]{64})?(?![0-9a-z])")
_SHORTEST: Final = 64
_FEWEST_DIFFERENT: Final = 6  # fewer are zeros or a pattern

_DIGEST: Final = frozenset(
    [
        "sha",
        "digest",
        "hash",
        "hashed",
        "hashes",
        "checksum",
        "checksums",
        "integrity",
        "fingerprint",
        "sum",
        "blake",
        "keccak",
        "md",
    ]
)
_PUBLIC: Final = _DIGEST | frozenset(
    """
    commit commits image images etag tx txn txid transaction transactions block blocks trace traces span spans merkle
    blob blobs object objects layer layers build builds git tree cid revision rev request requests
    correlation container containers volume snapshot manifest release download file files artifact package certificate
    thumbprint nonce header headers address addresses contract signature signatures topic event events root salt http
    https docker version pin lock pubkey pub public node leaf parent
    """.split()  # noqa: SIM905 - a list of so many quoted words is harder to read
)
_SECRET: Final = frozenset(
    """
    key keys wallet wallets private priv privkey signing sign signer encryption encrypt encrypted decryption decrypt
    seed seeds secret secrets master token tokens credential credentials password passphrase rotate rotated leaked leak
    environment env account accounts login api hmac aes cipher vault unlock unseal metamask ledger hex auth
    authentication authorization paste pasted mnemonic xprv
    """.split()  # noqa: SIM905 - a list of so many quoted words is harder to read
)
_DIGEST_ENDINGS: Final = ("hash", "digest", "sum", "commit")
_SECRET_ENDINGS: Final = ("key", "secret", "token", "password")
# A key that is no secret.
_PUBLIC_KEY_OF: Final = frozenset(
    [
        "public",
        "pub",
        "cache",
        "primary",
        "partition",
        "object",
        "idempotency",
        "foreign",
        "sort",
        "routing",
        "row",
        "map",
    ]
)
# What makes digests of the lines below it.
_LISTING: Final = _DIGEST | {"docker", "podman", "image", "container"}
_WORDS: Final = re.compile(r"[a-z]+")
_REACH_BEFORE: Final = 80
_REACH_AFTER: Final = 40
_CLAUSE: Final = re.compile(r"[\n;]|[.!?,](?=\s)|(?<=\s)[|-](?=\s)")
# Alone: nothing in the clause but a label, a list's mark and quotes.
_ALONE_BEFORE: Final = re.compile(r"[\s>*+#-]*(?:[\"'`]?[\w .-]{1,40}[\"'`]?\s{0,4}[:=])?[\s\"'`({\[<]*")
_ALONE_AFTER: Final = re.compile(r"[\"'`)}\]>]{0,4}(?:[.,!?]?[ \t\r]{0,4}(?:\n|$)|[.!?,]\s|;|\s[|-]\s)")
_OTHER_RUN: Final = re.compile(r"[0-9a-f]{32,}")
_LONGEST_LABEL: Final = 64
_FEWEST_OF_A_LIST: Final = 3  # so many on lines of their own are a list of digests


def _find_hex_keys(text: str, lowered: str) -> Iterator[SecretFinding]:
    """Yield runs of 64 or 128 hexadecimal digits that are called a key, or that stand for themselves.

    The nearest word decides: "commit", "image" and "transaction" make a digest of it, "key", "wallet" and "seed" a
    secret. Without either it is a secret where it is all there is.
    """
    alone: list[SecretFinding] = []
    for match in _RUN.finditer(lowered):
        start = match.start() - 2 if lowered.startswith("0x", match.start() - 2) else match.start()
        if len(set(match.group())) < _FEWEST_DIFFERENT or lowered[start - 1 : start].isalnum():
            continue
        finding = SecretFinding("hex_key", start, match.end())
        is_secret = _is_called_secret(finding.start, finding.end, lowered)
        if is_secret:
            yield finding
        elif is_secret is None and _is_alone(finding.start, finding.end, lowered):
            alone.append(finding)
    if len(alone) < _FEWEST_OF_A_LIST:
        yield from alone


def names_digest(context: str) -> bool:
    """Tell whether hexadecimal digits right behind a text are taken for a digest."""
    return _meaning(_WORDS.findall(lower(context)[-_REACH_BEFORE:])) is False


def may_hold_hex_key(text: str) -> bool:
    """Tell whether a text has as many hexadecimal digits in a row as a key. What stands before it can excuse them."""
    return len(text) >= _SHORTEST and _RUN.search(lower(text)) is not None


def _is_called_secret(start: int, end: int, lowered: str) -> bool | None:
    """Return whether the nearest word before, or else behind, speaks of a secret; None when no word tells."""
    before = _CLAUSE.split(lowered[max(0, start - _REACH_BEFORE) : start])[-1]
    after = _CLAUSE.split(lowered[end : end + _REACH_AFTER], maxsplit=1)[0]
    if "://" in before.rpartition(" ")[2]:
        return False
    meaning = _meaning(_WORDS.findall(before))
    return _meaning(_WORDS.findall(after)[::-1]) if meaning is None else meaning


def _meaning(words: list[str]) -> bool | None:
    """Return whether the last telling word is a secret's. A digest's name excuses what follows it in the clause."""
    if any(word in _DIGEST or word.endswith(_DIGEST_ENDINGS) for word in words):
        return False
    for place in range(len(words) - 1, -1, -1):
        word = words[place]
        if word in ("key", "keys") and place and words[place - 1] in _PUBLIC_KEY_OF:
            return False
        if word in _SECRET or word.endswith(_SECRET_ENDINGS):
            return True
        if word in _PUBLIC:
            return False
    return None


def _is_alone(start: int, end: int, lowered: str) -> bool:
    before = _WORDS.findall(_OTHER_RUN.split(lowered[max(0, start - _REACH_BEFORE) : start])[-1])
    if any(map(_LISTING.__contains__, before)):  # on the line above, as in `"alg": "SHA-256"`
        return False
    head = lowered[max(0, start - _LONGEST_LABEL) : start]
    clause = _CLAUSE.split(head)[-1]
    if clause == head and start > _LONGEST_LABEL:
        return False
    return _ALONE_BEFORE.fullmatch(clause) is not None and _ALONE_AFTER.match(lowered, end) is not None


HEX_KEYS: Final = Detector(_find_hex_keys, word=_SHORTEST)
