"""Which counts are remembered, and for how long."""

from __future__ import annotations

from elf.index.counts import LARGE, LONGEST_S, SWEPT, LargeCounts


class SteeredClock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def test_a_small_count_is_made_anew_each_time() -> None:
    counts = LargeCounts()
    counts.learn("word", LARGE - 1)
    assert counts.known("word") is None


def test_the_larger_a_count_is_the_longer_it_is_remembered_up_to_a_minute() -> None:
    clock = SteeredClock()
    counts = LargeCounts(clock=clock)
    for count in (500, 3000, 10_000_000):
        counts.learn(count, count)
    remembered = {}
    for seconds in (0.0, 4.9, 5.0, 29.9, 30.0, 59.9, 60.0):
        clock.now = 1000.0 + seconds
        remembered[seconds] = [counts.known(count) is not None for count in (500, 3000, 10_000_000)]
    assert remembered == {
        0.0: [True, True, True],
        4.9: [True, True, True],
        5.0: [False, True, True],
        29.9: [False, True, True],
        30.0: [False, False, True],
        59.9: [False, False, True],
        60.0: [False, False, False],
    }


def test_a_newer_count_replaces_an_older_one_and_all_can_be_forgotten() -> None:
    counts = LargeCounts()
    counts.learn("word", 500)
    counts.learn("word", 600)
    assert counts.known("word") == 600
    counts.forget()
    assert counts.known("word") is None


def test_counts_out_of_date_take_no_room_for_long() -> None:
    clock = SteeredClock()
    counts = LargeCounts(clock=clock)
    for key in range(5 * SWEPT):
        counts.learn(key, LARGE)
        clock.now += 10 * LONGEST_S / SWEPT
    assert len(counts) <= 1.1 * SWEPT
    assert counts.known(5 * SWEPT - 1) == LARGE
