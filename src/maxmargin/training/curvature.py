"""The curvature of losses: by how much faster than ``|w - w*|^2/2`` the primal value grows away from its optimum.

A row with a loss at ``w`` adds ``C l''/2 (x.(w - w*))^2``, or a share of it where it may have none at the optimum. So
``P(w) - P* >= (w - w*)' M (w - w*)/2`` with ``M = I + C sum_i l_i'' x_i x_i'``, and scores are within
``sqrt(2 gap x' M^-1 x)``. With few features that is what is used; with many the part of ``M`` that the mean of these
rows makes up. Moreover ``sum_i (x_i.d)^2`` is at most the largest eigenvalue of the products of rows times ``|d|^2``,
so that not all rows near the decision can change sides at the same time.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import cholesky, solve_triangular

from maxmargin._core import outer_sums, row_sums
from maxmargin.problems.losses import Floats
from maxmargin.training.balls import EPSILON, TINY, dot

#: The curvature of losses is used for at most so many features.
MOST_FEATURES = 1024
#: With more features and more open rows than this, each has to be proved by itself; of so many products are kept.
MOST_OPEN = 768
#: Larger products are not kept; the eigenvalue is then only known to be below the second number.
LARGEST_PRODUCT, UNKNOWN = 1e37, 1e300
#: Steps of the power iteration for an eigenvalue, and by how much the guess is raised until it is above all of them.
POWERS, GUESS = 12, 1.04
#: Square roots of the shares of curvature that rows may have, from the smallest.
STEPS = 2.0 ** np.arange(-16, 1)
#: A factorisation has at most this relative error.
FACTOR_ERROR = 1e-6
#: What sums over rows and a factorisation lose of ``M`` is at most so many roundings of its trace, for each column. No
#: more curvature is used than may be lost with this much of the identity.
ROUNDINGS, MOST_LOST = 16.0, 0.5
#: That of a number in single precision, and the size of those that are too small for it.
SINGLE, SMALLEST_SINGLE = float(np.finfo(np.float32).eps), 1e-37


def few_features(problem: Any) -> bool:
    """Whether ``M`` is used as a matrix."""
    return bool(problem.shape[1] <= MOST_FEATURES)


def curved_rows(problem: Any, unit: Floats, slack: Floats, far: float, gap: float, C: float) -> Floats:
    """The weights of rows times the shares of their curvature that are certain, at a C and all larger ones.

    ``unit`` are the weights of rows per unit of C, ``far`` and ``gap`` the largest distance to the optimum and the
    largest ``P - D``, and the slacks of the weights are at least ``slack``. Let ``d = z - z*`` be what a slack differs
    by. If there is a slack at the optimum as well, ``l(z) - l(z*) - l'(z*) (z - z*)`` is all of ``l''/2 d^2``. If not,
    it is at least ``l''/2 z^2``, and ``z <= |d| <= far |x|``, so that this is the share ``(z / (far |x|))^2`` of it at
    least. That is impossible where the row's own loss and ``(z / |x|)^2/2``, what the weights have to move by, are more
    than the gap together. Shares are rounded down, so that they change rarely from one C to the next.
    """
    if problem.loss.lower_per_C != 0.0:
        return unit  # least squares are curved everywhere
    lengths = problem.matrix.lengths(problem.bias)
    positive, width = np.maximum(slack, 0.0), far * lengths
    part = np.divide(positive, width, out=np.sign(positive), where=positive < width)
    with np.errstate(over="ignore", invalid="ignore"):  # rows so long that nothing is known of them
        squares = lengths**2
        own = positive**2 * (C / problem.loss.diagonal_times_C * unit * squares + 1.0)
        part[own > 2.0 * gap * squares] = 1.0
    if few_features(problem):
        return np.where(part >= 1.0, unit, 0.0)
    return np.asarray(unit * np.append(0.0, STEPS**2)[np.searchsorted(STEPS, part, side="right")])


def whitened(problem: Any, rows: Any, metric: Floats) -> Floats:
    """Rows as vectors whose products are ``x' M^-1 z``; the lower triangle of ``M`` is overwritten."""
    chosen = problem.X[rows]
    dense = chosen.toarray() if hasattr(chosen, "toarray") else np.asarray(chosen)
    dense = np.hstack([dense.astype(np.float64, copy=False), np.full((len(dense), 1), problem.bias)])
    if len(dense) > len(metric):
        return np.asarray(dense @ inverse_factor(metric).T)
    # In Fortran's order the lower triangle is the upper one, whose transpose is the factor.
    upper = cholesky(metric.T, lower=False, overwrite_a=True, check_finite=False)
    return np.asarray(solve_triangular(upper, dense.T, trans="T", check_finite=False).T)


