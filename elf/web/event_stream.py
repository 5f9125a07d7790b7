"""Server-sent events: each as its JSON, and a failure as the last."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Final

import structlog
from quart import Response

from elf.api.error_style import ErrorStyle
from elf.api.operation import Events
from elf.core.errors import Unavailable
from elf.web.failures import as_service_error, error_body

EVENT_STREAM: Final = "text/event-stream"

log = structlog.get_logger()


def event_response(events: Events, style: ErrorStyle | None) -> Response:
    """Return a response that lasts as long as its events do."""
    response = Response(
        _sent(events, style),
        content_type=EVENT_STREAM,
        headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"},
    )
    response.timeout = None
    return response


async def _sent(events: Events, style: ErrorStyle | None) -> AsyncIterator[bytes]:
    async with aclosing(events):
        try:
            async for event in events:
                yield f"data: {event.model_dump_json()}\n\n".encode()
        except Exception as error:
            # The status is sent long ago, so the client is told here.
            failure = as_service_error(error)
            if failure.status >= 500 and not isinstance(failure, Unavailable):
                log.error("stream_failed", error=type(error).__name__, exc_info=error)
            yield f"event: error\ndata: {error_body(failure, style).model_dump_json()}\n\n".encode()
