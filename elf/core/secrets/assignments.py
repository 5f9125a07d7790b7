"""Secrets that betray themselves by the words around them: `password: ...`, `api_key=...`, "... is my password".

A keyword is found first; what follows decides. The more a connector looks like an assignment, the less the
value has to look like a secret: after `=` an ordinary word counts, after "is" it must not be an adjective,
with nothing but a space between it must mix letters and digits. "the token limit is 4096" has no value right
after its keyword, and "password policy: 12 characters" neither.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from types import MappingProxyType
from typing import Final

from elf.core.secrets.finding import SecretFinding
from elf.core.secrets.folding import lower
from elf.core.secrets.values import (
    Link,
    is_mixed,
    is_password,
    is_pin,
    is_placeholder,
    is_random,
    passphrase_at,
)

# All but `_VALUE` are matched against the text in lower case, which keeps every character in its place.
_KEYWORD: Final = re.compile(
    r"(?P<password>pass[ -]?(?:w[o0]rd|code|phrase)s?|passwd|passwort|psswd|(?<![a-z])(?:pass|pwd?)(?![a-z]))"
    r"|(?P<pin>(?<![a-z])pin(?![a-z])(?: number)?)"
    r"|(?P<key>key|token|secret|credential|(?<![a-z])(?:pat|sig)(?![a-z]))(?![a-rt-z])"
)
_CORES: Final = ("pass", "pw", "psswd", "pin", "key", "token", "secret", "credential", "pat", "sig")
# A bare "key" opens doors, data bases and musical pieces; with one of these before it, it is a secret.
_KEY_OF: Final = re.compile(
    r"(?:api|app|application|access|auth|authentication|secret|private|encryption|decryption|signing|signature|master"
    r"|service|account|client|consumer|webhook|deploy|storage|subscription|admin|root|shared|session|personal|project"
    r"|license|function|bot|host|recovery|backup|wallet|ssh|wi-?fi|network|security|rest|live|test|prod|production)"
    r"(?:[ _.-]?(?:api|access|secret))?[ _.-]?$"
)
_REACH: Final = 96
_AFTER_KEYWORD: Final = re.compile(r"['\"`\]*_)]{0,3}(?: ?\([^()\n]{1,24}\))?")
# What a password is for, within one sentence: "to the bank", "of Dr. Smith".
_ABOUT: Final = re.compile(
    r"\s+(?:for|to|of|on|at|in|i use for)(?:[ \t]+(?:[a-z]{1,4}\.|[\w'@/-]+(?:\.[\w'@/-]+)*)){1,5}?"
    r"(?=\s+(?:is|was)\b|\s*[:=])"
)
# After one of these "to" brings the value: "changed her password to ...".
_CHANGING: Final = re.compile(r"\b(?:chang|reset|set|updat|switch|rotat)\w*\s+(?:[\w']+\s+){0,3}$")
_ASSIGNED: Final = re.compile(r"\s*(?:=>|:=|={1,3}|:|->|\u2192)\s*(?:(?:is|was)\s+)?")
_STATED: Final = re.compile(
    r"\s*,?\s+(?:(?:is |was |has been |got )?(?:re)?(?:set|changed|updated)(?: it)? to|is|was|are|will be|would be"
    r"|remains|equals|became|to|as|-{1,2})(?:\s+(?:now|still|just|currently|simply|always|actually))?\s*:?\s+"
)
_BESIDE: Final = re.compile(r"[ \t]+")
_LINKS: Final = ((Link.ASSIGNED, _ASSIGNED), (Link.STATED, _STATED), (Link.BESIDE, _BESIDE))
_FOLLOWING: Final = 256
_SHORTEST_KEY: Final = MappingProxyType({Link.ASSIGNED: 8, Link.STATED: 10, Link.BESIDE: 16})

_VALUE: Final = re.compile(
    r"""(?P<quote>["'`])(?P<quoted>(?:(?!(?P=quote)|\n).){1,200})(?P=quote)(?![A-Za-z0-9])"""
    r"""|["'`]?(?P<plain>(?:(?!&\w+=|;\s|;$|;\w[\w ]*=)\S){1,400})"""
)
_VALUE_BEFORE: Final = re.compile(
    r"(?<!\S)['\"`]?(?P<value>[^\s'\"`,;:]{5,64})['\"`]?,?\s+(?:is|was|as|for|=)\s+(?:my|our|the|his|her|their|your|a|its)"
    r"\s+(?:[\w'.-]+\s+){0,3}$"
)
_TRAILING: Final = ".,:;!?)]}\"'`*"

_HEADER_HINTS: Final = ("bearer", "basic", "ssws")
_HEADER: Final = re.compile(r"\b(?:bearer|basic|ssws)\s+(?P<value>[a-z0-9._~+/-]{12,}={0,2})")
_PAIR_HINTS: Final = ("cred", "login", "log in", "user", "-u ")
_PAIR: Final = re.compile(
    r"(?:\b(?:creds?|credentials?|logins?|log in|user(?:name)?\s?[/:&]\s?pass(?:word)?)|(?<!\S)(?:-u|--user))\b"
    r"(?:\s*(?:is|are|was|with|as|details|:|=))*\s*['\"]?"
    r"[\w.@+-]{2,64}\s?[:/]\s?(?P<value>[^\s'\"/]{4,64})"
)


def find_assignments(text: str) -> Iterator[SecretFinding]:
    """Yield the values given to passwords, PINs, keys and tokens, and those of authorization headers."""
    lowered = lower(text)
    keywords = _KEYWORD.finditer(lowered) if any(map(lowered.__contains__, _CORES)) else ()
    for keyword in keywords:
        before = lowered[max(0, keyword.start() - _REACH) : keyword.start()]
        if keyword["key"] != "key" or _KEY_OF.search(before):
            for position in _value_positions(keyword, before, lowered):
                yield from _value_at(position, keyword, text, lowered)
        if keyword["password"] is not None:
            yield from _value_before(before, keyword.start() - len(before), text)
    if any(map(lowered.__contains__, _HEADER_HINTS)):
        yield from _find_headers(text, lowered)
    if may_begin_pair(lowered):
        yield from _find_pairs(text, lowered)


def may_begin_pair(lowered: str) -> bool:
    """Tell whether a text in lower case may hold the first word of a pair of a name and a password."""
    return any(map(lowered.__contains__, _PAIR_HINTS))


def _find_headers(text: str, lowered: str) -> Iterator[SecretFinding]:
    for match in _HEADER.finditer(lowered):
        start, end = match.span("value")
        if is_random(text[start:end], shortest=12):
            yield SecretFinding("credential", start, end)


def _find_pairs(text: str, lowered: str) -> Iterator[SecretFinding]:
    for match in _PAIR.finditer(lowered):
        start, end = match.span("value")
        value = text[start:end].rstrip(_TRAILING)
        if is_mixed(value) and not is_placeholder(value):
            yield SecretFinding("password", start, start + len(value))


def _value_positions(keyword: re.Match[str], before: str, lowered: str) -> set[int]:
    """Return where a connector and a value may follow the keyword."""
    direct = _skip(_AFTER_KEYWORD, lowered, keyword.end())
    behind_purpose = _skip(_ABOUT, lowered, direct)
    return {direct, behind_purpose} if _CHANGING.search(before) else {behind_purpose}


def _value_at(position: int, keyword: re.Match[str], text: str, lowered: str) -> Iterator[SecretFinding]:
    for link, pattern in _LINKS:
        connector = pattern.match(lowered, position)
        if connector is not None:
            value = _VALUE.match(text, connector.end())
            if value is not None:
                yield from _judged(keyword, link, value, text)
            return


def _value_before(before: str, offset: int, text: str) -> Iterator[SecretFinding]:
    match = _VALUE_BEFORE.search(before)
    if match is not None:
        start, end = (offset + place for place in match.span("value"))
        value = text[start:end]
        if is_mixed(value) and is_password(value, Link.STATED, following=None) and not is_placeholder(value):
            yield SecretFinding("password", start, end)


def _judged(keyword: re.Match[str], link: Link, match: re.Match[str], text: str) -> Iterator[SecretFinding]:
    quoted = match["quoted"] is not None
    start = match.start("quoted" if quoted else "plain")
    value = match["quoted"] if quoted else match["plain"].rstrip(_TRAILING)
    if not value or is_placeholder(value) or is_placeholder(match.group()):
        return
    if keyword["pin"] is not None:
        kind, is_secret = "pin", link is not Link.BESIDE and is_pin(value)
    elif keyword["password"] is not None:
        phrase = passphrase_at(text, start) if link is Link.ASSIGNED and not quoted else None
        following = None if quoted else text[start + len(value) : start + len(value) + _FOLLOWING]
        kind, is_secret = "password", phrase is not None or is_password(value, link, following=following)
        value = phrase or value
        if len(keyword.group()) <= 4 and link is not Link.ASSIGNED:  # "pass" and "pw" are other words, too
            is_secret = is_secret and link is Link.STATED and len(value) >= 6 and is_mixed(value)
    else:
        kind, is_secret = "credential", is_random(value, shortest=_SHORTEST_KEY[link])
    if is_secret:
        yield SecretFinding(kind, start, start + len(value))


def _skip(pattern: re.Pattern[str], text: str, position: int) -> int:
    match = pattern.match(text, position)
    return position if match is None else match.end()
