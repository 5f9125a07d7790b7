"""Whether a stored text holds a name or a phrase as it is, and not only as a part of a longer word.

It is found in every form in which it may be stored: composed or decomposed (NFC, NFD), with other white space, and
escaped as JSON, also as JSON within JSON. In JSON, what is behind an escaped line break begins a word, too.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence
from itertools import groupby
from typing import Final

LONG_BYTES: Final = 6
_SPACE: Final = r"(?:\s|\\+[nrtbf]|\\+u00[0-9a-fA-F]{2})+"
_BEFORE: Final = r"\\[nrtbf]|\\u[0-9a-fA-F]{4}"
_SPECIAL = re.compile(r"([^\w\s])")


def whole_words(names: Sequence[str]) -> Callable[[str], bool]:
    """Return what tells whether one of the names stands in a text, with no letter or digit at its ends.

    Without names, none does.
    """
    if not names:
        return lambda text: False
    before = r"(?:(?<!\w)|(?<=\\[nrtbf])|(?<=\\u[0-9a-fA-F]{4}))"
    pattern = re.compile(rf"{before}(?:{'|'.join(map(_in_text, names))})(?!\w)")
    return lambda text: pattern.search(text) is not None


def whole_words_in_postgres(names: Sequence[str]) -> str:
    """Return the regular expression of Postgres that says the same of a text. Needs names."""
    return rf"(^|\W|{_BEFORE})({'|'.join(map(_in_text, names))})($|\W)"


def whole_words_in_bytes(names: Sequence[str]) -> str:
    """Return the expression for bytes as Postgres escapes them. Needs names.

    Long names are looked for whatever is beside them: that may be a number, and no letter. Short ones may stand in a
    vector by chance.
    """
    return "|".join(
        _in_bytes(name) if len(name.encode()) >= LONG_BYTES else rf"(^|\W)({_in_bytes(name)})($|\W)"
        for name in names
    )


def _in_text(name: str) -> str:
    return _in_any_form(name, lambda char: char)


def _in_bytes(name: str) -> str:
    """A byte beyond ASCII is shown as a backslash with three digits, and a backslash as two."""
    return _in_any_form(name, lambda char: "".join(rf"\\{byte:03o}" for byte in char.encode()))


def _in_any_form(name: str, beyond_ascii: Callable[[str], str]) -> str:
    forms = dict.fromkeys((name, *(unicodedata.normalize(form, name) for form in ("NFC", "NFD"))))
    return "|".join(_expression(form, beyond_ascii) for form in forms)


def _expression(name: str, beyond_ascii: Callable[[str], str]) -> str:
    """Return the expression of a name, as it is or escaped, however often."""
    parts = []
    for is_space, chars in groupby(name, key=str.isspace):
        parts.append(_SPACE if is_space else "".join(_char(char, beyond_ascii) for char in chars))
    return "".join(parts)


def _char(char: str, beyond_ascii: Callable[[str], str]) -> str:
    if char == "\\":
        return r"\\+"
    if char in "\"'/":
        return rf"\\*{char}"
    if " " <= char <= "~":
        return _SPECIAL.sub(r"\\\1", char)
    raw = char.encode("utf-16-be", "surrogatepass")
    units = [raw[at : at + 2].hex() for at in range(0, len(raw), 2)]
    escaped = "".join(rf"\\+u(?:{unit}|{unit.upper()})" for unit in units)
    return rf"(?:{beyond_ascii(char)}|{escaped})"
