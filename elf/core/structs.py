"""Reading what came as structs, in any number of threads.

msgspec finds out at the first use of a struct what its fields are, and where two threads do so at once it may end the
process by a segmentation fault (0.22). Here one does, and the others wait.
"""

from __future__ import annotations

from threading import Lock
from typing import Any, Final, TypeVar

import msgspec

T = TypeVar("T")

_decoders: Final[dict[Any, msgspec.json.Decoder[Any]]] = {}
_finding_out: Final = Lock()


def json_decoder(kind: type[T]) -> msgspec.json.Decoder[T]:
    """Return what reads JSON as values of a kind; one for all who ask."""
    known = _decoders.get(kind)
    if known is None:
        with _finding_out:
            known = _decoders.setdefault(kind, msgspec.json.Decoder(kind))
    return known


def read_json(content: bytes | str, kind: type[T]) -> T:
    """Read JSON as a value of a kind. Raises msgspec.DecodeError for JSON that is none."""
    return json_decoder(kind).decode(content)


def read_value(value: object, kind: type[T]) -> T:
    """Read plain values as one of a kind. Raises msgspec.ValidationError for others."""
    json_decoder(kind)
    return msgspec.convert(value, kind)
