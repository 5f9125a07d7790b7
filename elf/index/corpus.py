"""The corpus of a query: the points among which it is counted how rare its words are.

It is what the reader may see, whatever else is looked for: with the points of others in it, their words would move a
reader's ranking, and scores would tell which words they use. It does not shrink with a key, a period, tags or a field
that is none of the space's reader_fields, so that scores stay comparable.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TypeVar

from elf.index.within import Within

_Values = TypeVar("_Values", bound=Sequence[str])
_T = TypeVar("_T")


def corpus_of(
    must: Mapping[str, str],
    any_of: Sequence[Mapping[str, _Values]] | None,
    within: Within | None,
    *,
    reader_fields: Collection[str],
) -> tuple[dict[str, str], list[dict[str, _Values]] | None, Within | None]:
    """Return equalities, alternatives and choice of a filter's corpus, which lets through all that the filter does."""

    def readers(fields: Mapping[str, _T]) -> dict[str, _T]:
        return {field: value for field, value in fields.items() if field in reader_fields}

    seen = within if within is not None and within.field in reader_fields else None
    return readers(must), None if any_of is None else [readers(group) for group in any_of], seen
