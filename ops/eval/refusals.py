"""Asks what a set answers and what it does not, and tells how well the service tells the two apart."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from msgspec import Struct

from elf.client import Client
from elf.client.call import Call, reader
from ops.eval.chats import CUTS, Chat
from ops.eval.irrelevant import ANSWERABLE, UNANSWERABLE, Asked, Kind, questions

THRESHOLDS = [number / 100 for number in range(30, 62, 2)]


class Item(Struct, frozen=True):
    """What is read of a result; services that do not tell it leave it out."""

    relevance: float | None = None


class Answer(Struct, frozen=True):
    """What is read of the answer to a search."""

    items: list[Item]
    weak_match: bool | None = None


@dataclass(frozen=True)
class Judged:
    """What the service said of its answer: whether it is weak, and the best relevance; None when nothing was found."""

    asked: Asked
    is_weak: bool
    relevance: float | None

    def is_below(self, threshold: float) -> bool:
        return self.relevance is None or self.relevance < threshold


def evaluate(name: str, memory: Client, chats: Sequence[Chat], *, results: Path | None) -> None:
    """Ask them all, print which share is kept and refused, and write what was said of each."""
    judged = [judge(memory, asked) for asked in questions(chats)]
    report(judged)
    if results is not None:
        write(results / f"{name}.refusals.json", judged)


def judge(memory: Client, asked: Asked) -> Judged:
    """Search and read the answer as it came. Raises SystemExit when it does not tell `weak_match` or `relevance`."""
    place = memory.within(project_id=asked.chat)
    search = place.calls.search(asked.text, top_k=max(CUTS))
    answer = place.send(Call(search.method, search.target, search.content, reader(Answer)))
    if answer.weak_match is None:
        raise SystemExit("weak_match: the answers of this service do not tell it, so nothing can be measured")
    known = [item.relevance for item in answer.items if item.relevance is not None]
    if answer.items and not known:
        raise SystemExit("relevance: the results of this service do not tell it, so nothing can be measured")
    return Judged(asked, answer.weak_match, max(known, default=None))


def report(judged: Sequence[Judged]) -> None:
    """Print the share of answerable questions kept and of the others refused: by the service, and by thresholds."""
    kinds: dict[Kind, list[Judged]] = {kind: [] for kind in (ANSWERABLE, *UNANSWERABLE)}
    for one in judged:
        kinds[one.asked.kind].append(one)
    print(f"\n{'':<18}{'kept':>14}{'refused':>14}")
    print(f"{'':<18}" + "".join(f"{kind:>14}" for kind in kinds))
    print(f"{'questions':<18}" + "".join(f"{len(ones):>14}" for ones in kinds.values()))
    _show("weak_match", {kind: [one.is_weak for one in ones] for kind, ones in kinds.items()})
    for threshold in THRESHOLDS:
        below = {kind: [one.is_below(threshold) for one in ones] for kind, ones in kinds.items()}
        _show(f"relevance < {threshold:.2f}", below)


def _show(name: str, refused: dict[Kind, list[bool]]) -> None:
    right = {
        kind: [not one for one in ones] if kind == ANSWERABLE else ones for kind, ones in refused.items()
    }
    shares = (f"{sum(ones) / len(ones):>14.3f}" if ones else f"{'-':>14}" for ones in right.values())
    print(f"{name:<18}" + "".join(shares))


def write(path: Path, judged: Sequence[Judged]) -> None:
    """Write each question as it was asked, with what the service said of its answer."""
    rows = [asdict(one.asked) | {"weak_match": one.is_weak, "relevance": one.relevance} for one in judged]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(rows, indent=1), encoding="utf-8")
