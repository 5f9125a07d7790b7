"""The time of a scan grows with the text, not with its square, whatever the text is made of.

Each text is measured at a length that takes a few milliseconds, and at twice that length. Only CPU time of this
process counts, and a ratio that is too high is measured again, the best of more runs each time, so that neighbours on
the machine do not fail a test. `ops/bench/secrets.py` does the same for all texts, up to 1 MiB.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterable
from typing import Final

import pytest
from data.hostile_texts import FILLERS, TAIL_FILLERS, TAILED, UNITS, marks, ordinary, repeated, tail

from elf.core.secrets import find_secrets, redact

MOST: Final = 2.5
ENOUGH_S: Final = 0.003
SHORTEST, LONGEST = 2048, 131_072
RUNS: Final = (1, 3, 7, 15)

Work = Callable[[str], object]
Maker = Callable[[int], str]


def spent(work: Work, text: str, runs: int) -> float:
    """Return the CPU seconds of the fastest run."""
    times = []
    for _ in range(runs):
        began = time.process_time()
        work(text)
        times.append(time.process_time() - began)
    return min(times)


def growth(work: Work, make: Maker) -> float:
    """Return how many times as long twice the text takes, the least of a few measurements."""
    length = SHORTEST
    while length < LONGEST and spent(work, make(length), 1) < ENOUGH_S:
        length *= 2
    ratios = []
    for runs in RUNS:
        ratios.append(spent(work, make(2 * length), runs) / spent(work, make(length), runs))
        if ratios[-1] <= MOST:
            break
    return min(ratios)


def assert_linear(work: Work, makers: Iterable[tuple[str, Maker]]) -> None:
    gc.disable()
    try:
        steep = [(name, ratio) for name, make in makers if (ratio := growth(work, make)) > MOST]
    finally:
        gc.enable()
    assert steep == []


def repeating(units: Iterable[str]) -> Iterable[tuple[str, Maker]]:
    return ((repr(unit), lambda length, unit=unit: repeated(unit, length)) for unit in units)


def test_the_time_for_repeated_hostile_texts_is_linear() -> None:
    assert_linear(find_secrets, repeating([*UNITS, *FILLERS, *list(marks())[::16]]))


def test_the_time_for_what_goes_on_behind_the_start_of_a_rule_is_linear() -> None:
    starts = [(start, filler) for start in TAILED for filler in TAIL_FILLERS]
    makers = (
        (start, lambda length, pair=(start, filler): tail(*pair, length)) for start, filler in starts[::3]
    )
    assert_linear(find_secrets, makers)


@pytest.mark.parametrize("name", ordinary())
def test_the_time_for_ordinary_texts_is_linear(name: str) -> None:
    assert_linear(find_secrets, repeating([ordinary()[name]]))
    assert_linear(redact, repeating([ordinary()[name]]))


def test_a_text_in_which_each_cut_brings_the_next_secret_to_light_is_redacted_in_few_turns() -> None:
    chain = "password: " + "a1b2c3 " * 2000
    assert find_secrets(redact(chain)) == []
    assert_linear(
        redact,
        repeating(["password: a1b2c3 d4e5f6 ", "a1b2c3 [REDACTED:pin] ", "password: [REDACTED:x] a1b2c3 "]),
    )
