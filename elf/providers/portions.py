"""How much text one call of an embedding model is given."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

# Some 5,500 tokens of English, and twice as many of what packs badly: one or two seconds of a model that runs on two
# cores, so that a few calls at once still come within a timeout of ten. Chunks of long texts, sorted by length, are
# padded by 8% in it, and by 5% in calls without a bound.
CALL_BYTES: Final = 24 * 1024
CALL_TEXTS: Final = 64


def portions(texts: Sequence[str], *, most_texts: int = CALL_TEXTS) -> Iterator[slice]:
    """Yield, in order, the parts of `texts` that make a call each: CALL_BYTES at most, or one longer text."""
    start, total = 0, 0
    for place, text in enumerate(texts):
        bytes_here = len(text.encode("utf-8", "surrogatepass"))
        if place > start and (place - start >= most_texts or total + bytes_here > CALL_BYTES):
            yield slice(start, place)
            start, total = place, 0
        total += bytes_here
    if start < len(texts):
        yield slice(start, len(texts))
