"""What the head of a request says of its body, and whom an address counts for."""

from __future__ import annotations

import pytest

from elf.core.body_budget import declared_length, peer_of
from elf.core.errors import InvalidRequest


@pytest.mark.parametrize(("given", "length"), [(None, 0), ("0", 0), ("0017", 17), ("9" * 19, int("9" * 19))])
def test_a_length_is_read(given: str | None, length: int) -> None:
    assert declared_length(given) == length


@pytest.mark.parametrize(
    "given", ["", "-1", "+1", "1.0", "1e3", " 1", "0x10", "\u0661", "1_000", "9" * 20, "1" * 5000]
)
def test_what_is_no_length_is_refused(given: str) -> None:
    with pytest.raises(InvalidRequest, match="Content-Length: must be a number of at most 19 digits"):
        declared_length(given)


def test_an_address_counts_for_its_network_in_ipv6_and_for_itself_in_ipv4() -> None:
    assert peer_of("192.0.2.7") != peer_of("192.0.2.8")
    assert peer_of("2001:db8::1") == peer_of("2001:db8::ffff:1") != peer_of("2001:db8:0:1::1")
    assert peer_of("fe80::1%eth0") == peer_of("fe80::2")
    assert peer_of("somewhere") == "somewhere"
