"""Passwords within connection strings: `scheme://user:password@host`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from elf.core.secrets.finding import SecretFinding
from elf.core.secrets.values import is_placeholder

_CONNECTION: Final = re.compile(
    r"(?<![A-Za-z0-9])[A-Za-z][A-Za-z0-9+.-]{1,30}://(?P<user>[^\s:/?#@\"'<>]{0,128}):(?P<password>[^\s\"'<>]{1,256})@(?=[\w\[$.-])"
)


def find_connections(text: str) -> Iterator[SecretFinding]:
    """Yield the password of every connection string that has one."""
    if "://" not in text:
        return
    for match in _CONNECTION.finditer(text):
        if not is_placeholder(match["password"]) or match["password"].isalpha():
            yield SecretFinding("connection_string", *match.span("password"))
