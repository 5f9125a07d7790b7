"""One HTTP exchange on a task group.

Quart starts each handler as a bare task and leaves it running when the server takes the connection down. Here the
handler and the reader of the body live in one task group, so none outlives its request.
"""

from __future__ import annotations

import anyio
from hypercorn.typing import ASGIReceiveCallable, ASGISendCallable
from quart.asgi import ASGIHTTPConnection


class GroupedConnection(ASGIHTTPConnection):
    """Ends the handler when the client goes away, and the reader when the answer is sent."""

    async def __call__(self, receive: ASGIReceiveCallable, send: ASGISendCallable) -> None:
        request = self._create_request_from_scope(send)
        async with anyio.create_task_group() as group:

            async def read() -> None:
                await self.handle_messages(request, receive)
                group.cancel_scope.cancel()

            group.start_soon(read)
            await self.handle_request(request, send)
            group.cancel_scope.cancel()
