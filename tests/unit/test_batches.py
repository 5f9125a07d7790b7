"""Many things are cut into batches that are as large as they may be, and in their order."""

from __future__ import annotations

from itertools import chain, pairwise

from hypothesis import given
from hypothesis import strategies as st

from elf.core.batches import batches


@given(st.lists(st.integers(0, 9)), st.integers(0, 12), st.none() | st.integers(1, 4))
def test_batches_keep_their_bounds_and_are_no_smaller_than_they_must_be(
    sizes: list[int], most_size: int, most: int | None
) -> None:
    made = list(batches(sizes, int, most_size=most_size, most=most))
    assert [*chain.from_iterable(made)] == sizes
    assert all(batch and (len(batch) == 1 or sum(batch) <= most_size) for batch in made)
    assert most is None or all(len(batch) <= most for batch in made)
    assert all(len(one) == most or sum(one) + other[0] > most_size for one, other in pairwise(made))
