"""Secrets whose name and value are declared apart: a variable with a default, a name beside its value.

`variable "db_password" { default = "..." }`, `- name: DB_PASSWORD` above `value: ...`, and
`<add key="Password" value="..."/>`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from elf.core.secrets.detector import Detector
from elf.core.secrets.finding import SecretFinding
from elf.core.secrets.places import matches_at
from elf.core.secrets.samples import is_placeholder, is_stand_in
from elf.core.secrets.values import is_expression, is_mixed, is_random, is_technical

# Matched against the text in lower case, which keeps every character in its place. A name that goes on behind its
# last word is of something else: db_password_length.
_SECRET_NAME: Final = (
    r"[\w.-]{0,40}?(?P<core>password|passwd|passphrase|secret|token|api[_-]?key|access[_-]?key)"
)
_QUOTED: Final = r"\"(?P<value>[^\"\n]{4,200}+)\""
_VARIABLE: Final = re.compile(
    rf"variable \"{_SECRET_NAME}\"\s{{0,4}}\{{[^{{}}]{{0,400}}?\bdefault\s{{0,8}}=\s{{0,8}}{_QUOTED}"
)
_VALUE_BESIDE: Final = re.compile(
    rf"(?:name|key)[\"']?\s?[:=]\s?[\"']?{_SECRET_NAME}[\"']?,?\s{{1,40}}[\"']?value[\"']?\s?[:=]\s?"
    r"(?:\"(?P<value>[^\"\n]{4,200}+)\"|(?P<plain>[^\s\"'<>]{4,200}+))"
)
_VARIABLE_MARKS: Final = ('variable "',)
_NAME_MARKS: Final = ("name", "key")
_TRAILING: Final = ".,;:!?)]}"
_SHORTEST_KEY: Final = 16


def _find_declarations(text: str, lowered: str) -> Iterator[SecretFinding]:
    """Yield the values of variables and settings that are named as passwords and keys are."""
    for match in (
        *matches_at(_VARIABLE_MARKS, _VARIABLE, lowered),
        *matches_at(_NAME_MARKS, _VALUE_BESIDE, lowered),
    ):
        group = "value" if match["value"] is not None else "plain"
        start, end = match.span(group)
        value = text[start:end].rstrip(_TRAILING)
        if _is_secret(value, match["core"]):
            kind = "password" if match["core"].startswith("pass") else "credential"
            yield SecretFinding(kind, start, start + len(value))


def _is_secret(value: str, core: str) -> bool:
    if (
        is_placeholder(value)
        or is_stand_in(value, numbered=True)
        or is_technical(value)
        or is_expression(value)
    ):
        return False
    return is_mixed(value) if core.startswith("pass") else is_random(value, shortest=_SHORTEST_KEY)


DECLARATIONS: Final = Detector(_find_declarations, marks=(*_VARIABLE_MARKS, *_NAME_MARKS))
