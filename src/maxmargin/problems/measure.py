"""Performance measures of a whole prediction as losses (Joachims 2005), with their exact values in plain numpy.

    primal(w)   1/2 |w|^2 + C max over labellings y' of ( n Delta(y', y) - sum over y'_i != y_i of y_i w.x_i )

where ``Delta`` is 1 minus the measure of the labelling ``y'``. With the error rate this is the hinge.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from maxmargin import _core
from maxmargin.problems.binary import _signs, check_bias, row_weights_of
from maxmargin.problems.losses import Floats
from maxmargin.problems.problem import Problem
from maxmargin.problems.regulariser import SquaredNorm

#: The measures by name, as the core knows them.
MEASURES = {
    "error_rate": _core.Measure.ERROR_RATE,
    "f1": _core.Measure.F1,
    "prbep": _core.Measure.RECALL_AT_K,
    "precision_at_k": _core.Measure.PRECISION_AT_K,
    "recall_at_k": _core.Measure.RECALL_AT_K,
    "roc_area": _core.Measure.ROC_AREA,
}
#: Those that need a number of rows to call positive.
AT_K = ("precision_at_k", "recall_at_k")


class MeasureProblem(Problem):
    """A binary linear SVM that optimises a performance measure of all its predictions together.

    Parameters
    ----------
    X : Matrix, ndarray or CSR matrix of shape (rows, features)
        float32 or float64; used where it lies, never copied.
    y : array of shape (rows,)
        -1 or +1; both must occur.
    C : float or array of shape (rows,), default=1.0
        Weight of the risk. Rows of weight zero take no part; all others must have the same weight.
    measure : {"f1", "prbep", "precision_at_k", "recall_at_k", "error_rate", "roc_area"}, default="f1"
        What to optimise. "prbep" is the point where precision and recall are equal.
    k : int, optional
        How many rows "precision_at_k" and "recall_at_k" call positive.
    bias : float, default=0.0
        Value of an implicit constant column, whose weight is regularised; 0 means none.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin import MeasureProblem, solve
    >>> problem = MeasureProblem(np.array([[1.0], [-1.0], [0.5]]), [1, -1, -1], measure="f1")
    >>> solve(problem, tol=1e-6).converged
    True
    """

    kind: ClassVar[str] = "measure"
    penalize_bias: ClassVar[bool] = True

    y: NDArray[np.int8]

    def __init__(
        self, X: Any, y: ArrayLike, C: ArrayLike = 1.0, *, measure: str = "f1", k: int | None = None, bias: float = 0.0
    ) -> None:
        super().__init__(X)
        size = self.shape[0]
        self.y = _signs(y, size)
        weights = row_weights_of(C, size)
        used = weights > 0
        if np.ptp(weights[used]) > 0:
            raise ValueError(f"measure={measure!r} needs the same weight for all rows; weights of 0 leave rows out")
        self.C = float(weights[used][0])
        self.signs = np.where(used, self.y, 0).astype(np.int8)
        check_measure(measure, k)
        self.measure = measure
        positives, n = int(np.sum(self.signs > 0)), int(np.sum(used))
        if positives in (0, n):
            raise ValueError(f"measure={measure!r} needs rows of both classes")
        if k is not None and k > n:
            raise ValueError(f"k={k} is more than the {n} rows")
        self.k = positives if k is None else int(k)
        self.bias = check_bias(bias)

    def start(self, start: Any = None) -> _core.MeasureState:
        """The problem as the C++ core solves it, with cuts at zero and at the points of a solution."""
        points = None if start is None else getattr(start, "points", None)
        if start is not None and points is None:
            raise ValueError(f"measure={self.measure!r} starts from a Solution of such a problem, not from variables")
        return _core.MeasureState(
            self.matrix.rows, MEASURES[self.measure], self.signs, self.C, self.k, self.bias, points
        )

    def found(self, state: _core.MeasureState) -> tuple[Floats, Floats]:
        """The best weights and the best dual variables, with their signs, of a state."""
        return state.weights(), state.alpha()

    def points_of(self, state: _core.MeasureState) -> Floats:
        """Where the cuts in use touch the risk: a similar problem may start from there."""
        return state.points().reshape(-1, self.shape[1] + 1)

    def dual_coef(self, alpha: ArrayLike) -> Floats:
        """Dual variables with the signs of their rows, as they are."""
        return np.asarray(alpha, dtype=np.float64)

    def primal(self, w: ArrayLike) -> float:
        """The objective at weights whose last entry is the bias."""
        w = np.asarray(w, dtype=np.float64)
        return SquaredNorm().value(w) + self.C * self.risk(self.X @ w[:-1] + self.bias * w[-1])

    def risk(self, scores: ArrayLike) -> float:
        """The maximum over all contingency tables, one after the other, or over pairs."""
        s = np.asarray(scores, dtype=np.float64)
        up, down = np.sort(s[self.signs > 0]), -np.sort(-s[self.signs < 0])
        P, N = len(up), len(down)
        if self.measure == "roc_area":
            return float(np.maximum(0.0, 1.0 - (up[:, np.newaxis] - down)).sum() * (P + N) / (P * N))
        A, B = np.append(0.0, -np.cumsum(up)), np.append(0.0, np.cumsum(down))
        best, b = 0.0, np.arange(N + 1)
        for c in range(P + 1):
            delta = self._delta(b, c, P, N)
            best = max(best, float(np.max((P + N) * delta + A[c] + B)))
        return best

    def _delta(self, b: NDArray[np.intp], c: int, P: int, N: int) -> Floats:
        a = P - c
        if self.measure == "error_rate":
            return (b + c) / (P + N)
        if self.measure == "f1":
            return (b + c) / np.maximum(2 * a + b + c, 1)
        delta = np.full(N + 1, 1 - a / (self.k if self.measure == "precision_at_k" else P))
        return np.where(a + b == self.k, delta, -np.inf)


def check_measure(measure: Any, k: Any) -> None:
    """Refuse a measure that nobody knows, and a ``k`` that does not go with it."""
    if measure not in MEASURES:
        raise ValueError(f"measure={measure!r} is unknown; choose from {list(MEASURES)}")
    if (k is None) == (measure in AT_K):
        raise ValueError(f"measure={measure!r} {'needs' if k is None else 'takes no'} k; those at k are {list(AT_K)}")
    if k is not None and (isinstance(k, bool) or k != int(k) or k < 1):
        raise ValueError(f"k must be a whole number from 1 on, not {k!r}")
