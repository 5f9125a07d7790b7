"""Logging: one JSON object a line on standard error, with secrets redacted."""

from __future__ import annotations

import logging
import sys
from typing import Any

import structlog

from structlog.tracebacks import ExceptionDictTransformer

from elf.core.secrets import redact

LEVELS = {"debug": logging.DEBUG, "info": logging.INFO, "warning": logging.WARNING, "error": logging.ERROR}


def configure_logging(level: str) -> None:
    """Set up structlog and the standard library's logging for this process."""
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            # Never the local variables of a frame: they hold what users wrote.
            structlog.processors.ExceptionRenderer(ExceptionDictTransformer(show_locals=False)),
            redact_fields,
            structlog.processors.JSONRenderer(),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(LEVELS[level]),
        logger_factory=structlog.PrintLoggerFactory(file=sys.stderr),
        cache_logger_on_first_use=True,
    )
    logging.basicConfig(level=logging.WARNING, handlers=[_Bridge()], force=True)


def redact_fields(
    _logger: Any, _method: str, event: structlog.typing.EventDict
) -> structlog.typing.EventDict:
    """Replace secrets in the string fields of an event."""
    return {key: redact(value) if isinstance(value, str) else value for key, value in event.items()}


class _Bridge(logging.Handler):
    """Passes records of libraries that use the standard library's logging to structlog."""

    def emit(self, record: logging.LogRecord) -> None:
        logger = structlog.get_logger()
        logger.log(record.levelno, "library_log", library=record.name, message=record.getMessage())
