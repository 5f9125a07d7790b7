"""Where a text is a program: there a name behind `password =` is a variable, not a password."""

from __future__ import annotations

import re
from typing import Final

_OPEN_CALL: Final = re.compile(r"[\w\])>]\([^()\n]*$")
_OPEN_OBJECT: Final = re.compile(r"[{][^{}()\n\"']*$")
_STATEMENT: Final = re.compile(
    r"\s*(?:export\s+)?(?:(?:const|let|var|val|return|if|elif|else|while|for|async|await|assert|print|string|char|auto|my)\b"
    r"|(?:(?:public|private|protected|static|final)\s+)+(?:[\w<>\[\]?]+\s+){0,2}$)"
)
_OF_OBJECT: Final = re.compile(
    r"(?:\b(?:self|this|cls|ctx|req|res|user|form|model)\.|->|\$)\w*$", re.IGNORECASE
)
_PUNCTUATION: Final = re.compile(r"[()\[\]{};]|==|=>")
_GOES_ON: Final = re.compile(
    r"[\"']?\s{0,4}(?:[(\[]|\.[A-Za-z_]|->|\?\.|\s[?+]\s"
    r"|\s\|\s(?:None|null|undefined|str|string|bytes|int|number|[A-Z]\w*[a-z][A-Z]\w*)\b)"
)
_GOES_ON_IN_WORDS: Final = re.compile(r"\s(?:or|and|if)\b")
_END_OF_STATEMENT: Final = re.compile(r"[ \t]{0,4};[ \t]{0,4}(?:$|\n)")
_END_OF_FIELD: Final = re.compile(r",[ \t]{0,4}(?:$|\n)")
_OTHER_NAMES: Final = re.compile(r"[\w.]{1,40}(?:, [\w.]{1,40}){0,8}, ")  # user, password = ...
_REACH: Final = 160  # of a line, to both sides
_BLOCK: Final = re.compile(
    r"(?:\A|\n[ \t]{0,40}|[ \t]{2})(?:if|elif|while|for|except|case|with|unless)\s[^\n:;\"']{0,80}$"
)
_CHOICE: Final = re.compile(r"[\w)\]\"']\s\?\s{0,4}[\"'`]?[\w.]{0,40}$")


def begins_block(text: str, start: int) -> bool:
    """Tell whether a colon behind the name at `start` ends the head of a block: `if not password:`."""
    return _BLOCK.search(text, max(0, start - _REACH), start) is not None


def is_chosen(text: str, start: int) -> bool:
    """Tell whether a colon behind the name at `start` divides a choice: `ok ? password : "none"`."""
    return _CHOICE.search(text, max(0, start - _REACH), start) is not None


def is_in_program(text: str, start: int, sign: str, value: int, end: int) -> bool:
    """Tell whether the name at `start`, the sign of an assignment and a value from `value` to `end` are code."""
    line = text.rfind("\n", max(0, start - _REACH), start) + 1 or max(0, start - _REACH)
    head, rest = text[line:start], text[end : end + _REACH].partition("\n")[0]
    is_indented = head[:1].isspace()
    has_spaces = "=" in sign and text[value - 1].isspace()
    if _OF_OBJECT.search(head) or (_OPEN_CALL.search(head) and "=" in sign) or _GOES_ON.match(rest):
        return True
    if _STATEMENT.match(head) and _PUNCTUATION.search(head + rest):
        return True
    if has_spaces and (
        is_indented
        or _GOES_ON_IN_WORDS.match(rest)
        or _OTHER_NAMES.fullmatch(head)
        or _END_OF_STATEMENT.match(rest)
    ):
        return True
    if sign == ":" and _OPEN_OBJECT.search(head):
        return True
    return is_indented and not head.strip(" \t\"'") and _END_OF_FIELD.match(rest) is not None
