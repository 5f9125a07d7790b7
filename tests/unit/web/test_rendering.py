"""Answers as JSON in parts: the same JSON, whatever its size."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from elf.core.slices import at_once
from elf.web.rendering import rendering


class Named(BaseModel):
    name: str


class Page(msgspec.Struct, kw_only=True):
    first: Any
    items: Sequence[Any]
    next: str | None = None


@given(st.text(), st.lists(st.integers() | st.text() | st.none(), max_size=5), st.none() | st.text())
def test_a_struct_is_written_as_it_would_be_in_one_go(
    first: str, items: list[Any], next_: str | None
) -> None:
    page = Page(first=first, items=items, next=next_)
    assert b"".join(at_once(rendering(page))) == msgspec.json.encode(page)


class Sparse(msgspec.Struct, kw_only=True, omit_defaults=True):
    title: str | None = None
    next: str | None = None


@pytest.mark.parametrize(
    "answer", [Sparse(), Sparse(title="a"), Sparse(next="b"), Sparse(title="a", next="b")]
)
def test_what_a_struct_leaves_out_is_left_out(answer: Sparse) -> None:
    assert b"".join(at_once(rendering(answer))) == msgspec.json.encode(answer)


def test_models_within_a_struct_and_json_as_it_is_are_written_too() -> None:
    page = Page(first=Named(name="a"), items=[Named(name="b"), {"raw": msgspec.Raw(b'{"k": [1]}')}])
    (part,) = at_once(rendering(page))
    assert json.loads(part) == {
        "first": {"name": "a"}, "items": [{"name": "b"}, {"raw": {"k": [1]}}], "next": None
    }  # fmt: skip


def test_a_large_answer_comes_in_parts_and_gives_way_between_its_items() -> None:
    page = Page(first=None, items=["x" * 100_000] * 30)
    work = rendering(page)
    pauses = 0
    try:
        while True:
            next(work)
            pauses += 1
    except StopIteration as done:
        parts = done.value
    assert pauses >= 30
    assert len(parts) > 5
    assert json.loads(b"".join(parts))["items"] == page.items


def test_a_model_is_one_part() -> None:
    assert at_once(rendering(Named(name="a"))) == [b'{"name":"a"}']


def test_what_has_no_json_is_a_fault() -> None:
    with pytest.raises(TypeError):
        at_once(rendering(Page(first=object(), items=[])))
