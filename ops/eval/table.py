#!/usr/bin/env python3
"""Recall of two runs over the same questions, compared question by question.

    python -m ops.eval.table OLD NEW

OLD and NEW are the folders that --results of the evaluations wrote; sets that both have are shown, one row a set and k.
`low` and `high` bound the difference of the means with 90 % confidence (percentile bootstrap over the questions).
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

CUTS = ("5", "10", "20")
SUFFIX = ".recall.json"
CONFIDENCE = 0.9
RESAMPLES = 10_000
SEED = 41

Recalls = Mapping[str, Mapping[str, float]]  # of a question by its id, at each cut


class Comparison(NamedTuple):
    """Mean recall of both runs and the interval of the difference new - old."""

    old: float
    new: float
    low: float
    high: float


def compare(old: NDArray[np.float64], new: NDArray[np.float64]) -> Comparison:
    """Compare recalls of the same questions in the same order, one or more."""
    differences = new - old
    rng = np.random.default_rng(SEED)
    drawn = rng.integers(len(differences), size=(RESAMPLES, len(differences)))
    tail = (1 - CONFIDENCE) / 2
    low, high = np.quantile(differences[drawn].mean(axis=1), [tail, 1 - tail])
    return Comparison(float(old.mean()), float(new.mean()), float(low), float(high))


def paired(old: Recalls, new: Recalls, cut: str) -> Comparison:
    """Compare two runs at a cut. Raises ValueError when they did not ask the same questions."""
    if different := old.keys() ^ new.keys():
        raise ValueError(f"only one of the runs asked {', '.join(sorted(different)[:5])}")
    return compare(*(np.array([run[question][cut] for question in old]) for run in (old, new)))


def read(folder: Path) -> dict[str, Recalls]:
    """Read the runs of a folder by the names of their sets. Raises SystemExit when there is none."""
    runs = {
        path.name.removesuffix(SUFFIX): json.loads(path.read_text(encoding="utf-8"))
        for path in sorted(folder.glob(f"*{SUFFIX}"))
    }
    if not runs:
        raise SystemExit(f"{folder} has no file *{SUFFIX}")
    return runs


def rows(old: Mapping[str, Recalls], new: Mapping[str, Recalls]) -> list[str]:
    """Return a row for each set that both have and each cut. Raises SystemExit when they asked other questions."""
    lines = []
    for name in sorted(old.keys() & new.keys()):
        for cut in CUTS:
            try:
                both = paired(old[name], new[name], cut)
            except ValueError as error:
                raise SystemExit(f"{name}: {error}") from None
            lines.append(
                f"{name:<16}{len(old[name]):>5}{f'@{cut}':>5}{both.old:>8.3f}{both.new:>8.3f}"
                f"{both.new - both.old:>+8.3f}{both.low:>+8.3f}{both.high:>+8.3f}"
            )
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("old", type=Path)
    parser.add_argument("new", type=Path)
    options = parser.parse_args()
    old, new = read(options.old), read(options.new)
    print(f"{'set':<16}{'n':>5}{'k':>5}{'old':>8}{'new':>8}{'diff':>8}{'low':>8}{'high':>8}")
    print("\n".join(rows(old, new)))
    for name in sorted(old.keys() ^ new.keys()):
        print(f"{name}: only one of the folders has it")


if __name__ == "__main__":
    main()
