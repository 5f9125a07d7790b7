"""Secrets that betray themselves by their shape: provider keys and tokens, long random runs."""

from __future__ import annotations

import base64
import re
from bisect import bisect_right
from collections.abc import Iterator
from typing import Final

from elf.core.secrets.detector import Detector
from elf.core.secrets.finding import SecretFinding
from elf.core.secrets.samples import is_ciphertext
from elf.core.secrets.token_rules import RULES, TokenRule
from elf.core.secrets.values import changes_kind_often, is_identifier

_SHORTEST_TOKEN: Final = 16
_SHORTEST_OPAQUE: Final = 40
_FEWEST_DIFFERENT_CHARS: Final = 6  # fewer is a mask such as ghp_xxxxxxxx
_LONGEST_FRONT: Final = 80  # of what stands before the mark of a rule
_JUDGED: Final = 256  # so much of a long run tells what it is

# Words in the place of a token: sk-your-api-key, ghp_xxxxYOURTOKENxxxx.
_SAMPLE: Final = re.compile(r"your|place_?holder|replace|insert|dummy|x{4}|<|\.\.\.", re.IGNORECASE)

# A long run of letters and digits that no provider's rule knows. Web addresses and digests hold such runs, too.
_OPAQUE: Final = re.compile(
    rf"(?<![\w+/=.-])(?!sha\d{{1,3}}-|md5-|(?:0x)?[0-9A-Fa-f]+(?![\w+/=-]))[A-Za-z0-9+/_-]{{{_SHORTEST_OPAQUE},}}={{0,2}}(?![\w+/=-])"
)
_PUBLIC_BEFORE: Final = re.compile(
    r"(?:(?:sha\d{1,3}|md5|blake\w{0,8}|ssh-\w{1,16}|ecdsa-[\w-]{1,40}|integrity|checksum)[-:= ]{0,4}[\"']?|\bz?h1:"
    r"|;base64,|\b25[67] 3 \d{1,2} |,(?:iv|tag):|enc\[aes256_gcm,data:"
    # what anyone may see, by its name
    r"|(?<![a-z])(?:(?:public|pub|verif(?:y|ying|ication)|host|site|peer)[_ -]?key|peer|fingerprint|thumbprint"
    r"|digest|hash|etag|nonce|salt|signature|certificate|cert|ciphertext|cursor|challenge|commitment)"
    r"(?:[_ -](?:base64|b64|of \w{1,16}))?"
    r"[\"']?(?: is)?[ ]{0,4}[:=(]?[ ]{0,2}\[?[\"'`]?"
    r"|[\"'](?:x|y|n|x5c|x5t(?:\#s256)?)[\"']:[ ]{0,2}\[?[\"']"  # the numbers of a public key in JSON
    # the id of a request, a host, a trace: anything called an id but that of a session
    r"|(?<!session)(?<!session[-_ ])id[\"']?(?:>|[ ]{0,2}[:=][ ]{0,2}[\"']?))$",
    re.IGNORECASE,
)
# A line of an access log names its request somewhere.
_LOGGED_REQUEST: Final = re.compile(
    r"\b(?:GET|HEAD|POST|PUT|PATCH|DELETE|OPTIONS)\b[^\n]*[\s\"][1-5]\d\d\s[^\n]*$"
)
_CONTENT_ID: Final = re.compile(r"Qm[1-9A-HJ-NP-Za-km-z]{44}")  # of a file in IPFS
_ACCOUNT: Final = re.compile(r"[1-9A-HJ-NP-Za-km-z]{43,44}")  # of a block chain, where it is called such
_ACCOUNT_BEFORE: Final = re.compile(
    r"\b(?:program|mint|address|owner|account|authority|validator)\b[\"'`:= ]{1,4}$", re.IGNORECASE
)
_CHESS_BOARD: Final = re.compile(r"(?:[rnbqkpRNBQKP1-8]{1,8}/){7}[rnbqkpRNBQKP1-8]{1,8}")
_FEWEST_SPACES: Final = 3  # random bytes hold none among printable ones
_REACH: Final = 256
_REACH_OF_NAME: Final = 64
_ADDRESS_MARKS: Final = ("://", "www.")

# The armour of what anyone may see: certificates, public keys, signatures.
_ARMOUR: Final = re.compile(r"-{5}(BEGIN|END) (?!(?:[A-Z0-9]{1,16} ){0,3}PRIVATE)[A-Z0-9 ]{1,40}-{5}")


