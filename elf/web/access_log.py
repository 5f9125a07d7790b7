"""The log of requests: a line for each that changes something, was refused, failed or took long.

At level debug, for the others as well. It says who made the request, as far as that is known.

A line holds no path, query or body, for those hold ids and texts of notes.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final
from uuid import UUID, uuid4

import structlog

from elf.web.measures import METHODS, OTHER, UNMATCHED

if TYPE_CHECKING:
    from elf.web.exchange import Exchange

SLOW_S: Final = (
    1.0  # a search takes a tenth of it, and one that has to do without a slow part up to five times as long
)
_PROBES: Final = frozenset(
    {"/health", "/ready"}
)  # asked every few seconds, and a 503 of theirs refuses nothing

log = structlog.get_logger()


def log_request(exchange: Exchange, status: int) -> None:
    """Log a request, which is answered with this status."""
    log_answer(
        method=exchange.method if exchange.method in METHODS else OTHER,  # a client may make up any
        route=exchange.route_path or UNMATCHED,
        status=status,
        seconds=time.perf_counter() - exchange.started,
        changes=exchange.changes,
    )


def log_answer(
    *, method: str, route: str, status: int, seconds: float, changes: bool, shown: str | None = None
) -> None:
    """Log a request that was answered with this status of HTTP; `shown` stands for it where it was another front's."""
    is_told = changes or status >= 400 or seconds >= SLOW_S
    loud = log.info if status < 500 else log.warning
    write = loud if is_told and route not in _PROBES else log.debug
    write("request", method=method, route=route, status=shown or status, ms=round(seconds * 1000, 2))


def request_id_of(given: str | None) -> str:
    """Return the id of a request: the one that came with it where that is a UUID, else a new one."""
    try:
        return str(UUID(given)) if given else str(uuid4())
    except ValueError:
        return str(uuid4())
