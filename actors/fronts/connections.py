"""The open connections of a front: how many there are, and which of them make room for others."""

from __future__ import annotations

import socket
from collections.abc import Callable
from contextlib import suppress
from typing import Final, NamedTuple

import anyio
import structlog

from actors.fronts.http_connection import ClientConnection

TELL_EVERY_S: Final = 10.0
_READS, _READ_BYTES = 16, 65_536
_BODY: Final = b'{"error_code":"UNAVAILABLE","message":"more connections than can be held","fields":null}'
REFUSAL: Final = (
    b"HTTP/1.1 503 Service Unavailable\r\ncontent-type: application/json\r\nretry-after: 1\r\n"
    b"connection: close\r\ncontent-length: %d\r\n\r\n%s" % (len(_BODY), _BODY)
)

log = structlog.get_logger()


class ConnectionStatistics(NamedTuple):
    """Connections that are open now and may be at most, and what became of others: closed to make room, refused."""

    open: int
    limit: int
    accepted: int
    displaced: int
    refused: int


class Connections:
    """At most `limit` open connections.

    When one more comes, the one that has waited longest for its client makes room: it is between two requests, or its
    client has been slow to send one. While all of them work on requests, the new one is refused. Those that are about
    to end leave their room already, or each that comes meanwhile would close one which has just come.
    """

    def __init__(self, front: str, limit: int) -> None:
        self.front = front
        self._limit = limit
        self._open = self._accepted = self._displaced = self._refused = 0
        self._waiting: dict[ClientConnection, None] = {}  # the one that has waited longest comes first
        self._leaving: set[ClientConnection] = set()
        self._tell = Occasional("connections_short", front=front, limit=limit)

    def waits(self, connection: ClientConnection) -> None:
        """Take note that a connection waits for its client from now on."""
        self._waiting[connection] = None

    def works(self, connection: ClientConnection) -> None:
        """Take note that a connection has all of a request."""
        self._waiting.pop(connection, None)

    def leaves(self, connection: ClientConnection) -> None:
        """Take note that a connection is about to end, and that nothing can hold it up."""
        self._waiting.pop(connection, None)
        self._leaving.add(connection)

    def admit(self, sock: socket.socket) -> bool:
        """Count a new connection, once there is room for it. False when there is none: then it has been refused."""
        if self._open - len(self._leaving) >= self._limit and not self.make_room():
            self._refused += 1
            self._tell("refused")
            _refuse(sock)
            return False
        self._open += 1
        self._accepted += 1
        return True

    def make_room(self) -> bool:
        """Close the connection that has waited longest for its client; false when none waits."""
        connection = next(iter(self._waiting), None)
        if connection is None:
            return False
        self.leaves(connection)
        self._displaced += 1
        self._tell("displaced")
        connection.cut()
        return True

    def ended(self, connection: ClientConnection | None) -> None:
        """Take note that an admitted connection has ended; None is one that was lost before it could be served."""
        if connection is not None:
            self._waiting.pop(connection, None)
            self._leaving.discard(connection)
        self._open -= 1

    def statistics(self) -> ConnectionStatistics:
        """Return the counts as they are now."""
        return ConnectionStatistics(self._open, self._limit, self._accepted, self._displaced, self._refused)


def _refuse(sock: socket.socket) -> None:
    with sock, suppress(OSError):  # the client may be gone, or not read
        sock.setblocking(False)
        sock.send(REFUSAL)
        sock.shutdown(socket.SHUT_WR)
        for _ in range(_READS):  # what is not read when it is closed takes the response from the client
            sock.recv(_READ_BYTES)


class Occasional:
    """Warns of what may come thousands of times a second: at once, and then at most every ten seconds with a count."""

    def __init__(
        self, event: str, *, clock: Callable[[], float] = anyio.current_time, **fields: object
    ) -> None:
        self._event = event
        self._fields = fields
        self._clock = clock
        self._again = float("-inf")
        self._counts: dict[str, int] = {}

    def __call__(self, what: str) -> None:
        self._counts[what] = self._counts.get(what, 0) + 1
        if (now := self._clock()) >= self._again:
            log.warning(self._event, **self._fields, **self._counts)
            self._again = now + TELL_EVERY_S
            self._counts = {}
