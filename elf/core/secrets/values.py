"""What the value given to a password or key looks like: a secret, a placeholder, or prose."""

from __future__ import annotations

import re
from enum import Enum
from itertools import pairwise
from typing import Final


class Link(Enum):
    """How a keyword and a value are tied together, the strongest first."""

    ASSIGNED = "assigned"  # a colon, an equals sign, an arrow
    STATED = "stated"  # "is", "was", "changed to"
    BESIDE = "beside"  # nothing but a space


_PLACEHOLDER: Final = re.compile(
    r"""
    [<\[({].* | \$\{?\w.* | \$\(.* | %\w+% | ([x*.\-_?\#])\1+ | x{3,}.* | \*+.*
    | (?:your|my|the|some)[_-].* | (?:change|replace|fill|set|insert)[_-]?(?:me|this|in)? | to-?do | tbd | n/?a
    | none | null | nil | undefined | true | false | yes | no | str(?:ing)? | int | bytes | any
    | optional.* | redacted.* | example.* | placeholder.*
    | (?:env|process\.env|os|sys|config|settings|secrets|self|this|vars?|args|request|req|user|form|data|params?
        |inputs?|github)[.\[(].*
    | [\w.]+\(.* | (?:vault|op|arn|https?|file|ref|env|ssm|aws-sm|gcp-sm|s3|doc|see)[:/].* | /[\w./-]* | \.{0,2}/.*
    | pass(?:word|wd|code|phrase)? | secret | token | key | api[_-]?key | [A-Z]+(?:_[A-Z]+)+
    | \d{4}-\d\d-\d\d.* | \d{1,2}[:/]\d\d.*
    """,
    re.IGNORECASE | re.VERBOSE,
)
_UNIT: Final = re.compile(
    r"(?:-|\s+)?(?:or more |to \d+ |- ?\d+ )?(?:\+ )?(?:char|letter|digit|symbol|word|day|week|month|year|hour|minute"
    r"|second|attempt|tr(?:y|ies)|time|user|account|bit|byte|%|people|reset)",
    re.IGNORECASE,
)
_STOP: Final = r"[\s\"'`*)\]}]*(?:$|\n|[.,;!?|&](?!\w)|\(|(?:and|but|user|username|login|email)\b|-\s"
_END_OF_STATEMENT: Final = re.compile(_STOP + ")", re.IGNORECASE)
_END_OF_ASSIGNMENT: Final = re.compile(_STOP + r"|(?:for|on|so)\b)", re.IGNORECASE)
_TECHNICAL: Final = re.compile(
    r"(?:oauth|sha|md|pbkdf|argon|base|utf|bcrypt|scrypt|hs|rs|es|aes|ipv|web|windows|python|v|s|h|k|p|ec|gpt|http|tls|ssl"
    r"|pkcs|fido|rfc|iso)-?\d[\w.]{0,3}",
    re.IGNORECASE,
)
_DESCRIBING: Final = frozenset(
    """
    required optional mandatory necessary needed missing empty blank wrong right correct incorrect valid invalid
    weak strong long short unique simple complex secure insecure secret private public temporary permanent default
    hidden visible safe unsafe random known unknown old new same different identical similar available unavailable
    compromised leaked stolen expired expiring reset changed updated rotated stored saved encrypted hashed salted
    protected managed here there below above attached elsewhere somewhere everything nothing something anything
    enough good bad fine okay important critical broken lost forgotten gone back easy hard difficult outdated
    obsolete deprecated disabled enabled locked unlocked set unset case-sensitive numeric alphanumeric dead better
    best never always sometimes confidential personal shared mine yours ours theirs his hers annoying impossible
    tricky policy manager prompt field login email username rules yes true must should cannot can will see ask use
    min max minimum maximum minimal security authentication authorization vault keychain bitwarden lastpass
    1password keepass okta sso ldap none tbd and the that this what when where who why how written shown kept given
    taken sent held found chosen seen made worn limited due
    """.split()  # noqa: SIM905 - a list of so many quoted words is harder to read
)
_DESCRIBING_ENDING: Final = re.compile(
    r"(?:ed|ing|able|ible|ly|ory|ary|ent|ant|ful|ive|ous|less|ness|tion|ment|ity)$"
)
_GRAMMAR: Final = re.compile(
    r"\b(?:an?|the|is|are|was|be|been|must|should|may|can|will|not|no|of|to|in|on|at|for|with|by|from|and|or|but|if|than"
    r"|that|this|its?|we|you|i|they|he|she|my|your|our|their|least|every|each|all|any|only|one|has|have|had|do|does"
    r"|minimum|maximum|characters?|required|rotate)\b"
)
_ACCOUNT_ADDRESS: Final = re.compile(r"0x[0-9a-fA-F]{40}")
_KEY_CHARS: Final = re.compile(r"[A-Za-z0-9+/=_~.-]+")
_CLAUSE_END: Final = re.compile(r"[.,;!?\n|(]|\s-")
_LONGEST_CLAUSE: Final = 200


