"""Small numbers of a note: what survives a `real` column, when it lives, and its snapshot."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from elf.families.notes.model import Note, as_real
from tests.notes_kit import NOW, a_note


def through_postgres(value: float) -> float:
    """A number as asyncpg gives it back from a `real` column."""
    return float(np.float32(value))


@given(st.floats(0.0, 1.0))
@example(1e-40)
@example(5e-324)
@example(1.4e-45)
def test_a_number_equals_itself_after_a_round_trip(value: float) -> None:
    kept = as_real(value)
    assert as_real(through_postgres(kept)) == kept
    assert 0.0 <= kept <= 1.0


@given(st.integers(0, 10**6))
def test_six_decimals_are_kept_exactly(millionths: int) -> None:
    assert as_real(millionths / 1e6) == millionths / 1e6


def test_a_number_beyond_real_is_refused() -> None:
    with pytest.raises(OverflowError):
        as_real(1e39)


def test_a_note_lives_while_it_is_active_and_until_the_moment_of_its_expiry() -> None:
    assert a_note().is_live(NOW)
    assert a_note(expires_at=NOW + timedelta(microseconds=1)).is_live(NOW)
    assert not a_note(expires_at=NOW).is_live(NOW)
    assert not a_note(status="deleted").is_live(NOW)
    assert not a_note(status="deprecated").is_live(NOW)


def test_a_snapshot_is_plain_json_and_holds_every_field() -> None:
    note = a_note(key="k", expires_at=NOW, source_ref={"a": [1]})
    snapshot = note.snapshot()
    assert json.loads(json.dumps(snapshot)) == snapshot
    assert snapshot["note_id"] == str(note.note_id)
    assert snapshot["expires_at"] == NOW.isoformat()
    assert set(snapshot) == set(type(note).__slots__)


@given(
    st.text(), st.none() | st.text(min_size=1), st.floats(0, 1), st.none() | st.floats(-100, 100),
    st.none() | st.datetimes(timezones=st.just(UTC)),
)  # fmt: skip
def test_a_note_comes_back_from_its_snapshot(
    text: str, key: str | None, importance: float, ttl: float | None, moment: datetime | None
) -> None:
    note = a_note(
        text, key=key, importance=importance, requested_ttl_days=ttl, expires_at=moment, source_ref={"a": [1]}
    )
    assert Note.from_snapshot(json.loads(json.dumps(note.snapshot()))) == note
