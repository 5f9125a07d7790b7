"""Keeps the threads of one pass of the model apart, each on a core of its own.

A Linux guest takes a virtual core that sleeps for one that its host has taken away, and wakes a thread rather on the
core of the thread that wakes it (`available_idle_cpu` and `vcpu_is_preempted` in the kernel's scheduler). So after any
pause the threads of a pass begin on one core, and the pass may be over before the scheduler parts them. Measured on 2
virtual cores with 15 ms between queries: 8.8 ms a query as it comes, 5.0 ms with the threads kept apart; beside one
busy process 9.3 and 7.8 ms, beside two 13.0 and 11.8 ms.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from typing import TypeVar

import structlog

T = TypeVar("T")

# What `ps -L` and `top -H` show. A thread takes the name of the one that starts it, which tells whose it is.
THREAD_NAME = "elf-model"

_OWN_NAME = Path("/proc/thread-self/comm")
_THREADS = Path("/proc/self/task")
_THIS_THREAD = 0

log = structlog.get_logger()


class Placement:
    """Where the threads of a pass run; `helpers` are the kernel's ids of those that share the caller's work.

    Without helpers, on one core, or where the system does not place threads, all run where the system likes.
    """

    def __init__(self, helpers: Sequence[int]) -> None:
        self._helpers = helpers
        self._helpers_cores: set[int] = set()
        self._taken = Lock()

    @contextmanager
    def apart(self) -> Iterator[None]:
        """Keep the calling thread on its core and the helpers off it. A second caller meanwhile is not placed."""
        if not self._helpers or not self._taken.acquire(blocking=False):
            yield
            return
        try:
            cores = self._place()
            try:
                yield
            finally:
                if cores:
                    os.sched_setaffinity(_THIS_THREAD, cores)
        finally:
            self._taken.release()

    def _place(self) -> set[int]:
        """Place the threads; return the cores to give back to the caller, none when it was not placed."""
        try:
            cores = os.sched_getaffinity(_THIS_THREAD)
            here = ctypes.CDLL(None).sched_getcpu()
            others = cores - {here}
            if not others or here not in cores:
                return set()
            if others != self._helpers_cores:
                for helper in self._helpers:
                    os.sched_setaffinity(helper, others)
                self._helpers_cores = others
            os.sched_setaffinity(_THIS_THREAD, {here})
        except OSError as error:  # a sandbox that forbids it: passes are slower then, and right
            log.info("threads_not_placed", error=error.strerror)
            self._helpers = ()
            return set()
        return cores


def placed(start: Callable[[], T]) -> tuple[T, Placement]:
    """Call a function; return its result and the placement of the threads that it started."""
    if sys.platform != "linux":
        return start(), Placement(())
    try:
        own_name = _OWN_NAME.read_text().rstrip("\n")
        _OWN_NAME.write_text(THREAD_NAME)
    except OSError as error:  # no /proc
        log.info("threads_not_placed", error=error.strerror)
        return start(), Placement(())
    known = _named()
    try:
        result = start()
        helpers = _named() - known
    finally:
        _OWN_NAME.write_text(own_name)
    return result, Placement(sorted(helpers))


def _named() -> set[int]:
    """Return the ids of the threads of this process that have the name."""
    return {int(thread.name) for thread in _THREADS.iterdir() if _name(thread) == THREAD_NAME}


def _name(thread: Path) -> str | None:
    try:
        return (thread / "comm").read_text().strip()
    except (FileNotFoundError, ProcessLookupError):  # it has ended meanwhile
        return None
