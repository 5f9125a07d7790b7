"""Requests that no client of HTTP would send, as bytes on a socket, and bodies that stop halfway."""

from __future__ import annotations

import socket
from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import ExitStack, suppress
from typing import Final
from urllib.parse import urlsplit
from uuid import UUID

import h2.config
import h2.connection
import h2.events
import h2.exceptions

MIB: Final = 1024 * 1024
BODY_BYTES: Final = 7 * MIB
HALVES: Final = 200
STREAMS: Final = 100
OFFERS: Final = 600
TIMEOUT_S: Final = 120.0
ENTRIES: Final = f"/v1/conversations/{UUID(int=1)}/entries"
TARGETS: Final = (
    "http://[",
    "http://[::1",
    "http://localhost:99999/health",
    "http:///health",
    "localhost",
    "/\xff",
)
LENGTHS: Final = ("9" * 5000, "0" * 5000 + "2", "-2", "+2", "2, 2")
SIGNS: Final = "#/?\\@ ,;%"

Headers = Mapping[str, str]


def half_sent(url: str, headers: Headers) -> str:
    """Send half of a body on each of many connections, and count what they are answered when it has been too long."""
    with ExitStack() as stack:
        socks = [stack.enter_context(connected(url)) for _ in range(HALVES)]
        for sock in socks:
            send(sock, head("POST", ENTRIES, {**headers, "Content-Length": str(BODY_BYTES)}))
            send(sock, bytes(BODY_BYTES // 2))
        return told(status for sock in socks for status in statuses(sock))


def half_sent_over_http_2(url: str, headers: Headers) -> str:
    """Send half of a body on each of many streams of one connection, as far as their windows let this side."""
    client = h2.connection.H2Connection(h2.config.H2Configuration(client_side=True))
    client.initiate_connection()
    pseudo = {":method": "POST", ":path": ENTRIES, ":scheme": "http", ":authority": "localhost"}
    own = {name.lower(): value for name, value in headers.items()}
    left = dict.fromkeys(range(1, 2 * STREAMS, 2), BODY_BYTES // 2)
    for number in left:
        client.send_headers(number, [*pseudo.items(), *own.items(), ("content-length", str(BODY_BYTES))])
    answers: dict[int, int] = {}
    with connected(url) as sock:
        while len(answers) < STREAMS:
            for number in left.keys() - answers.keys():
                _send_some(client, number, left)
            sock.sendall(client.data_to_send())
            for event in client.receive_data(sock.recv(65_536)):
                if isinstance(event, h2.events.ResponseReceived):
                    answers[event.stream_id] = int(dict(event.headers)[b":status"])
    return told(answers.values())


def _send_some(client: h2.connection.H2Connection, number: int, left: dict[int, int]) -> None:
    with suppress(h2.exceptions.ProtocolError):  # the stream has been reset
        size = min(client.local_flow_control_window(number), client.max_outbound_frame_size, left[number])
        if size:
            client.send_data(number, bytes(size))
            left[number] -= size


def broken_targets(url: str, headers: Headers) -> str:
    """Ask for what can be no target, and say lengths that are no number or a very long one."""
    sent = [head("GET", target, headers) for target in TARGETS]
    sent += [head("POST", ENTRIES, {**headers, "Content-Length": length}) + b"{}" for length in LENGTHS]
    return told(status for one in sent for status in asked(url, one))


def offers(url: str, headers: Headers) -> str:
    """Send many requests at a time, each of which offers to go on in another protocol."""
    offer = head("GET", "/health", {"Upgrade": "h2c", "Connection": "Upgrade"})
    return told(asked(url, offer * OFFERS))


def broken_hosts(url: str, headers: Headers) -> str:
    """Ask for hosts that begin with one that is served, and belong to somebody else."""
    hosts = [f"{own}{sign}.evil.example" for own in ("127.0.0.1", "localhost") for sign in SIGNS]
    hosts += ["evil.example@127.0.0.1", "localhost:99999", "evil.example", ""]
    return told(
        status for host in hosts for status in asked(url, head("GET", "/health", {**headers, "Host": host}))
    )


def large_body(url: str, headers: Headers) -> str:
    """Send 64 MiB to MCP before anything is read of the response."""
    with connected(url) as sock:
        own = {**headers, "Content-Length": str(64 * MIB), "Connection": "close"}
        send(sock, head("POST", urlsplit(url).path, own))
        for _ in range(64):
            send(sock, bytes(MIB))
        return told(statuses(sock)) or "no response"


def head(method: str, target: str, headers: Headers) -> bytes:
    """Return the head of a request, for this machine unless the headers say otherwise."""
    lines = [f"{name}: {value}" for name, value in {"Host": "localhost", **headers}.items()]
    return "\r\n".join([f"{method} {target} HTTP/1.1", *lines, "", ""]).encode("latin-1")


def connected(url: str) -> socket.socket:
    """Return a connection to the address of a front."""
    parts = urlsplit(url)
    return socket.create_connection((parts.hostname or "", parts.port or 0), timeout=TIMEOUT_S)


def asked(url: str, sent: bytes) -> list[int]:
    """Send bytes and the end of this side, and return the statuses that come."""
    with connected(url) as sock:
        send(sock, sent)
        with suppress(OSError):
            sock.shutdown(socket.SHUT_WR)
        return statuses(sock)


def send(sock: socket.socket, data: bytes) -> None:
    """Send as much as the other side lets."""
    with suppress(ConnectionError):
        sock.sendall(data)


def statuses(sock: socket.socket) -> list[int]:
    """Return the statuses of the responses that come until the other side ends the connection; 0 for none at all."""
    seen = b""
    with suppress(ConnectionError):
        while piece := sock.recv(65_536):
            seen += piece
    return [int(part[:3]) for part in seen.split(b"HTTP/1.1 ")[1:]] or [0]


def told(answers: Iterable[int]) -> str:
    """Say how many answers there were of each status; 0 is a connection that ended without one."""
    counts = Counter(answers)
    return ", ".join(f"{count} x {status or 'no response'}" for status, count in sorted(counts.items()))
