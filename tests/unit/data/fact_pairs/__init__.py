"""Pairs of short notes, written by hand and labelled with how the second relates to the first.

A pair is the `same` fact in other words; or a value was `changed`, so that the second note replaces or contradicts
the first; or it is the same sentence about an `other` subject, and both notes stand. The last two mostly differ in
one word. The `open` half is for those who write and tune rules. The `sealed` half only measures them: whoever reads
it to mend a rule spends it.

Each half is a tab-separated file of its own: kind, subkind (what was reworded or exchanged), first and second text.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, get_args

Half = Literal["open", "sealed"]
Kind = Literal["same", "changed", "other"]

HALVES: Final[tuple[Half, ...]] = get_args(Half)
KINDS: Final[tuple[Kind, ...]] = get_args(Kind)
FOLDER: Final = Path(__file__).parent


@dataclass(frozen=True)
class FactPair:
    """Two notes, how the second relates to the first, and what was reworded or exchanged."""

    kind: Kind
    subkind: str
    first: str
    second: str

    @property
    def is_same(self) -> bool:
        return self.kind == "same"


def fact_pairs(half: Half) -> list[FactPair]:
    """Return all pairs of a half, in the order of its file. Raises ValueError when a row is not a pair."""
    with (FOLDER / f"{half}.tsv").open(encoding="utf-8", newline="") as file:
        rows = csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
        next(rows)  # the names of the columns
        return [_pair(row) for row in rows]


def _pair(row: list[str]) -> FactPair:
    kind, subkind, first, second = row
    return FactPair(_kind(kind), subkind, first, second)


def _kind(name: str) -> Kind:
    for kind in KINDS:
        if kind == name:
            return kind
    raise ValueError(f"not a kind of pair: {name!r}")
