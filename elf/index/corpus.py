"""The corpus of a query: the points among which it is counted how rare its words are.

It is what the reader may see, whatever else is looked for: with the points of others in it, their words would move a
reader's ranking, and scores would tell which words they use. It does not shrink with a key, a period, tags or a type,
so that scores stay comparable.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeVar

from elf.index.schema import READER_FIELDS

_Values = TypeVar("_Values", bound=Sequence[str])
_T = TypeVar("_T")


def corpus_of(
    must: Mapping[str, str], any_of: Sequence[Mapping[str, _Values]] | None
) -> tuple[dict[str, str], list[dict[str, _Values]] | None]:
    """Return the equalities and alternatives of a filter's corpus, which lets through all that the filter does."""
    return _readers(must), None if any_of is None else [_readers(group) for group in any_of]


def _readers(fields: Mapping[str, _T]) -> dict[str, _T]:
    return {field: value for field, value in fields.items() if field in READER_FIELDS}
