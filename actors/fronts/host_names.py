"""Whom the fronts of a process serve, and a warning where that is everybody who finds a name for it."""

from __future__ import annotations

import socket

import structlog

from actors.fronts.http_front import bound_address
from elf.config.access import Visitors
from elf.config.model import Service
from elf.config.places import is_loopback

log = structlog.get_logger()


def visitors_of(front: str, service: Service, sock: socket.socket) -> Visitors:
    """Return whom a front serves on a bound socket."""
    address = bound_address(sock)
    allowed = service.access.allowed_hosts if service.access else None
    visitors = Visitors(local_only=is_loopback(address), allowed_hosts=allowed)
    if visitors.serves_every_name:
        log.warning(
            "serves_every_host_name",
            front=front,
            address=str(address),
            advice="a page of any web site can have a name of its own lead here: list the names that clients use as"
            " allowed_hosts of [service.access]",
        )
    return visitors
