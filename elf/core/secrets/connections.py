"""Passwords within connection strings: `scheme://user:password@host`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from elf.core.secrets.detector import Detector
from elf.core.secrets.finding import SecretFinding
from elf.core.secrets.samples import is_placeholder, is_stand_in

_LONGEST_SCHEME: Final = 31
_SCHEME: Final = re.compile(r"(?<![A-Za-z0-9])[A-Za-z][A-Za-z0-9+.-]{1,30}$")
_LOGIN: Final = re.compile(
    r"(?P<user>[^\s:/?#@\"'<>]{0,128}):(?P<password>(?!@)(?:[^\s\"'<>:]|:(?!//)){1,256})@(?=[\w\[$.-])"
)
_SAMPLE_USER: Final = re.compile(
    r"(?:(?:your|my|some)[\w-]*|usr|user(?:name)?|me|login|name|foo|root|admin|guest|anonymous|)\d?",
    re.IGNORECASE,
)
_SEPARATOR: Final = "://"


def _find_connections(text: str, _lowered: str) -> Iterator[SecretFinding]:
    """Yield the password of every connection string that has one."""
    position = text.find(_SEPARATOR)
    while position >= 0:
        after = position + len(_SEPARATOR)
        login = _LOGIN.match(text, after)
        if login is not None and _SCHEME.search(text, max(0, position - _LONGEST_SCHEME - 1), position):
            if not _is_sample(login["user"], login["password"]):
                yield SecretFinding("connection_string", *login.span("password"))
            after = login.end()
        position = text.find(_SEPARATOR, after)


def _is_sample(user: str, password: str) -> bool:
    """Tell whether a login is one of a manual: `user:password`, `root:root`, `app:${PASSWORD}`."""
    if password.isalpha():
        return password == user or (_SAMPLE_USER.fullmatch(user) is not None and is_stand_in(password))
    return is_placeholder(password)


CONNECTIONS: Final = Detector(_find_connections, marks=(_SEPARATOR,))