def most_right(scores: Floats, largest: float, square: Any) -> Any:
    """How many of some rows with positive scores can have negative ones at the same time, for balls of some squares."""
    sums = np.cumsum(np.sort(np.maximum(scores, 0.0), axis=-1) ** 2, axis=-1)
    return np.count_nonzero(sums <= np.asarray(largest * square)[..., np.newaxis], axis=-1)


def roots_of(scores: Floats, limit: float) -> Floats:
    """The roots of what rows count in a sum of squares, such that none counts for more than one with this score does.

    Rows far from the decision then add little to the largest eigenvalue.
    """
    return np.asarray(limit / np.maximum(scores, limit)) if 0.0 < limit < np.inf else np.ones_like(scores)


def inverse_factor(metric: Floats) -> Floats:
    """The inverse of the factor of Cholesky."""
    factor = np.linalg.cholesky(metric)
    return np.asarray(solve_triangular(factor, np.eye(len(metric)), lower=True, check_finite=False))


def largest_eigenvalue(matrix: Any) -> float:
    """An upper bound of the eigenvalues of a symmetric matrix, by Cholesky's test of a guess by power iterations."""
    if len(matrix) == 0:
        return 0.0
    vector = (np.ones(len(matrix)) + np.arange(len(matrix)) % 7).astype(matrix.dtype)
    for _ in range(POWERS):
        vector = matrix @ (vector / max(float(np.linalg.norm(vector)), TINY))
    guess = max(float(np.linalg.norm(vector)), float(np.trace(matrix)) / len(matrix), TINY)
    while True:
        guess *= GUESS
        shifted = -matrix
        shifted.flat[:: len(matrix) + 1] += guess
        try:
            np.linalg.cholesky(shifted)
        except np.linalg.LinAlgError:
            continue
        return guess * (1.0 + FACTOR_ERROR + len(matrix) ** 2 * float(np.finfo(matrix.dtype).eps))


class Products:
    """Products of rows with each other, in single precision, each made once and kept from one C to the next.

    Rows that are near the decision at one C mostly are so at the next.
    """

    def __init__(self) -> None:
        self._rows: Any = np.zeros(0, dtype=np.intp)
        self._matrix = np.zeros((0, 0), dtype=np.float32)

    def of(self, problem: Any, rows: Any) -> Any:
        """The matrix of ``x.z`` over rows, without the constant column."""
        missing = np.setdiff1d(rows, self._rows, assume_unique=True)
        if len(self._rows) + len(missing) > MOST_OPEN:
            kept = np.flatnonzero(np.isin(self._rows, rows))
            self._rows, self._matrix = self._rows[kept], self._matrix[np.ix_(kept, kept)]
        if len(missing) > 0:
            known = len(self._rows)
            self._rows = np.concatenate([self._rows, missing])
            block = problem.X[missing].astype(np.float64) @ problem.X[self._rows].astype(np.float64).T
            block = block.toarray() if hasattr(block, "toarray") else block
            grown = np.empty((len(self._rows),) * 2, dtype=np.float32)
            grown[:known, :known] = self._matrix
            with np.errstate(over="ignore"):
                grown[known:], grown[:known, known:] = block, block[:, :known].T
            self._matrix = grown
        order = np.argsort(self._rows)
        at = order[np.searchsorted(self._rows, rows, sorter=order)]
        return self._matrix[np.ix_(at, at)]

    def largest_eigenvalue(self, problem: Any, rows: Any, mean: Mean, own: Floats, roots: Floats) -> float:
        """The largest eigenvalue of ``x' N^-1 z`` over rows times their roots; ``own`` are scores by the mean row."""
        products = self.of(problem, rows).astype(np.float64)
        longest = float(products.diagonal().max(initial=0.0))
        if not longest < LARGEST_PRODUCT:
            return UNKNOWN
        products += problem.bias**2 - mean.share * np.outer(own, own)
        products *= np.outer(roots, roots)
        size = float(np.abs(products.diagonal()).max(initial=TINY))
        # The products are off by their rounding, which may be much where the mean row is long.
        lost = len(rows) * (SINGLE * longest + SMALLEST_SINGLE)
        return size * largest_eigenvalue((products / size).astype(np.float32)) + lost


