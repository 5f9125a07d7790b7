"""Which vectors count, and which have a mean that does."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from elf.providers.vectors import (
    GREATEST_LENGTH,
    LEAST_LENGTH,
    Matrix,
    has_direction,
    have_direction,
    lengths,
    mean,
)

ANY_FLOAT = st.floats(width=32, allow_nan=True, allow_infinity=True, allow_subnormal=True)
matrices = st.integers(1, 6).flatmap(lambda rows: arrays(np.float32, (rows, 5), elements=ANY_FLOAT))


@given(matrix=matrices)
def test_any_two_vectors_that_count_have_a_cosine_even_in_float32(matrix: Matrix) -> None:
    sane = matrix[have_direction(matrix)]
    squares = np.einsum("ij,ij->i", sane, sane, dtype=np.float32)
    cosines = (sane @ sane.T) / np.sqrt(np.outer(squares, squares))
    assert np.isfinite(cosines).all()
    assert (np.abs(cosines) <= 1.001).all()
    np.testing.assert_allclose(np.diag(cosines), 1.0, atol=1e-3)


@given(matrix=matrices)
def test_the_mean_of_vectors_that_count_counts_or_there_is_none(matrix: Matrix) -> None:
    sane = matrix[have_direction(matrix)]
    if len(sane):
        pooled = mean(sane)
        assert pooled is None or has_direction(pooled)


@pytest.mark.parametrize("factor", [1.0, LEAST_LENGTH * 1.001, GREATEST_LENGTH * 0.999])
def test_lengths_within_the_bounds_count(factor: float) -> None:
    vector = np.array([0.6, 0.8], np.float32) * np.float32(factor)
    assert has_direction(vector)
    alone = mean(vector[np.newaxis])
    assert alone is not None
    assert np.array_equal(alone, vector)


@pytest.mark.parametrize(
    "factor", [0.0, 1e-44, 1e-30, LEAST_LENGTH * 0.999, GREATEST_LENGTH * 1.001, 3e38, np.nan, np.inf]
)
def test_other_lengths_do_not(factor: float) -> None:
    assert not has_direction(np.array([0.6, 0.8], np.float32) * np.float32(factor))


def test_each_row_is_looked_at_alone() -> None:
    matrix = np.array([[1, 0], [0, 0], [np.nan, 1], [0, 2]], np.float32)
    assert have_direction(matrix).tolist() == [True, False, False, True]
    assert have_direction(np.empty((0, 4), np.float32)).tolist() == []
    assert lengths(np.array([[3e38, 3e38]], np.float32))[0] == pytest.approx(4.24e38, rel=0.01)


def test_rows_that_cancel_out_have_no_mean() -> None:
    row = np.array([300.0, 400.0], np.float32)
    assert mean(np.stack([row, -row])) is None
    assert mean(np.stack([row, -row * np.float32(1 - 1e-6)])) is None
    assert mean(np.stack([row, row])) is not None
