"""Digests of what JSON can hold."""

from __future__ import annotations

import json
import random

from hypothesis import given
from hypothesis import strategies as st

from elf.core.digests import digest_of_json

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(),
    lambda part: st.lists(part, max_size=4) | st.dictionaries(st.text(), part, max_size=4),
    max_leaves=12,
)


def in_another_order(value: object, rng: random.Random) -> object:
    if isinstance(value, dict):
        names = list(value)
        rng.shuffle(names)
        return {name: in_another_order(value[name], rng) for name in names}
    return [in_another_order(one, rng) for one in value] if isinstance(value, list) else value


@given(value=JSON, rng=st.randoms())
def test_the_order_of_names_does_not_matter(value: object, rng: random.Random) -> None:
    assert digest_of_json(in_another_order(value, rng)) == digest_of_json(value)


@given(first=JSON, second=JSON)
def test_only_equal_values_have_one_digest(first: object, second: object) -> None:
    alike = json.dumps(first, sort_keys=True) == json.dumps(second, sort_keys=True)
    assert (digest_of_json(first) == digest_of_json(second)) == alike


def test_the_order_of_a_list_matters() -> None:
    assert digest_of_json(["a", "b"]) != digest_of_json(["b", "a"])
    assert len(digest_of_json({})) == 32
