"""One call of a receiver."""

from __future__ import annotations

import ssl
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final, Literal

import anyio
import httpcore
from anyio.abc import TaskStatus

from elf.config.webhooks import Webhook
from elf.core.clock import Clock
from elf.core.errors import Unavailable
from elf.webhooks.model import Event
from elf.webhooks.public_hosts import PublicHosts
from elf.webhooks.signing import signed_headers

CALLS_AT_ONCE: Final = 32
"""How many calls of a receiver are under way at once in a process."""


KEEP_ALIVE_S: Final = 30.0
UNAVAILABLE_STATUSES: Final = frozenset({408, 425, 429, 502, 503, 504})


Cause = Literal["refused", "failed", "unreachable", "unclear"]


class NotDelivered(Unavailable):
    """A receiver did not take an event; the message says why, and nothing that was sent.

    `cause` is "refused" when the receiver, which is there, decided so, "failed" when it broke down over the event,
    "unreachable" when nothing was sent, and "unclear" where the event may be the reason, or the receiver.
    """

    def __init__(self, message: str, *, cause: Cause) -> None:
        super().__init__(message)
        self.cause = cause


class ReceiverPaused(Unavailable):
    """An event is not sent now, for the receiver took none of the last ones."""


class Receiver:
    """Sends events to one receiver, and is the actor that closes its connections in the end.

    No environment variable and no redirect leads anywhere else. `tls` replaces how certificates are checked, and
    `network` how connections are opened.
    """

    def __init__(
        self,
        webhook: Webhook,
        clock: Clock,
        *,
        tls: ssl.SSLContext | None = None,
        network: httpcore.AsyncNetworkBackend | None = None,
    ) -> None:
        self.name = f"webhook_{webhook.name}_receiver"
        self._webhook = webhook
        self._clock = clock
        self._tls = tls
        self._network = network or (httpcore.AnyIOBackend() if webhook.allow_private else PublicHosts())
        # Each is of one connection: one of many looks at all of them twice a call, which takes longer than the call.
        self._pools: list[httpcore.AsyncConnectionPool] = []
        self._free: list[httpcore.AsyncConnectionPool] = []

    async def send(self, event: Event) -> None:
        """Send an event. Raises NotDelivered unless the receiver says by a status of 200 to 299 that it has it."""
        body = event.body()
        headers = signed_headers(
            self._webhook.key,
            message_id=event.event_id,
            timestamp=int(self._clock.now().timestamp()),
            body=body,
        )
        status = await self._status(
            body, {**headers, "content-type": "application/json", "user-agent": "elf"}
        )
        if not 200 <= status < 300:
            raise NotDelivered(f"the receiver answered with HTTP {status}", cause=_cause(status))

    async def _status(self, body: bytes, headers: Mapping[str, str]) -> int:
        try:
            with anyio.fail_after(self._webhook.timeout_ms / 1000), self._connection() as connection:
                async with connection.stream(
                    "POST", self._webhook.url, headers=list(headers.items()), content=body
                ) as response:
                    async for _ in response.aiter_stream():  # so that its connection can be used again
                        pass
                    return response.status
        except TimeoutError:
            raise NotDelivered(
                f"the receiver did not answer within {self._webhook.timeout_ms} ms", cause="unclear"
            ) from None
        except httpcore.ConnectError as error:  # nothing was sent yet that it could quote
            raise NotDelivered(f"the receiver cannot be reached: {error}", cause="unreachable") from None
        except (httpcore.NetworkError, httpcore.ProtocolError) as error:
            raise NotDelivered(
                f"the call of the receiver broke off: {type(error).__name__}", cause="unclear"
            ) from None

    @contextmanager
    def _connection(self) -> Iterator[httpcore.AsyncConnectionPool]:
        """Return the connection that was used last of those that are free, or another one."""
        if not self._free:
            self._free.append(
                httpcore.AsyncConnectionPool(
                    ssl_context=self._tls,
                    max_connections=1,
                    keepalive_expiry=KEEP_ALIVE_S,
                    network_backend=self._network,
                )
            )
            self._pools.append(self._free[-1])
        pool = self._free.pop()
        try:
            yield pool
        finally:
            self._free.append(pool)

    async def run(self, *, task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED) -> None:
        task_status.started()
        try:
            await anyio.sleep_forever()
        finally:
            with anyio.CancelScope(shield=True):
                for pool in self._pools:
                    await pool.aclose()


def _cause(status: int) -> Cause:
    if status in UNAVAILABLE_STATUSES:
        return "unclear"
    return "refused" if 400 <= status < 500 else "failed"
