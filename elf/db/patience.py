"""Statements that may take as long as they take: those that make or count everything there is.

The limit that keeps an ordinary statement from hanging would have such a one begin anew, for ever, on a database that
has grown beyond it. So it has none to speak of, and the log says every few seconds that it is still at work.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import structlog

AS_LONG_AS_IT_TAKES_S: Final = 86_400.0
TELL_EVERY_S = 10.0

log = structlog.get_logger()


@contextmanager
def telling(event: str) -> Iterator[None]:
    """Log `event` with the seconds that have passed, every TELL_EVERY_S while the body runs."""
    loop = asyncio.get_running_loop()
    began = loop.time()
    timer = loop.call_later(TELL_EVERY_S, lambda: tell())

    def tell() -> None:
        nonlocal timer
        log.info(event, after_s=round(loop.time() - began, 1))
        timer = loop.call_later(TELL_EVERY_S, tell)

    try:
        yield
    finally:
        timer.cancel()
