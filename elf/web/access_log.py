"""The log of requests: a line for each that changes something, was refused, failed or took long.

At level debug, for the others as well. It says who made the request, as far as that is known.

A line holds no path, query or body, for those hold ids and texts of notes.
"""

from __future__ import annotations

import time
from typing import Final

import structlog
from quart import Response, g, request

from elf.web.measures import METHODS, OTHER, UNMATCHED

SLOW_S: Final = (
    1.0  # a search takes a tenth of it, and one that has to do without a slow part up to five times as long
)
_PROBES: Final = frozenset(
    {"/health", "/ready"}
)  # asked every few seconds, and a 503 of theirs refuses nothing

log = structlog.get_logger()


def route() -> str:
    """Return the path of the current request as it was declared, with {names} for what clients choose."""
    rule = request.url_rule
    return UNMATCHED if rule is None else rule.rule.replace("<", "{").replace(">", "}")


def seconds_taken() -> float:
    """Return how long the current request has been at work; 0.0 for one that never began."""
    return time.perf_counter() - g.started if "started" in g else 0.0


def log_request(response: Response) -> None:
    """Log the current request, which `response` answers."""
    method = request.method if request.method in METHODS else OTHER  # a client may make up any
    where, status, seconds = route(), response.status_code, seconds_taken()
    is_told = g.get("changes", False) or status >= 400 or seconds >= SLOW_S
    loud = log.info if status < 500 else log.warning
    write = loud if is_told and where not in _PROBES else log.debug
    write("request", method=method, route=where, status=status, ms=round(seconds * 1000, 2))
