"""The labelled turns and pairs: what the rules take of them is told, and what they judge of them is right."""

from __future__ import annotations

from collections import Counter

from elf.families.assistant.rules.judging import judged
from elf.families.assistant.turn.extraction import Said, best, extract
from ops.eval.assistant import CLASSES, found, pairs, turns

ALLOWED = {
    "reworded": {"same", "undecided"},
    "changed": {"changed", "undecided"},
    "opposite": {"opposite", "undecided"},
    "related": {"undecided"},
    "unrelated": {"undecided"},
}
ASKED = {"User's preferred language is German."}


def test_the_sets_are_as_large_as_they_are_said_to_be() -> None:
    assert len(turns()) == 100
    assert all(turn.text[start:end].strip() for turn in turns() for start, end in turn.facts)
    assert min(len(turn.facts) for turn in turns()) >= 2
    assert Counter(pair.kind for pair in pairs()) == dict.fromkeys(CLASSES, 40)


def test_several_candidates_find_more_than_one_does_and_each_is_of_a_labelled_fact() -> None:
    one = several = 0
    for turn in turns():
        candidates = extract([Said("user", turn.text)]).candidates
        one += found(turn, best(candidates))
        several += found(turn, candidates)
        # How the user is to be spoken with is no fact of the set.
        assert found(turn, candidates) >= sum(one.text not in ASKED for one in candidates)
    assert several > one > 0


def test_the_rules_judge_no_pair_wrongly() -> None:
    wrong = [pair for pair in pairs() if judged(pair.newer, pair.older) not in ALLOWED[pair.kind]]
    assert wrong == []
