"""How right the rule-based consolidator is: precision and recall on the episodes of the tests, and a sample on chats.

    python -m ops.eval.consolidation                 the half that the rules are made after, and what is wrong in it
    python -m ops.eval.consolidation --held-out      the other half; whoever looks at what is wrong there uses it up
    python -m ops.eval.consolidation FILE [FILE...]  LoCoMo or BEAM: counts, and facts to look through

A chat is judged by who reads the sample.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Any
from uuid import UUID

from elf.families.knowledge.consolidation.answer import read_answer
from elf.families.knowledge.consolidation.prompt import ShownEpisode, consolidation_prompt
from elf.families.knowledge.consolidation.rules import RULE_BASED_CONSOLIDATION
from ops.eval.consolidation_set import KINDS, MOMENT, Score, episodes, judged

SEED = 7


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "files", nargs="*", type=Path, metavar="FILE", help="chats, as LoCoMo or BEAM has them"
    )
    parser.add_argument("--sample", type=int, default=60, help="how many facts of the chats to print")
    parser.add_argument("--held-out", action="store_true", help="the held-out half instead")
    options = parser.parse_args(argv)
    if options.files:
        _show_chats(options.files, options.sample)
    else:
        _show_set(held_out=options.held_out)
    return 0


def _show_set(*, held_out: bool) -> None:
    chosen = [one for one in episodes() if one.is_held_out == held_out]
    judgement = judged(chosen, RULE_BASED_CONSOLIDATION.answer)
    print(f"{'held out' if held_out else 'developed on'}: {len(chosen)} episodes")
    _show("facts, new and updated", judgement.told)
    for kind in KINDS:
        _show(kind, judgement.scores[kind])
    print("\n".join(judgement.faults))


def _show(name: str, score: Score) -> None:
    print(f"  {name:24} precision {score.precision:.3f}  recall {score.recall:.3f}  ({score.right} right of "
          f"{score.given} given, {score.expected} to find)")  # fmt: skip


def _show_chats(files: Sequence[Path], sample: int) -> None:
    for path in files:
        turns = list(_turns(json.loads(path.read_text(encoding="utf-8"))))
        begun = time.perf_counter()
        found = [(turn, item) for turn in turns for item in _items(turn)]
        took = time.perf_counter() - begun
        facts = sum(item[0] == "fact" for _, item in found)
        print(f"{path.name}: {len(turns)} turns, {facts} facts, {len(found) - facts} rules, {took:.1f} s")
        for turn, item in Random(SEED).sample(found, min(sample, len(found))):
            print(f"  {item}\n      {' '.join(turn.split())[:300]}")


def _items(turn: str) -> Iterator[tuple[str, ...]]:
    shown = ShownEpisode(id=UUID(int=0), created_at=MOMENT, content=turn)
    result = read_answer(RULE_BASED_CONSOLIDATION.answer(consolidation_prompt([shown], [], [])))
    for fact in result.new_facts:
        yield "fact", fact.subject, fact.predicate, fact.content
    for rule in result.new_rules:
        yield "rule", rule.content


def _turns(value: Any) -> Iterator[str]:
    """Yield the turns of chats, wherever they stand: LoCoMo has speaker and text, BEAM role and content."""
    if isinstance(value, list):
        for one in value:
            yield from _turns(one)
    elif isinstance(value, dict):
        who, text = value.get("speaker") or value.get("role"), value.get("text") or value.get("content")
        if isinstance(who, str) and isinstance(text, str):
            yield f"{who.capitalize()}: {text}"
        else:
            for one in value.values():
                yield from _turns(one)


if __name__ == "__main__":
    sys.exit(main())
