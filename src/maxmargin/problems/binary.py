"""What is to be minimised: data, loss and one weight ``C_i`` per row, with the exact values of both objectives.

The formulas here are plain numpy and are the readable truth; the C++ core computes the same values faster.

    primal(w)      1/2 |w|^2 + sum_i loss_i(1 - y_i w.x_i)
    dual(alpha)    sum_i (alpha_i - D_ii alpha_i^2 / 2) - 1/2 |sum_i alpha_i y_i x_i|^2

``w`` includes the bias as its last entry (eq. 3 of Hsieh et al.), multiplied by a constant column ``bias``. Where the
bias is free of the regulariser, ``|w|^2`` leaves it out, and dual variables must fulfil ``sum_i y_i alpha_i = 0``.

With the penalty "l1", ``1/2 |w|^2`` is ``|w|_1``, and the square in the dual becomes a condition: no entry of
``sum_i alpha_i y_i x_i`` may be larger than 1 in size.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from maxmargin import _core
from maxmargin.problems.certificate import Certificate
from maxmargin.problems.losses import LOSSES, Floats, Loss
from maxmargin.problems.problem import Problem
from maxmargin.problems.regulariser import REGULARISERS, L1Norm, SquaredNorm

#: Beyond these, products of C, row norms and dual variables could overflow.
SMALLEST_C, LARGEST_C = 1e-50, 1e50
LARGEST_BIAS = 1e50


class BinaryProblem(Problem):
    """A binary linear SVM: which rows, which labels, which loss, how much each row counts.

    Parameters
    ----------
    X : Matrix, ndarray or CSR matrix of shape (rows, features)
        float32 or float64; used where it lies, never copied. A `Matrix` is shared between problems without being
        checked again.
    y : array of shape (rows,)
        -1 or +1.
    C : float or array of shape (rows,), default=1.0
        The weight of the loss, for all rows or for each. Rows of weight zero take no part.
    loss : {"hinge", "squared_hinge", "least_squares"} or Loss, default="squared_hinge"
        The loss.
    bias : float, default=0.0
        Value of an implicit constant column. 0 means none.
    penalize_bias : bool, default=True
        Whether the weight of that column is regularised like the others. If not, its value does not matter.
    penalty : {"l2", "l1"}, default="l2"
        The regulariser: ``1/2 |w|^2``, or ``|w|_1``, which makes most weights zero.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin import BinaryProblem, solve
    >>> problem = BinaryProblem(np.array([[1.0], [-1.0]]), np.array([1, -1]), C=10.0, loss="hinge")
    >>> solution = solve(problem, tol=1e-9)
    >>> problem.primal(solution.weights)
    0.5
    """

    one_score_per_row: ClassVar[bool] = True

    y: NDArray[np.int8]
    C: Floats
    loss: Loss
    bias: float
    penalize_bias: bool
    penalty: str

    def __init__(
        self,
        X: Any,
        y: ArrayLike,
        C: ArrayLike = 1.0,
        *,
        loss: str | Loss = "squared_hinge",
        bias: float = 0.0,
        penalize_bias: bool = True,
        penalty: str = "l2",
    ) -> None:
        super().__init__(X)
        size = self.shape[0]
        self.y = _signs(y, size)
        self.C = row_weights_of(C, size)
        if isinstance(loss, str) and loss not in LOSSES:
            raise ValueError(f"loss={loss!r} is unknown; choose from {sorted(LOSSES)}")
        self.loss = LOSSES[loss] if isinstance(loss, str) else loss
        self.bias = check_bias(bias)
        self.penalize_bias = bool(penalize_bias)
        if not penalize_bias and bias == 0:
            raise ValueError("penalize_bias=False needs a bias; use bias=1.0")
        if penalty not in REGULARISERS:
            raise ValueError(f"penalty={penalty!r} is unknown; choose from {list(REGULARISERS)}")
        self.penalty = penalty

    @property
    def kind(self) -> str:
        """What methods must know to solve it: "binary", or "l1" with that penalty."""
        return "binary" if self.penalty == "l2" else self.penalty

    @property
    def regulariser(self) -> SquaredNorm | L1Norm:
        """``1/2 |w|^2`` or ``|w|_1``, with or without the bias."""
        return REGULARISERS[self.penalty](free_bias=not self.penalize_bias)

    def start(self, start: Any = None) -> _core.BinaryState | _core.L1State:
        """The problem as the C++ core solves it, from zero or from what is known of a solution."""
        free_bias = not self.penalize_bias
        state: _core.BinaryState | _core.L1State
        if self.penalty == "l1":
            state = _core.L1State(self.matrix.rows, self.y, self.C, self.loss.core, self.bias, free_bias=free_bias)
        else:
            state = _core.BinaryState(
                self.matrix.rows, self.y, None, self.C, self.loss.core, self.bias, free_bias=free_bias
            )
        start_state(state, start, self.shape)
        if start is None and self.penalty == "l1" and free_bias:
            state.start(None, None)  # zero, with the best bias
        return state

    def found(self, state: _core.BinaryState | _core.L1State) -> tuple[Floats, Floats]:
        """The best weights and the best dual variables of a state."""
        return state.weights(), state.alpha()

    def margins(self, w: ArrayLike) -> Floats:
        """``y_i w.x_i`` for weights whose last entry is the bias."""
        w = np.asarray(w, dtype=np.float64)
        return np.asarray(self.y * (self.X @ w[:-1] + self.bias * w[-1]))

    def weights(self, alpha: ArrayLike) -> Floats:
        """``w = sum_i y_i alpha_i x_i`` (eq. 11), the bias last; weights only where the penalty is "l2"."""
        signed = self.y * np.asarray(alpha, dtype=np.float64)
        w = self.X.T @ signed
        return np.append(w, self.bias * signed.sum() if self.penalize_bias else self.best_bias(w))

    def dual_coef(self, alpha: ArrayLike) -> Floats:
        """Dual variables with the signs of their rows."""
        return np.asarray(self.y * np.asarray(alpha, dtype=np.float64))

    def alpha_of(self, dual_coef: ArrayLike) -> Floats:
        """The inverse of `dual_coef`."""
        return self.dual_coef(dual_coef)

    def best_bias(self, w: ArrayLike) -> float:
        """The weight of the constant column for which the losses are smallest, given the other weights.

        The slack of a row is ``y_i (p_i - b)`` with ``p_i = y_i - w.x_i``, so the slope of the losses changes at these
        positions only. Where all of an interval is best, the middle of it.
        """
        used = self.C > 0
        y, C, p = self.y[used], self.C[used], (self.y - self.X @ np.asarray(w, dtype=np.float64))[used]
        if self.loss.diagonal_times_C == 0.0:
            order = np.argsort(p, kind="stable")
            p, slopes = p[order], np.cumsum(C[order]) - C[y > 0].sum()
            first = min(int(np.argmax(slopes >= -1e-14 * C.sum())), len(p) - 1)
            flat = slopes[first] <= 1e-14 * C.sum() and first + 1 < len(p)
            return float((p[first] + p[first + 1]) / 2 if flat else p[first]) / self.bias
        low, high = float(p.min()), float(p.max())
        if self.loss.lower_per_C == 0:  # perhaps without any loss
            left, right = p[y > 0].max(initial=-np.inf), p[y < 0].min(initial=np.inf)
            if left <= right:
                ends = [end for end in (left, right) if np.isfinite(end)]
                return float(np.mean(ends)) / self.bias
        for _ in range(200):
            b = (low + high) / 2
            slope = -np.sum(
                C * y * np.clip(y * (p - b) / self.loss.diagonal_times_C, self.loss.lower_per_C, self.loss.upper_per_C)
            )
            low, high = (b, high) if slope < 0 else (low, b)
        return (low + high) / 2 / self.bias

    def losses_at_zero(self) -> float:
        """The losses of all rows where every score is zero: each row has the same but for its weight."""
        return float(self.loss.primal(np.ones(1), np.array([self.C.sum()]))[0])

    def primal(self, w: ArrayLike) -> float:
        """The objective at weights whose last entry is the bias."""
        w = np.asarray(w, dtype=np.float64)
        return self.regulariser.value(w) + float(self.loss.primal(1.0 - self.margins(w), self.C).sum())

    def dual(self, alpha: ArrayLike) -> float:
        """The dual objective, a lower bound of every primal value; ``-inf`` where ``alpha`` is not feasible."""
        alpha = np.asarray(alpha, dtype=np.float64)
        if np.any(alpha < self.loss.lower(self.C)) or np.any(alpha > self.loss.upper(self.C)):
            return -np.inf
        signed = self.y * alpha
        if not self.penalize_bias and abs(signed.sum()) > 1e-12 * np.abs(signed).sum():
            return -np.inf
        sums = np.append(self.X.T @ signed, self.bias * signed.sum())
        return float(self.loss.dual_terms(alpha, self.C).sum()) - self.regulariser.conjugate(sums)

    def dual_parts(self, alpha: ArrayLike) -> tuple[float, float] | None:
        """``A`` and ``B = sum_i D_ii alpha_i^2`` of the dual value ``A - B / 2 - |w(alpha)|^2 / 2``; None with "l1"."""
        if self.penalty == "l1":
            return None
        alpha = np.asarray(alpha, dtype=np.float64)
        linear = float(alpha.sum())
        if not self.loss.is_curved:
            return linear, 0.0
        if self.loss.epsilon == 0.0:
            per_C = np.divide(alpha, self.C, out=np.zeros(len(alpha)), where=self.C > 0)
            return linear, self.loss.diagonal_times_C * float(np.einsum("i,i->", per_C, alpha))
        return linear, 2.0 * (linear - float(self.loss.dual_terms(alpha, self.C).sum()))

    def certificate(self, w: ArrayLike, alpha: ArrayLike) -> Certificate:
        """The two bounds that weights and dual variables prove."""
        return Certificate(self.primal(w), self.dual(alpha))


def check_bias(bias: float) -> float:
    """The value of the constant column, checked."""
    if not abs(bias) <= LARGEST_BIAS:
        raise ValueError(f"bias must be finite and at most {LARGEST_BIAS:g}, not {bias}")
    return float(bias)


def start_state(
    state: _core.BinaryState | _core.L1State | _core.OneClassState, start: Any, shape: tuple[int, int]
) -> None:
    """Tell a state what is known of the solution: one of a similar problem, dual variables, or nothing."""
    if start is None:
        return
    rows, width = shape[0], shape[1] + 1
    alpha, weights = (getattr(start, "alpha", start), getattr(start, "weights", None))
    if alpha is not None:
        alpha = _finite(alpha, "alpha", (rows,), f"{rows} finite numbers, one per row of X")
    if weights is not None:
        weights = _finite(weights, "weights", (width,), f"{width} finite numbers, one per feature and the bias")
    values = getattr(start, "values", None)
    if values is None:
        state.start(alpha, weights)
    else:
        state.start(alpha, weights, *values)


def _finite(values: Any, name: str, shape: tuple[int, ...], expected: str) -> Floats:
    array = np.require(values, np.float64, ["C", "A"])
    if array.shape != shape or not np.all(np.isfinite(array)):
        raise ValueError(f"{name} must hold {expected}")
    return array


def _signs(y: ArrayLike, size: int) -> NDArray[np.int8]:
    labels = np.asarray(y)
    if labels.shape != (size,):
        raise ValueError(f"y must have shape ({size},) to match the rows of X, not {labels.shape}")
    if labels.dtype.kind not in "iuf" or not np.all(np.abs(labels) == 1):
        raise ValueError("y must hold only -1 and +1; LinearSVC takes any two labels")
    return labels.astype(np.int8, copy=False)


def row_weights_of(C: ArrayLike, size: int) -> Floats:
    """``C`` as one weight for each row, checked."""
    weights = np.require(C, np.float64, "A")
    if weights.shape not in ((), (size,)):
        raise ValueError(f"C must be a number or have shape ({size},), not {weights.shape}")
    if not np.all(np.isfinite(weights)) or np.any(weights < 0) or not np.any(weights > 0):
        raise ValueError("C must be finite, not negative, and positive for at least one row")
    used = weights[weights > 0]
    if used.min() < SMALLEST_C or used.max() > LARGEST_C:
        raise ValueError(
            f"C is {used.min():g} to {used.max():g} where it is not 0; "
            f"it must lie between {SMALLEST_C:g} and {LARGEST_C:g}"
        )
    return np.broadcast_to(weights, (size,))
