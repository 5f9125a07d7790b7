"""The vectors of a text's tokens, compact: what late interaction compares and the token store keeps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float32]

_LARGEST: Final = 127.0
_TINY: Final = 1e-30
_SCALE_BYTES: Final = 4


class Unscaled(NamedTuple):
    """Tokens of one or more texts: token i is `values[i] * scales[i]`, of length 1.

    `values` is int8 of shape (tokens, dimensions), `scales` float32 of shape (tokens,).
    """

    values: npt.NDArray[np.int8]
    scales: Floats


@dataclass(frozen=True, slots=True)
class TokenVectors:
    """The unit vectors of those tokens of a text that are words or parts of words, one behind the other in bytes.

    Each has its scale, a little-endian float32, and then its values, an int8 a dimension. On 400 chat turns and 60
    questions rounding moved no cosine of two tokens by more than 0.004, no MaxSim score by more than 0.0012, and no
    document in or out of a top 12.
    """

    content: bytes
    tokens: int

    @property
    def dimensions(self) -> int:
        """How long a vector is; 0 when there are none."""
        return len(self.content) // self.tokens - _SCALE_BYTES if self.tokens else 0

    def __len__(self) -> int:
        return self.tokens

    def unpack(self) -> Floats:
        """Return the unit vectors, float32 of shape (tokens, dimensions)."""
        values, scales = joined([self])
        return values * scales[:, None]


def joined(texts: Sequence[TokenVectors]) -> Unscaled:
    """Return the tokens of texts of the same dimensions, one text behind the other.

    Raises ValueError for a text whose bytes are not those of so many tokens.
    """
    dimensions = max((text.dimensions for text in texts), default=0)
    if any(len(text.content) != text.tokens * (_SCALE_BYTES + dimensions) for text in texts):
        raise ValueError(f"the bytes of a text are not those of its tokens of {dimensions} dimensions")
    rows = np.frombuffer(b"".join([text.content for text in texts]), dtype=_row(dimensions))
    return Unscaled(rows["values"], rows["scale"])


@cache
def _row(dimensions: int) -> np.dtype[Any]:
    return np.dtype([("scale", "<f4"), ("values", np.int8, (dimensions,))])


def pack(hidden: Floats, places: Sequence[list[int]]) -> list[TokenVectors]:
    """Pack the hidden states of a padded batch, shape (batch, length, dimensions).

    `places` says which tokens of each text to keep.
    """
    largest = np.maximum(np.abs(hidden).max(axis=2, keepdims=True), _TINY)
    rounded = np.rint(hidden * (_LARGEST / largest))
    rows = np.empty(hidden.shape[:2], dtype=_row(hidden.shape[2]))
    rows["scale"] = 1.0 / np.maximum(np.linalg.norm(rounded, axis=2), _TINY)
    rows["values"] = rounded
    return [TokenVectors(rows[row, kept].tobytes(), len(kept)) for row, kept in enumerate(places)]
