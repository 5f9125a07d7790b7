"""Texts without a secret, of the kinds on which detectors give false alarms: code, logs, tables and prose.

They were written before the rules they measure, and none was picked because it passes. The `open` half is for those
who write and tune rules. The `sealed` half only measures them: whoever reads it to mend a rule spends it. The `later`
texts were written by someone who had seen neither rules nor halves, when the sealed half was spent. So were `broad`
and `working`, still later and by two others: the first measurement of them gave 5 and 1 false alarms of 330 each. Those
of `broad` are of all families, in no order. The `distant` ones are of other tools, languages and trades, by someone who
knew the rules and looked for what they would trip over: 15 false alarms of 150 when first measured.

A half is a text file. A line `%%%% family subkind` begins each text, which runs until the next such line. Digests,
ids and readings are made at random; names, hosts and numbers stand for nobody.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, get_args

Half = Literal["open", "sealed", "later", "broad", "working", "distant"]
Family = Literal["code", "log", "table", "prose", "mixed"]

HALVES: Final[tuple[Half, ...]] = get_args(Half)
FAMILIES: Final[tuple[Family, ...]] = get_args(Family)
FOLDER: Final = Path(__file__).parent
HEAD: Final = re.compile(r"^%%%% (\w+) ([\w-]+)\n", re.MULTILINE)


@dataclass(frozen=True)
class OrdinaryText:
    """A text without a secret, one line or many; its family, and what it is more closely."""

    family: Family
    subkind: str
    text: str


def ordinary_texts(half: Half) -> list[OrdinaryText]:
    """Return all texts of a half, in the order of its file. Raises ValueError when a family is unknown."""
    _, *parts = HEAD.split((FOLDER / f"{half}.txt").read_text(encoding="utf-8"))
    heads_and_texts = zip(parts[::3], parts[1::3], parts[2::3], strict=True)
    return [
        OrdinaryText(_family(name), subkind, text.rstrip("\n")) for name, subkind, text in heads_and_texts
    ]


def _family(name: str) -> Family:
    for family in FAMILIES:
        if family == name:
            return family
    raise ValueError(f"not a family of texts: {name!r}")
