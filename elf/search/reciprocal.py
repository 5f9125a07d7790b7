"""Reciprocal rank fusion with a place for what a list does not hold (Cormack, Clarke and Buettcher 2009)."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Final, TypeVar

K = TypeVar("K", bound=Hashable)

RRF_K: Final = 60


def reciprocal_ranks(lists: Sequence[Sequence[K]], *, k: int = RRF_K, absent: int) -> Mapping[K, float]:
    """Return the sum of 1 / (k + rank) over the lists, for whatever is in any of them.

    Ranks are from 1; `absent` is the rank of what a list does not hold. A list holds nothing twice.
    """
    ranks = [{one: rank for rank, one in enumerate(ranked, start=1)} for ranked in lists]
    found = dict.fromkeys(one for ranked in lists for one in ranked)
    return {one: sum(1.0 / (k + of_list.get(one, absent)) for of_list in ranks) for one in found}
