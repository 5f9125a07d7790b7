"""The mixed set: what three users have in five families of memory, and questions, each of which some of it answers.

A file of `ops/eval/data/mixed` is one user. Below the name of a matter stand its items, a line each: the code of their
family and kind, and the text; of a fact, subject | predicate | content. Lines with ? are questions, with the codes of
the items that answer them. Of the same matter, the other families have something else: they distract.

    # kitchen
    N:decision The kitchen gets oak fronts.
    K kitchen | budget | 14,500 euros
    ? K: How much may it cost?

N is a note, K a fact, KE an episode, KR a rule, C what the user said and CA what an assistant said, G a node of the
graph, A a memory of the assistant. A second N of a matter is N2.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Final, Literal, TypeAlias

from ops.eval.chats import Question

Role: TypeAlias = Literal["user", "assistant"]
DATA: Final = Path(__file__).parent / "data" / "mixed"
FAMILY_OF: Final[Mapping[str, str]] = MappingProxyType(
    {"N": "notes", "K": "knowledge", "C": "conversations", "G": "graph", "A": "assistant"}
)
KINDS: Final[Mapping[str, str]] = MappingProxyType(
    {"N": "fact", "K": "fact", "KE": "episode", "KR": "rule", "C": "USER", "CA": "AI"}
)


@dataclass(frozen=True, slots=True)
class Piece:
    """Something that a family is to keep, by a key of its own.

    `kind` is the type of a note, a node or a memory of knowledge, the role of who says it, or a category.
    """

    key: str
    family: str
    kind: str
    text: str


@dataclass(frozen=True, slots=True)
class Message:
    """Something that was said, by a key of its own."""

    key: str
    role: Role
    text: str


@dataclass(frozen=True, slots=True)
class Household:
    """What all families have of a user, oldest first, and the questions that it answers.

    `said` are messages that families are told together, those that are told what was said.
    """

    name: str
    said: list[Message] = field(default_factory=list)
    pieces: list[Piece] = field(default_factory=list)
    questions: list[Question] = field(default_factory=list)


def read_households(folder: Path = DATA) -> list[Household]:
    """Read all users. Raises ValueError for a line that is none."""
    return [read_household(path) for path in sorted(folder.glob("*.txt"))]


def read_household(path: Path) -> Household:
    """Read a user. Raises ValueError for a line that is none, and for an answer that there is not."""
    house = Household(path.stem)
    matter, seen = "", Counter[str]()
    asked: list[tuple[str, str]] = []
    for line in path.read_text(encoding="utf-8").splitlines():
        mark, _, rest = line.partition(" ")
        if mark == "#":
            matter, seen = rest, Counter()
        elif mark == "?":
            asked.append((matter, rest))
        elif mark:
            house.pieces.append(_piece(matter, mark, rest, seen))
    families = {piece.key: piece.family for piece in house.pieces}
    house.questions.extend(_questions(house.name, asked, families))
    return house


def _piece(matter: str, mark: str, text: str, seen: Counter[str]) -> Piece:
    code, _, kind = mark.partition(":")
    if code[0] not in FAMILY_OF or not text:
        raise ValueError(f"{matter}: {mark} is no item")
    seen[code] += 1
    number = "" if seen[code] == 1 else str(seen[code])
    return Piece(f"{matter}/{code}{number}", FAMILY_OF[code[0]], kind or KINDS[code], text)


def _questions(name: str, asked: list[tuple[str, str]], families: Mapping[str, str]) -> Iterator[Question]:
    for place, (matter, line) in enumerate(asked):
        codes, _, text = line.partition(": ")
        gold = frozenset(f"{matter}/{code}" for code in codes.split())
        if not text or not gold <= families.keys():
            raise ValueError(f"{matter}: nothing is known that answers {line!r}")
        kind = " and ".join(sorted({families[key] for key in gold}))
        yield Question(f"{name}/{place}", text, gold, kind)
