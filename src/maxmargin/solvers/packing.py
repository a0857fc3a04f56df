"""When sweeps run on a packed copy of the rows instead of the rows themselves.

The copy (``src/core/rows/packed_rows.hpp``) costs about as much as two epochs. It saves a tenth of an epoch on sparse
text whose weights fit into the caches as they are, and up to two thirds where they do not. So it is made for sparse
rows with many features, and only where all of this holds:

- The epochs to come are many enough for that: the losses are not so weak that a few epochs will do, and the problem is
  none of one class, where few do; or several problems share it.
- The rows do not fit into the caches anyway.
- It takes at most half of the memory that the machine has free.

It belongs to the `Matrix`, so that classes, folds and values of C share one, and is freed with it. ``pack=False``
forbids it.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from maxmargin.solvers.memory import free_memory

if TYPE_CHECKING:
    from maxmargin.problems.matrix import Matrix

#: With fewer features the weights stay in the fastest cache.
FEWEST_FEATURES = 2048
#: Stored values, of all problems that share the rows, from which on a copy pays.
FEWEST_VALUES = 1_000_000
#: Mean ``C |x|^2`` up to which one problem takes so few epochs that a copy does not pay, by the number of features.
EASY = ((1 << 16, 2.0), (1 << 19, 0.3), (math.inf, 0.05))
#: The same for several threads, which make the copy together and use it together, as a share of these.
EASY_SHARED = 0.1
#: Bytes of a copy: of a value with its index at the most, of a row, and of a column.
BYTES_PER_VALUE, BYTES_PER_ROW, BYTES_PER_COLUMN = 16, 40, 8


def packed_bytes(matrix: Matrix) -> int:
    """What a packed copy takes at the most."""
    rows, columns = matrix.shape
    return BYTES_PER_VALUE * matrix.stored + BYTES_PER_ROW * rows + BYTES_PER_COLUMN * columns


def packing_pays(problem: Any, shared: bool = False) -> bool:
    """Whether sweeps over a problem's rows should run on a packed copy.

    ``shared`` means that several threads would share the sweeps, which they can on a copy alone.
    """
    matrix = problem.matrix
    if not matrix.is_sparse or matrix.shape[1] < FEWEST_FEATURES:
        return False
    if matrix.problems * matrix.stored < FEWEST_VALUES:
        return False
    if matrix.problems == 1 and problem.kind == "one_class":
        return False
    easy = next(bound for features, bound in EASY if matrix.shape[1] <= features)
    if shared:
        easy *= EASY_SHARED
    if matrix.problems == 1 and float(problem.C.mean()) * matrix.mean_squared_norm() <= easy:
        return False
    if matrix.fits is None:
        matrix.fits = packed_bytes(matrix) <= 0.5 * free_memory()
    return bool(matrix.fits)
