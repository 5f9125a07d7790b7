"""Passwords that a sentence leads to with more than a verb: "the password they gave me is ...", "my password, ...".

What stands there may be anything, so only a value counts that is like a password and like nothing else.
"""

from __future__ import annotations

import re
from typing import Final

from elf.core.secrets.samples import is_placeholder
from elf.core.secrets.values import is_identifier, is_strong

# Matched behind the keyword, against the text in lower case.
_VALUE: Final = r"['\"`]?(?P<value>[^\s'\"`,]{6,64}+)"
_GIVEN: Final = re.compile(
    r"[ ](?:that |which )?(?:they|he|she|i|we|you|it)(?: [a-z]{2,12}+){1,4}? (?:is|was)[ ]{1,2}" + _VALUE
)
_IT_IS: Final = re.compile(
    r",? (?:(?:used|which|but|and|now|so) (?:[\w']{1,16}+ ){0,6}?)?it(?:'s| is)(?: now)? " + _VALUE
)
_APPOSED: Final = re.compile(r", " + _VALUE + r"(?=,|\.?(?:\n|$))")
_SIGN: Final = re.compile(r"[!@#$%^&*?~+]")
_DIGIT: Final = re.compile(r"[0-9]")
_TRAILING: Final = ".,:;!?)]}\"'`*"
_FEWEST_DIGITS: Final = 2
_SHORTEST_UNMISTAKABLE: Final = 8


def told_value(text: str, lowered: str, end: int) -> tuple[int, int] | None:
    """Return where the password stands that a keyword ending at `end` leads to, or None."""
    if not lowered.startswith((" ", ","), end):
        return None
    for pattern in (_GIVEN, _IT_IS, _APPOSED):
        match = pattern.match(lowered, end)
        if match is None:
            continue
        start = match.start("value")
        value = text[start : match.end("value")].rstrip(_TRAILING)
        is_sure = (
            is_strong(value) if pattern is _GIVEN or "used to" in match.group() else _is_unmistakable(value)
        )
        if is_sure and not is_placeholder(value):
            return start, start + len(value)
    return None


def _is_unmistakable(value: str) -> bool:
    """Tell whether a value holds digits with signs, or is no run of words and numbers: `I!T1hgr`, not `Windows11`."""
    if len(value) < _SHORTEST_UNMISTAKABLE or not is_strong(value) or _DIGIT.search(value) is None:
        return False
    is_random = len(_DIGIT.findall(value)) >= _FEWEST_DIGITS and not is_identifier(value)
    return is_random or _SIGN.search(value) is not None
