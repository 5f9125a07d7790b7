"""A port that is held for servers which open it themselves: several may, by SO_REUSEPORT, each in a process."""

from __future__ import annotations

import socket

from actors.fronts.http_front import bind, bound_address
from elf.config.places import Address
from elf.core.errors import StartupError


def hold(address: Address, *, key: str) -> socket.socket:
    """Hold a TCP port without ever listening at it. Raises StartupError naming the config key and the address.

    A port at which anybody listens is refused: SO_REUSEPORT alone would share it with a stranger, unnoticed, and each
    would get a part of the connections.
    """
    with bind(address, key=key) as alone:
        taken = bound_address(alone)
        sock = socket.socket(alone.family, socket.SOCK_STREAM)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        try:
            sock.bind(tuple(taken))
        except OSError as error:
            sock.close()
            raise StartupError(f"{key}: cannot listen on {taken}: {error.strerror or error}") from error
    return sock