def is_placeholder(value: str) -> bool:
    """Tell whether a value only stands for a secret: `<password>`, `${TOKEN}`, `****`, `os.environ[...]`, a path."""
    return _PLACEHOLDER.fullmatch(value) is not None


def is_pin(value: str) -> bool:
    """Tell whether a value is a personal number of 4 to 8 digits."""
    return value.isdecimal() and 4 <= len(value) <= 8


def is_random(value: str, *, shortest: int) -> bool:
    """Tell whether a value of at least `shortest` characters mixes letters and digits, or cases, as a key does."""
    if (
        len(value) < shortest
        or " " in value
        or _TECHNICAL.fullmatch(value)
        or _ACCOUNT_ADDRESS.fullmatch(value)
    ):
        return False
    digits = sum(char.isdigit() for char in value)
    letters = sum(char.isalpha() for char in value)
    if digits >= 2 and letters >= 2:
        return True
    return len(value) >= 16 and _KEY_CHARS.fullmatch(value) is not None and changes_kind_often(value)


def is_password(value: str, link: Link, *, following: str | None) -> bool:
    """Tell whether a value is a password. `following` is the text after it, None when the value was quoted."""
    if len(value) < 4 or _TECHNICAL.fullmatch(value):
        return False
    if value.isdecimal():
        return (link is not Link.BESIDE or len(value) >= 6) and not (following and _UNIT.match(following))
    if is_mixed(value):
        return link is not Link.BESIDE or len(value) >= 6
    if link is Link.BESIDE:
        return False
    if following is None:
        return value.count(" ") < 6 and value.lower() not in _DESCRIBING
    return _is_word_password(value, link, following)


def passphrase_at(text: str, start: int) -> str | None:
    """Return the passphrase at `start`: a clause of a few plain words without grammar, correct horse battery staple."""
    clause = _CLAUSE_END.split(text[start : start + _LONGEST_CLAUSE], maxsplit=1)[0].rstrip()
    words = clause.split(" ")
    plain = all(word.isalpha() and word.islower() for word in words)
    return clause if 4 <= len(words) <= 8 and plain and _GRAMMAR.search(clause) is None else None


def is_mixed(value: str) -> bool:
    """Tell whether a value without spaces holds letters with digits, or with a sign that words do not hold."""
    if " " in value:
        return False
    letters = any(char.isalpha() for char in value)
    digits = any(char.isdigit() for char in value)
    signs = any(char in "!@#$%^&*+=~?|<>{}[]" for char in value)
    return letters and (digits or signs)


def changes_kind_often(run: str) -> bool:
    """Tell whether lower case, capitals and digits alternate as in random characters, not as in names and words.

    Random base64 changes at two places of three, CamelCase at one of three.
    """
    kinds = [
        "a" if char.islower() else "A" if char.isupper() else "0" if char.isdigit() else "-" for char in run
    ]
    changes = sum(one != other for one, other in pairwise(kinds))
    return {"a", "A"} <= set(kinds) and changes >= 0.4 * len(run)


def _is_word_password(value: str, link: Link, following: str) -> bool:
    """Tell whether a plain word, or words, is a password: only where the clause has nothing else to say."""
    word = value.lower()
    if word.count("-") >= 2 and link is Link.STATED:
        return _END_OF_STATEMENT.match(following) is not None and word not in _DESCRIBING
    if link is Link.STATED:
        tells = word.isalpha() and len(word) >= 6 and _DESCRIBING_ENDING.search(word) is None
        return tells and word not in _DESCRIBING and _END_OF_STATEMENT.match(following) is not None
    if _END_OF_ASSIGNMENT.match(following):
        return word not in _DESCRIBING and "/" not in word and word.count("-") != 1
    return False
