#!/usr/bin/env python3
"""Recall over all families beside each family's own search, in a service started for it.

    python -m ops.eval.memories mixed
    python -m ops.eval.memories locomo FILE
    python -m ops.eval.memories beam FILE

`mixed` is `ops/eval/data/mixed`: 600 things that five families have of three users, each in one of them, and 150
questions. The messages of the chats of the others, whose files are those of `ops.eval.locomo` and `ops.eval.beam`, are
remembered by all families that remember what is said, and told to the graph as transcripts.

Recall is fractional: the share of a question's gold that the first k items are, or rest on; an item that stands for
others that say the same counts for them, too. `mean` is that of the families, `holder` that of who knows, of the mixed
set, which family has the gold, and asks that one. The first 10 of recall should hold as much as those of the best
family, less one standard error, and more than those of the mean. Two errors are printed: that of the best family's own
figure, and that of the difference of both over the same questions, which is stricter.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from elf.client.families.memories import Recalled
from elf.core.logs import configure_logging
from ops.eval import beam, locomo, mixed
from ops.eval.chats import Chat, Question
from ops.eval.family_searches import SEARCHES, Found, searched
from ops.eval.keeping import TRANSCRIPT, Keeper, keeper_of
from ops.eval.mixed import Household, Message, Piece, Role
from ops.eval.service import started
from tests.system.said import is_indexed
from tests.system.service import RunningService, wait_for
from tests.system.truth import wait_indexed

CUTS: Final = (5, 10, 20)
TOLD: Final = 10
"""How many items of an answer are counted by their families."""
CHARS: Final = 16_000
MOST: Final = 100
PATIENCE_S: Final = 1200.0
CATEGORIES: Final = ("profile", "goals", "preferences", "event", "activity", "relationships", "tasks")
REMEMBERED_BY: Final = """
[remember]
families = ["conversations", "notes", "assistant", "knowledge"]
"""
RECALL: Final = "recall"
Rows = Mapping[str, Sequence[float]]
"""Recalls at a cut, of each question, by what found it: a family, or recall."""


@dataclass(frozen=True, slots=True)
class Answered:
    """What recall and each family found for a question, how much of the gold each family holds, and who was told."""

    question: str
    kind: str
    gold: frozenset[str]
    found: Mapping[str, Found]
    told: Sequence[str]

    def holders(self) -> list[str]:
        """Return the families that some of the gold is in, by the kind of the question."""
        return [name for name in SEARCHES if name in self.kind.split(" and ")]

    def of_holders(self, cut: int) -> float:
        """Return the recall of whoever knows which family has the gold, or most of it, and asks that one."""
        return max(self.recall(name, cut) for name in self.holders())

    def recall(self, name: str, cut: int) -> float:
        there = frozenset[str]().union(*self.found[name][:cut])
        return len(self.gold & there) / len(self.gold)


def household_of(chat: Chat, roles: Mapping[str, Role]) -> Household:
    """Return a user whose families are all told each message of a chat: the graph as a transcript."""
    house = Household(chat.name, questions=chat.questions)
    for note in chat.notes:
        key = note.key or ""
        house.said.append(Message(key, roles.get(key, "user"), note.text))
        house.pieces.append(Piece(key, "graph", TRANSCRIPT, note.text))
    return house


def households_of(options: argparse.Namespace) -> list[Household]:
    """Read the set that is asked for."""
    if options.set == "mixed":
        return mixed.read_households()
    if options.set == "locomo":
        return [household_of(chat, {}) for chat in locomo.read_chats(options.file, None)]
    raw = json.loads(Path(options.file).read_text(encoding="utf-8"))
    roles = [{beam.key_of(one["id"]): one["role"] for one in chat["messages"]} for chat in raw]
    chats = beam.read_chats(options.file)
    return [household_of(chat, by_key) for chat, by_key in zip(chats, roles, strict=True)]


def config_for(households: Sequence[Household]) -> dict[str, str]:
    """Return the changes of a config which give each user an agent of its own, that reads all that is kept."""
    categories = {piece.kind for one in households for piece in one.pieces if piece.family == "assistant"}
    readable = json.dumps(sorted({*CATEGORIES, *categories}))
    agents = "\n".join(f'"{one.name}" = {readable}' for one in households)
    return {"supervisor": f"{readable}\n{agents}", "max_writes_per_day": "10000"}


def wait_settled(service: RunningService, keeper: Keeper, household: Household) -> None:
    """Wait until all is indexed, and recall compares all that it tells: that is made behind the first answers."""
    wait_for(lambda: is_indexed(service), "all is in the index", timeout_s=PATIENCE_S)
    wait_indexed(service, timeout_s=PATIENCE_S)
    keeper.wait_linked(PATIENCE_S)
    for question in household.questions:

        def compared(question: Question = question) -> bool:
            answer = recalled(keeper, question, top_k=MOST)
            return all(item.relevance is not None for item in answer.items)

        wait_for(compared, f"all is compared with {question.id}", timeout_s=PATIENCE_S)


def recalled(keeper: Keeper, question: Question, *, top_k: int) -> Recalled:
    return keeper.memory.memories.recall(
        question.text, user_id=keeper.user, agent_id=keeper.agent, top_k=top_k
    )


def ask(keeper: Keeper, household: Household) -> Iterator[Answered]:
    """Ask recall and each family."""
    for question in household.questions:
        answer = recalled(keeper, question, top_k=max(CUTS))
        if answer.degraded:
            print(f"{question.id}: did without {', '.join(answer.degraded)}", file=sys.stderr)
        found: dict[str, Found] = {name: searched(keeper, name, question.text) for name in SEARCHES}
        found[RECALL] = [
            frozenset[str]().union(
                *(keeper.keys.of(one.family, one.id, one.provenance) for one in (item, *item.also))
            )
            for item in answer.items
        ]
        told = [item.family for item in answer.items[:TOLD]]
        yield Answered(question.id, question.kind, question.gold, found, told)


def report(answers: Sequence[Answered]) -> None:
    """Print the recalls of all, over all questions and by whose gold it is, the difference, and who was told."""
    print(
        f"{'':<12}"
        + "".join(f"{f'@{cut}':>8}" for cut in CUTS)
        + f"   of the first {TOLD}, questions of its own @{TOLD}: it, recall"
    )
    told = Counter(family for one in answers for family in one.told)
    for name in (RECALL, *SEARCHES):
        cells = "".join(f"{_mean(answers, name, cut):8.3f}" for cut in CUTS)
        own = [one for one in answers if name in one.holders()]
        share = f"{told[name] / max(1, told.total()):9.1%}" if name != RECALL else ""
        ours = f"{len(own):8} {_mean(own, name, TOLD):8.3f} {_mean(own, RECALL, TOLD):8.3f}" if own else ""
        print(f"{name:<12}{cells}{share}{ours}")
    means = [statistics.fmean(_mean(answers, name, cut) for name in SEARCHES) for cut in CUTS]
    print(f"{'mean':<12}" + "".join(f"{mean:8.3f}" for mean in means))
    if all(one.holders() for one in answers):
        bests = [statistics.fmean(one.of_holders(cut) for one in answers) for cut in CUTS]
        print(f"{'holder':<12}" + "".join(f"{best:8.3f}" for best in bests))
    for cut in CUTS:
        best = max(SEARCHES, key=lambda name: _mean(answers, name, cut))
        own = [one.recall(best, cut) for one in answers]
        gains = [one.recall(RECALL, cut) - of_best for one, of_best in zip(answers, own, strict=True)]
        print(
            f"@{cut}: recall - {best}: {statistics.fmean(gains):+.4f}, one standard error {error_of(gains):.4f}, "
            f"of {best} itself {error_of(own):.4f}"
        )


def _mean(answers: Sequence[Answered], name: str, cut: int) -> float:
    return statistics.fmean(one.recall(name, cut) for one in answers)


def error_of(gains: Sequence[float]) -> float:
    """Return the standard error of a mean."""
    return statistics.stdev(gains) / len(gains) ** 0.5


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("set", choices=("mixed", "locomo", "beam"))
    parser.add_argument("file", nargs="?", help="the JSON file of locomo or beam")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="users or chats (default: all)")
    parser.add_argument("--local", metavar="CONFIG", type=Path, default=Path("elf.example.toml"))
    options = parser.parse_args()
    if (options.file is None) != (options.set == "mixed"):
        parser.error("a file is needed for locomo and beam, and for them alone")
    configure_logging("warning", form="auto")
    households = [one for one in households_of(options) if options.only is None or one.name in options.only]
    changes = config_for(households)
    with started(options.local, None, note_chars=CHARS, tables=REMEMBERED_BY, **changes) as service:
        keepers = [keeper_of(service.url, one.name, one.name) for one in households]
        for keeper, household in zip(keepers, households, strict=True):
            keeper.remember(household.said, PATIENCE_S)
            keeper.keep(household.pieces)
            print(f"{household.name}: kept", file=sys.stderr)
        for keeper, household in zip(keepers, households, strict=True):
            wait_settled(service, keeper, household)
        report([one for both in zip(keepers, households, strict=True) for one in ask(*both)])


if __name__ == "__main__":
    main()