def _find_tokens(text: str, _lowered: str) -> Iterator[SecretFinding]:
    """Yield every token whose shape is known, and long runs that look random."""
    long_words = [word for word in text.split() if len(word) >= _SHORTEST_TOKEN]
    haystack = " ".join(long_words)
    for rule in RULES:
        for mark in rule.marks:
            if mark in haystack:
                yield from _find_marked(rule, mark, text)
    yield from _find_opaque([word for word in long_words if len(word) >= _SHORTEST_OPAQUE], text)


def is_public_after(text: str) -> bool:
    """Tell whether a long run right behind a text is taken for a digest or a part of a web address."""
    before = text[-_REACH:]
    words = before.split()
    in_word = bool(words) and before.endswith(words[-1]) and any(map(words[-1].__contains__, _ADDRESS_MARKS))
    return in_word or _PUBLIC_BEFORE.search(before[-_REACH_OF_NAME:]) is not None


def _find_marked(rule: TokenRule, mark: str, text: str) -> Iterator[SecretFinding]:
    position = text.find(mark)
    while position >= 0:
        after = position + len(mark)
        start = _start(rule, position, text)
        match = None if start is None else rule.behind.match(text, after)
        if start is not None and match is not None:
            if rule.before is not None:
                start = _front(rule.before, position, text)
            secret = match.group() if start == position else text[start or 0 : match.end()]
            if start is not None and _is_genuine(text[start : match.end()], secret):
                yield SecretFinding(rule.kind, start, match.end())
            after = match.end()
        position = text.find(mark, after if match is not None else position + 1)


def _start(rule: TokenRule, position: int, text: str) -> int | None:
    """Return where a token may start whose mark stands at `position`: not within a word, unless it has a front."""
    before = text[position - 1] if position else " "
    is_inside = before.isascii() and before.isalnum()
    return (
        position if is_inside is (rule.before is not None) or (rule.before and before in "-_+/~.") else None
    )


def _front(before: re.Pattern[str], position: int, text: str) -> int | None:
    match = before.search(text, max(0, position - _LONGEST_FRONT), position)
    return None if match is None else match.start()


def _is_genuine(token: str, secret: str) -> bool:
    """Tell whether a token is none of those in manuals: masked, of one character, or of plain words."""
    head = secret[:_JUDGED]
    if len(set(head)) < _FEWEST_DIFFERENT_CHARS or _SAMPLE.search(token[:_JUDGED]):
        return False
    return any(map(str.isdigit, head)) or not (head.islower() or head.isupper())


def _find_opaque(words: list[str], text: str) -> Iterator[SecretFinding]:
    """Yield the long runs within the words of a text, which are given in order."""
    armour = _armour(text)
    end = 0
    for word in words:
        start = text.find(word, end)
        end = start + len(word)
        for match in _OPAQUE.finditer(text, start, end):
            if _is_opaque(match, text) and bisect_right(armour, match.start()) % 2 == 0:
                yield SecretFinding("token", *match.span())


def _is_opaque(match: re.Match[str], text: str) -> bool:
    start = match.start()
    run = match.group()[:_JUDGED]
    if not changes_kind_often(run) or is_identifier(run) or _is_other(run):
        return False
    before = text[max(0, start - _REACH) : start]
    if _ACCOUNT.fullmatch(run) and _ACCOUNT_BEFORE.search(before[-_REACH_OF_NAME:]):
        return False
    return not is_public_after(before) and _LOGGED_REQUEST.search(before) is None


def _is_other(run: str) -> bool:
    """Tell whether a run that looks random is known to be something else."""
    is_known = _CHESS_BOARD.fullmatch(run) or _CONTENT_ID.fullmatch(run) or is_ciphertext(run)
    return bool(is_known) or _is_prose(run)


def _is_prose(run: str) -> bool:
    """Tell whether a run is words in base64."""
    try:
        decoded = base64.b64decode(run[: len(run) // 4 * 4], validate=True)
    except ValueError:
        return False
    return (
        decoded.count(b" ") >= _FEWEST_SPACES and decoded.isascii() and decoded.decode("ascii").isprintable()
    )


def _armour(text: str) -> list[int]:
    """Return where blocks of public armour begin and end, in turns."""
    places: list[int] = []
    if "-----BEGIN " in text:
        for line in _ARMOUR.finditer(text):
            if (line[1] == "BEGIN") is (len(places) % 2 == 0):
                places.append(line.end())
    return places


TOKENS: Final = Detector(_find_tokens, word=_SHORTEST_TOKEN)
