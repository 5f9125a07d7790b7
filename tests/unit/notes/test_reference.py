"""What a reference says of where a note comes from."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from elf.families.notes.reading.reference import MOST, source_of

pytestmark = pytest.mark.slow

MOMENT = datetime(2026, 2, 3, 4, 5, tzinfo=UTC)


def test_evidence_names_its_messages_each_once_and_the_latest_of_their_moments() -> None:
    quotes = [
        {"message_index": 0, "quote": "tea", "msg_id": "m1", "ts": "2026-02-03T04:05:00Z"},
        {"message_index": 1, "quote": "hot", "msg_id": "m2", "ts": "2026-02-03T05:04:00+01:00"},
        {"message_index": 0, "quote": "is", "msg_id": "m1"},
    ]
    source = source_of({"evidence": quotes, "reason": "it was said", "thread": "t1"})
    assert source.names == ["thread:t1", "message:m1", "message:m2"]
    assert source.said_at == MOMENT


@pytest.mark.parametrize(
    ("reference", "names"),
    [
        ({}, []),
        ({"url": "https://e.example/a", "ref": "r", "id": 7}, ["url:https://e.example/a", "ref:r", "id:7"]),
        ({"conversation_id": "c", "entry": "e", "event_id": "v"}, ["conversation:c", "entry:e", "event:v"]),
        ({"id": True, "url": "", "ref": None, "path": ["a"], "thread": "x" * 257}, []),
        ({"evidence": "none", "ticket": "SUP-1"}, []),
        ({"evidence": ["none", {"msg_id": 3}]}, ["message:3"]),
    ],
)
def test_plain_fields_name_what_they_are_called_after(reference: dict[str, Any], names: list[str]) -> None:
    assert source_of(reference).names == names


@pytest.mark.parametrize(
    ("told", "said_at"),
    [
        ("2026-02-03T04:05:00", MOMENT),
        ("2026-02-03", datetime(2026, 2, 3, tzinfo=UTC)),
        ("yesterday", None),
        ("0001-01-01T00:00:00+14:00", None),
        (1770091500, None),
    ],
)
def test_a_moment_is_read_where_it_is_written_as_one(told: object, said_at: datetime | None) -> None:
    assert source_of({"ts": told}).said_at == said_at


def test_what_was_said_is_dated_so_but_never_later_than_it_was_written() -> None:
    source = source_of({"ts": MOMENT.isoformat()})
    assert source.at(MOMENT + timedelta(days=1)) == MOMENT
    assert source.at(MOMENT - timedelta(days=1)) == MOMENT - timedelta(days=1)
    assert source_of({}).at(MOMENT) == MOMENT


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=9), inner, max_size=4),
    max_leaves=12,
)
NAMED = st.sampled_from(["evidence", "msg_id", "ts", "thread", "url", "id"])


@given(
    st.dictionaries(NAMED | st.text(max_size=9), JSON | st.lists(st.dictionaries(NAMED, JSON), max_size=80))
)
def test_any_reference_is_read(reference: dict[str, Any]) -> None:
    source = source_of(reference)
    assert len(source.names) == len({*source.names}) <= MOST
    assert source.said_at is None or source.said_at.tzinfo is UTC
