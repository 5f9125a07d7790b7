"""Server-sent events: each as its JSON, and a failure as the last."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing, contextmanager
from typing import Final

import structlog

from elf.api.caller import Caller
from elf.api.error_style import ErrorStyle
from elf.api.operation import Events
from elf.core.errors import Unavailable
from elf.core.shares import ShareExceeded, Shares
from elf.web.failures import as_service_error, error_event
from elf.web.rendering import json_of
from elf.web.response import Response

EVENT_STREAM: Final = "text/event-stream"
MAX_STREAMS: Final = 64
MAX_STREAMS_PER_TENANT: Final = 48
MAX_STREAMS_PER_USER: Final = 16
_WHOSE: Final = {"total": "the service", "tenant": "a tenant", "user": "a user"}

log = structlog.get_logger()


class TooManyEventStreams(Unavailable):
    """As many answers are streamed as may be at a time, to this user, to its tenant, or to all."""

    concerns_all = False

    def __init__(self, exceeded: ShareExceeded) -> None:
        whose = _WHOSE[exceeded.share]
        super().__init__(f"{whose} has at most {exceeded.limit} event streams at a time; try again later")


class EventStreams:
    """Counts the streams of a front: they have no turn, and last for as long as their clients take to read them."""

    def __init__(self) -> None:
        self._shares = Shares(MAX_STREAMS, tenant=MAX_STREAMS_PER_TENANT, user=MAX_STREAMS_PER_USER)

    @contextmanager
    def one(self, caller: Caller, tenant: str) -> Iterator[None]:
        """Have one more meanwhile. Raises TooManyEventStreams."""
        owners = {"tenant": tenant, "user": (tenant, caller.user or caller.client)}
        try:
            self._shares.take(1, **owners)
        except ShareExceeded as error:
            raise TooManyEventStreams(error) from None
        try:
            yield
        finally:
            self._shares.give_back(1, **owners)


def event_response(events: Events, style: ErrorStyle | None) -> Response:
    """Return a response that lasts as long as its events do."""
    return Response(
        _sent(events, style),
        content_type=EVENT_STREAM,
        headers={"cache-control": "no-store", "x-accel-buffering": "no"},
        timeout_s=None,
    )


async def _sent(events: Events, style: ErrorStyle | None) -> AsyncGenerator[bytes, None]:
    async with aclosing(events):
        try:
            async for event in events:
                yield b"data: %b\n\n" % json_of(event)
        except Exception as error:
            # The status is sent long ago, so the client is told here.
            failure = as_service_error(error)
            if failure.status >= 500 and not isinstance(failure, Unavailable):
                log.error("stream_failed", error=type(error).__name__, exc_info=error)
            yield f"event: error\ndata: {error_event(failure, style).model_dump_json()}\n\n".encode()
