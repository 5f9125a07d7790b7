"""How much memory the bodies of requests may take in a process, and how long one may take to arrive.

A body counts from its first byte until its request is answered; one that says how long it is counts whole from the
start, so that it is refused before it is read or not at all. Small bodies have a quarter of the memory to themselves:
however many large ones arrive, or never do, a write or a search finds room, also behind a proxy, whose clients are one
peer.
"""

from __future__ import annotations

import ipaddress
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Final, NamedTuple

import anyio

from elf.core.errors import InvalidRequest, PayloadTooLarge, Unavailable
from elf.core.shares import ShareExceeded, Shares

DEFAULT_TOTAL_BYTES: Final = 256 * 1024 * 1024
DEFAULT_PEER_BYTES: Final = 128 * 1024 * 1024
DEFAULT_TIMEOUT_S: Final = 15.0
MIN_BYTES_PER_S: Final = 256 * 1024
"""A body that has been arriving for longer than the timeout may go on while it comes at this rate."""
SMALL_BYTES: Final = 64 * 1024
MAX_LENGTH_DIGITS: Final = 19
"""As many has the largest length that parsers count; with zeros before it, there may be more than int() reads."""
_WHOSE: Final = {"total": "the service", "peer": "one address"}

Client = tuple[str, int] | None
"""The address that a request comes from, as ASGI gives it."""


class BodyTimeout(InvalidRequest):
    """The client took too long to send its request."""

    status = 408

    def __init__(self, timeout_s: float) -> None:
        super().__init__(
            f"the body did not arrive within {timeout_s:g} seconds, and one more for each {MIN_BYTES_PER_S} bytes"
        )


class BodyBudgetExceeded(Unavailable):
    """The bodies of other requests take all the memory that there is for them."""

    rpc_status = "RESOURCE_EXHAUSTED"
    concerns_all = False

    def __init__(self, exceeded: ShareExceeded) -> None:
        whose = _WHOSE[exceeded.share]
        super().__init__(
            f"bodies of requests take the {exceeded.limit} bytes that {whose} may have in flight; try again later"
        )


class BodyStatistics(NamedTuple):
    """Bytes that bodies take now and may at most, and how many bodies were refused."""

    taken: int
    limit: int
    refused: int


class BodyBudget:
    """Counts the bytes of bodies in flight: `total_bytes` in all, and `peer_bytes` of large ones from one address."""

    def __init__(
        self,
        *,
        total_bytes: int = DEFAULT_TOTAL_BYTES,
        peer_bytes: int = DEFAULT_PEER_BYTES,
        timeout_s: float = DEFAULT_TIMEOUT_S,
    ) -> None:
        small = total_bytes // 4
        self.timeout_s = timeout_s
        self._total_bytes = total_bytes
        self._small = Shares(small, peer=small * 3 // 4)
        self._large = Shares(total_bytes - small, peer=peer_bytes)
        self._refused = 0

    @contextmanager
    def one(self, client: Client) -> Iterator[HeldBody]:
        """Hold what the body of one request takes until the end of the block."""
        held = HeldBody(self, peer_of(client[0] if client else ""))
        try:
            yield held
        finally:
            held.let_go()

    def pool(self, size: int) -> Shares:
        """Return the share of the budget that a body of so many bytes is taken from."""
        return self._small if size <= SMALL_BYTES else self._large

    def refuse(self, exceeded: ShareExceeded) -> BodyBudgetExceeded:
        """Count a body for which there is no room, and return its failure."""
        self._refused += 1
        return BodyBudgetExceeded(exceeded)

    def statistics(self) -> BodyStatistics:
        """Return the counts as they are now."""
        return BodyStatistics(self._small.taken + self._large.taken, self._total_bytes, self._refused)


class HeldBody:
    """What the body of one request takes."""

    def __init__(self, budget: BodyBudget, peer: str) -> None:
        self._budget = budget
        self._peer = peer
        self._taken = 0

    async def read(self, parts: AsyncIterator[bytes], *, declared: int, most: int) -> bytes:
        """Return a body whose head says that it has `declared` bytes, 0 where it says nothing.

        Raises PayloadTooLarge for more than `most` bytes, BodyBudgetExceeded, and BodyTimeout.
        """
        too_large = PayloadTooLarge(f"the body is larger than {most} bytes")
        if declared > most:
            raise too_large
        self.grow(declared)
        body = bytearray()
        timeout_s = self._budget.timeout_s
        started = anyio.current_time()
        with anyio.CancelScope(deadline=started + timeout_s) as scope:
            async for part in parts:
                body += part
                if len(body) > most:
                    raise too_large
                self.grow(len(body))
                scope.deadline = started + timeout_s + len(body) / MIN_BYTES_PER_S
            return bytes(body)
        raise BodyTimeout(timeout_s)

    def grow(self, size: int) -> None:
        """Take as much as a body of so many bytes needs, unless it has that already. Raises BodyBudgetExceeded."""
        if size <= self._taken:
            return
        pool, before = self._budget.pool(size), self._budget.pool(self._taken)
        try:
            pool.take(size - self._taken if pool is before else size, peer=self._peer)
        except ShareExceeded as error:
            raise self._budget.refuse(error) from None
        if pool is not before:
            before.give_back(self._taken, peer=self._peer)
        self._taken = size

    def let_go(self) -> None:
        """Give back all that is taken."""
        self._budget.pool(self._taken).give_back(self._taken, peer=self._peer)
        self._taken = 0


def declared_length(content_length: str | None) -> int:
    """Return how many bytes a body has by its head, 0 where that says nothing. Raises InvalidRequest for no number."""
    if content_length is None:
        return 0
    if (
        not (content_length.isascii() and content_length.isdecimal())
        or len(content_length) > MAX_LENGTH_DIGITS
    ):
        raise InvalidRequest(f"Content-Length: must be a number of at most {MAX_LENGTH_DIGITS} digits")
    return int(content_length)


@lru_cache(maxsize=1024)
def peer_of(host: str) -> str:
    """Return whom an address counts for: of IPv6, whoever has one address has all 2**64 of its network."""
    try:
        address = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return host
    if isinstance(address, ipaddress.IPv4Address):
        return str(address)
    if address.ipv4_mapped is not None:
        return str(address.ipv4_mapped)
    return str(ipaddress.IPv6Network((address, 64), strict=False))
