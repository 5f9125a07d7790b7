"""How much the rules take out of turns, and what the bounds of merging and linking do with the packaged model.

    python -m ops.eval.assistant          both
    python -m ops.eval.assistant --turns  facts found in the labelled turns, with one candidate a turn and with several
    python -m ops.eval.assistant --pairs  cosines of the labelled pairs by what they have to do with one another

tests/unit/data/assistant/turns.txt has 100 turns of somebody who tells more than one thing; each thing is in brackets.
It is found when the quote of a candidate shares characters with it. pairs.tsv has 40 memories, each with the same in
other words, with another value, the opposite, and one of the same matter; unrelated ones are those of other rows. Both
sets were labelled before anything was measured with them, and no rule was made after them.
"""

from __future__ import annotations

import argparse
import csv
import re
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, NamedTuple

import anyio
import numpy as np
from numpy.typing import NDArray

from elf.config.tables.assistant import AssistantTable, Merging
from elf.families.assistant.model import FAMILY
from elf.families.assistant.rules.bands import shares_words
from elf.families.assistant.rules.judging import judged
from elf.families.assistant.turn.extraction import Candidate, Said, best, extract
from elf.memory_embedding import MemoryEmbedder
from ops.eval.graph import embedder

SET: Final = Path(__file__).parents[2] / "tests" / "unit" / "data" / "assistant"
CLASSES: Final = ("reworded", "changed", "opposite", "related", "unrelated")
APART: Final = 17
"""The unrelated memory of a row is that of the row so many further on."""
QUANTILES: Final = (0.05, 0.25, 0.5, 0.75, 0.95)


class Turn(NamedTuple):
    """What somebody says, and the places of the things that are told in it."""

    text: str
    facts: Sequence[tuple[int, int]]


class Pair(NamedTuple):
    """Two memories, the newer one second, and what they have to do with one another."""

    kind: str
    older: str
    newer: str


def turns() -> list[Turn]:
    """Read the labelled turns."""
    return [_turn(line) for line in (SET / "turns.txt").read_text(encoding="utf-8").splitlines()]


def _turn(line: str) -> Turn:
    text, facts = "", []
    for part in re.split(r"(\[[^]]*\])", line):
        told = part[1:-1] if part.startswith("[") else part
        if part.startswith("["):
            facts.append((len(text), len(text) + len(told)))
        text += told
    return Turn(text, facts)


def pairs() -> list[Pair]:
    """Read the labelled pairs."""
    with (SET / "pairs.tsv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    made = [Pair(kind, row["fact"], row[kind]) for row in rows for kind in CLASSES[:-1]]
    others = [
        Pair("unrelated", row["fact"], rows[(place + APART) % len(rows)]["fact"])
        for place, row in enumerate(rows)
    ]
    return [*made, *others]


def found(turn: Turn, candidates: Sequence[Candidate]) -> int:
    """Return how many of the things that are told in a turn candidates quote."""
    spans = [(turn.text.index(one.quote), len(one.quote)) for one in candidates]
    return sum(
        any(start < first + length and first < stop for first, length in spans) for start, stop in turn.facts
    )


def _show_turns() -> None:
    chosen = turns()
    told = sum(len(turn.facts) for turn in chosen)
    extracted = [extract([Said("user", turn.text)]) for turn in chosen]
    several = sum(one.several for one in extracted)
    print(f"{len(chosen)} turns with {told} facts; {several} of them are long, or surely tell something")
    ways = {
        "one of each": [best(one.candidates) for one in extracted],
        "several of those, one of each other": [one.candidates for one in extracted],
    }
    for name, candidates in ways.items():
        hits = sum(found(turn, some) for turn, some in zip(chosen, candidates, strict=True))
        print(
            f"  {name:36}{hits:4} facts found ({hits / told:.1%}) by {sum(map(len, candidates))} candidates"
        )


async def _show_pairs() -> None:
    chosen = pairs()
    texts = list(dict.fromkeys(text for pair in chosen for text in (pair.older, pair.newer)))
    vectors = await _vectors(texts)
    cosines: dict[str, list[float]] = {kind: [] for kind in CLASSES}
    for pair in chosen:
        cosines[pair.kind].append(float(vectors[pair.older] @ vectors[pair.newer]))
    print(
        f"\n{'cosine':12}"
        + "".join(f"{f'p{quantile * 100:.0f}':>8}" for quantile in QUANTILES)
        + "     pairs"
    )
    for kind in CLASSES:
        row = "".join(f"{value:8.3f}" for value in np.quantile(cosines[kind], QUANTILES))
        print(f"{kind:12}{row}{len(cosines[kind]):10}")
    _show_bands(chosen, cosines)
    _show_links(cosines)


def _show_bands(chosen: Sequence[Pair], cosines: Mapping[str, Sequence[float]]) -> None:
    bounds = Merging()
    print(
        f"\n{'band':12}{'auto':>8}{'check':>8}{'fallback':>10}{'below':>8}   decided by rule: same changed opposite"
    )
    for kind in CLASSES:
        of_kind = [pair for pair in chosen if pair.kind == kind]
        bands = Counter(
            _band(pair, cosine, bounds) for pair, cosine in zip(of_kind, cosines[kind], strict=True)
        )
        verdicts = Counter(judged(pair.newer, pair.older) for pair in of_kind)
        print(f"{kind:12}{bands['auto']:8}{bands['check']:8}{bands['fallback']:10}{bands['below']:8}"
              f"{verdicts['same']:24}{verdicts['changed']:8}{verdicts['opposite']:9}")  # fmt: skip


def _band(pair: Pair, cosine: float, bounds: Merging) -> str:
    if cosine >= bounds.auto_update:
        return "auto"
    if cosine >= bounds.check_low:
        return "check"
    is_faint = cosine >= bounds.fallback_low and shares_words(pair.newer, pair.older)
    return "fallback" if is_faint else "below"


def _show_links(cosines: Mapping[str, Sequence[float]]) -> None:
    default = AssistantTable().link_min
    print(f"\nlinked at    {''.join(f'{kind:>12}' for kind in CLASSES)}")
    for bound in (0.35, 0.40, 0.45, 0.50, default, 0.60, 0.65):
        shares = [np.mean(np.array(cosines[kind]) >= bound) for kind in CLASSES]
        mark = " (default)" if bound == default else ""
        print(f"  {bound:.2f}       {''.join(f'{share:12.0%}' for share in shares)}{mark}")


async def _vectors(texts: Sequence[str]) -> dict[str, NDArray[np.float32]]:
    """Return the unit vectors of texts by the packaged model, as memories get them."""
    with TemporaryDirectory() as folder:
        async with embedder(Path(folder)) as model:
            vectors = await MemoryEmbedder(model, family=FAMILY).embed(texts)
    assert all(vector is not None for vector in vectors), "the packaged model has a vector for each text"
    return {
        text: vector.to_numpy() for text, vector in zip(texts, vectors, strict=True) if vector is not None
    }


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--turns", action="store_true", help="the turns alone")
    parser.add_argument("--pairs", action="store_true", help="the pairs alone")
    options = parser.parse_args(argv)
    if not options.pairs:
        _show_turns()
    if not options.turns:
        anyio.run(_show_pairs)
    return 0


if __name__ == "__main__":
    sys.exit(main())
