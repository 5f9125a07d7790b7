"""How right extraction for the graph is: precision by type, recall as it is, and what it takes out of ordinary turns.

    python -m ops.eval.extraction [FILE...]             the half that the rules are made after, and what is wrong in it
    python -m ops.eval.extraction --held-out [FILE...]  the other half; whoever looks at what is wrong there uses it up

FILE are the LoCoMo and BEAM files that the turns were drawn from, both of them; without any, only the texts are judged.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from elf.families.graph.extraction.candidate import Candidate
from elf.families.graph.extraction.rules import extract
from ops.eval import extraction_set as s

Extract = Callable[[str], Sequence[Candidate]]


@dataclass(slots=True)
class Judgement:
    """Counts by type: what was taken, what of it is right, and what there was to find; and in words what is wrong."""

    taken: Counter[str] = field(default_factory=Counter)
    right: Counter[str] = field(default_factory=Counter)
    stated: Counter[str] = field(default_factory=Counter)
    found: Counter[str] = field(default_factory=Counter)
    texts: int = 0
    not_verbatim: int = 0
    ordinary: int = 0
    ordinary_taken: int = 0
    faults: list[str] = field(default_factory=list)

    @property
    def precision(self) -> float:
        """The share of the right type among all that was taken."""
        return self.right.total() / max(1, self.taken.total())

    @property
    def recall(self) -> float:
        """The share of the statements that were found, mere observations left out: these stay as they are."""
        return self.found.total() / max(1, self.stated.total() - self.stated["Observation"])

    @property
    def ordinary_rate(self) -> float:
        """The share of the ordinary turns out of which a decision, a goal or a task was taken."""
        return self.ordinary_taken / max(1, self.ordinary)


def judged_texts(texts: Sequence[s.Text], extract: Extract) -> Judgement:
    """Judge what is taken out of texts, each statement by its words."""
    judgement = Judgement()
    for text in texts:
        candidates = _taken(text.text, extract, judgement)
        judgement.stated.update(one.type for one in text.statements)
        found = {
            (one.start, one.type)
            for one in text.statements
            if any(_meets(one, given) for given in candidates)
        }
        judgement.found.update(type for _, type in found)
        for given in candidates:
            right = any(_meets(one, given) for one in text.statements)
            _count(judgement, given, text.id, right=right)
    return judgement


def judged_turns(turns: Sequence[s.Turn], extract: Extract) -> Judgement:
    """Judge what is taken out of turns, by the types that are stated in each."""
    judgement = Judgement()
    labels = s.labels()
    for turn in turns:
        candidates = _taken(turn.text, extract, judgement)
        types = labels[turn.id]
        given_types = {given.type for given in candidates}
        judgement.stated.update(types)
        judgement.found.update(types & given_types)
        for given in candidates:
            _count(judgement, given, turn.id, right=given.type in types)
        if types.isdisjoint(s.COMMITMENTS):
            judgement.ordinary += 1
            judgement.ordinary_taken += not s.COMMITMENTS.isdisjoint(given_types)
    return judgement


def _taken(text: str, extract: Extract, judgement: Judgement) -> Sequence[Candidate]:
    candidates = extract(text)
    judgement.texts += 1
    judgement.not_verbatim += sum(
        text[one.start : one.end] != one.quote or not one.quote for one in candidates
    )
    return candidates


def _meets(statement: s.Statement, given: Candidate) -> bool:
    return statement.type == given.type and given.start < statement.end and statement.start < given.end


def _count(judgement: Judgement, given: Candidate, place: str, *, right: bool) -> None:
    judgement.taken[given.type] += 1
    judgement.right[given.type] += right
    if not right:
        judgement.faults.append(f"{place}: no {given.type}: {given.quote}")


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "files", nargs="*", type=Path, metavar="FILE", help="chats, as LoCoMo and BEAM have them"
    )
    parser.add_argument("--held-out", action="store_true", help="the held-out half instead")
    options = parser.parse_args(argv)
    texts = [one for one in s.texts() if one.is_held_out == options.held_out]
    _show("texts", judged_texts(texts, extract))
    if options.files:
        turns = [one for one in _drawn(options.files) if s.is_held_out(one.id) == options.held_out]
        _show("turns", judged_turns(turns, extract))
    return 0


def _drawn(files: Sequence[Path]) -> list[s.Turn]:
    turns = s.drawn(s.turns_of(files))
    if [turn.id for turn in turns] != list(s.labels()):
        raise SystemExit("The files are not those that the labelled turns were drawn from.")
    return turns


def _show(name: str, judgement: Judgement) -> None:
    print(
        f"{name}: {judgement.texts}, taken {judgement.taken.total()}, not verbatim {judgement.not_verbatim}"
    )
    print(f"  precision {judgement.precision:.3f}  recall {judgement.recall:.3f}")
    for type in s.TYPES:
        taken, right, found = judgement.taken[type], judgement.right[type], judgement.found[type]
        print(
            f"  {type:12} {right:3} right of {taken:3} taken, {found:3} of {judgement.stated[type]:3} found"
        )
    if judgement.ordinary:
        print(f"  ordinary turns taken as Decision, Goal or Todo: {judgement.ordinary_taken} of "
              f"{judgement.ordinary} ({judgement.ordinary_rate:.1%})")  # fmt: skip
    print("\n".join(judgement.faults))


if __name__ == "__main__":
    sys.exit(main())
