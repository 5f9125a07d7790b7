"""Recall over all families finds what each of them finds by itself, on a part of the mixed set of the evaluation."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from statistics import fmean
from typing import Final
from uuid import uuid4

import pytest

from ops.eval.keeping import Keeper, keeper_of
from ops.eval.memories import RECALL, Answered, ask, wait_settled
from ops.eval.mixed import DATA, Household, read_household
from tests.system.service import RunningService

AGENT: Final = "supervisor"
MATTERS: Final = 22
"""So many matters of a user hold about a sixth of the set."""
CUT: Final = 5


def part_of(household: Household) -> Household:
    """Return the first matters of a household, without what the agent may not read."""
    matters = list(dict.fromkeys(piece.key.split("/")[0] for piece in household.pieces))[:MATTERS]
    pieces = [piece for piece in household.pieces if piece.key.split("/")[0] in matters]
    pieces = [piece for piece in pieces if piece.kind != "interests"]
    keys = {piece.key for piece in pieces}
    questions = [question for question in household.questions if question.gold <= keys]
    return replace(household, pieces=pieces, questions=questions)


@pytest.fixture(scope="module")
def answers(service: RunningService) -> Iterator[list[Answered]]:
    household = part_of(read_household(DATA / "mara.txt"))
    keeper: Keeper = keeper_of(service.url, f"mara-{uuid4()}", AGENT)
    with keeper.memory:
        keeper.keep(household.pieces)
        wait_settled(service, keeper, household)
        yield list(ask(keeper, household))


def test_recall_finds_more_than_whoever_asks_the_family_that_has_it(answers: list[Answered]) -> None:
    of_families = fmean(one.of_holders(CUT) for one in answers)
    assert fmean(one.recall(RECALL, CUT) for one in answers) >= of_families > 0.5


def test_every_family_has_its_part_in_the_answers(answers: list[Answered]) -> None:
    told = {family for one in answers for family in one.told}
    assert told == {"notes", "knowledge", "conversations", "graph", "assistant"}
