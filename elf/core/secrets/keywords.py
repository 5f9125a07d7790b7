"""The words that a secret follows: password, PIN, API key, token; with all that belongs to their name.

A name that goes on may be of something else, such as password_policy and token_limit.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from elf.core.secrets.places import matches_at

# Matched against the text in lower case, which keeps every character in its place.
_KEYWORD: Final = re.compile(
    r"(?P<long>pass[ _-]?(?:w[o0]rd|code|phrase)s?|passwd|identified by|passwort|kennwort|psswd|pswd"
    r"|contrase(?:\xf1|n)a|mot de passe)"
    r"|(?P<short>(?:passw?|pwd?|psw)(?![a-z]))"
    r"|(?P<pin>pin(?<![a-z]pin)(?![a-z])(?: number)?)"
    r"|(?P<lock>(?:door|gate|garage|lockbox|(?P<vague>alarm|safe|entry|access)) code(?![a-z]))"
    r"|(?P<key>(?:key|token|secret|credential|(?:pat|sig)(?<![a-z](?:pat|sig))(?![a-z]))(?![a-rt-z]))"
)
_WORDS: Final = (
    *(
        "pass",
        "identified by",
        "pw",
        "psw",
        "kennwort",
        "psswd",
        "contrase",
        "mot de passe",
        "pin",
        "key",
        "token",
    ),
    *("secret", "credential", "pat", "sig"),
)
_CODES: Final = tuple(
    f"{lock} code" for lock in ("alarm", "door", "gate", "garage", "lockbox", "safe", "entry", "access")
)
_CORES: Final = (*_WORDS, *_CODES)
MARKS: Final = (*_WORDS, " code")
"""One of them is in every text that has a keyword."""
# Whose password it is, glued to a short keyword: rootpw, dbpass. "bypass" and "compass" are other words.
_OWNERS: Final = tuple(
    """
    root db admin user my sql mysql mssql pg postgres ftp sftp smtp imap mail email wifi wlan ssh sudo login host
    server srv web http proxy vpn app api site redis mongo rabbit ldap test prod dev trust store new old
    """.split()  # noqa: SIM905 - a list of so many quoted words is harder to read
)
# A bare "key" opens doors, data bases and musical pieces; with one of these before it, it is a secret.
_KEYS_OF: Final = tuple(
    """
    api app application access auth authentication secret private encryption decryption encrypt decrypt signing
    signature master service account client consumer webhook deploy storage subscription admin root shared
    session personal project license function bot host recovery backup wallet ssh wifi wi-fi network security
    rest live test prod production hex hmac aes jwt crypto pgp gpg vault unseal openai anthropic stripe aws
    azure google sendgrid twilio datadog github
    """.split()  # noqa: SIM905 - a list of so many quoted words is harder to read
)
# Short, but no other word; and a short one after a user's name is no other word, either.
_SHORT_OF_PASSWORD: Final = ("passw", "pwd", "pw", "psw")
_LOGIN: Final = re.compile(r"\b(?:user(?:name)?|login|root|admin)\b[^.!?\n]{0,24}$")
# Machines have alarm codes, programs have access codes; those of a home are a person's.
_HOME: Final = re.compile(
    r"\b(?:my|our|his|her|their|your|home|house|flat|apartment|office|door|front|burglar|disarm\w*|building|hotel"
    r"|you have)\b"
)
_REACH: Final = 40  # how far before a keyword its owner is looked for
_REACH_OF_HOME: Final = 56
# The rest of a name: passwd_prod, passwordStaging, db_password2.
_TAIL: Final = re.compile(r"(?:[_-]?[a-z0-9]{1,20}+){1,5}+")
_TAIL_WORD: Final = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[0-9]+")
_SPACED_TAIL: Final = re.compile(r"(?: (?!is\b|was\b)[a-z0-9]{1,16}+){1,2}(?=['\"*]{0,2}[ \t]{0,2}[:=])")
_DIGEST_OF: Final = re.compile(
    r"(?:checksum|sha-?\d{0,3}|digest|hash|fingerprint|integrity)[/_ .-]{0,3}(?:of (?:the )?)?$"
)
_POSTAL: Final = ("zip ", "zip-", "postal ", "area ", "city ")
_START_OF_TEXT: Final = 40  # a name that stands before its value, as that of a field does, ends here
_SURE_TAILS: Final = frozenset(
    """
    prod production dev development test stage staging live old new backup main root admin user db database
    mysql postgres pg redis smtp mail email ftp ssh wifi server host aws local remote qa uat eu us home work
    office
    """.split()  # noqa: SIM905 - a list of so many quoted words is harder to read
)
# A name that goes on so is of something else: password_policy, token_limit, pwd_hash.
_OTHER_TAILS: Final = frozenset(
    """
    hash hashed hashes hashing hasher policy policies file files filename path dir directory length len
    encryption min max minimum maximum field fields input inputs reset resets url uri link less hint hints rate
    expiry expires expired expiration strength id ids name names type types count limit limits age rule rules
    regex pattern label labels error errors manager managers attempts attempt history enabled disabled required
    requirement requirements validator validators validation valid encoder encoding changed change updated
    update form forms box column prompt confirm confirmation check checker match matches visible visibility show
    hide style class placeholder auth authentication salt salted size bits algorithm algo iterations rounds cost
    version format template message msg event handler callback view screen page controller service provider
    store storage vault cache index usage used budget bucket window price per ttl lifetime timeout duration
    issuer audience scope scopes endpoint header prefix suffix separator range stream counter total spent map
    list array set dict object string kind source target time date at since by ref reference location env var
    variable arn alg protected tip tips question questions note notes section tab icon button step steps tests
    ed word words flow grant complexity score meter generator tool tools apps game safe keeper
    """.split()  # noqa: SIM905 - a list of so many quoted words is harder to read
)


@dataclass(frozen=True, slots=True)
class Keyword:
    """A word that its secret may follow. `is_short`: it has other meanings. `is_vague`: it is so a name of unknown
    meaning that only a sign such as "=" and a value that can be nothing else make a secret of it.
    """

    start: int
    end: int
    kind: str
    is_short: bool
    is_vague: bool


def find_keywords(text: str, lowered: str) -> Iterator[Keyword]:
    """Yield the keywords of a text, in any order."""
    for word in matches_at(_CORES, _KEYWORD, lowered):
        keyword = _keyword(word, lowered[max(0, word.start() - _REACH) : word.start()], text, lowered)
        if keyword is not None:
            yield keyword


def _keyword(word: re.Match[str], before: str, text: str, lowered: str) -> Keyword | None:
    """Return the keyword with the rest of its name, None when the name is that of something else."""
    is_short = word["short"] is not None or word["key"] in ("pat", "sig")
    if word["short"] and before[-1:].isalnum() and not before.endswith(_OWNERS):
        return None
    if word["key"] == "key" and not (before[:-1] if before[-1:] in " _.-" else before).endswith(_KEYS_OF):
        return None
    if word["lock"] and not _is_of_lock(word, before, lowered):
        return None
    if _DIGEST_OF.search(before) or (word["pin"] and before.endswith(_POSTAL)):
        return None
    kind = "pin" if word["pin"] or word["lock"] else "credential" if word["key"] else "password"
    end, tail = _named(word.end(), text, lowered)
    if any(map(_OTHER_TAILS.__contains__, tail)) or (kind == "pin" and tail):
        return None
    is_vague = word["key"] in ("pat", "sig") or not all(map(_SURE_TAILS.__contains__, tail))
    is_short = is_short and not (word["short"] in _SHORT_OF_PASSWORD or _LOGIN.search(before))
    return Keyword(word.start(), end, kind, is_short, is_vague)


def _is_of_lock(word: re.Match[str], before: str, lowered: str) -> bool:
    if before[-1:].isalpha():  # unsafe code
        return False
    around = before, lowered[word.end() : word.end() + _REACH_OF_HOME]
    return word["vague"] is None or any(map(_HOME.search, around))


def _named(position: int, text: str, lowered: str) -> tuple[int, list[str]]:
    """Return where the name that goes on at a position ends, and the words of the rest of it."""
    end = _end_of_tail(lowered, position)
    spaced = _SPACED_TAIL.match(lowered, end)
    words = [word.lower() for word in _TAIL_WORD.findall(text[position:end])]
    if spaced is not None:
        more = spaced.group().split()
        if (
            all(map(_SURE_TAILS.__contains__, more))
            or spaced.end() <= _START_OF_TEXT
            or set(more) & _OTHER_TAILS
        ):
            return spaced.end(), words + more
    return end, [] if words == ["s"] else words


def _end_of_tail(lowered: str, position: int) -> int:
    tail = _TAIL.match(lowered, position)
    return position if tail is None else tail.end()
