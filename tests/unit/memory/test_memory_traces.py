"""Traces of answers: within their bytes, counted where they tell less, and kept of a share of the answers."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any, Final, cast
from uuid import uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from elf.core.errors import DatabaseUnavailable
from elf.db.database import Database
from elf.db.queries import Queries
from elf.memory.asking import Asking
from elf.memory.traces import MAX_TRACE_BYTES, MOST_ALSO, Traces, fitted

pytestmark = pytest.mark.anyio

NOW: Final = datetime(2026, 1, 31, tzinfo=UTC)
ASKING: Final = cast(
    "Asking", SimpleNamespace(subject=SimpleNamespace(tenant_id="t"), whose=("ana", None, None, None))
)
ONE: Final = st.fixed_dictionaries(
    {
        "id": st.text(max_size=80),
        "also": st.lists(st.fixed_dictionaries({"id": st.text(max_size=40)}), max_size=6),
    }
)
OTHER: Final = st.fixed_dictionaries({"id": st.text(max_size=80), "reason": st.sampled_from(["A", "B"])})


class Rows:
    """A database that counts the rows which it takes, unless it is full."""

    def __init__(self, *, is_full: bool = False) -> None:
        self.taken = 0
        self._is_full = is_full

    @asynccontextmanager
    async def connection(self) -> Any:
        yield self

    async def execute(self, *_: object, timeout: float) -> None:
        if self._is_full:
            raise DatabaseUnavailable("the disk is full")
        self.taken += 1


def traces(rows: Rows, **more: Any) -> Traces:
    queries = cast("Queries", {"keep_memory_trace": ""})
    return Traces(cast("Database", rows), queries, keep=timedelta(days=1), **more)


def content(items: list[Any] = [], left_out: list[Any] = []) -> Mapping[str, Any]:  # noqa: B006 - nobody changes them
    return {"families": ["notes"], "degraded": [], "items": items, "left_out": left_out}


@given(items=st.lists(ONE, max_size=60), left_out=st.lists(OTHER, max_size=120))
def test_a_trace_has_the_first_of_what_there_is_and_counts_the_rest(
    items: list[Any], left_out: list[Any]
) -> None:
    text = fitted(content(items, left_out))
    told = json.loads(text)
    assert len(text.encode()) <= MAX_TRACE_BYTES
    assert told["families"] == ["notes"]
    short = [{**one, "also": one["also"][:MOST_ALSO]} for one in items]
    for name, whole in (("items", short), ("left_out", left_out)):
        assert told[name] == whole[: len(told[name])]
        assert told["more"][name] == len(whole) - len(told[name])


def test_what_fits_is_told_whole_and_what_does_not_is_left_out_from_the_end() -> None:
    one = {"id": "x" * 1000, "also": []}
    told = json.loads(fitted(content([one] * 5, [{"id": "y" * 1000, "reason": "A"}] * 5)))
    assert (len(told["items"]), len(told["left_out"])) == (5, 2)
    assert told["more"] == {"items": 0, "left_out": 3}


@pytest.mark.parametrize(
    ("sample", "chance", "is_wanted", "taken"),
    [
        (1.0, 0.999, False, 1),
        (0.3, 0.29, False, 1),
        (0.3, 0.3, False, 0),
        (0.0, 0.0, False, 0),
        (0.0, 0.0, True, 1),
    ],
)
async def test_a_share_of_the_answers_leaves_one_and_those_that_are_explained_all_do(
    sample: float, chance: float, is_wanted: bool, taken: int
) -> None:
    rows = Rows()
    kept = traces(rows, sample=sample, chance=lambda: chance)
    assert await kept.write(uuid4(), ASKING, "tea", content(), NOW, is_wanted=is_wanted)
    assert (rows.taken, kept.dropped) == (taken, 0)


async def test_one_that_cannot_be_written_is_dropped_and_counted() -> None:
    kept = traces(Rows(is_full=True), sample=1.0)
    assert not await kept.write(uuid4(), ASKING, "tea", content(), NOW, is_wanted=False)
    assert kept.dropped == 1
