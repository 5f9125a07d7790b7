"""Logging to standard error, without secrets and without what users wrote.

One JSON object a line for programs; at a terminal, lines for people (`elf.core.log_text`). In a process of the service
a thread writes them (`elf.core.log_writer`), and no line that cannot be made or written fails whoever logs it.
"""

from __future__ import annotations

import asyncio
import json
import logging
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any, Final

import structlog
from structlog.tracebacks import ExceptionDictTransformer

from elf.core.errors import ElfError
from elf.core.log_text import drop_unsaid, put_in_words, text_renderer
from elf.core.log_writer import LogStream
from elf.core.secrets import redact, redact_json

MAX_NAME_CHARS: Final = 96  # routes are long
_ID: Final = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")

LEVELS = {"debug": logging.DEBUG, "info": logging.INFO, "warning": logging.WARNING, "error": logging.ERROR}


def configure_logging(level: str, *, form: str = "json", process: str | None = None) -> None:
    """Set up structlog and the standard library's logging for this process; each line bears its name, if it has one.

    `form` is json, text for people, or auto: text when standard error is a terminal, else json.
    """
    is_terminal = sys.stderr.isatty()
    is_text = form == "text" or (form == "auto" and is_terminal)
    # Never the local variables of a frame: they hold what users wrote.
    tracebacks = ExceptionDictTransformer(show_locals=False)
    render = _Renderer(
        [
            structlog.contextvars.merge_contextvars,
            *([] if process is None else [_tagged(process)]),
            structlog.processors.add_log_level,
            *([drop_unsaid] if is_text else []),
            structlog.processors.ExceptionRenderer(tracebacks),
            *([] if level == "debug" else [mask_foreign_messages]),
            redact_fields,
            structlog.processors.TimeStamper(fmt="%H:%M:%S" if is_text else "iso", utc=not is_text),
            *_renderers(is_text=is_text, colors=is_terminal),
        ]
    )
    structlog.configure(
        processors=[render],
        wrapper_class=structlog.make_filtering_bound_logger(LEVELS[level]),
        logger_factory=_LineLogger,
        cache_logger_on_first_use=True,
    )
    if isinstance(sys.stderr, LogStream):
        sys.stderr.lines.report = render.dropped
    logging.basicConfig(
        level=logging.WARNING, handlers=[_Bridge(trace_warnings=level == "debug")], force=True
    )


class _Renderer:
    """Makes the line of an event, and of one that cannot be made into a line, a line that says so."""

    def __init__(self, processors: Sequence[structlog.typing.Processor]) -> None:
        self._processors = processors

    def __call__(self, logger: Any, method: str, event: structlog.typing.EventDict) -> str:
        rendered: Any = event
        name = event.get("event")
        try:
            for processor in self._processors:
                rendered = processor(logger, method, rendered)
        except structlog.DropEvent:
            raise
        except Exception as error:  # noqa: BLE001 - what is logged must not fail because of its log line
            failed = {
                "event": "log_line_failed",
                "level": "error",
                "of": str(name),
                "error": type(error).__name__,
            }
            return json.dumps(failed)
        return str(rendered)

    def dropped(self, lines: int) -> str:
        """Return the line that reports dropped lines."""
        return self(None, "warning", {"event": "log_lines_dropped", "lines": lines})


class _LineLogger:
    """Writes each event as one line, in one write, unlike print: several processes may share standard error.

    It takes no lock: a finalizer may log while its own thread is in here.
    """

    def __init__(self, *_: object) -> None:
        self._write = sys.stderr.write

    def msg(self, line: str) -> None:
        self._write(f"{line}\n")

    debug = info = warning = error = critical = msg


def _renderers(*, is_text: bool, colors: bool) -> list[structlog.typing.Processor]:
    return [put_in_words, text_renderer(colors=colors)] if is_text else [structlog.processors.JSONRenderer()]


def _tagged(process: str) -> structlog.typing.Processor:
    def tag(_logger: Any, _method: str, event: structlog.typing.EventDict) -> structlog.typing.EventDict:
        return {"process": process, **event}

    return tag


def mask_foreign_messages(
    _logger: Any, _method: str, event: structlog.typing.EventDict
) -> structlog.typing.EventDict:
    """Take the messages out of rendered exceptions, but for ELF's own: a library's may quote a note's text."""
    if "exception" not in event:
        return event
    own = {kind.__name__ for kind in _family(ElfError)}
    for trace in _all_exceptions(event["exception"]):
        if trace["exc_type"] not in own:
            trace["exc_value"] = "(shown at level debug)"
            trace["exc_notes"] = []
    return event


def _family(root: type[ElfError]) -> Iterator[type[ElfError]]:
    yield root
    for child in root.__subclasses__():
        yield from _family(child)


def _all_exceptions(traces: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for trace in traces:
        yield trace
        for grouped in trace["exceptions"]:
            yield from _all_exceptions(grouped)


def redact_fields(
    _logger: Any, _method: str, event: structlog.typing.EventDict
) -> structlog.typing.EventDict:
    """Replace secrets in the strings of an event, however deep."""
    return {key: _redacted(value) for key, value in event.items()}


def _redacted(value: Any) -> Any:
    if isinstance(value, str):
        if _ID.fullmatch(value):  # another with each request; by chance it reads like a number of an account
            return value
        return _redacted_name(value) if len(value) <= MAX_NAME_CHARS else redact(value)
    return redact_json(value) if isinstance(value, dict | list) else value


@lru_cache(maxsize=1024)
def _redacted_name(value: str) -> str:
    """Redact a short string: events, routes and tenants are the same again and again."""
    return redact(value)


class _Bridge(logging.Handler):
    """Passes records of libraries that use the standard library's logging to structlog.

    A warning comes without its traceback, which `trace_warnings` brings back: a library warns of what it copes with,
    such as a connection that it will try again. So does a cancellation, which is no failure: asyncio of Python 3.11
    reports connections that are cancelled while the service stops.
    """

    def __init__(self, *, trace_warnings: bool) -> None:
        super().__init__()
        self._trace_warnings = trace_warnings

    def emit(self, record: logging.LogRecord) -> None:
        logger = structlog.get_logger()
        level = max(known for known in (0, *LEVELS.values(), logging.CRITICAL) if known <= record.levelno)
        try:
            message = record.getMessage()
        except (TypeError, ValueError):
            message = str(record.msg)  # the arguments do not fit the message; better half of it than none
        fields: dict[str, Any] = {"library": record.name, "message": message, "exc_info": record.exc_info}
        kind = record.exc_info[0] if record.exc_info else None
        is_cancelled = kind is not None and issubclass(kind, asyncio.CancelledError)
        if is_cancelled:
            level = logging.INFO
        if kind is not None and (is_cancelled or level < logging.ERROR) and not self._trace_warnings:
            fields |= {"exc_info": None, "error": kind.__name__}
        logger.log(level, "library_log", **fields)
