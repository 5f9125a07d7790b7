"""One HTTP exchange on a task group.

Quart starts each handler as a bare task and leaves it running when the server takes the connection down. Here the
handler and the reader of the body live in one task group, so none outlives its request.

Some answers need no body: nothing is at that path, or there is too much to do. The server closes a connection when an
answer ends before the body has come, and a client that does not know loses its next request. So the answer waits a
moment for the body, and says that the connection will be closed if it does not come.
"""

from __future__ import annotations

from typing import cast

import anyio
from hypercorn.typing import ASGIReceiveCallable, ASGIReceiveEvent, ASGISendCallable, ASGISendEvent
from quart.asgi import ASGIHTTPConnection

BODY_GRACE_S = 1.0


class GroupedConnection(ASGIHTTPConnection):
    """Ends the handler when the client goes away, and the reader when the answer is sent."""

    async def __call__(self, receive: ASGIReceiveCallable, send: ASGISendCallable) -> None:
        arrived = anyio.Event()

        async def watched_receive() -> ASGIReceiveEvent:
            event = await receive()
            if event["type"] != "http.request" or not event["more_body"]:
                arrived.set()
            return event

        async def patient_send(event: ASGISendEvent) -> None:
            if (
                event["type"] == "http.response.start"
                and self.scope["http_version"] != "2"
                and not arrived.is_set()
            ):
                with anyio.move_on_after(BODY_GRACE_S):
                    await arrived.wait()
                if not arrived.is_set():
                    event["headers"] = [*event["headers"], (b"connection", b"close")]
            await send(event)

        await self._exchange(cast("ASGIReceiveCallable", watched_receive), patient_send)

    async def _exchange(self, receive: ASGIReceiveCallable, send: ASGISendCallable) -> None:
        request = self._create_request_from_scope(send)
        async with anyio.create_task_group() as group:

            async def read() -> None:
                await self.handle_messages(request, receive)
                group.cancel_scope.cancel()

            group.start_soon(read)
            await self.handle_request(request, send)
            group.cancel_scope.cancel()
