"""Nobody takes more than its share, and what is given back can be taken again."""

from __future__ import annotations

import pytest

from elf.core.shares import ShareExceeded, Shares


def exceeded(shares: Shares, units: int, **owners: str) -> tuple[str, int]:
    """Return the limit that keeps somebody from taking so much."""
    with pytest.raises(ShareExceeded) as caught:
        shares.take(units, **owners)
    return caught.value.share, caught.value.limit


def test_each_limit_counts_for_its_own_owner_and_the_total_for_all() -> None:
    shares = Shares(10, tenant=7, user=4)
    shares.take(4, tenant="acme", user="ana")
    assert exceeded(shares, 1, tenant="acme", user="ana") == ("user", 4)
    shares.take(3, tenant="acme", user="bob")
    assert exceeded(shares, 1, tenant="acme", user="carl") == ("tenant", 7)
    shares.take(3, tenant="other", user="dora")
    assert exceeded(shares, 1, tenant="third", user="erik") == ("total", 10)
    assert shares.taken == 10


def test_what_is_refused_takes_nothing_and_what_is_given_back_may_be_taken_again() -> None:
    shares = Shares(3, user=2)
    shares.take(1, user="ana")
    assert exceeded(shares, 2, user="ana") == ("user", 2)
    shares.take(2, user="bob")
    assert exceeded(shares, 1, user="ana") == ("total", 3)
    shares.give_back(2, user="bob")
    shares.take(1, user="ana")
    shares.give_back(2, user="ana")
    assert shares.taken == 0
    shares.take(2, user="ana")


def test_one_that_is_held_is_given_back_however_that_ends() -> None:
    shares = Shares(1)
    with pytest.raises(LookupError), shares.one():
        raise LookupError
    with shares.one():
        assert exceeded(shares, 1) == ("total", 1)
    assert shares.taken == 0
