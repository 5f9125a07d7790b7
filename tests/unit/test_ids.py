"""Ids made in bulk are those that the standard library would make, and an id in a path leads nowhere else."""

from __future__ import annotations

import re
from urllib.parse import unquote
from uuid import RFC_4122, UUID

import pytest
from hypothesis import given
from hypothesis.strategies import integers, one_of, text, uuids

from elf.core.errors import InvalidRequest
from elf.core.ids import id_in_path, text_in_path
from elf.db.ids import random_ids


def test_random_ids_are_of_version_4_and_no_two_alike() -> None:
    ids = random_ids(1000)
    assert len(set(ids)) == 1000
    assert {(UUID(str(one)).version, UUID(str(one)).variant) for one in ids} == {(4, RFC_4122)}
    assert random_ids(0) == []


@given(uuids())
def test_an_id_stands_in_a_path_as_itself(one: UUID) -> None:
    for given_as in (one, str(one), one.hex, str(one).upper()):
        assert id_in_path(given_as, name="note_id") == str(one)


@given(
    one_of(text(), uuids().flatmap(lambda one: text(min_size=1).map(lambda more: f"{one}{more}")), integers())
)
def test_nothing_but_an_id_comes_into_a_path(odd: object) -> None:
    assert re.fullmatch(r"[0-9a-f-]{36}|\$\.trace_id: should be a valid UUID", _part_or_refusal(odd))


@given(one_of(text(), integers(), uuids()))
def test_text_in_a_path_stays_one_part_of_it(value: object) -> None:
    if value == "" or {".", ".."} & set(str(value).split("/")):
        with pytest.raises(InvalidRequest) as caught:
            text_in_path(value, name="tenant_id")
        assert caught.value.fields == ("$.tenant_id",)
        return
    part = text_in_path(value, name="tenant_id")
    assert re.fullmatch(r"[A-Za-z0-9._~%-]+", part)
    assert unquote(part, errors="surrogatepass") == str(value)


def test_what_is_missing_does_not_come_into_a_path() -> None:
    with pytest.raises(InvalidRequest, match=r"^\$\.tenant_id: is missing$"):
        text_in_path(None, name="tenant_id")


def _part_or_refusal(odd: object) -> str:
    try:
        return id_in_path(odd, name="trace_id")
    except InvalidRequest as refusal:
        return refusal.message
