"""Regression: numbers to predict, with the exact values of both objectives in plain numpy.

    primal(w)      1/2 |w|^2 + sum_i loss_i(y_i - w.x_i)
    dual(alpha)    sum_i (y_i alpha_i - epsilon |alpha_i| - D_ii alpha_i^2 / 2) - 1/2 |sum_i alpha_i x_i|^2

``w`` includes the bias as its last entry, multiplied by a constant column ``bias``. Where the bias is free of the
regulariser, ``|w|^2`` leaves it out, and dual variables must fulfil ``sum_i alpha_i = 0``.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from maxmargin import _core
from maxmargin.problems.binary import check_bias, row_weights_of, start_state
from maxmargin.problems.certificate import Certificate
from maxmargin.problems.losses import REGRESSION_LOSSES, Floats, Loss
from maxmargin.problems.problem import Problem
from maxmargin.problems.regulariser import SquaredNorm

#: Beyond this, products of targets, C and row norms could overflow.
LARGEST_TARGET = 1e50


def regression_loss(loss: str, epsilon: float) -> Loss:
    """The loss of residuals with a tube of this half width.

    Examples
    --------
    >>> from maxmargin.problems.regression import regression_loss
    >>> regression_loss("epsilon_insensitive", 0.1).epsilon
    0.1
    """
    if loss not in REGRESSION_LOSSES:
        raise ValueError(f"loss={loss!r} is unknown; choose from {list(REGRESSION_LOSSES)}")
    if not 0 <= epsilon <= LARGEST_TARGET:
        raise ValueError(f"epsilon must be a number from 0 to {LARGEST_TARGET:g}, not {epsilon}")
    if loss == "least_squares" and epsilon != 0:
        raise ValueError(
            f"epsilon={epsilon:g} has no meaning with loss='least_squares'; use 'squared_epsilon_insensitive' or "
            "epsilon=0.0"
        )
    return REGRESSION_LOSSES[loss].with_tube(epsilon)


class RegressionProblem(Problem):
    """A linear support vector regression: which rows, which targets, which loss, how much each row counts.

    Parameters
    ----------
    X : Matrix, ndarray or CSR matrix of shape (rows, features)
        float32 or float64; used where it lies, never copied. A `Matrix` is shared between problems without being
        checked again.
    y : array of shape (rows,)
        The numbers to predict.
    C : float or array of shape (rows,), default=1.0
        The weight of the loss, for all rows or for each. Rows of weight zero take no part.
    loss : {"epsilon_insensitive", "squared_epsilon_insensitive", "least_squares"}, default="epsilon_insensitive"
        The loss of a residual ``r``: ``max(|r| - epsilon, 0)``, its square, or ``r^2`` (ridge regression).
    epsilon : float, default=0.0
        Residuals up to this cost nothing.
    bias : float, default=0.0
        Value of an implicit constant column. 0 means none.
    penalize_bias : bool, default=True
        Whether the weight of that column is regularised like the others. If not, its value does not matter.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin import RegressionProblem, solve
    >>> problem = RegressionProblem(np.array([[1.0], [2.0]]), [1.0, 3.0], C=10.0, epsilon=0.5)
    >>> solution = solve(problem, tol=1e-9)
    >>> round(problem.primal(solution.weights), 6), solution.weights.round(6).tolist()
    (0.78125, [1.25, 0.0])
    """

    kind: ClassVar[str] = "regression"
    one_score_per_row: ClassVar[bool] = True

    y: Floats
    C: Floats
    loss: Loss
    bias: float
    penalize_bias: bool

    def __init__(
        self,
        X: Any,
        y: ArrayLike,
        C: ArrayLike = 1.0,
        *,
        loss: str = "epsilon_insensitive",
        epsilon: float = 0.0,
        bias: float = 0.0,
        penalize_bias: bool = True,
    ) -> None:
        super().__init__(X)
        size = self.shape[0]
        self.y = _targets(y, size)
        self.C = row_weights_of(C, size)
        self.loss = regression_loss(loss, epsilon)
        self.bias = check_bias(bias)
        self.penalize_bias = bool(penalize_bias)
        if not penalize_bias and bias == 0:
            raise ValueError("penalize_bias=False needs a bias; use bias=1.0")

    def identity(self) -> tuple[Any, ...]:
        """All that tells this problem from others over the same rows."""
        return self.kind, self.y, self.C, self.loss.name, self.loss.epsilon, self.bias, self.penalize_bias

    @property
    def regulariser(self) -> SquaredNorm:
        """``1/2 |w|^2``, with or without the bias."""
        return SquaredNorm(free_bias=not self.penalize_bias)

    def start(self, start: Any = None) -> _core.BinaryState:
        """The problem as the C++ core solves it, from zero or from what is known of a solution."""
        signs = np.broadcast_to(np.int8(1), self.y.shape)
        free = not self.penalize_bias
        state = _core.BinaryState(self.matrix.rows, signs, self.y, self.C, self.loss.core, self.bias, free_bias=free)
        start_state(state, start, self.shape)
        return state

    def found(self, state: _core.BinaryState) -> tuple[Floats, Floats]:
        """The best weights and the best dual variables of a state."""
        return state.weights(), state.alpha()

    def scores(self, w: ArrayLike) -> Floats:
        """``w.x_i`` for weights whose last entry is the bias: what is predicted."""
        w = np.asarray(w, dtype=np.float64)
        return np.asarray(self.X @ w[:-1] + self.bias * w[-1])

    def weights(self, alpha: ArrayLike) -> Floats:
        """``w = sum_i alpha_i x_i``, the bias last."""
        alpha = np.asarray(alpha, dtype=np.float64)
        w = self.X.T @ alpha
        return np.append(w, self.bias * alpha.sum() if self.penalize_bias else self.best_bias(w))

    def dual_coef(self, alpha: ArrayLike) -> Floats:
        """Dual variables have their signs already."""
        return np.asarray(alpha, dtype=np.float64)

    def alpha_of(self, dual_coef: ArrayLike) -> Floats:
        """The inverse of `dual_coef`."""
        return self.dual_coef(dual_coef)

    def best_bias(self, w: ArrayLike) -> float:
        """The weight of the constant column for which the losses are smallest, given the other weights.

        For ``epsilon_insensitive`` it lies where the slope of the losses changes its sign, at a residual plus or minus
        epsilon; where all of an interval is best, in the middle of it.
        """
        used = self.C > 0
        C, p = self.C[used], (self.y - self.X @ np.asarray(w, dtype=np.float64))[used]
        epsilon = self.loss.epsilon
        if p.max() - epsilon <= p.min() + epsilon:  # without any loss
            return float(p.max() + p.min()) / 2 / self.bias
        if not self.loss.is_curved:
            kinks = np.concatenate([p - epsilon, p + epsilon])
            order = np.argsort(kinks, kind="stable")
            kinks, slopes = kinks[order], np.cumsum(np.tile(C, 2)[order]) - C.sum()
            first = int(np.argmax(slopes >= -1e-14 * C.sum()))
            flat = slopes[first] <= 1e-14 * C.sum()
            return float((kinks[first] + kinks[first + 1]) / 2 if flat else kinks[first]) / self.bias
        low, high = float(p.min()), float(p.max())
        for _ in range(200):
            b = (low + high) / 2
            slope = -np.sum(C * (p - b - np.clip(p - b, -epsilon, epsilon)))
            low, high = (b, high) if slope < 0 else (low, b)
        return (low + high) / 2 / self.bias

    def primal(self, w: ArrayLike) -> float:
        """The objective at weights whose last entry is the bias."""
        w = np.asarray(w, dtype=np.float64)
        return self.regulariser.value(w) + float(self.loss.primal(self.y - self.scores(w), self.C).sum())

    def dual(self, alpha: ArrayLike) -> float:
        """The dual objective, a lower bound of every primal value; ``-inf`` where ``alpha`` is not feasible."""
        alpha = np.asarray(alpha, dtype=np.float64)
        if np.any(alpha < self.loss.lower(self.C)) or np.any(alpha > self.loss.upper(self.C)):
            return -np.inf
        if not self.penalize_bias and abs(alpha.sum()) > 1e-12 * np.abs(alpha).sum():
            return -np.inf
        sums = np.append(self.X.T @ alpha, self.bias * alpha.sum())
        return float(self.loss.dual_terms(alpha, self.C, self.y).sum()) - self.regulariser.conjugate(sums)

    def dual_parts(self, alpha: ArrayLike) -> tuple[float, float]:
        """``A`` and ``B = sum_i D_ii alpha_i^2`` of the dual value, which is ``A - B / 2 - |w(alpha)|^2 / 2``."""
        alpha = np.asarray(alpha, dtype=np.float64)
        linear = float(self.y @ alpha - self.loss.epsilon * np.abs(alpha).sum())
        if not self.loss.is_curved:
            return linear, 0.0
        return linear, 2.0 * (linear - float(self.loss.dual_terms(alpha, self.C, self.y).sum()))

    def certificate(self, w: ArrayLike, alpha: ArrayLike) -> Certificate:
        """The two bounds that weights and dual variables prove."""
        return Certificate(self.primal(w), self.dual(alpha))


def _targets(y: ArrayLike, size: int) -> Floats:
    targets = np.asarray(y)
    if targets.shape != (size,):
        raise ValueError(f"y must have shape ({size},) to match the rows of X, not {targets.shape}")
    if targets.dtype.kind not in "iufb":
        raise ValueError(f"y must hold numbers to predict, not {targets.dtype}")
    targets = np.require(targets, np.float64, "A")
    if not np.all(np.abs(targets) <= LARGEST_TARGET):
        raise ValueError(f"y must hold finite numbers of at most {LARGEST_TARGET:g}")
    return targets
