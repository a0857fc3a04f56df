"""Weights to start from: those of a sample of the rows.

With many more rows than features, the weights of every sixteenth row, each counting as many times, are nearly those of
all rows. Newton's method takes them from there in two or three steps instead of ten, each of which looks at all rows.
The sample is a copy, and ``pack=False`` forbids it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from maxmargin import _core
from maxmargin.problems.matrix import Matrix
from maxmargin.problems.regression import RegressionProblem

if TYPE_CHECKING:
    from maxmargin.solvers.run import Run

#: Every so many rows are in the sample.
STRIDE = 16
#: Stored values from which on a sample pays, and rows it must have for each feature.
FEWEST_VALUES, ROWS_PER_FEATURE = 1_000_000, 50
#: The relative gap to which it is solved: its weights are no closer to those of all rows.
TOLERANCE = 1e-2


def start_from_sample(problem: Any, state: _core.BinaryState, run: Run) -> None:
    """Tell a state the weights of a sample, unless it knows some already or a sample does not pay."""
    rows, features = problem.shape
    if (
        not run.pack
        or state.dual != 0
        or problem.matrix.stored < FEWEST_VALUES
        or rows < STRIDE * ROWS_PER_FEATURE * features
    ):
        return
    C = np.ascontiguousarray(STRIDE * problem.C[::STRIDE])
    sample = _every_row(problem.X)
    if sample is None or not np.any(C > 0):
        return
    part = RegressionProblem(
        Matrix(sample),
        problem.y[::STRIDE].copy(),
        C,
        loss=problem.loss.name,
        epsilon=problem.loss.epsilon,
        bias=problem.bias,
        penalize_bias=problem.penalize_bias,
    )
    known = part.start()
    _core.newton(known, run.limits(tol=TOLERANCE), run.silent(run.time_left()))
    state.start(None, known.weights())


def _every_row(X: Any) -> Any:
    if isinstance(X, np.ndarray):
        return np.ascontiguousarray(X[::STRIDE])
    return X[::STRIDE] if hasattr(X, "__getitem__") else None
