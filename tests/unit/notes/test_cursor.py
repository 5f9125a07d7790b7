"""The cursor of a listing: it leads back to its note, and nothing else passes for one."""

from __future__ import annotations

import base64
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from elf.core.errors import InvalidRequest
from elf.core.ids import NoteId
from elf.families.notes.api.cursor import decode_cursor, encode_cursor
from elf.families.notes.keeping.store import Cursor
from tests.notes_kit import a_note


def sealed(text: str) -> str:
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


@given(st.datetimes(timezones=st.just(UTC)), st.uuids())
def test_a_cursor_leads_back_to_its_note(moment: datetime, note_id: NoteId) -> None:
    text = encode_cursor(a_note(updated_at=moment, note_id=note_id))
    assert decode_cursor(text) == Cursor(moment, note_id)
    assert text.isascii()
    assert not set(text) & set("+/=&?#% ")


@pytest.mark.parametrize(
    "junk",
    [
        "", "A", "AAAA", "a b", "====", "\u00e9", "+/+/", "\x00",
        sealed("2026-01-01T00:00:00+00:00"),
        sealed("2026-01-01T00:00:00+00:00|"),
        sealed("2026-01-01T00:00:00+00:00|not-a-uuid"),
        sealed("2026-01-01T00:00:00|7b0e1d9a-3f0a-4e0c-9d53-3b5f1e7c1a11"),
        sealed("yesterday|7b0e1d9a-3f0a-4e0c-9d53-3b5f1e7c1a11"),
        sealed("0001-01-01T00:00:00+10:00|7b0e1d9a-3f0a-4e0c-9d53-3b5f1e7c1a11"),
        sealed("9999-12-31T23:59:59-10:00|7b0e1d9a-3f0a-4e0c-9d53-3b5f1e7c1a11"),
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
