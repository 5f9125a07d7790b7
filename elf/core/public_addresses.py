"""Which IP addresses the whole internet reaches, by a table of our own: versions of Python differ in some of them.

The table has the networks that are not "Globally Reachable" in the special-purpose address registries of IANA
(RFC 6890, as of 2025), those of multicast, and those that are reserved for what is to come.
"""

from __future__ import annotations

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from typing import Final

_PRIVATE_V4: Final = tuple(
    IPv4Network(network)
    for network in (
        "0.0.0.0/8",  # this network
        "10.0.0.0/8",  # private
        "100.64.0.0/10",  # behind the address translation of a provider
        "127.0.0.0/8",  # this machine
        "169.254.0.0/16",  # this link; also where clouds keep the credentials of a machine
        "172.16.0.0/12",  # private
        "192.0.0.0/24",  # assignments of protocols
        "192.0.2.0/24",  # documentation
        "192.88.99.0/24",  # relays from IPv6 to IPv4, given up
        "192.168.0.0/16",  # private
        "198.18.0.0/15",  # benchmarks
        "198.51.100.0/24",  # documentation
        "203.0.113.0/24",  # documentation
        "224.0.0.0/4",  # multicast
        "240.0.0.0/4",  # reserved, and broadcast
    )
)
_PUBLIC_V4: Final = tuple(map(IPv4Network, ("192.0.0.9/32", "192.0.0.10/32")))
"""Anycast services among the assignments of protocols."""

_GLOBAL_UNICAST: Final = IPv6Network("2000::/3")
"""All of IPv6 that was given to networks of the internet so far: what is elsewhere is reserved, local or multicast."""
_PRIVATE_V6: Final = tuple(
    IPv6Network(network)
    for network in (
        "2001::/23",  # assignments of protocols, such as Teredo, which names hosts of IPv4
        "2001:db8::/32",  # documentation
        "2002::/16",  # 6to4, which names hosts of IPv4
        "3fff::/20",  # documentation
    )
)
_PUBLIC_V6: Final = tuple(
    IPv6Network(network)
    for network in (
        "2001:1::1/128",  # port control
        "2001:1::2/128",  # relays around address translation
        "2001:1::3/128",  # registration of services
        "2001:3::/32",  # multicast relays
        "2001:4:112::/48",  # AS112
        "2001:20::/28",  # ORCHIDv2
        "2001:30::/28",  # remote identification of drones
    )
)
"""Of the assignments of protocols, those that the internet reaches."""
_OF_IPV4: Final = tuple(map(IPv6Network, ("::ffff:0:0/96", "::ffff:0:0:0/96", "64:ff9b::/96")))
"""Hosts of IPv4 by an address of IPv6 that ends with theirs: mapped (RFC 4291), translated (RFC 2765, RFC 6052)."""


def is_public(address: str) -> bool:
    """Tell whether the whole internet reaches an IP address, also one of IPv4 that is written as one of IPv6.

    Raises ValueError for what is no address.
    """
    parsed = ip_address(address.partition("%")[0])
    if isinstance(parsed, IPv4Address):
        return _is_public_v4(parsed)
    if any(parsed in network for network in _OF_IPV4):
        return _is_public_v4(IPv4Address(int(parsed) & 0xFFFF_FFFF))
    return _is_public_v6(parsed)


def _is_public_v4(address: IPv4Address) -> bool:
    if any(address in network for network in _PUBLIC_V4):
        return True
    return not any(address in network for network in _PRIVATE_V4)


def _is_public_v6(address: IPv6Address) -> bool:
    if any(address in network for network in _PUBLIC_V6):
        return True
    return address in _GLOBAL_UNICAST and not any(address in network for network in _PRIVATE_V6)
