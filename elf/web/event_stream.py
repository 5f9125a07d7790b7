"""Server-sent events: each as its JSON, and a failure as the last."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Final

import structlog

from elf.api.error_style import ErrorStyle
from elf.api.operation import Events
from elf.core.errors import Unavailable
from elf.web.failures import as_service_error, error_event
from elf.web.rendering import json_of
from elf.web.response import Response

EVENT_STREAM: Final = "text/event-stream"

log = structlog.get_logger()


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
