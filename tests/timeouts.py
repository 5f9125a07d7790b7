"""The time limit of tests on trio.

When a test's time is up, pytest-timeout raises in the main thread. A test on trio does not run there like a function:
it is the guest of a loop that the anyio plugin turns. Raised between two turns, the failure leaves the guest behind,
and the plugin waits for it as it closes the runner; raised within a turn, it may hit trio itself. Either way one
hanging test hangs the run. So the test is cancelled first.
"""

from __future__ import annotations

import signal
import traceback
from collections.abc import Generator
from functools import wraps
from inspect import iscoroutinefunction
from types import FrameType
from typing import Any

import pytest
import trio

GRACE_S = 5.0  # for what does not heed a cancellation, such as an endless loop


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> Generator[None, object, object]:
    """Cancel a test on trio when its time is up; only if that does not end it, let pytest-timeout raise."""
    __tracebackhide__ = True
    test, raises = pyfuncitem.obj, signal.getsignal(signal.SIGALRM)
    if not iscoroutinefunction(test) or not callable(raises):
        return (yield)
    running: list[tuple[trio.lowlevel.TrioToken, trio.CancelScope]] = []

    @wraps(test)
    async def cancellable(**arguments: Any) -> None:
        __tracebackhide__ = True
        if not trio.lowlevel.in_trio_run():
            await test(**arguments)
            return
        with trio.CancelScope() as scope:
            running.append((trio.lowlevel.current_trio_token(), scope))
            try:
                await test(**arguments)
            except trio.Cancelled:
                traceback.print_exc()  # says where it hung
                raise
        assert not scope.cancelled_caught, (
            "the time for the test is up; where it hung is in its standard error"
        )

    def time_is_up(number: int, frame: FrameType | None) -> None:
        __tracebackhide__ = True
        if not running:
            raises(number, frame)
        while running:
            token, scope = running.pop()
            token.run_sync_soon(scope.cancel)
            signal.setitimer(signal.ITIMER_REAL, GRACE_S)

    pyfuncitem.obj = cancellable
    signal.signal(signal.SIGALRM, time_is_up)
    try:
        return (yield)
    finally:
        signal.signal(signal.SIGALRM, raises)
        pyfuncitem.obj = test
