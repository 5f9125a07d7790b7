"""Passwords that stand beside the name they belong to: "log in as root with ...", `-u root:...`, `-p...`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from elf.core.secrets.detector import Detector, any_of
from elf.core.secrets.finding import SecretFinding
from elf.core.secrets.places import matches_at
from elf.core.secrets.samples import is_placeholder, is_stand_in
from elf.core.secrets.values import is_expression, is_mixed, is_strong, is_technical

_NAME: Final = r"['\"`]?[\w.@+-]{2,64}+['\"`]?"
_VALUE: Final = (
    r"(?:(?P<quote>['\"`])(?P<quoted>[^'\"`\n]{4,64}+)(?P=quote)|['\"`]?(?P<plain>[^\s'\"`/]{4,64}+))"
)
_SECRET_WORD: Final = (
    r"(?:(?:the |my |our |your |this |its )?(?:password|passwd|pass|pwd|pw|psw|passcode|secret|creds?|credentials?)"
    r"(?: (?:is|of))?[ :=]{1,3})?"
)
# "log in as root with hunter2", "ssh as deploy using hunter2", "sign in as admin, password hunter2"
_ENTERING: Final = re.compile(
    r"(?<!\w)(?:log(?:ged|ging|s)?[ -]?(?:in|on)(?:to)?|login|sign(?:ed|ing|s)?[ -]?(?:in|on)(?:to)?|ssh|sftp"
    r"|ftp|telnet|connect(?:ed|ing|s)?|authenticat(?:e|ed|es|ing)|auth|access|enter|get in|rdp|psql|su)\b[^.!?\n]*$"
)
_REACH_OF_ENTERING: Final = 64
_AS: Final = " as "
_USER: Final = re.compile(
    rf"{_AS}(?:the |a )?(?:user )?{_NAME}(?: user| account)?"
    rf"(?:[ ,]{{1,2}}(?:with|using|via|by|and|then|plus)\b|[ ]?[/:|,]|[ ]{{1,2}}-)?[ :]{{1,2}}{_SECRET_WORD}{_VALUE}"
)
# "credentials are root / hunter2", "login: root:hunter2", "username root, hunter2", "curl -u root:hunter2"
_PAIR: Final = re.compile(
    r"(?:\b(?:creds?|credentials?|logins?|log in|sign in|user(?:name)?\s?[/:&]\s?pass(?:word)?)"
    r"|(?<!\S)(?:-u|--user))\b(?![.@-])"
    r"(?: for(?: [\w'./-]{1,30}+){1,5}?(?= (?:is|are)\b| ?:))?"
    r"(?:[ \t]{0,3}(?:is|are|was|with|as|details|info|:|=)){0,3}[ \t]{0,3}"
    rf"{_NAME}(?:\s?[:/]\s?|,? (?:and|with|then|/) ){_SECRET_WORD}{_VALUE}"
)
# "root / hunter2", "root:hunter2", "ssh deploy@web-1 with hunter2"
_WELL_KNOWN: Final = re.compile(
    rf"(?:(?<![\w/.:@-])(?:root(?:\s/\s|:)|admin(?:istrator)?\s/\s)"
    rf"|\bssh [\w.-]{{1,40}}+@[\w.-]{{1,64}}+,? (?:with|using) )"
    rf"{_SECRET_WORD}{_VALUE}"
)
# "account bob, secret hunter2", "user admin and the password hunter2"
_ACCOUNT: Final = re.compile(
    rf"(?:account|user(?:name)?|login)\b[ :=]{{1,3}}{_NAME}(?:,|,? and|,? with) (?:the )?"
    rf"(?:password|passphrase|passwd|pass|pwd|pw|psw|secret)(?: is)?[ :=]{{1,3}}{_VALUE}"
)
_ACCOUNT_MARKS: Final = ("account", "user", "login")
# net use X: \\server\share /user:CORP\bob hunter2
_NET_USE: Final = re.compile(rf"/user:[\w.@\\-]{{1,64}}+[ ]{{1,3}}{_VALUE}")
_USER_OPTION: Final = "/user:"
_REACH_OF_NET_USE: Final = 160
# auth=("root", "hunter2"), PlainCredentials('worker', 'hunter2')
_CALL: Final = re.compile(
    r"(?:auth\s?=\s?|credentials?|login)\(\s{0,4}(['\"])[\w.@+-]{1,64}+\1,\s{0,4}"
    r"(?P<quote>['\"])(?P<quoted>[^'\"\n]{4,64}+)(?P<plain>(?!))?"
    r"(?:(?P=quote)\s{0,4}(?:\)|\Z)|\Z)"  # a text may be cut there
)
_CALL_MARKS: Final = ("auth", "credential", "login")
_WELL_KNOWN_MARKS: Final = ("root", "admin", "ssh ")
_PAIR_MARKS: Final = ("cred", "login", "log in", "sign in", "user", "-u ", "--user")
# mysql -u root -phunter2, sshpass -p hunter2, -p'hunter2'
_FLAG: Final = re.compile(
    r"(?<!\S)-p(?:(?P<quote>['\"])(?P<quoted>[^'\"\n]{4,64}+)(?P=quote)|(?P<plain>[^\s'\"=]{4,64}+))"
)
_SPACED_FLAG: Final = re.compile(
    r"(?<!\S)-(?:p|a|pw|w)[ ]{1,2}(?:(?P<quote>['\"])(?P<quoted>[^'\"\n]{4,64}+)(?P=quote)|(?P<plain>[^\s'\"=]{4,64}+))"
)
_FLAG_MARKS: Final = ("-p", "-a ")
_DIRECT_COMMANDS: Final = ("mysql", "mariadb", "sshpass", "mysqldump", "mysqladmin", "7z", "zip ")
_SPACED_COMMANDS: Final = (
    "sshpass",
    "docker login",
    "podman login",
    "redis-cli",
    "mongo",
    "az login",
    "plink",
    "ldap",
)
_REACH: Final = 120
_TRAILING: Final = ".,:;!?)]}\"'`*"


def _find_logins(text: str, lowered: str) -> Iterator[SecretFinding]:
    """Yield the passwords beside a login's name, and those given to a command."""
    yield from _find_entering(text, lowered)
    yield from _find_pairs(text, lowered)
    known = (
        *matches_at(_WELL_KNOWN_MARKS, _WELL_KNOWN, lowered),
        *matches_at(_ACCOUNT_MARKS, _ACCOUNT, lowered),
    )
    for match in known:
        start, value = _value(match, text)
        if is_strong(value) and not is_placeholder(value):
            yield SecretFinding("password", start, start + len(value))
    for match in matches_at((_USER_OPTION,), _NET_USE, lowered):
        start, value = _value(match, text)
        before = lowered[max(0, match.start() - _REACH_OF_NET_USE) : match.start()].rpartition("\n")[2]
        if "net use" in before and is_mixed(value) and not is_placeholder(value):
            yield SecretFinding("password", start, start + len(value))
    if any(map(lowered.__contains__, _FLAG_MARKS)):
        yield from _find_flags(text, lowered)


