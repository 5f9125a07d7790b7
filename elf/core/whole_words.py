"""Whether a text holds a name or a phrase as it is, and not only as a part of a longer word.

In JSON, what is behind an escaped line break begins a word, too.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Final

LONG_BYTES: Final = 6

_SPECIAL = re.compile(r"([^\w\s])")


def whole_words(names: Sequence[str]) -> Callable[[str], bool]:
    """Return what tells whether one of the names stands in a text, with no letter or digit at its ends.

    Without names, none does.
    """
    if not names:
        return lambda text: False
    pattern = re.compile(rf"(?:(?<!\w)|(?<=\\[nrtbf]))(?:{'|'.join(map(_quoted, names))})(?!\w)")
    return lambda text: pattern.search(text) is not None


def whole_words_in_postgres(names: Sequence[str]) -> str:
    """Return the regular expression of Postgres that says the same of a text. Needs names."""
    return rf"(^|\W|\\[nrtbf])({'|'.join(map(_quoted, names))})($|\W)"


def whole_words_in_bytes(names: Sequence[str]) -> str:
    """Return the expression for bytes as Postgres escapes them. Needs names.

    Long names are looked for whatever is beside them: that may be a number, and no letter. Short ones may stand in a
    vector by chance.
    """
    forms = [_escaped(name) for name in names]
    return "|".join(
        one if len(name.encode()) >= LONG_BYTES else rf"(^|\W)({one})($|\W)"
        for name, one in zip(names, forms, strict=True)
    )


def _escaped(name: str) -> str:
    """Return the expression of a name in bytes: one beyond ASCII is a backslash with three digits, a backslash two."""
    shown = "".join(
        chr(byte) if byte < 0x80 else f"\\{byte:03o}" for byte in name.replace("\\", "\\\\").encode()
    )
    return _SPECIAL.sub(r"\\\1", shown)


def _quoted(name: str) -> str:
    """Return the expression of a name, as it is or as JSON has it."""
    as_it_is = _SPECIAL.sub(r"\\\1", name)
    in_json = _SPECIAL.sub(r"\\\1", name.replace("\\", "\\\\").replace('"', '\\"'))
    return as_it_is if as_it_is == in_json else f"{as_it_is}|{in_json}"
