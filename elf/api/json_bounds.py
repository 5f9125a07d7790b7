"""How much JSON that is free in form may hold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from elf.core.json_size import MAX_LONG_DIGITS
from elf.core.json_strings import MAX_DEPTH, MAX_STRING_CHARS

MAX_VALUES: Final = 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class JsonBounds:
    """Bounds of the body of a request. `values` and `long_digits` are counted over all of it, long numbers written out
    without exponents; `depth` and `string_chars`, in code points, hold for each piece of free JSON in it.
    """

    values: int = MAX_VALUES
    long_digits: int = MAX_LONG_DIGITS
    depth: int = MAX_DEPTH
    string_chars: int = MAX_STRING_CHARS


USUAL: Final = JsonBounds()
