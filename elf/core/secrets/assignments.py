"""Secrets that betray themselves by the words before them: `password: ...`, `api_key=...`, "the PIN is ...".

A keyword is found first; what follows decides. The more a connector looks like an assignment, the less the
value has to look like a secret: after `=` an ordinary word counts, after "is" it must not be an adjective,
with nothing but a space between it must mix letters and digits. "the token limit is 4096" has no value right
after its keyword, and "password policy: 12 characters" neither. In a program only a literal is a value: a name, a
call and a type say nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from types import MappingProxyType
from typing import Final

from elf.core.secrets.detector import Detector, any_of
from elf.core.secrets.finding import SecretFinding
from elf.core.secrets.keywords import MARKS, Keyword, find_keywords
from elf.core.secrets.places import matches_at
from elf.core.secrets.programs import begins_block, is_chosen, is_in_program
from elf.core.secrets.samples import is_placeholder, is_stand_in
from elf.core.secrets.told import told_value
from elf.core.secrets.values import (
    Link,
    is_expression,
    is_identifier,
    is_mixed,
    is_password,
    is_pin,
    is_random,
    is_variable,
    passphrase_at,
)

# All but `_VALUE` are matched against the text in lower case, which keeps every character in its place.
_REACH: Final = 96
_CLOSING: Final = re.compile(r"['\"`\]*_]{0,4}(?: ?\([^()\n]{1,24}\))?")
_PARENTHESIS: Final = re.compile(r"\)[*_]{0,2}(?=:[ \t])")
_OPENED: Final = re.compile(r"(?:^|\s)\([^(),\n]*$")
# What a password is for, within one sentence: "to the bank", "of Dr. Smith".
_ABOUT: Final = re.compile(
    r"\s{1,4}(?:for|to|of|on|at|in|i use for|du|de|del|della|f(?:\u00fc|ue)r|vom|zum)"
    r"(?:[ \t]{1,4}(?:[a-z]{1,4}\.|[\w'@/-]{1,40}+(?:\.[\w'@/-]{1,40}+){0,4}+)){1,5}?"
    r"(?=\s{1,4}(?:is|was|lautet|ist|est|es)\b|\s{0,4}[:=])"
)
# After one of these "to" brings the value: "changed her password to ...".
_CHANGING: Final = re.compile(r"\b(?:chang|reset|set|updat|switch|rotat)\w*\s+(?:[\w']+\s+){0,3}$")
_ASSIGNED: Final = re.compile(
    r"[ \t]{0,16}(?P<sign>=>|:=|={1,3}|:|->|\u2192)(?:\*\*|__)?[ \t]{0,40}(?P<line>\r?\n[ \t]{0,40})?"
    r"(?:(?:is|was)\s{1,4})?"
)
_STATED: Final = re.compile(
    r"\s{0,4},?\s{1,4}(?:(?:is |was |has been |got )?(?:re)?(?:set|changed|updated)(?: it)? to|is|was|are|will be"
    r"|would be|remains|equals|became|to|as|lautet|ist|est|es|\u00e8|\u00e9|-{1,2})"
    r"(?:\s{1,4}(?:now|still|just|currently|simply|always|actually))?\s{0,4}:?\s{1,4}"
)
# Their words are not known as those of English are, so that only what is like nothing else counts behind them.
_OTHER_LANGUAGES: Final = frozenset(["lautet", "ist", "est", "es", "\u00e8", "\u00e9"])
_BESIDE: Final = re.compile(r"[ \t]{1,8}")
_MIXED_BESIDE: Final = re.compile(r"[^\s\d!@#$%^&*?~]{0,64}+[\d!@#$%^&*?~]")
_LINKS: Final = ((Link.ASSIGNED, _ASSIGNED), (Link.STATED, _STATED), (Link.BESIDE, _BESIDE))
_FOLLOWING: Final = 256
_SHORTEST_KEY: Final = MappingProxyType({Link.ASSIGNED: 8, Link.STATED: 10, Link.BESIDE: 16})
_SHORTEST_OF_SHORT: Final = 20  # of a "pat" or "sig", which stand for patterns and signals, too

_VALUE: Final = re.compile(
    r"""(?:(?P<quote>["'`])(?P<quoted>(?:(?!(?P=quote)|\n).){1,200})(?P=quote)(?![A-Za-z0-9])"""
    r"""|["'`]?(?P<plain>[^\s;&<]{1,512}+"""
    r"""(?:(?:[;&](?!\w{1,40}+=|\s|$|\w[\w ]{0,40}=)"""
    r"""|<(?!/?\w))[^\s;&<]{0,64}+){0,4}))"""
)
# The name of a resource in a cloud: arn:aws:secretsmanager:eu-west-1:1234:secret:prod/db.
_OF_RESOURCE: Final = re.compile(r"(?<![\w:])(?:arn|urn|crn|ocid1)[:.][\w:/.*-]*$")
_CHAINED: Final = re.compile(
    r"(?:[a-z0-9]{1,16}+[_.-]){0,3}(?:[a-z]{0,4}pass(?:word)?|pwd?|psw|token|secret|sig|pat|(?<=_)key)(?:=|:(?!//))[\w-]"
)
_TRAILING: Final = ".,:;!?)]}>\"'`*"
# What ends no sentence where it stands, but a password.
_LAST_SIGNS: Final = re.compile(r"[!?]{1,4}(?=[,;.])")
_LAST_OF_LINE: Final = re.compile(r"[!?]{1,4}(?=[,;.]|[ \t]{0,4}\r?(?:\n|$))")
_END_OF_CLAUSE: Final = re.compile(r"[\"'`]?(?:[.,;!?]{1,3}(?:\s|$)|\s[|-]\s)")
_ALONE: Final = re.compile(r"[\"'`,;]{0,2}[ \t]{0,4}\r?(?:\n|$)")

# The fingerprint of a key, or its last digits.
_OF_PGP: Final = re.compile(r"(?:gpg|pgp)[ _-]?$", re.IGNORECASE)
_LONGEST_OWNER: Final = 4
_KEY_ID: Final = re.compile(r"(?:0x)?(?:[0-9A-Fa-f]{40}|[0-9A-Fa-f]{16}|[0-9A-Fa-f]{8})")

# A PIN that nothing but a space ties to its number: those of programs and plugs are numbered so, too.
_OWN_PIN: Final = re.compile(
    r"\b(?:sim|atm|card|phone|voicemail|bank|door|safe|alarm|unlock)[ -]$", re.IGNORECASE
)
_LONGEST_OWN: Final = 12

_VALUE_BEFORE: Final = re.compile(
    r"(?<!\S)['\"`]?(?P<value>[^\s'\"`,;:]{5,64})['\"`]?,?[ \t]{1,4}(?:is|was|as|for|=)[ \t]{1,4}"
    r"(?:my|our|the|his|her|their|your|a|its)[ \t]{1,4}(?:[\w'-]{1,24}[ \t]{1,4}){0,3}$"
)
_OF: Final = re.compile(r"\b(?:my|our|the|his|her|their|your|a|its)\s")
_QUOTE: Final = re.compile(r"[\"'`]")

_PHRASE: Final = "phrase"  # of a passphrase or pass phrase
_SCHEMES: Final = ("bearer", "basic", "ssws")
_HEADER: Final = re.compile(r"(?:bearer|basic|ssws)\s{1,4}(?P<value>[a-z0-9._~+/-]{12,512}+={0,2})")


def _find_assignments(text: str, lowered: str) -> Iterator[SecretFinding]:
    """Yield the values given to passwords, PINs, keys and tokens, and those of authorization headers."""
    for keyword in find_keywords(text, lowered):
        before = lowered[max(0, keyword.start - _REACH) : keyword.start]
        if _OF_RESOURCE.search(before):
            continue
        after = lowered[keyword.end : keyword.end + _REACH]
        is_changing = "to" in after and _CHANGING.search(before) is not None
        for position in _value_positions(keyword, before, lowered, is_changing=is_changing):
            yield from _value_at(position, keyword, text, lowered, is_changing=is_changing)
        if keyword.kind == "password":
            yield from _value_before(before, keyword.start - len(before), text)
            told = None if keyword.is_vague else told_value(text, lowered, keyword.end)
            yield from [SecretFinding("password", *told)] if told else []
    yield from _find_headers(text, lowered)


def _value_positions(keyword: Keyword, before: str, lowered: str, *, is_changing: bool) -> set[int]:
    """Return where a connector and a value may follow the keyword."""
    direct = _skip(_CLOSING, lowered, keyword.end)
    if lowered.startswith(")", direct) and _OPENED.search(before):
        direct = _skip(_PARENTHESIS, lowered, direct)
    behind_purpose = _skip(_ABOUT, lowered, direct)
    return {direct, behind_purpose} if is_changing else {behind_purpose}


def _value_at(
    position: int, keyword: Keyword, text: str, lowered: str, *, is_changing: bool
) -> Iterator[SecretFinding]:
    for link, pattern in _LINKS:
        connector = pattern.match(lowered, position)
        if connector is None:
            continue
        if link is Link.BESIDE and _MIXED_BESIDE.match(lowered, connector.end()) is None:
            return
        if _CHAINED.match(lowered, connector.end()):
            return  # what follows is judged as the value of the later keyword
        match = _VALUE.match(text, connector.end())
        stated = connector.group().strip() if link is Link.STATED else ""
        if stated in _OTHER_LANGUAGES or (stated in ("to", "as") and not is_changing):
            link = Link.BESIDE
        if match is not None and (link is Link.ASSIGNED or not keyword.is_vague):
            yield from _judged(keyword, link, connector, match, text)
        return


def _judged(
    keyword: Keyword, link: Link, connector: re.Match[str], match: re.Match[str], text: str
) -> Iterator[SecretFinding]:
    quoted = match["quoted"] is not None
    start = match.start("quoted" if quoted else "plain")
    value = match["quoted"] if quoted else _unquoted(match["plain"])
    phrase = (
        passphrase_at(text, start, numbered=_PHRASE in text[keyword.start : keyword.end].lower())
        if link is Link.ASSIGNED and keyword.kind == "password" and not quoted
        else None
    )
    if phrase is not None and not keyword.is_vague:
        yield SecretFinding("password", start, start + len(phrase))
        return
    if not value or is_placeholder(value) or is_placeholder(match.group()):
        return
    if not quoted and (is_expression(match["plain"]) or is_expression(value)):
        return
    sign = connector["sign"] if link is Link.ASSIGNED else ""
    if sign == ":" and (
        is_chosen(text, keyword.start) or (connector["line"] and begins_block(text, keyword.start))
    ):
        return
    if link is Link.ASSIGNED and connector["line"] and not _is_line(value, start, match.end(), text):
        return
    if keyword.kind == "password":
        following = None if quoted else text[start + len(value) : start + len(value) + _FOLLOWING]
        is_sample = (quoted or "=" in sign) and is_stand_in(value, numbered=True)
        is_secret = not is_sample and _is_password(value, keyword, link, following)
    elif keyword.kind == "pin":
        is_own = _OWN_PIN.search(text, max(0, keyword.start - _LONGEST_OWN), keyword.start) is not None
        is_secret = (link is not Link.BESIDE or is_own) and is_pin(
            value, text[match.end() : match.end() + _FOLLOWING]
        )
    else:
        shortest = _SHORTEST_OF_SHORT if keyword.is_short else _SHORTEST_KEY[link]
        is_secret = is_random(value, shortest=shortest) and not is_stand_in(value, numbered=True)
        is_secret = is_secret and not _is_fingerprint(value, keyword, text)
    is_name = not quoted and sign != "" and is_variable(value)
    if is_name and "=" not in sign:  # behind a colon hunter2 is no name, though value2 is one
        is_type = keyword.kind == "credential" and not value.islower() and is_identifier(value)
        is_name = value.isalpha() or is_type or is_stand_in(value, numbered=True)
    end = start + len(value)
    if is_secret and not (is_name and is_in_program(text, keyword.start, sign, start, end)):
        last_signs = _LAST_OF_LINE if link is Link.ASSIGNED else _LAST_SIGNS
        yield SecretFinding(keyword.kind, start, end if quoted else _skip(last_signs, text, end))


def _is_password(value: str, keyword: Keyword, link: Link, following: str | None) -> bool:
    if not is_password(value, link, following=following):
        return False
    if keyword.is_vague:
        return is_mixed(value) or (value.isdecimal() and len(value) >= 6)
    if keyword.is_short and link is not Link.ASSIGNED:  # "pass" and "pw" are other words, too
        return link is Link.STATED and len(value) >= 6 and is_mixed(value)
    return True


def _is_fingerprint(value: str, keyword: Keyword, text: str) -> bool:
    before = text[max(0, keyword.start - _LONGEST_OWNER) : keyword.start]
    return _KEY_ID.fullmatch(value) is not None and _OF_PGP.search(before) is not None


def _unquoted(plain: str) -> str:
    """Return a value without what ends a sentence or a quotation behind it."""
    return _QUOTE.split(plain, maxsplit=1)[0].rstrip(_TRAILING)


def _is_line(value: str, start: int, end: int, text: str) -> bool:
    """Tell whether a value on the next line is all of that line, as below the label of a form."""
    is_value = is_mixed(value) or value.isdecimal() or value.islower()
    is_last = _ALONE.match(text, end) or (is_mixed(value) and _END_OF_CLAUSE.match(text, start + len(value)))
    return is_value and "=" not in value and ":" not in value and is_last is not None


def _value_before(before: str, offset: int, text: str) -> Iterator[SecretFinding]:
    """Yield the password before its keyword: "hunter2 is my password"."""
    match = _VALUE_BEFORE.search(before) if _OF.search(before) else None
    if match is not None:
        start, end = (offset + place for place in match.span("value"))
        value = text[start:end]
        if is_password(value, Link.STATED, following=None) and is_mixed(value) and not is_placeholder(value):
            yield SecretFinding("password", start, end)


def _find_headers(text: str, lowered: str) -> Iterator[SecretFinding]:
    for match in matches_at(_SCHEMES, _HEADER, lowered):
        start, end = match.span("value")
        value = text[start:end]
        if is_random(value, shortest=12) and not is_placeholder(value):
            yield SecretFinding("credential", start, end)


def _skip(pattern: re.Pattern[str], text: str, position: int) -> int:
    match = pattern.match(text, position)
    return position if match is None else match.end()


ASSIGNMENTS: Final = Detector(_find_assignments, marks=any_of(*MARKS, *_SCHEMES))
