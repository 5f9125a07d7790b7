"""Which IP addresses the whole internet reaches."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address
from typing import Final

_TRANSLATED: Final = IPv6Network("64:ff9b::/96")
"""What hosts of IPv4 are called where there is IPv6 alone (RFC 6052)."""
_ROUNDABOUT: Final = tuple(map(IPv6Network, ("::/96", "64:ff9b:1::/48", "2001::/32", "2002::/16")))
"""Other forms of an address of IPv4, by which a host of a private network may be named: no receiver is called so."""


def is_public(address: str) -> bool:
    """Tell whether the whole internet reaches an IP address, also one of IPv4 that is written as one of IPv6.

    Raises ValueError for what is no address.
    """
    parsed = ip_address(address.partition("%")[0])
    if isinstance(parsed, IPv6Address):
        if parsed.ipv4_mapped is not None:
            return is_public(str(parsed.ipv4_mapped))
        if parsed in _TRANSLATED:
            return is_public(str(IPv4Address(int(parsed) & 0xFFFF_FFFF)))
        if any(parsed in network for network in _ROUNDABOUT):
            return False
    return parsed.is_global and not parsed.is_multicast
