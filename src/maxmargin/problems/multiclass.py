"""Several classes in one problem: the formulations of Crammer & Singer and of Weston & Watkins (Keerthi et al. 2008).

The formulas here are plain numpy and are the readable truth; the C++ core computes the same values faster. With one
weight vector ``w_m`` per class, ``y`` the class of row ``i`` and the slacks ``z_i^m = 1 - (w_y - w_m).x_i`` of the
other classes ``m``,

    Crammer-Singer    1/2 sum_m |w_m|^2 + sum_i C_i max(0, max_m z_i^m)     with  sum_m alpha_i^m <= C_i
    Weston-Watkins    1/2 sum_m |w_m|^2 + sum_i C_i sum_m max(0, z_i^m)     with  alpha_i^m <= C_i
    dual              sum_i sum_m alpha_i^m - 1/2 sum_m |w_m|^2             for both

where ``alpha_i^m >= 0`` belongs to the other classes and ``w_m = sum_i beta_i^m x_i`` with ``beta_i^m = -alpha_i^m``,
and ``beta_i^y = sum_m alpha_i^m`` for the row's own class. (The paper's ``alpha`` is ``beta`` for Crammer-Singer.)
Weights have the shape (classes, features + 1) and include the bias as their last column.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from maxmargin import _core
from maxmargin.problems.binary import check_bias, row_weights_of
from maxmargin.problems.certificate import Certificate
from maxmargin.problems.csr import Csr
from maxmargin.problems.losses import Floats
from maxmargin.problems.problem import Problem
from maxmargin.problems.regulariser import SquaredNorm

#: The formulations by name.
FORMULATIONS = {
    "crammer_singer": _core.Formulation.CRAMMER_SINGER,
    "weston_watkins": _core.Formulation.WESTON_WATKINS,
}
#: Dual values are computed with variables beyond their bounds by so much, relatively: a sum is rounded.
ROUNDING = 1e-12


class MulticlassProblem(Problem):
    """A linear SVM over several classes at once.

    Parameters
    ----------
    X : Matrix, ndarray or CSR matrix of shape (rows, features)
        float32 or float64; used where it lies, never copied.
    y : array of shape (rows,)
        The class of each row, from 0 to ``n_classes - 1``.
    C : float or array of shape (rows,), default=1.0
        The weight of the loss, for all rows or for each. Rows of weight zero take no part.
    formulation : {"crammer_singer", "weston_watkins"}, default="crammer_singer"
        Whether a row pays for the worst of the other classes or for all of them.
    n_classes : int, optional
        How many classes there are; the largest in ``y`` plus 1 if not given.
    bias : float, default=0.0
        Value of an implicit constant column, whose weights are regularised like the others. 0 means none.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin import MulticlassProblem, solve
    >>> problem = MulticlassProblem(np.eye(3), [0, 1, 2], C=10.0)
    >>> solution = solve(problem, tol=1e-9)
    >>> solution.weights.shape, round(problem.primal(solution.weights), 6)
    ((3, 4), 1.0)
    """

    def __init__(
        self,
        X: Any,
        y: ArrayLike,
        C: ArrayLike = 1.0,
        *,
        formulation: str = "crammer_singer",
        n_classes: int | None = None,
        bias: float = 0.0,
    ) -> None:
        super().__init__(X)
        size = self.shape[0]
        self.y = _class_numbers(y, size)
        self.n_classes = int(self.y.max()) + 1 if n_classes is None else int(n_classes)
        if self.n_classes < 2 or self.y.max() >= self.n_classes:
            raise ValueError(f"y must hold numbers of at least two classes, from 0 to {max(self.n_classes, 2) - 1}")
        self.C = row_weights_of(C, size)
        if formulation not in FORMULATIONS:
            raise ValueError(f"formulation={formulation!r} is unknown; choose from {list(FORMULATIONS)}")
        self.formulation = formulation
        self.bias = check_bias(bias)

    @property
    def kind(self) -> str:
        """Which methods can solve it."""
        return self.formulation

    def start(self, start: Any = None) -> _core.MulticlassState:
        """The problem as the C++ core solves it, from zero or from what is known of a solution."""
        state = _core.MulticlassState(
            self.matrix.rows, self.y, self.C, FORMULATIONS[self.formulation], self.n_classes, self.bias
        )
        if start is not None:
            alpha = as_lists(getattr(start, "alpha", start), self.shape[0], self.n_classes)
            weights = getattr(start, "weights", None)
            state.start(alpha[:3], None if weights is None else self._by_feature(weights))
        return state

    def found(self, state: _core.MulticlassState) -> tuple[Floats, Csr]:
        """The best weights and the best dual variables of a state."""
        values, classes, starts = state.alpha()
        return self.weights_of_report(state.weights()), Csr(values, classes, starts, (self.shape[0], self.n_classes))

    def weights_of_report(self, weights: Floats) -> Floats:
        """Weights of shape (classes, features + 1) from those of the core, which are transposed and padded.

        They stay feature by feature in memory, as a `Model` keeps them.
        """
        by_feature = weights.reshape(self.shape[1] + 1, -1)
        return np.asfortranarray(by_feature[:, : self.n_classes].T)

    def _by_feature(self, weights: ArrayLike) -> Floats:
        """The inverse of `weights_of_report`."""
        values = np.asarray(weights, dtype=np.float64)
        if values.shape != (self.n_classes, self.shape[1] + 1) or not np.all(np.isfinite(values)):
            raise ValueError(f"weights must be finite and have the shape ({self.n_classes}, {self.shape[1] + 1})")
        padded = np.zeros((self.shape[1] + 1, -(-self.n_classes // 4) * 4))
        padded[:, : self.n_classes] = values.T
        return padded.ravel()

    def scores(self, weights: ArrayLike) -> Floats:
        """``w_m.x_i`` for all rows and classes."""
        weights = np.asarray(weights, dtype=np.float64)
        return np.asarray(self.X @ weights[:, :-1].T + self.bias * weights[:, -1])

    def slacks(self, weights: ArrayLike) -> Floats:
        """``z_i^m`` for all rows and classes; 0 for a row's own class."""
        return self._slacks_at(self.scores(weights))

    def _slacks_at(self, scores: Floats) -> Floats:
        rows = np.arange(len(self.y))
        slacks = 1.0 - scores[rows, self.y][:, np.newaxis] + scores
        slacks[rows, self.y] = 0.0
        return slacks

    def primal(self, weights: ArrayLike) -> float:
        """The objective at weights of shape (classes, features + 1)."""
        weights = np.asarray(weights, dtype=np.float64)
        return SquaredNorm().value(weights) + self.losses_at(self.scores(weights))

    def losses_at(self, scores: Floats) -> float:
        """The losses of all rows, by their scores of all classes."""
        slacks = np.maximum(self._slacks_at(scores), 0.0)
        losses = slacks.max(axis=1) if self.formulation == "crammer_singer" else slacks.sum(axis=1)
        return float(self.C @ losses)

    def dual_coef(self, alpha: Any) -> Csr:
        """``beta`` as a sparse matrix of shape (classes, rows), with which ``w(alpha) == beta @ X``."""
        lists = as_lists(alpha, self.shape[0], self.n_classes)
        return Csr(
            *_core.signed_variables(lists[:3], self.y, self.n_classes),
            (self.n_classes, self.shape[0]),
        )

    def alpha_of(self, dual_coef: Any) -> Csr:
        """The dual variables that a matrix of shape (classes, rows) stands for; the inverse of `dual_coef`.

        For two classes it may have one row, the second minus the first, which is opposite to it.
        """
        if dual_coef.shape[0] == 1:  # see `second_minus_first`
            rows = np.asarray(dual_coef.indices)
            counts = np.bincount(rows, minlength=self.shape[0])
            order = np.argsort(rows, kind="stable")
            return Csr(
                0.5 * np.abs(np.asarray(dual_coef.data))[order],
                (1 - self.y[rows][order]).astype(np.int32),
                np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
                (self.shape[0], 2),
            )
        class_of = np.repeat(np.arange(self.n_classes), np.diff(dual_coef.indptr))
        rows = np.asarray(dual_coef.indices)
        other = class_of != self.y[rows]
        order = np.argsort(rows[other], kind="stable")
        counts = np.bincount(rows[other], minlength=self.shape[0])
        return Csr(
            -np.asarray(dual_coef.data)[other][order],
            class_of[other][order].astype(np.int32),
            np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
            (self.shape[0], self.n_classes),
        )

    def weights(self, alpha: Any) -> Floats:
        """``w_m = sum_i beta_i^m x_i``, the bias last."""
        beta = self.dual_coef(alpha).to_scipy()
        return np.hstack([np.asarray((self.X.T @ beta.T.toarray()).T), self.bias * beta.sum(axis=1)[:, np.newaxis]])

    def dual(self, alpha: Any) -> float:
        """The dual objective, a lower bound of every primal value; ``-inf`` outside the bounds."""
        dense = as_lists(alpha, self.shape[0], self.n_classes).to_scipy().toarray()
        largest = dense.sum(axis=1) if self.formulation == "crammer_singer" else dense.max(axis=1)
        own = dense[np.arange(len(self.y)), self.y]
        if np.any(dense < 0) or np.any(largest > self.C * (1 + ROUNDING)) or np.any(own != 0):
            return -np.inf
        return float(dense.sum()) - SquaredNorm().conjugate(self.weights(alpha))

    def dual_parts(self, alpha: Any) -> tuple[float, float]:
        """The linear part of the dual value; its diagonal is 0."""
        return float(as_lists(alpha, self.shape[0], self.n_classes).data.sum()), 0.0

    def certificate(self, weights: ArrayLike, alpha: Any) -> Certificate:
        """The two bounds that weights and dual variables prove."""
        return Certificate(self.primal(weights), self.dual(alpha))


