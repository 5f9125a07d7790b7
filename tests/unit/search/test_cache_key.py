"""The key of a kept answer: the hash of canonical JSON, the same for equal material and for nothing else."""

from __future__ import annotations

import json
import math
from datetime import UTC, datetime, timedelta, timezone
from typing import Any
from uuid import UUID

import pytest
from asyncpg.pgproto.pgproto import UUID as DriverUuid
from blake3 import blake3
from hypothesis import given
from hypothesis import strategies as st

from elf.search.cache import cache_key

TEXT = st.text(st.characters(codec="utf-8"), max_size=6)
PLAIN = st.none() | st.booleans() | st.integers(-(2**53), 2**53) | TEXT
FLAT = st.dictionaries(TEXT, PLAIN, max_size=3)
# Written out: what st.recursive draws takes seconds on a busy machine.
MATERIAL = st.dictionaries(
    TEXT, PLAIN | FLAT | st.lists(PLAIN | FLAT | st.lists(PLAIN, max_size=2), max_size=3), max_size=4
)
MOMENTS = st.datetimes(datetime(1970, 1, 2), datetime(2200, 1, 1), timezones=st.just(UTC))
ZONES = st.integers(-14 * 60, 14 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes)))
A_UUID = UUID("0f8fad5b-d9cb-469f-a165-70867728950e")


def canonical(material: Any) -> str:
    return json.dumps(material, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def backwards(value: Any) -> Any:
    """The same value with the keys of every mapping in the opposite order, and tuples for lists."""
    if isinstance(value, dict):
        return {name: backwards(inner) for name, inner in reversed(value.items())}
    return tuple(backwards(item) for item in value) if isinstance(value, list) else value


@given(MATERIAL)
def test_it_is_the_blake3_hash_of_sorted_json_without_spaces_in_utf_8(material: dict[str, Any]) -> None:
    assert cache_key(material) == blake3(canonical(material).encode()).hexdigest()


@given(MATERIAL)
def test_the_order_of_keys_and_the_kind_of_list_do_not_matter(material: dict[str, Any]) -> None:
    assert cache_key(backwards(material)) == cache_key(material)


@given(MOMENTS, ZONES)
def test_a_moment_counts_and_not_its_zone(moment: datetime, zone: timezone) -> None:
    assert cache_key({"at": moment.astimezone(zone)}) == cache_key({"at": moment})
    assert cache_key({"at": moment + timedelta(microseconds=1)}) != cache_key({"at": moment})


def test_ids_and_moments_have_a_fixed_form() -> None:
    text = '{"at":"2026-03-01T12:00:00.000005Z","id":"0f8fad5b-d9cb-469f-a165-70867728950e","t":0.1}'
    material = {"t": 0.1, "id": A_UUID, "at": datetime(2026, 3, 1, 12, 0, 0, 5, tzinfo=UTC)}
    assert cache_key(material) == blake3(text.encode()).hexdigest()
    assert len(cache_key(material)) == 64


def test_an_id_from_the_database_is_the_same_id() -> None:
    assert cache_key({"id": DriverUuid(str(A_UUID))}) == cache_key({"id": A_UUID})


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, datetime(2026, 3, 1)])
def test_what_has_no_one_form_is_refused(value: Any) -> None:
    with pytest.raises(ValueError, match=r"."):
        cache_key({"signature": [value]})


@pytest.mark.parametrize("value", [{1: "one"}, {"a", "b"}, b"bytes", object()])
def test_what_json_cannot_hold_is_refused(value: Any) -> None:
    with pytest.raises(TypeError):
        cache_key({"value": value})
