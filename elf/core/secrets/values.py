"""What the value given to a password or key looks like: a secret, a part of a program, or prose. Samples: `samples`."""

from __future__ import annotations

import re
from enum import Enum
from typing import Final

from elf.core.secrets.samples import is_stand_in


class Link(Enum):
    """How a keyword and a value are tied together, the strongest first."""

    ASSIGNED = "assigned"  # a colon, an equals sign, an arrow
    STATED = "stated"  # "is", "was", "changed to"
    BESIDE = "beside"  # nothing but a space


_JUDGED: Final = 128  # so many characters of a value tell what it is

_KEYWORD_WITHIN: Final = re.compile(
    r"pass[_-]?(?:word|code|phrase)|passwd|token|secret|credential|passwort|kennwort|contrase|senha|wachtwoord"
    r"|mot de passe",
    re.IGNORECASE,
)

_EXPRESSION: Final = re.compile(
    r"""
    \$?[A-Za-z_]\w*(?:(?:\.|->|::|\?\.)\$?[A-Za-z_]\w*)+(?:[;,)]*|[;,][\w$]+\.[\w$]+[=(].*)  # user.password
    | :?[a-z-]+(?:\([^()]*\))?\{.*  # a selector of a style sheet: hover{color:#111}
    | !?[A-Za-z_$][\w$.]*(?:\(|\[|<\w|=>|->|::|\?\?|\|\||&&).*  # a call, an index, a type, a function
    | [A-Z]\w*\{.* | (?:[A-Za-z_$][\w$]*\.)+[A-Za-z_$][\w$]*@[0-9a-f]{1,16}  # an object as it is printed
    | [&*!@]+[A-Za-z_][\w.]*  # &str, *args, !valid
    | [brfu]{1,2}["'].*  # r"[a-z]+": a pattern or a template
    """,
    re.VERBOSE,
)
_LONGEST_ODD_NAME: Final = 10
_IDENTIFIER: Final = re.compile(r"[A-Za-z_$][\w$]*")
_UNIT: Final = re.compile(
    r"(?:-|[ \t]{1,8})?(?:or more |to \d+ |- ?\d+ )?(?:\+ )?(?:char|letter|digit|symbol|word|day|week|month|year"
    r"|hour|minute|second|attempt|tr(?:y|ies)|time|user|account|bit|byte|%|people|reset"
    r"|lines?\b|rows?\b|pages?\b|files?\b|requests?\b|met(?:er|re)s?\b)",
    re.IGNORECASE,
)
_STOP: Final = r"[\s\"'`*)\]}]{0,8}(?:$|\n|[.,;!?|&](?!\w)|\(|(?:and|but|user|username|login|email)\b|-\s"
_END_OF_STATEMENT: Final = re.compile(_STOP + ")", re.IGNORECASE)
_END_OF_ASSIGNMENT: Final = re.compile(_STOP + r"|(?:for|on|so)\b)", re.IGNORECASE)
_TECHNICAL: Final = re.compile(
    r"(?:oauth|sha|md|pbkdf|argon|base|utf|bcrypt|scrypt|scram-sha|hs|rs|es|ps|aes|ipv|web|windows|win|office|python|py|java|node"
    r"|v|s|h|k|p|ec|ed|x|id_ed|gpt|http|tls|ssl|pkcs|fido|rfc|iso|auth|es|mp|ntlmv|ldapv|yubikey|mysql|postgres|log4j"
    r"|b|i|u|f|int|uint|float|char|varchar|nvarchar|string|bcryptjs|sql|ssh|ssh-ed|ftp|smtp|imap|pop|ext|level|lvl|step"
    r"|chapter|section|version|page|part|option|test|case|item|line|column|row|field)[-_ ]?\d[\w.]{0,5}"
    r"|\d+[-+]?(?:chars?|characters?|digits?|letters?|bits?|bytes?|days?|weeks?|months?|years?|hours?|hrs?|mins?|minutes?"
    r"|secs?|seconds?|ms|[smhdxkgt]|[kmg]b|th|st|nd|rd|fa|eur|usd|gbp|chf|inr|cad|aud|px|r?em|pt|vh|vw|password)\+?"
    r"|v?\d+(?:\.\d+)+[\w.-]*|\d+\.{2,3}\d+|\d+(?:\.[a-z_]{3,24})+|[A-Z]{1,5}-\d{1,5}|[23]fa|u2f|totp|0x[0-9a-f]{1,16}",
    re.IGNORECASE,
)
_EMAIL: Final = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+")
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
# What a program gives to a password: types, variables, words of the language. And what a form says.
_OF_PROGRAMS: Final = frozenset(
    """
    string str bool boolean int integer bytes byte buffer char varchar text number object array list dict tuple map void
    any unknown never optional union literal self this null nil undefined false true none return continue break pass
    raise throw throws print import export const let var val def function func async await new delete typeof lambda
    class static final public private protected if else elif then for while switch case try catch except finally with
    value values input inputs data user users request response form args kwargs params body raw hash hashes hashed
    digest encoded decoded plain cipher salt result split strip trim prompt getpass entry entered typed given element
    event target option options config settings payload fields field column model schema validate validator submit
    button label placeholder show hide toggle visibility off on autocomplete checkbox forgot remember confirm match
    matches mismatch repeat retype enter type types error errors message success failed failure sign signin signup
    continue next cancel password passwords username email name id
    """.split()  # noqa: SIM905 - a list of so many quoted words is harder to read
)
_DESCRIBING_ENDING: Final = re.compile(
    r"(?:ed|ing|able|ible|ly|ory|ary|ent|ant|ful|ive|ous|less|ness|tion|ment|ity)$"
)
_GRAMMAR: Final = re.compile(
    r"\b(?:an?|the|is|are|was|be|been|must|should|may|can|will|not|no|of|to|in|on|at|for|with|by|from|and|or|but|if|than"
    r"|that|this|its?|we|you|i|they|he|she|my|your|our|their|least|every|each|all|any|only|one|has|have|had|do|does"
    r"|minimum|maximum|characters?|required|rotate|then|when|please|does|did|so|as|up|out|via|per|too|also|just)\b"
)
_ACCOUNT_ADDRESS: Final = re.compile(r"0x[0-9a-fA-F]{40}|0x[0-9a-fA-F]{1,16}")
_KEY_CHARS: Final = re.compile(r"[A-Za-z0-9+/=_~.-]+")
_BESIDE_CHARS: Final = re.compile(r"[^\s\"'`=(){}\[\]<>;,:/\\|]+")
_CLAUSE_END: Final = re.compile(r"[.,;!?\n|(]|\s-")
_LONGEST_CLAUSE: Final = 200
_LETTER: Final = re.compile(r"[^\W\d_]")
_DIGIT: Final = re.compile(r"\d")
_SIGN_BETWEEN: Final = re.compile(r"[^\W\d_][!@#$%^&*?~]+[^\W\d_]")
_PASSWORD_SIGN: Final = re.compile(r"[!@#$%^&*?~]")
_ONE_KIND: Final = re.compile(r"[a-z]+|[A-Z]+|[0-9]+|[^A-Za-z0-9]+")
_WORD: Final = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[0-9]+")
_LONGEST_RANDOM_WORD: Final = (
    2.9  # on average; of 1000 runs at random 3 have longer ones, nearly all names do
)
_PART: Final = r"(?:[a-z]+\d{0,6}|[A-Z]+\d{0,6}|[A-Z][a-z]+\d{0,6}|\d{1,4})"
_JOINED: Final = re.compile(rf"{_PART}(?:[_/.+-]+{_PART})+[_/.+-]*")


