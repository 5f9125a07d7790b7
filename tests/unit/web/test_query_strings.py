"""Query strings and paths are read from the bytes that were sent."""

from __future__ import annotations

from urllib.parse import quote, urlencode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from elf.core.errors import InvalidRequest
from elf.web.query_strings import MAX_PARAMETERS, check_path, query_values

TEXT = st.text(st.characters(exclude_categories=["Cs"]))


@given(st.dictionaries(TEXT, TEXT, max_size=5))
def test_what_was_sent_is_read(values: dict[str, str]) -> None:
    assert query_values(urlencode(values).encode()) == values


def test_a_parameter_without_a_value_is_empty_and_plus_is_a_space() -> None:
    assert query_values(b"a&b=&c=x+y&&d=1=2") == {"a": "", "b": "", "c": "x y", "d": "1=2"}


@pytest.mark.parametrize("bad", [b"%FF", b"%C3", b"%ED%A0%80", b"\xff", b"a%80b", b"%F4%90%80%80"])
def test_bytes_that_are_no_utf_8_are_refused_with_the_name_of_their_parameter(bad: bytes) -> None:
    with pytest.raises(InvalidRequest) as caught:
        query_values(b"fine=1&tenant_id=" + bad + b"&limit=3")
    assert caught.value.fields == ("$.tenant_id",)
    assert "\ufffd" not in caught.value.message


def test_a_name_that_is_no_utf_8_is_refused() -> None:
    with pytest.raises(InvalidRequest):
        query_values(b"%FF=1")


def test_every_parameter_given_twice_is_named() -> None:
    with pytest.raises(InvalidRequest) as caught:
        query_values(b"a=1&b=1&a=2&b=2&a=3&c=1")
    assert caught.value.fields == ("$.a", "$.b")


def test_a_flood_of_parameters_is_refused() -> None:
    query_values(urlencode({str(number): "" for number in range(MAX_PARAMETERS)}).encode())
    with pytest.raises(InvalidRequest):
        query_values(b"a&" * (MAX_PARAMETERS + 1))


@given(TEXT.filter(lambda text: text not in ("", ".", "..")))
def test_a_path_of_utf_8_passes(text: str) -> None:
    check_path(f"/v1/notes/{quote(text)}/history", "/v1/notes/{note_id}/history")


def test_a_path_that_is_no_utf_8_is_refused_with_the_name_of_its_parameter() -> None:
    with pytest.raises(InvalidRequest) as caught:
        check_path("/v1/notes/%FF+/history", "/v1/notes/{note_id}/history")
    assert caught.value.fields == ("$.note_id",)
