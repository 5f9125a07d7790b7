"""The cursor of a listing: it leads back to its note, and nothing else passes for one."""

from __future__ import annotations

import base64
from datetime import UTC, datetime
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from elf.api.cursor import Cursor, decode_cursor, encode_cursor
from elf.core.errors import InvalidRequest
from elf.core.ids import NoteId

NOWHERE = datetime(2026, 1, 1, tzinfo=UTC), UUID(int=0)


def sealed(text: str) -> str:
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def read(cursor: str) -> str:
    return base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)).decode()


def marked(text: str, *of: str | None) -> str:
    """A cursor with this text before the mark of a listing."""
    return sealed(f"{text}|{read(encode_cursor(*NOWHERE, *of)).rpartition('|')[2]}")


@given(st.datetimes(timezones=st.just(UTC)), st.uuids())
def test_a_cursor_leads_back_to_its_note(moment: datetime, note_id: NoteId) -> None:
    text = encode_cursor(moment, note_id, "notes", "acme", None)
    assert decode_cursor(text, "notes", "acme", None) == Cursor(moment, note_id)
    assert text.isascii()
    assert not set(text) & set("+/=&?#% ")


@pytest.mark.parametrize(
    "junk",
    [
        "", "A", "AAAA", "a b", "====", "\u00e9", "+/+/", "\x00",
        marked("2026-01-01T00:00:00+00:00"),
        marked("2026-01-01T00:00:00+00:00|"),
        marked("2026-01-01T00:00:00+00:00|not-a-uuid"),
        marked("2026-01-01T00:00:00|7b0e1d9a-3f0a-4e0c-9d53-3b5f1e7c1a11"),
        marked("yesterday|7b0e1d9a-3f0a-4e0c-9d53-3b5f1e7c1a11"),
        marked("0001-01-01T00:00:00+10:00|7b0e1d9a-3f0a-4e0c-9d53-3b5f1e7c1a11"),
        marked("9999-12-31T23:59:59-10:00|7b0e1d9a-3f0a-4e0c-9d53-3b5f1e7c1a11"),
        sealed("2026-01-01T00:00:00+00:00|7b0e1d9a-3f0a-4e0c-9d53-3b5f1e7c1a11"),
        marked("2026-01-01T00:00:00+00:00|7b0e1d9a-3f0a-4e0c-9d53-3b5f1e7c1a11|"),
        "gIAA",
    ],
)  # fmt: skip
def test_junk_is_refused_by_the_name_of_its_field(junk: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        decode_cursor(junk)
    assert caught.value.fields == ("$.cursor",)


@given(st.text(max_size=60))
def test_no_text_does_more_than_be_refused(text: str) -> None:
    with pytest.raises(InvalidRequest):
        decode_cursor(text)


CONTEXTS = st.lists(st.none() | st.text(max_size=8), max_size=4)


@given(CONTEXTS, CONTEXTS)
def test_a_cursor_is_good_for_its_own_listing_only(own: list[str | None], other: list[str | None]) -> None:
    cursor = encode_cursor(*NOWHERE, *own)
    if own == other:
        decode_cursor(cursor, *other)
        return
    with pytest.raises(InvalidRequest) as caught:
        decode_cursor(cursor, *other)
    assert caught.value.fields == ("$.cursor",)


@pytest.mark.parametrize(
    ("own", "other"),
    [
        (["notes", "a", "b"], ["notes", "ab", ""]),
        (["notes", "a", None], ["notes", "a", ""]),
        (["notes", "a", "p"], ["searches", "a", "p"]),
        (["notes", 'a","b'], ["notes", "a", "b"]),
    ],
)
def test_listings_that_are_much_alike_are_told_apart(own: list[str | None], other: list[str | None]) -> None:
    with pytest.raises(InvalidRequest):
        decode_cursor(encode_cursor(*NOWHERE, *own), *other)


def test_a_cursor_tells_nothing_of_whose_listing_it_is_of() -> None:
    assert "acme" not in read(encode_cursor(*NOWHERE, "notes", "acme", "website"))
