"""The log of a service that runs inside somebody else's process.

structlog is set up once for a whole process, and it is the host's to do so. A diversion leaves that as it is, but for
what the service says: that goes to the standard library's logger `elf`, where it is silent unless the host listens or
something is amiss. A handler of the host that raises costs its line alone. One that blocks holds up the service: a host
that writes where that may happen uses a `logging.handlers.QueueHandler`, as its own code would have to.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from typing import Any

import structlog
from structlog.tracebacks import ExceptionDictTransformer
from structlog.typing import EventDict

from elf.core.logs import LEVELS, mask_foreign_messages, redact_fields

_diversion: ContextVar[LogDiversion | None] = ContextVar("_diversion", default=None)


class LogDiversion:
    """Takes what is logged in the contexts that `enter` was called in, and in those copied from them."""

    def __init__(self, level: str) -> None:
        self._level = LEVELS[level]
        self._log = logging.getLogger("elf")
        # Never the local variables of a frame: they hold what users wrote.
        self._processors: list[Any] = [
            structlog.contextvars.merge_contextvars,
            structlog.processors.ExceptionRenderer(ExceptionDictTransformer(show_locals=False)),
            *([] if level == "debug" else [mask_foreign_messages]),
            redact_fields,
        ]

    def enter(self) -> None:
        """Divert what is logged in this context from now on."""
        _diversion.set(self)

    @contextmanager
    def installed(self) -> Iterator[None]:
        """Look at every event of the process before the host's own processors do."""
        structlog.configure(processors=[self._divert, *structlog.get_config()["processors"]])
        try:
            yield
        finally:
            own = self._divert
            structlog.configure(
                processors=[each for each in structlog.get_config()["processors"] if each != own]
            )

    def _divert(self, _logger: Any, method: str, event: EventDict) -> EventDict:
        if (diversion := _diversion.get()) is None:
            return event
        # A handler of the host may hand what it gets to structlog, as that of ELF's own log does: that is no event of
        # the service's, which would be diverted again and again.
        token = _diversion.set(None)
        try:
            # A handler or a filter of the host may raise anything, and the service's callers have no part in it.
            with suppress(Exception):
                diversion.write(method, event)
        finally:
            _diversion.reset(token)
        raise structlog.DropEvent

    def write(self, method: str, event: EventDict) -> None:
        """Log one event, with secrets redacted. Raises what a handler or filter of the host raises."""
        level = logging.getLevelNamesMapping().get(method.upper(), logging.ERROR)
        if level < self._level or not self._log.isEnabledFor(level):
            return
        for processor in self._processors:
            event = processor(None, method, event)
        name = event.pop("event", "")
        self._log.log(level, "%s %s", name, json.dumps(event, default=str))