def second_minus_first(rows: Floats) -> Floats:
    """Two classes as one: the row of the second minus that of the first, which is opposite to it at an optimum."""
    return np.asarray(rows[1:] - rows[:1])


def first_and_second(row: Floats) -> Floats:
    """The inverse of `second_minus_first`."""
    return 0.5 * np.vstack([-row, row])


def as_lists(alpha: Any, rows: int, classes: int) -> Csr:
    """Dual variables, dense or sparse, as sparse rows of float64."""
    if isinstance(alpha, Csr) or getattr(alpha, "format", None) == "csr":
        data, indices, indptr, shape = alpha.data, alpha.indices, alpha.indptr, alpha.shape
    else:
        dense = np.asarray(alpha.toarray() if hasattr(alpha, "toarray") else alpha, dtype=np.float64)
        shape = dense.shape
        if dense.ndim == 2:
            row_of, indices = np.nonzero(dense)
            data = dense[row_of, indices]
            indptr = np.concatenate([[0], np.cumsum(np.bincount(row_of, minlength=len(dense)))])
    if tuple(shape) != (rows, classes):
        raise ValueError(f"alpha must have the shape ({rows}, {classes}), rows by classes, not {tuple(shape)}")
    values = np.require(data, np.float64, ["C", "A"])
    if not np.all(np.isfinite(values)):
        raise ValueError("alpha must be finite")
    return Csr(
        values,
        np.require(indices, np.int32, ["C", "A"]),
        np.require(indptr, np.int64, ["C", "A"]),
        (rows, classes),
    )


def _class_numbers(y: ArrayLike, size: int) -> NDArray[np.int32]:
    labels = np.asarray(y)
    if labels.shape != (size,):
        raise ValueError(f"y must have shape ({size},) to match the rows of X, not {labels.shape}")
    if labels.dtype.kind not in "iu" or labels.min() < 0 or labels.max() > np.iinfo(np.int32).max:
        raise ValueError("y must hold class numbers, integers from 0 on; LinearSVC takes any labels")
    return np.require(labels, np.int32, ["C", "A"])
