"""How many values a JSON text holds, told before it is read.

Reading JSON takes one call into C for all of it, and so long as its values are many, not as it has many bytes.
"""

from __future__ import annotations

import re
from typing import Final

from elf.core.slices import Slices

# A string, which may never end, or what stands before a value that is not the first of its container, or is.
_STRING_OR_MARK: Final = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"?|,|[\[{](?!\s*[\]}])', re.DOTALL)
_PIECE: Final = 1000


def holding_more_values(text: bytes, most: int) -> Slices[bool]:
    """Tell whether a JSON text holds more than `most` values: arrays, objects, and what is in them, but not keys.

    Of what is no JSON it tells something.
    """
    if sum(map(text.count, (b"[", b"{", b","))) < most:
        return False
    values = 1
    for number, token in enumerate(_STRING_OR_MARK.finditer(text)):
        values += text[token.start()] != ord('"')
        if values > most:
            return True
        if number % _PIECE == 0:
            yield
    return False
