"""Which vectors count: those with a direction that float32 arithmetic can tell.

A vector of zeros, or one whose numbers are so small or large that the squares of float32 lose them, has no direction:
its cosine to another vector is NaN, or any number at all. A text with such a vector has none. The SQL function
`has_direction` says the same of what is stored.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

# The squares of both, and of all between, are far from the ends of float32; and Qdrant scales a vector to length 1 only
# if the square of its length is greater than 1.2e-7. Models give vectors of length 1, or of a few hundreds at most.
LEAST_LENGTH: Final = 1e-3
GREATEST_LENGTH: Final = 1e6

Matrix = npt.NDArray[np.float32]
Rows = npt.NDArray[np.bool_]


def lengths(matrix: Matrix) -> npt.NDArray[np.float64]:
    """Return the Euclidean length of each row; NaN or infinity where a number is not finite."""
    # No square of a float32 overflows or vanishes as a float64.
    squares: npt.NDArray[np.float64] = np.einsum("ij,ij->i", matrix, matrix, dtype=np.float64)
    return np.sqrt(squares)


def have_direction(matrix: Matrix) -> Rows:
    """Tell for each row whether it is a vector that counts."""
    found = lengths(matrix)
    return (found >= LEAST_LENGTH) & (found <= GREATEST_LENGTH)  # neither is true of NaN


def has_direction(vector: Matrix) -> bool:
    """Tell whether a single vector counts."""
    return bool(have_direction(vector[np.newaxis])[0])


def mean(matrix: Matrix) -> Matrix | None:
    """Return the mean of the rows, or None when they cancel out: what rounding leaves then points anywhere.

    The mean of a single row is that row; no rows have none.
    """
    if not len(matrix):
        return None
    pooled: Matrix = matrix.mean(axis=0, dtype=np.float32)
    least = LEAST_LENGTH * max(1.0, float(lengths(matrix).max()))
    return pooled if float(lengths(pooled[np.newaxis])[0]) >= least else None
