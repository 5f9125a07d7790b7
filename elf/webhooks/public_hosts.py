"""Connections to public hosts alone: a name is looked up once, and what is called is the address that was looked at."""

from __future__ import annotations

from collections.abc import Iterable
from socket import AF_INET, AF_INET6, SOCK_STREAM, gaierror
from typing import Any

import anyio
import httpcore

from elf.core.public_addresses import is_public


class NotPublic(httpcore.ConnectError):
    """A host is not called, because of an address that it has."""


class PublicHosts(httpcore.AsyncNetworkBackend):
    """Opens connections as `inner` does, to hosts all of whose addresses the whole internet reaches.

    A certificate is checked against the name all the same: the connection gets it from whoever begins TLS.
    """

    def __init__(self, inner: httpcore.AsyncNetworkBackend | None = None) -> None:
        self._inner = inner or httpcore.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        """Connect to the first of its addresses that answers. Raises NotPublic, and as `inner` does."""
        failure: httpcore.NetworkError | httpcore.TimeoutException | None = None
        for address in await _public_addresses(host, port):
            try:
                return await self._inner.connect_tcp(address, port, timeout, local_address, socket_options)
            except (httpcore.NetworkError, httpcore.TimeoutException) as error:
                failure = failure or error
        raise failure or httpcore.ConnectError("the name of the host stands for no address")

    async def connect_unix_socket(
        self, path: str, timeout: float | None = None, socket_options: Iterable[Any] | None = None
    ) -> httpcore.AsyncNetworkStream:
        """Raise NotPublic: a socket of this machine is none."""
        raise NotPublic("a socket of this machine is no public host")

    async def sleep(self, seconds: float) -> None:
        await self._inner.sleep(seconds)


async def _public_addresses(host: str, port: int) -> list[str]:
    try:
        found = await anyio.getaddrinfo(host, port, type=SOCK_STREAM)
    except (gaierror, UnicodeError):
        raise httpcore.ConnectError("the name of the host stands for no address") from None
    addresses = list(
        dict.fromkeys(str(place[0]) for family, _, _, _, place in found if family in (AF_INET, AF_INET6))
    )
    if not all(is_public(address) for address in addresses):
        raise NotPublic("the host has an address of this machine or of a private network")
    return addresses
