"""Filters as shelves; that they find the right points is in the contract."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from elf.families.notes.keeping.space import NOTES
from elf.index.partitions import alternatives, shelf_of
from elf.index.port import IndexFilter

payloads = st.dictionaries(st.sampled_from(NOTES.keyword_fields), st.text(max_size=3))


@settings(max_examples=50)
@given(payloads, payloads)
def test_two_points_share_a_shelf_exactly_when_their_fields_are_equal(
    one: dict[str, str], other: dict[str, str]
) -> None:
    assert (shelf_of(one, NOTES).number == shelf_of(other, NOTES).number) == (one == other)
    same_place = all(one.get(field) == other.get(field) for field in NOTES.place_fields)
    assert (shelf_of(one, NOTES).place == shelf_of(other, NOTES).place) == same_place


def test_only_the_fields_that_filters_name_make_a_shelf() -> None:
    plain = {"tenant_id": "acme", "scope": "org_shared"}
    assert shelf_of(plain | {"importance": 0.5, "key": "k", "type": None}, NOTES) == shelf_of(plain, NOTES)
    assert shelf_of(plain, NOTES).fields == plain


def test_a_shelf_has_the_same_number_in_every_process_and_version() -> None:
    shelf = shelf_of({"tenant_id": "acme", "project_id": "alpha"}, NOTES)
    assert (shelf.number, shelf.place) == (931805943813396558, 1404777887509574111)


def test_alternatives_are_multiplied_out() -> None:
    where = IndexFilter(must={}, any_of=[{"scope": ["a", "b"]}, {"scope": ["c"], "agent_id": ["x", "y"]}])
    assert alternatives(where) == [
        {"scope": "a"},
        {"scope": "b"},
        {"scope": "c", "agent_id": "x"},
        {"scope": "c", "agent_id": "y"},
    ]
    assert alternatives(IndexFilter(must={})) == [{}]
    assert alternatives(IndexFilter(must={}, any_of=[{"scope": []}])) == []
