"""One class: rows of one kind, told apart from the origin, in plain numpy (Schoelkopf et al. 2001).

    primal(w, rho)   1/2 |w|^2 - nu C rho + sum_i C_i max(0, rho - w.x_i),    C = sum_i C_i
    dual(alpha)      -1/2 |sum_i alpha_i x_i|^2,    0 <= alpha_i <= C_i,    sum_i alpha_i = nu C

This is LIBLINEAR's problem "-s 21" and that of scikit-learn's ``OneClassSVM(kernel="linear")`` on the scale on which
both solve it, where a row has the bound ``C_i = 1``. Weights have ``-rho`` as their last entry: it is a bias outside
the regulariser that adds ``nu C`` times itself to the objective.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from maxmargin import _core
from maxmargin.problems.binary import row_weights_of, start_state
from maxmargin.problems.certificate import Certificate
from maxmargin.problems.losses import LOSSES, Floats, Loss
from maxmargin.problems.problem import Problem


class OneClassProblem(Problem):
    """A linear one-class problem: which rows, which share of them may be outside, how much each counts.

    Parameters
    ----------
    X : Matrix, ndarray or CSR matrix of shape (rows, features)
        float32 or float64; used where it lies, never copied.
    nu : float, default=0.5
        Above 0 and at most 1: at most this share of the rows has a score below the offset, and at least this share has
        a nonzero dual variable.
    C : float or array of shape (rows,), default=1.0
        How much rows count. Rows of weight zero take no part.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin import OneClassProblem, solve
    >>> solution = solve(OneClassProblem(np.array([[1.0], [2.0], [3.0]]), nu=0.5), tol=1e-9)
    >>> solution.weights.round(6).tolist(), solution.alpha.round(6).tolist()
    ([2.0, -4.0], [1.0, 0.5, 0.0])
    """

    kind: ClassVar[str] = "one_class"
    one_score_per_row: ClassVar[bool] = True
    loss: ClassVar[Loss] = LOSSES["hinge"]
    bias: ClassVar[float] = 1.0
    penalize_bias: ClassVar[bool] = False

    nu: float
    C: Floats

    def __init__(self, X: Any, nu: float = 0.5, C: ArrayLike = 1.0) -> None:
        super().__init__(X)
        self.C = row_weights_of(C, self.shape[0])
        if not 0 < nu <= 1:
            raise ValueError(f"nu must be above 0 and at most 1, not {nu}")
        self.nu = float(nu)
        self._total = float(self.C[0]) * len(self.C) if self.C.strides == (0,) else float(self.C.sum())

    def identity(self) -> tuple[Any, ...]:
        """All that tells this problem from others over the same rows."""
        return self.kind, self.nu, self.C

    @property
    def slope(self) -> float:
        """``nu C``, the sum of the dual variables."""
        return self.nu * self._total

    def start(self, start: Any = None) -> _core.BinaryState:
        """The problem as the C++ core solves it, from equal shares or from what is known of a solution."""
        signs, targets = np.broadcast_to(np.int8(1), self.C.shape), np.broadcast_to(0.0, self.C.shape)
        state = _core.BinaryState(
            self.matrix.rows, signs, targets, self.C, self.loss.core, self.bias, free_bias=True, bias_slope=self.slope
        )
        start_state(state, self.nu * self.C if start is None else start, self.shape)
        return state

    def start_light(self, start: Any = None) -> _core.OneClassState:
        """The same for the method that solves nothing but such problems."""
        state = _core.OneClassState(self.matrix.rows, self.C, self.slope)
        start_state(state, start, self.shape)
        return state

    def found(self, state: _core.BinaryState | _core.OneClassState) -> tuple[Floats, Floats]:
        """The best weights and the best dual variables of a state."""
        return state.weights(), state.alpha()

    def scores(self, w: ArrayLike) -> Floats:
        """``w.x_i - rho``."""
        w = np.asarray(w, dtype=np.float64)
        return np.asarray(self.X @ w[:-1] + w[-1])

    def weights(self, alpha: ArrayLike) -> Floats:
        """``w = sum_i alpha_i x_i``, and ``-rho`` as it is best for them."""
        w = self.X.T @ np.asarray(alpha, dtype=np.float64)
        return np.append(w, -self.best_offset(w))

    def dual_coef(self, alpha: ArrayLike) -> Floats:
        """Dual variables as they are."""
        return np.asarray(alpha, dtype=np.float64)

    def alpha_of(self, dual_coef: ArrayLike) -> Floats:
        """The inverse of `dual_coef`."""
        return self.dual_coef(dual_coef)

    def best_offset(self, w: ArrayLike) -> float:
        """The offset ``rho`` of lowest objective for given weights: the quantile ``nu`` of their scores."""
        used = self.C > 0
        scores, C = (self.X @ np.asarray(w, dtype=np.float64))[used], self.C[used]
        order = np.argsort(scores, kind="stable")
        below = np.cumsum(C[order])
        return float(scores[order][min(int(np.argmax(below >= self.slope * (1 - 1e-14))), len(C) - 1)])

    def primal(self, w: ArrayLike) -> float:
        """The objective at weights whose last entry is ``-rho``."""
        w = np.asarray(w, dtype=np.float64)
        losses = self.C * np.maximum(-self.scores(w), 0.0)
        return float(0.5 * w[:-1] @ w[:-1] + self.slope * w[-1] + losses.sum())

    def dual(self, alpha: ArrayLike) -> float:
        """The dual objective, a lower bound of every primal value; ``-inf`` where ``alpha`` is not feasible."""
        alpha = np.asarray(alpha, dtype=np.float64)
        if np.any(alpha < 0) or np.any(alpha > self.C) or abs(alpha.sum() - self.slope) > 1e-12 * self.slope:
            return -np.inf
        sums = self.X.T @ alpha
        return -0.5 * float(sums @ sums)

    def vanishes(self, dual: float) -> bool:
        """Whether a dual value is zero but for rounding: the origin lies among the rows, the best weights are zero."""
        return -dual <= (1e-12 * self.slope) ** 2 * self.matrix.mean_squared_norm()

    def certificate(self, w: ArrayLike, alpha: ArrayLike) -> Certificate:
        """The two bounds that weights and dual variables prove."""
        return Certificate(self.primal(w), self.dual(alpha))
