"""Which addresses are called, and that what is called is what was looked at."""

from __future__ import annotations

import socket
from collections.abc import Iterable, Sequence
from ipaddress import IPv4Address, IPv6Address, ip_network
from typing import Any

import anyio
import httpcore
import pytest
from hypothesis import given
from hypothesis import strategies as st

from elf.core.public_addresses import is_public
from elf.webhooks.public_hosts import NotPublic, PublicHosts

pytestmark = pytest.mark.anyio

PRIVATE_V4 = [
    "0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/29",
    "192.0.0.8/32", "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24",
    "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4",
]  # fmt: skip
PRIVATE_V6 = [
    "::/96", "::1/128", "64:ff9b:1::/48", "100::/64", "100:0:0:1::/64", "200::/7", "400::/6", "800::/5", "1000::/4",
    "2001::/32", "2001:2::/48", "2001:10::/28", "2001:db8::/32", "2002::/16", "3fff::/20", "4000::/3", "5f00::/16",
    "6000::/3", "8000::/3", "a000::/3", "c000::/3", "e000::/4", "f000::/5", "f800::/6", "fc00::/7", "fe00::/9",
    "fe80::/10", "fec0::/10", "ff00::/8",
]  # fmt: skip
PUBLIC = [
    "8.8.8.8", "192.0.0.9", "192.0.0.10", "192.31.196.1", "192.175.48.1", "192.0.1.1", "192.88.98.1", "223.255.255.254",
    "::ffff:8.8.8.8", "::ffff:0:8.8.8.8", "64:ff9b::808:808", "2606:4700:4700::1111", "2001:1::1", "2001:1::2",
    "2001:1::3", "2001:3::1", "2001:4:112::1", "2001:20::1", "2001:30::1", "2001:200::1", "2003::1", "2620:4f:8000::1",
    "3ffe::1", "2400:cb00::1",
]  # fmt: skip


@st.composite
def private_v4(draw: st.DrawFn) -> IPv4Address:
    network = ip_network(draw(st.sampled_from(PRIVATE_V4)))
    return IPv4Address(draw(st.integers(int(network[0]), int(network[-1]))))


@st.composite
def private_v6(draw: st.DrawFn) -> IPv6Address:
    network = ip_network(draw(st.sampled_from(PRIVATE_V6)))
    return IPv6Address(draw(st.integers(int(network[0]), int(network[-1]))))


@given(address=private_v4())
def test_no_address_of_a_private_network_is_public_in_whatever_form(address: IPv4Address) -> None:
    number = int(address)
    forms = [
        str(address),
        f"::ffff:{address}",
        f"::ffff:0:{address}",
        str(IPv6Address(number)),
        str(IPv6Address((0x64FF9B << 96) | number)),
        str(IPv6Address((0x2002 << 112) | (number << 80))),
    ]
    assert not any(is_public(form) for form in forms)


@given(address=private_v6())
def test_no_private_address_of_ipv6_is_public(address: IPv6Address) -> None:
    assert not is_public(str(address))
    assert not is_public(f"{address}%eth0")


@pytest.mark.parametrize("address", PUBLIC)
def test_other_addresses_are_public(address: str) -> None:
    assert is_public(address)


class Noting(httpcore.AsyncNetworkBackend):
    """Notes which addresses are called; those of `silent` do not answer."""

    def __init__(self, silent: Sequence[str] = ()) -> None:
        self.called: list[str] = []
        self._silent = silent

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        self.called.append(host)
        if host in self._silent:
            raise httpcore.ConnectError("nobody is there")
        return httpcore.AsyncMockStream([])


def name_stands_for(monkeypatch: pytest.MonkeyPatch, *answers: Sequence[str]) -> None:
    """Have each lookup of a name give the next of the answers."""
    left = [*answers]

    async def getaddrinfo(host: str, port: int, **_: Any) -> Any:
        return [
            (socket.AF_INET6 if ":" in one else socket.AF_INET, socket.SOCK_STREAM, 6, "", (one, port))
            for one in left.pop(0)
        ]

    monkeypatch.setattr(anyio, "getaddrinfo", getaddrinfo)


async def test_what_is_called_is_the_address_that_was_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    name_stands_for(monkeypatch, ["93.184.216.34"])  # a second lookup would have no answer
    noting = Noting()
    await PublicHosts(noting).connect_tcp("hooks.example.com", 443)
    assert noting.called == ["93.184.216.34"]


async def test_the_next_address_is_called_where_one_does_not_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    name_stands_for(monkeypatch, ["93.184.216.34", "2606:4700::1"])
    noting = Noting(silent=["93.184.216.34"])
    await PublicHosts(noting).connect_tcp("hooks.example.com", 443)
    assert noting.called == ["93.184.216.34", "2606:4700::1"]


@pytest.mark.parametrize("answer", [["10.0.0.1"], ["93.184.216.34", "127.0.0.1"], ["::1"]])
async def test_a_name_with_one_private_address_is_not_called_at_all(
    monkeypatch: pytest.MonkeyPatch, answer: Sequence[str]
) -> None:
    name_stands_for(monkeypatch, answer)
    noting = Noting()
    with pytest.raises(NotPublic):
        await PublicHosts(noting).connect_tcp("hooks.example.com", 443)
    assert noting.called == []


async def test_a_name_that_nobody_knows_is_a_failed_call() -> None:
    with pytest.raises(httpcore.ConnectError, match="no address"):
        await PublicHosts(Noting()).connect_tcp("nobody.invalid", 443)


async def test_a_socket_of_this_machine_is_not_called() -> None:
    with pytest.raises(NotPublic):
        await PublicHosts(Noting()).connect_unix_socket("/run/some.sock")
