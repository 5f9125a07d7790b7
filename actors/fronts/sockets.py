"""The ports of a process, taken before anything else is started."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import NamedTuple

from actors.fronts.held_port import hold
from actors.fronts.http_front import bind
from elf.config.model import Service
from elf.config.places import Address


class Sockets(NamedTuple):
    """A bound socket for each front that the process has; that of gRPC only holds the port."""

    http: socket.socket | None = None
    admin: socket.socket | None = None
    mcp: socket.socket | None = None
    grpc: socket.socket | None = None

    @classmethod
    def inherited(cls, *, http: int | None, admin: int | None, grpc: int | None) -> Sockets:
        """Take over bound sockets by their descriptors."""
        taken = (
            None if number is None else socket.socket(fileno=number) for number in (http, admin, None, grpc)
        )
        return cls(*taken)


@contextmanager
def bound(
    service: Service, *, http: bool = False, admin: bool = False, mcp: bool = False, grpc: bool = False
) -> Iterator[Sockets]:
    """Take the ports of these fronts. Raises StartupError naming the key of a port that is taken."""
    with ExitStack() as stack:

        def take(wanted: bool, address: Address, key: str) -> socket.socket | None:
            return stack.enter_context(bind(address, key=key)) if wanted else None

        yield Sockets(
            http=take(http, service.http_address, "service.http_bind"),
            admin=take(admin, service.admin_address, "service.admin_bind"),
            mcp=take(mcp, service.mcp_address, "service.mcp_bind"),
            grpc=stack.enter_context(hold(service.grpc_address, key="service.grpc_bind"))
            if grpc and service.grpc_address
            else None,
        )