class Scatter:
    """Sums over rows with a curved loss, of which only those are summed anew that have changed since the last C.

    Beside them the products of rows that were open.
    """

    def __init__(self) -> None:
        self.products = Products()
        self._unit: Floats | None = None
        self._sum: Floats
        self._largest = 0.0

    def _change(self, unit: Floats, shape: tuple[int, ...]) -> Floats:
        if self._unit is None:
            self._unit, self._sum = np.zeros_like(unit), np.zeros(shape)
        change = unit - self._unit
        self._unit = unit
        return change

    def metric(self, problem: Any, unit: Floats, C: float) -> Floats:
        """``M = I + C l'' sum_i c_i x_i x_i'``, its lower triangle, less what roundings may have added to it.

        The sum has rounding errors of all rows that were ever in it. Where they and those of a factorisation may be as
        large as the identity, less of the curvature is taken, which is true as well.
        """
        change = self._change(unit, (problem.shape[1] + 1,) * 2)
        self._sum += outer_sums(problem.matrix.rows, change, problem.bias)
        self._largest = max(self._largest, float(np.trace(self._sum)))
        factor = C / problem.loss.diagonal_times_C
        lost = ROUNDINGS * EPSILON * len(self._sum) * (1.0 + factor * self._largest)
        if not np.isfinite(lost):
            return np.eye(len(self._sum))
        if lost > MOST_LOST:
            factor, lost = factor * MOST_LOST / lost, MOST_LOST
        matrix = self._sum * (factor / (1.0 + lost))
        matrix.flat[:: len(matrix) + 1] += 1.0 / (1.0 + lost)
        return np.asarray(matrix)

    def mean(self, problem: Any, unit: Floats) -> Floats:
        """``sum_i c_i x_i / sum_i c_i``."""
        if self._unit is not unit:
            self.add([self], problem, [unit])
        total = float(unit.sum())
        # What is left of a sum without rows is rounding.
        return np.append(self._sum / total if total > 0.0 else np.zeros(problem.shape[1]), problem.bias)

    @staticmethod
    def add(scatters: Sequence[Scatter], problem: Any, units: Sequence[Floats]) -> None:
        """The sums ``sum_i c_i x_i`` of several folds, in one pass."""
        changes = [own._change(unit, (problem.shape[1],)) for own, unit in zip(scatters, units, strict=True)]
        if len(changes) == 1:
            scatters[0]._sum += row_sums(problem.matrix.rows, *changes)
            return
        rows = np.flatnonzero(np.any(changes, axis=0))
        X = problem.X if 2 * len(rows) > problem.shape[0] else problem.X[rows]
        chosen = slice(None) if X is problem.X else rows
        for own, found in zip(scatters, (X.T @ np.stack([own[chosen] for own in changes], axis=1)).T, strict=True):
            own._sum += found


class Mean(NamedTuple):
    """The mean row ``m`` of those with a curved loss, for ``N = I + k m m'``: ``N^-1 = I - share m m'``."""

    row: Floats
    share: float

    @classmethod
    def of(cls, problem: Any, unit: Floats, curvature: float, scatter: Scatter) -> Mean:
        """That of rows by their weights, each of which adds ``curvature`` times its weight to ``N``."""
        row, k = scatter.mean(problem, unit), curvature * float(unit.sum())
        return cls(row, k / (1.0 + k * dot(row, row)))

    def scores(self, problem: Any, rows: Any) -> Floats:
        """Those of some rows."""
        scores: Floats = problem.matrix.scores(self.row[np.newaxis, :-1], problem.bias * self.row[-1:], rows)[:, 0]
        return scores

    def shortened(self, lengths: Floats, scores: Floats) -> Floats:
        """``sqrt(x' N^-1 x)``."""
        squares = lengths**2 - self.share * scores**2
        return np.sqrt(np.maximum(squares, FACTOR_ERROR * lengths**2)) * (1.0 + FACTOR_ERROR)


class Open(NamedTuple):
    """Rows of which only some can be right at the same time.

    ``sum_i (roots_i x_i.d)^2 <= largest |d|^2`` in the metric. ``limit`` is what the roots were chosen for.
    """

    rows: Any
    limit: float
    roots: Floats
    largest: float


class Metric(NamedTuple):
    """``sqrt(x' M^-1 x)`` of some rows."""

    rows: Any
    lengths: Floats
