"""Binary problems that differ only in which rows take part, as folds do, solved by Newton's method side by side.

Up to eight problems share each pass over the rows and most products of their Hessians, and from one C to the next the
Hessians are changed only for rows that become curved or cease to be (``src/core/binary/fold_newton.hpp``). With few
features all folds of a grid take little longer than one of them by itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from maxmargin import _core
from maxmargin.problems.binary import BinaryProblem
from maxmargin.problems.losses import Floats
from maxmargin.solvers.auto import MOST_NEWTON_FEATURES, MULTIPLICATIONS_PER_VALUE, Auto
from maxmargin.solvers.method import Method
from maxmargin.solvers.run import FOREVER
from maxmargin.solvers.solution import Solution
from maxmargin.solvers.solve import Call, checked_limits
from maxmargin.solvers.together import FEWEST, WIDTH, agree_on_rows

#: Steps at one C, after which problems go on one by one.
STEPS = 30
#: A factorisation may take as long as so many passes over the data.
MOST_PASSES = 4.0


def folds_go_together(method: Method, problems: Sequence[BinaryProblem]) -> bool:
    """Whether such problems, the folds of some rows, are faster side by side."""
    first = problems[0]
    if not isinstance(method, Auto) or method.dual is not None or first.kind != "binary" or not first.penalize_bias:
        return False
    if not FEWEST <= len(problems) <= WIDTH or not first.loss.is_curved or np.isfinite(first.loss.upper_per_C):
        return False
    features = first.shape[1]
    passes = features**3 / 6 / (MULTIPLICATIONS_PER_VALUE * max(first.matrix.stored, 1))
    if features > MOST_NEWTON_FEATURES or passes > MOST_PASSES:
        return False
    return agree_on_rows(problems)


class FoldNewton:
    """What the solutions of one C leave for the next: weights and Hessians.

    Parameters
    ----------
    problem : BinaryProblem
        One of the problems.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin import Auto, BinaryProblem, Matrix
    >>> from maxmargin.solvers.folds import FoldNewton
    >>> X, y = Matrix(np.array([[1.0], [-1.0], [2.0]])), [1, -1, 1]
    >>> folds = [np.array(rows) for rows in ([1.0, 1.0, 0.0], [1.0, 0.0, 1.0], [0.0, 1.0, 1.0])]
    >>> together = FoldNewton(BinaryProblem(X, y, folds[0]))
    >>> for C in (0.1, 1.0):
    ...     solutions = together.solve([BinaryProblem(X, y, C * rows) for rows in folds], Auto(), tol=1e-9)
    >>> [round(float(solution.weights[0]), 3) for solution in solutions]
    [0.8, 0.667, 0.667]
    """

    def __init__(self, problem: BinaryProblem) -> None:
        self._core = _core.FoldNewton(problem.matrix.rows)

    def solve(
        self,
        problems: Sequence[BinaryProblem],
        method: Method,
        *,
        weights: Sequence[Floats] | None = None,
        **limits: Any,
    ) -> list[Solution]:
        """Solve problems that are those of the last call but for a factor of C, from their weights or from others.

        A problem that is not done after many steps goes on by itself with ``method``. ``limits`` are those of
        ``solve``.
        """
        checked = checked_limits(**limits)
        calls = [Call(problem, method, **checked) for problem in problems]
        for call in calls:
            call.recorder.stages.append("newton")
        if weights is not None:
            self._core.start([own.tolist() for own in weights])
        steps = min(STEPS, checked["max_iter"])
        own = _core.Limits(checked["tol"], steps, checked["seed"], max_passes=FOREVER, worth=FOREVER, patience=FOREVER)
        exits = self._core.solve(
            [call.state for call in calls], own, [call.run.core for call in calls], checked["n_jobs"]
        )
        return [call.finish(exit_) for call, exit_ in zip(calls, exits, strict=True)]