def may_begin_pair(lowered: str) -> bool:
    """Tell whether a text in lower case may hold the first word of a pair of a name and a password."""
    return any(map(lowered.__contains__, (*_PAIR_MARKS, *_ACCOUNT_MARKS)))


def _find_entering(text: str, lowered: str) -> Iterator[SecretFinding]:
    for match in matches_at((_AS,), _USER, lowered):
        if _ENTERING.search(lowered, max(0, match.start() - _REACH_OF_ENTERING), match.start()):
            start, value = _value(match, text)
            is_secret = is_mixed(value) if match["quoted"] else is_strong(value)
            if is_secret and not is_placeholder(value):
                yield SecretFinding("password", start, start + len(value))


def _find_pairs(text: str, lowered: str) -> Iterator[SecretFinding]:
    for match in (*matches_at(_PAIR_MARKS, _PAIR, lowered), *matches_at(_CALL_MARKS, _CALL, lowered)):
        start, value = _value(match, text)
        is_sample = is_placeholder(value) or is_stand_in(value, numbered=True)
        if is_mixed(value) and not (is_sample or is_expression(value) or is_technical(value)):
            yield SecretFinding("password", start, start + len(value))


def _find_flags(text: str, lowered: str) -> Iterator[SecretFinding]:
    for pattern, commands in ((_FLAG, _DIRECT_COMMANDS), (_SPACED_FLAG, _SPACED_COMMANDS)):
        for match in pattern.finditer(lowered):
            start, value = _value(match, text)
            before = lowered[max(0, match.start() - _REACH) : match.start()].rpartition("\n")[2]
            is_command = any(map(before.__contains__, commands))
            is_known = is_command or (pattern is _FLAG and match["quoted"] is not None)
            if is_known and is_mixed(value) and not is_placeholder(value):
                yield SecretFinding("password", start, start + len(value))


def _value(match: re.Match[str], text: str) -> tuple[int, str]:
    group = "quoted" if match["quoted"] is not None else "plain"
    start, end = match.span(group)
    return start, text[start:end].rstrip(_TRAILING)


LOGINS: Final = Detector(
    _find_logins,
    marks=any_of(
        _AS, *_PAIR_MARKS, *_CALL_MARKS, *_WELL_KNOWN_MARKS, *_ACCOUNT_MARKS, _USER_OPTION, *_FLAG_MARKS
    ),
)  # fmt: skip