def is_technical(value: str) -> bool:
    """Tell whether a value that mixes letters and digits is a name or a measure: oauth2, 16chars, v1.2, 6.hours."""
    return _TECHNICAL.fullmatch(value) is not None


def is_expression(value: str) -> bool:
    """Tell whether an unquoted value is a part of a program that is worked out: a call, an attribute, a type."""
    head = value[:_JUDGED]
    return _EXPRESSION.fullmatch(head) is not None and not _is_dotted_key(head)


def _is_dotted_key(value: str) -> bool:
    """Tell whether what could be a dotted name has a part that nobody would call anything: fR.cto4A01xkYD1A."""
    parts = value.rstrip(";,)").split(".")
    return any(
        len(part) >= _LONGEST_ODD_NAME and part.isalnum() and changes_kind_often(part) for part in parts
    )


def is_variable(value: str) -> bool:
    """Tell whether an unquoted value may be the name of a variable."""
    return _IDENTIFIER.fullmatch(value) is not None


def is_identifier(run: str) -> bool:
    """Tell whether a run of letters and digits is made of words, as a long name or a path is."""
    words = _WORD.findall(run)
    return sum(map(len, words)) > _LONGEST_RANDOM_WORD * len(words) or _JOINED.fullmatch(run) is not None


def is_pin(value: str, following: str) -> bool:
    """Tell whether a value is a personal number of 4 to 8 digits, and what follows it is no unit."""
    return value.isdecimal() and 4 <= len(value) <= 8 and _UNIT.match(following) is None


