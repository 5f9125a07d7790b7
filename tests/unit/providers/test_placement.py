"""Where the threads of one pass of the model run."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from elf.providers.local.placement import THREAD_NAME, Placement, placed

CORES = os.sched_getaffinity(0)

several_cores = pytest.mark.skipif(len(CORES) < 2, reason="threads are kept apart on several cores only")


@contextmanager
def waiting_thread() -> Iterator[int]:
    """A thread that waits, by the kernel's id."""
    may_end = threading.Event()
    thread = threading.Thread(target=may_end.wait)
    thread.start()
    try:
        assert thread.native_id is not None
        yield thread.native_id
    finally:
        may_end.set()
        thread.join()


@several_cores
def test_within_the_caller_has_one_core_and_the_helpers_have_the_others() -> None:
    with waiting_thread() as helper:
        placement = Placement([helper])
        for _ in range(3):
            with placement.apart():
                own = os.sched_getaffinity(0)
                assert len(own) == 1
                assert os.sched_getaffinity(helper) == CORES - own
            assert os.sched_getaffinity(0) == CORES


@several_cores
def test_the_caller_has_its_cores_back_after_an_error() -> None:
    with waiting_thread() as helper:
        placement = Placement([helper])
        with pytest.raises(ZeroDivisionError), placement.apart():
            raise ZeroDivisionError
        assert os.sched_getaffinity(0) == CORES
        with placement.apart():
            assert len(os.sched_getaffinity(0)) == 1


@several_cores
def test_a_second_caller_is_not_placed_while_the_first_is() -> None:
    with waiting_thread() as helper:
        placement = Placement([helper])
        seen: list[set[int]] = []

        def second() -> None:
            os.sched_setaffinity(0, CORES)  # it began as a child of the first
            with placement.apart():
                seen.append(os.sched_getaffinity(0))

        with placement.apart():
            thread = threading.Thread(target=second)
            thread.start()
            thread.join()
        assert seen == [CORES]


def test_without_helpers_nothing_is_placed() -> None:
    with Placement([]).apart():
        assert os.sched_getaffinity(0) == CORES


def test_on_one_core_nothing_is_placed() -> None:
    with waiting_thread() as helper:
        one = {min(CORES)}
        os.sched_setaffinity(0, one)
        try:
            with Placement([helper]).apart():
                assert os.sched_getaffinity(helper) == CORES
            assert os.sched_getaffinity(0) == one
        finally:
            os.sched_setaffinity(0, CORES)


@several_cores
def test_a_helper_that_cannot_be_placed_is_no_failure() -> None:
    placement = Placement([2**31 - 1])  # of no thread
    for _ in range(2):
        with placement.apart():
            assert os.sched_getaffinity(0) == CORES


def test_helpers_are_the_threads_that_were_started_and_no_others() -> None:
    may_end = threading.Event()
    ids: list[int] = []

    def start() -> str:
        for _ in range(2):
            thread = threading.Thread(target=may_end.wait)
            thread.start()
            assert thread.native_id is not None
            ids.append(thread.native_id)
        return "started"

    own_name = name_of(threading.get_native_id())
    try:
        with waiting_thread() as bystander:
            result, placement = placed(start)
            assert result == "started"
            assert [name_of(id) for id in ids] == [THREAD_NAME, THREAD_NAME]
            assert name_of(threading.get_native_id()) == own_name != THREAD_NAME
            with placement.apart():
                others = CORES - os.sched_getaffinity(0) or CORES
                assert [os.sched_getaffinity(id) for id in ids] == [others, others]
                assert os.sched_getaffinity(bystander) == CORES
    finally:
        may_end.set()


def name_of(thread: int) -> str:
    with open(f"/proc/self/task/{thread}/comm") as file:
        return file.read().strip()
