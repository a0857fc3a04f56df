"""What is to be minimised: data, loss and one weight ``C_i`` per row, with the exact values of both objectives.

The formulas here are plain numpy and are the readable truth; the C++ core computes the same values faster.

    primal(w)      1/2 |w|^2 + sum_i loss_i(1 - y_i w.x_i)
    dual(alpha)    sum_i (alpha_i - D_ii alpha_i^2 / 2) - 1/2 |sum_i alpha_i y_i x_i|^2

``w`` includes the bias as its last entry (eq. 3 of Hsieh et al.), multiplied by a constant column ``bias``. Where the
bias is free of the regulariser, ``|w|^2`` leaves it out, dual variables must fulfil ``sum_i y_i alpha_i = 0``, and the
weights of such variables come with the bias that is best for them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from maxmargin import _core
from maxmargin.losses import LOSSES, Floats, Loss

#: Beyond these, products of C, row norms and dual variables could overflow.
SMALLEST_C, LARGEST_C = 1e-50, 1e50
LARGEST_BIAS = 1e50
TINY = float(np.finfo(np.float64).tiny)


class Certificate(NamedTuple):
    """A primal and a dual value of one solution: the optimum lies between them.

    Examples
    --------
    >>> from maxmargin import Certificate
    >>> Certificate(primal=2.0, dual=1.5).gap
    0.25
    """

    primal: float
    dual: float

    @property
    def gap(self) -> float:
        """``(primal - dual) / |primal|``: no solution is better than this one by a larger share."""
        return (self.primal - self.dual) / max(abs(self.primal), TINY)


def make_rows(X: Any) -> _core.Rows:
    """Look at a matrix where it lies: CSR or C-ordered dense, float32 or float64, read-only or not.

    Raises ``TypeError`` for anything that could only be used through a copy.
    """
    if (
        all(hasattr(X, name) for name in ("data", "indices", "indptr", "shape"))
        and getattr(X, "format", "csr") == "csr"
    ):
        if X.data.dtype not in (np.float32, np.float64):
            raise TypeError(
                f"the values of X must be float32 or float64, not {X.data.dtype}: convert with X.astype(...)"
            )
        if X.indptr.shape[0] != X.shape[0] + 1:
            raise ValueError(f"X has {X.shape[0]} rows but {X.indptr.shape[0]} row pointers; expected rows + 1")
        if X.data.shape != X.indices.shape:
            raise ValueError(f"X stores {X.data.shape[0]} values but {X.indices.shape[0]} column indices")
        return _core.Rows.csr(X.data, X.indices, X.indptr, X.shape[1])
    if isinstance(X, np.ndarray):
        if X.ndim != 2:
            raise ValueError(f"X must have two dimensions, not {X.ndim}")
        if X.dtype not in (np.float32, np.float64):
            raise TypeError(f"X must be float32 or float64, not {X.dtype}: convert with X.astype(...)")
        if not X.flags.c_contiguous:
            raise TypeError("X must be C-ordered (rows contiguous): convert with numpy.ascontiguousarray(X)")
        return _core.Rows.dense(X)
    kind = getattr(X, "format", None) or type(X).__name__
    raise TypeError(f"X must be a numpy array or a CSR matrix, not {kind}: convert with X.tocsr() or numpy.asarray(X)")


class BinaryProblem:
    """A binary linear SVM: which rows, which labels, which loss, how much each row counts.

    Parameters
    ----------
    X : ndarray or CSR matrix of shape (rows, features)
        float32 or float64; used where it lies, never copied.
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
    rows : optional
        The result of ``make_rows(X)``, to share it between problems over the same ``X``.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin import BinaryProblem, solve
    >>> problem = BinaryProblem(np.array([[1.0], [-1.0]]), np.array([1, -1]), C=10.0, loss="hinge")
    >>> solution = solve(problem, tol=1e-9)
    >>> problem.certificate(solution.alpha).primal
    0.5
    """

    X: Any
    y: NDArray[np.int8]
    C: Floats
    loss: Loss
    bias: float
    penalize_bias: bool
    rows: _core.Rows

    def __init__(
        self,
        X: Any,
        y: ArrayLike,
        C: ArrayLike = 1.0,
        *,
        loss: str | Loss = "squared_hinge",
        bias: float = 0.0,
        penalize_bias: bool = True,
        rows: _core.Rows | None = None,
    ) -> None:
        self.X = X
        self.rows = make_rows(X) if rows is None else rows
        size, features = self.shape
        if size == 0 or features == 0:
            raise ValueError(f"X is empty: it has {size} rows and {features} features")
        self.y = _signs(y, size)
        self.C = row_weights_of(C, size)
        if isinstance(loss, str) and loss not in LOSSES:
            raise ValueError(f"loss={loss!r} is unknown; choose from {sorted(LOSSES)}")
        self.loss = LOSSES[loss] if isinstance(loss, str) else loss
        self.bias = check_bias(bias)
        self.penalize_bias = bool(penalize_bias)
        if not penalize_bias and bias == 0:
            raise ValueError("penalize_bias=False needs a bias; use bias=1.0")

    @property
    def bias_column(self) -> tuple[float, bool]:
        """The constant column as the C++ core takes it: its value, and whether its weight is free."""
        return self.bias, not self.penalize_bias

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and features."""
        return self.X.shape[0], self.X.shape[1]

    def margins(self, w: ArrayLike) -> Floats:
        """``y_i w.x_i`` for weights whose last entry is the bias."""
        w = np.asarray(w, dtype=np.float64)
        return np.asarray(self.y * (self.X @ w[:-1] + self.bias * w[-1]))

    def weights(self, alpha: ArrayLike) -> Floats:
        """``w = sum_i y_i alpha_i x_i`` (eq. 11), the bias last."""
        signed = self.y * np.asarray(alpha, dtype=np.float64)
        w = self.X.T @ signed
        return np.append(w, self.bias * signed.sum() if self.penalize_bias else self.best_bias(w))

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
        if self.loss.lower == 0:  # perhaps without any loss
            left, right = p[y > 0].max(initial=-np.inf), p[y < 0].min(initial=np.inf)
            if left <= right:
                ends = [end for end in (left, right) if np.isfinite(end)]
                return float(np.mean(ends)) / self.bias
        for _ in range(200):
            b = (low + high) / 2
            slope = -np.sum(
                C * y * np.clip(y * (p - b) / self.loss.diagonal_times_C, self.loss.lower, self.loss.upper_per_C)
            )
            low, high = (b, high) if slope < 0 else (low, b)
        return (low + high) / 2 / self.bias

    def primal(self, w: ArrayLike) -> float:
        """The objective at weights whose last entry is the bias."""
        w = np.asarray(w, dtype=np.float64)
        return float(0.5 * self._squared_norm(w) + self.loss.primal(1.0 - self.margins(w), self.C).sum())

    def dual(self, alpha: ArrayLike) -> float:
        """The dual objective, a lower bound of every primal value; ``-inf`` where ``alpha`` is not feasible."""
        alpha = np.asarray(alpha, dtype=np.float64)
        if np.any(alpha < np.where(self.C > 0, self.loss.lower, 0.0)) or np.any(alpha > self.loss.upper(self.C)):
            return -np.inf
        signed = self.y * alpha
        if not self.penalize_bias and abs(signed.sum()) > 1e-12 * np.abs(signed).sum():
            return -np.inf
        w = np.append(self.X.T @ signed, self.bias * signed.sum())
        return float(self.loss.dual_terms(alpha, self.C).sum() - 0.5 * self._squared_norm(w))

    def _squared_norm(self, w: Floats) -> float:
        """``|w|^2`` as the regulariser counts it."""
        regularised = w if self.penalize_bias else w[:-1]
        return float(regularised @ regularised)

    def certificate(self, alpha: ArrayLike) -> Certificate:
        """Both objectives for dual variables and the weights that belong to them."""
        return Certificate(self.primal(self.weights(alpha)), self.dual(alpha))


def check_bias(bias: float) -> float:
    """The value of the constant column, checked."""
    if not abs(bias) <= LARGEST_BIAS:
        raise ValueError(f"bias must be finite and at most {LARGEST_BIAS:g}, not {bias}")
    return float(bias)


def _signs(y: ArrayLike, size: int) -> NDArray[np.int8]:
    labels = np.asarray(y)
    if labels.shape != (size,):
        raise ValueError(f"y must have shape ({size},) to match the rows of X, not {labels.shape}")
    if labels.dtype.kind not in "iuf" or not np.all(np.abs(labels) == 1):
        raise ValueError("y must hold only -1 and +1; LinearSVC takes any two labels")
    return labels.astype(np.int8, copy=False)


def row_weights_of(C: ArrayLike, size: int) -> Floats:
    """``C`` as one weight for each row, checked."""
    weights = np.asarray(C, dtype=np.float64)
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
