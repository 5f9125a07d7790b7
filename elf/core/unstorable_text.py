"""Text that Python and JSON can hold and a database cannot: NUL, and half of a surrogate pair, such as of a cut emoji.

A program that has to get back exactly what it gave keeps such text escaped; others keep it cleaned.
"""

from __future__ import annotations

import re
from typing import Any, Final

_UNSTORABLE: Final = re.compile("[\x00\ud800-\udfff]")
_ESCAPED: Final = re.compile("[\\\\\x00\ud800-\udfff]")
_ESCAPE: Final = re.compile(r"\\(?:\\|u([0-9a-f]{4}))")


def is_storable(value: Any) -> bool:
    """Tell whether all texts of a JSON value, its keys too, can be stored as they are."""
    if isinstance(value, str):
        return _UNSTORABLE.search(value) is None
    if isinstance(value, dict):
        return all(is_storable(key) and is_storable(item) for key, item in value.items())
    if isinstance(value, list | tuple):
        return all(map(is_storable, value))
    return True


def cleaned(text: str) -> str:
    """Return a text without NUL, and with U+FFFD for each half of a pair; two halves that meet are one character."""
    if _UNSTORABLE.search(text) is None:
        return text
    return text.replace("\x00", "").encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def escaped(value: Any) -> Any:
    """Return a JSON value whose texts can be stored, of which `unescaped` makes the same again."""
    if isinstance(value, str):
        return _ESCAPED.sub(_escape, _paired(value))
    if isinstance(value, dict):
        return {escaped(key): escaped(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [escaped(item) for item in value]
    return value


def unescaped(value: Any) -> Any:
    """Return the value that was escaped; as in JSON, two halves of a pair that met are one character."""
    if isinstance(value, str):
        return _ESCAPE.sub(_unescape, value)
    if isinstance(value, dict):
        return {unescaped(key): unescaped(item) for key, item in value.items()}
    if isinstance(value, list):
        return [unescaped(item) for item in value]
    return value


def _paired(text: str) -> str:
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")


def _escape(found: re.Match[str]) -> str:
    return r"\\" if found[0] == "\\" else f"\\u{ord(found[0]):04x}"


def _unescape(found: re.Match[str]) -> str:
    return "\\" if found[1] is None else chr(int(found[1], 16))