def is_random(value: str, *, shortest: int) -> bool:
    """Tell whether a value of at least `shortest` characters mixes letters and digits, or cases, as a key does."""
    if (
        len(value) < shortest
        or " " in value
        or _TECHNICAL.fullmatch(value)
        or _ACCOUNT_ADDRESS.fullmatch(value)
        or _EMAIL.fullmatch(value)
    ):
        return False
    head = value[:_JUDGED]
    if _JOINED.fullmatch(head):
        return False
    if len(_DIGIT.findall(head)) >= 2 and len(_LETTER.findall(head)) >= 2:
        return True
    return len(value) >= 16 and _KEY_CHARS.fullmatch(head) is not None and changes_kind_often(head)


def is_password(value: str, link: Link, *, following: str | None) -> bool:
    """Tell whether a value is a password. `following` is the text after it, None when the value was quoted."""
    if len(value) < 4 or _TECHNICAL.fullmatch(value) or _EMAIL.fullmatch(value):
        return False
    if value.isdecimal():
        return (link is not Link.BESIDE or len(value) >= 6) and not (following and _UNIT.match(following))
    if is_mixed(value):
        return link is not Link.BESIDE or is_strong(value)
    if link is Link.BESIDE:
        return False
    if following is None:
        return _is_quoted_password(value)
    return _is_word_password(value, link, following)


def passphrase_at(text: str, start: int, *, numbered: bool) -> str | None:
    """Return the passphrase at `start`: a clause of a few plain words without grammar, correct horse battery staple.

    If it may be `numbered`, a number can be its last word.
    """
    clause = _CLAUSE_END.split(text[start : start + _LONGEST_CLAUSE], maxsplit=1)[0].rstrip()
    words = clause.split(" ")
    if numbered and len(words) > 4 and words[-1].isdecimal():
        words.pop()
    return clause if 4 <= len(words) <= 8 and _is_phrase(words) else None


def is_mixed(value: str) -> bool:
    """Tell whether a value without spaces holds letters with digits, or with a sign that words do not hold."""
    head = value[:_JUDGED]
    if " " in head or _LETTER.search(head) is None:
        return False
    return _DIGIT.search(head) is not None or _SIGN_BETWEEN.search(head) is not None


def is_strong(value: str) -> bool:
    """Tell whether a value that no sign ties to its keyword is like a password and like nothing else."""
    return (
        len(value) >= 6
        and _BESIDE_CHARS.fullmatch(value) is not None
        and is_mixed(value)
        and _TECHNICAL.fullmatch(value) is None
        and _EMAIL.fullmatch(value) is None
        and ("_" not in value or _PASSWORD_SIGN.search(value) is not None)
        and not is_expression(value)
        and not is_stand_in(value, numbered=True)
    )


def changes_kind_often(run: str) -> bool:
    """Tell whether lower case, capitals and digits alternate as in random characters, not as in names and words.

    Random base64 changes at two places of three, CamelCase at one of three.
    """
    changes = len(_ONE_KIND.findall(run)) - 1
    return changes >= 0.4 * len(run) and not (run.islower() or run.isupper())


def _is_quoted_password(value: str) -> bool:
    """Tell whether a quoted text of plain words is a password: one word, or a few without grammar."""
    words = value.split(" ")
    if len(words) > 1:
        if len(words) > 4 and words[-1].isdecimal():
            words.pop()
        return len(words) < 9 and (_is_phrase(words) or (len(words) < 5 and any(map(is_strong, words))))
    plain = value.replace("-", "")
    is_word = plain.isalpha() and (plain.islower() or plain.istitle())
    return is_word and _is_no_other_word(value.lower()) and _KEYWORD_WITHIN.search(value) is None


def _is_phrase(words: list[str]) -> bool:
    plain = all(word.isalpha() and word.islower() for word in words)
    others = sum(not _is_no_other_word(word) for word in words)
    return plain and others < 2 and _GRAMMAR.search(" ".join(words)) is None


def _is_no_other_word(word: str) -> bool:
    return word not in _DESCRIBING and word not in _OF_PROGRAMS


def _is_word_password(value: str, link: Link, following: str) -> bool:
    """Tell whether a plain word, or words, is a password: only where the clause has nothing else to say."""
    word = value.lower()
    if not _is_no_other_word(word) or "_" in word or "/" in word:
        return False
    if word.count("-") >= 2 and link is Link.STATED:
        return _END_OF_STATEMENT.match(following) is not None
    if link is Link.STATED:
        tells = word.isalpha() and len(word) >= 6 and _DESCRIBING_ENDING.search(word) is None
        return tells and _END_OF_STATEMENT.match(following) is not None
    return _END_OF_ASSIGNMENT.match(following) is not None and word.count("-") != 1 and _is_word(value)


def _is_word(value: str) -> bool:
    plain = value.replace("-", "")
    return plain.islower() or plain.istitle() or plain.isupper()
