"""What the solutions of two values of C prove about the labels of rows, at both and in between.

A label is proved where the score of the centre of a ball is larger than the ball's radius times the length of the row
(`maxmargin.training.balls`), and more of them with the curvature of the losses (`maxmargin.training.curvature`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from maxmargin.problems.losses import Floats
from maxmargin.training.balls import TINY, Cells, Pair, Seen, dot
from maxmargin.training.curvature import (
    FACTOR_ERROR,
    MOST_OPEN,
    Mean,
    Metric,
    Open,
    Scatter,
    curved_rows,
    few_features,
    largest_eigenvalue,
    most_right,
    roots_of,
    whitened,
)


class Proofs:
    """What the solutions of two C prove about the labels of rows, at both and in between.

    Parameters
    ----------
    left, right : Seen
        The solutions of two C, of the same rows; the same twice for a C by itself.
    rows : ndarray
        The rows in question, as in both.
    labels : array of shape (len(rows),)
        Their own classes, as numbers of the classes that the problems are made of; -1 for a class they do not know,
        whose rows are wrong whatever C is.
    keep : array, optional
        Which of the rows to look at; by default all.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin import BinaryProblem, solve
    >>> from maxmargin.training.balls import Seen
    >>> from maxmargin.training.proofs import Proofs
    >>> problem = BinaryProblem(np.array([[1.0], [-1.0]]), [1, -1], C=0.1)
    >>> rows = np.arange(2)
    >>> seen = Seen([problem], [solve(problem, tol=1e-6)], 0.1, rows)
    >>> proofs = Proofs(seen, seen, rows, np.array([1, 1]))
    >>> proofs.right(0.1, 0.1).tolist(), proofs.wrong(0.1, 0.1).tolist()
    ([True, False], [False, True])
    """

    def __init__(self, left: Seen, right: Seen, rows: Any, labels: Any, keep: Any = None) -> None:
        self._joint = left.joint
        self.pairs = [Pair(one, two) for one, two in zip(left.points, right.points, strict=True)]
        chosen = slice(None) if keep is None else keep
        self._rows = rows[chosen]
        self._mean: Mean | None = None
        self._metric: Metric | None = None
        self._open: Open | None = None
        self._lengths = left.lengths[chosen]
        self.labels = labels[chosen]
        self._unknown, self._own = self.labels < 0, np.maximum(self.labels, 0)
        self._scores = np.stack(
            [part[chosen] for part in (left.by_weights, right.by_weights, left.by_sums, right.by_sums)]
        )
        self._rounding = left.rounding + right.rounding

    def curved(self, low: Floats, high: Floats) -> Floats | None:
        """The weights of rows with a curved loss in some intervals of C; None where that does not help any more."""
        pair = self.pairs[0]
        problem = pair.left.problem
        if self._metric or self._mean or self._scores.shape[2] != 1 or not problem.loss.is_curved:
            return None
        # The slack of a mixture is at least the smaller one of its ends.
        slack = 1.0 - np.maximum(problem.y * pair.left.scores, problem.y * pair.right.scores)
        slack -= self._rounding * problem.matrix.lengths(problem.bias)
        cells = pair.cells(low, high)
        far = float(cells.far.max()) + self._rounding
        return curved_rows(problem, problem.C / pair.left.C, slack, far, float(cells.gap.max()), float(low.min()))

    def sharpen(
        self, low: Floats, high: Floats, scatter: Scatter, spare: float = np.inf, unit: Floats | None = None
    ) -> bool:
        """Look at rows that are open in some intervals of C once more, with the curvature of the losses.

        ``scatter`` is that of the same fold at other values of C, ``spare`` how many labels need not be proved, and
        ``unit`` what `curved` gives, if it is known. Returns whether anything was done.
        """
        unit = self.curved(low, high) if unit is None else unit
        if unit is None:
            return False
        problem = self.pairs[0].left.problem
        first, few = float(low.min()), few_features(problem)  # curvature grows with C
        if not few:
            # Of the sum of both bounds, |w - w*|^2_M/2 + |u - w*|^2/2, half of the curvature is left.
            self._mean = Mean.of(problem, unit, 0.5 * first / problem.loss.diagonal_times_C, scatter)
            self._by_mean = self._mean.scores(problem, self._rows)
            self._lengths = self._mean.shortened(self._lengths, self._by_mean)
        open_ = np.flatnonzero(self.wrong_by(low, high).min(axis=0) <= 1.0)
        if few:
            parts = whitened(problem, self._rows[open_], scatter.metric(problem, unit, first))
            lengths = np.sqrt(np.einsum("ij,ij->i", parts, parts)) * (1.0 + FACTOR_ERROR)
            self._metric = Metric(open_, np.maximum(lengths, TINY))
            left = self.wrong_by(low, high).min(axis=0)[open_] <= 1.0
            limit, roots = self._roots(low, high, open_[left], spare)
            part = roots[:, np.newaxis] * parts[left]
            products = part.T @ part if len(part) > part.shape[1] else part @ part.T
            self._open = Open(open_[left], limit, roots, largest_eigenvalue(products))
        elif self._mean is not None and len(open_) <= MOST_OPEN:
            limit, roots = self._roots(low, high, open_, spare)
            own = self._by_mean[open_]
            largest = scatter.products.largest_eigenvalue(problem, self._rows[open_], self._mean, own, roots)
            self._open = Open(open_, limit, roots, largest)
        return True

    def _roots(self, low: Floats, high: Floats, rows: Any, spare: float) -> tuple[float, Floats]:
        """The distance from the decision of the last row that may turn right, and the roots of what rows count."""
        scores = np.maximum(self._apart(low, high, rows)[0].min(axis=0), 0.0)
        limit = float(np.sort(scores)[int(spare)]) if spare < len(rows) else np.inf
        return limit, roots_of(scores, limit)

    def _leads(self, centres: Floats, radii: Floats, high: Any, low: Any) -> Floats:
        """How far one class is above another, in units of what is needed to prove it."""
        each = np.arange(len(self.labels))
        # In one ball over all classes a difference moves by at most sqrt(2) times as much as all weights together.
        width = np.sqrt(2.0) * radii[high] if self._joint else radii[high] + radii[low]
        lead = (centres[:, each, high] - centres[:, each, low]).min(axis=0)
        return np.asarray(lead / (self._lengths * width))

    def _of_two(self, sign: Floats, low: Floats, high: Floats) -> Floats:
        """How surely scores have a sign, in units of what is needed to prove it."""
        cells, scores = self.pairs[0].cells(low, high), sign * self._scores[..., 0]
        surely = self._centre(cells, sign).min(axis=1) / np.outer(cells.radius + self._rounding, self._lengths)
        if self._metric is not None:
            open_, lengths = self._metric
            width = np.outer(np.sqrt(2.0 * cells.gap), lengths) + self._lengths[open_] * self._rounding
            surely[:, open_] = np.maximum(surely[:, open_], (cells.weights @ scores[:, open_]).min(axis=1) / width)
        return np.asarray(surely)

    def _centre(self, cells: Cells, sign: Floats) -> Floats:
        """Bernstein coefficients of the scores of the centres, times a sign for each row."""
        centre = cells.centre @ (sign * self._scores[..., 0])
        if self._mean is None:
            return np.asarray(centre)
        pair = self.pairs[0]
        vectors = pair.left.weights, pair.right.weights, pair.left.sums, pair.right.sums
        shift = 0.5 * self._mean.share * (cells.apart @ [dot(self._mean.row, own) for own in vectors])
        return np.asarray(centre - shift[..., np.newaxis] * (sign * self._by_mean))

    def largest_radius(self, low: Floats, high: Floats) -> float:
        """The largest radius in intervals of C."""
        return float(max(pair.cells(low, high).radius.max() for pair in self.pairs))

    def count_wrong(self, low: Floats, high: Floats) -> Any:
        """How many labels are proved to be wrong at the optimum of every C, for intervals of C."""
        surely = self.wrong_by(low, high)
        proved = np.count_nonzero(surely > 1.0, axis=1)
        if self._open is None:
            return proved
        # Of the others as many may be right as the smallest squares of scores allow.
        open_ = self._open.rows
        scores, square = self._apart(low, high, open_)
        scores[surely[:, open_] > 1.0] = np.inf
        scores *= self._open.roots
        right = most_right(scores, self._open.largest, square)
        return proved + np.count_nonzero(np.isfinite(scores), axis=1) - right

    def _apart(self, low: Floats, high: Floats, rows: Any) -> tuple[Floats, Floats]:
        """How far rows are on the wrong side in each interval of C, and the squared radius of the ball around that."""
        cells, sign = self.pairs[0].cells(low, high), np.where(self.labels == 1, -1.0, 1.0)
        if self._metric is None:
            scores, square = self._centre(cells, sign)[..., rows].min(axis=1), cells.radius**2
        else:
            scores = (cells.weights @ (sign * self._scores[..., 0])[:, rows]).min(axis=1)
            square = 2.0 * cells.gap
        return scores - self._lengths[rows] * self._rounding, square

    def guess_wrong(self, C: float) -> Callable[[float], int]:
        """About how many labels would be proved to be wrong at a C, if balls were larger or smaller by a factor."""
        at = np.array([C])
        surely = self.wrong_by(at, at)[0]
        if self._open is None:
            return lambda factor: int(np.count_nonzero(surely > factor))
        (scores,), (square,), largest = *self._apart(at, at, slice(None)), self._open.largest
        scores *= roots_of(scores, self._open.limit)

        def guess(factor: float) -> int:
            near = surely <= factor
            return len(surely) - int(most_right(scores[near], largest, factor**2 * square))

        return guess

    def _of_many(self, low: Floats, high: Floats) -> Iterator[tuple[Floats, Floats]]:
        """Bernstein coefficients of the scores of the centres in each cell, and the radius of each column."""
        parts = [pair.cells(low, high) for pair in self.pairs]
        for k in range(len(low)):
            radii = np.array([own.radius[k] for own in parts]) + self._rounding
            if self._joint:
                yield np.tensordot(parts[0].centre[k], self._scores, 1), np.repeat(radii, self._scores.shape[2])
            else:
                columns = [own.centre[k] @ self._scores[..., column] for column, own in enumerate(parts)]
                yield np.stack(columns, axis=-1), radii

    def wrong_by(self, low: Floats, high: Floats) -> Floats:
        """How surely labels are wrong at the optima of all C from each of the first to that of the second.

        One row for each interval of C: above 1 for labels with a proof. With balls smaller by a factor it would be
        larger by that.
        """
        if self._scores.shape[2] == 1:
            # The second class is predicted where the score is positive.
            surely = self._of_two(np.where(self.labels == 1, -1.0, 1.0), low, high)
        else:
            surely = np.empty((len(low), len(self.labels)))
            for k, (centres, radii) in enumerate(self._of_many(low, high)):
                others = centres.sum(axis=0)
                others[np.arange(len(self.labels)), self._own] = -np.inf
                surely[k] = self._leads(centres, radii, others.argmax(axis=1), self._own)
        surely[:, self._unknown] = np.inf
        return surely

    def wrong(self, low: float, high: float) -> Any:
        """Rows whose label is proved to be wrong at the optimum of every C between two."""
        return self.wrong_by(np.array([low]), np.array([high]))[0] > 1.0

    def right_by(self, low: Floats, high: Floats) -> Floats:
        """How surely labels are right, as in `wrong_by`."""
        if self._scores.shape[2] == 1:
            surely = self._of_two(np.where(self.labels == 1, 1.0, -1.0), low, high)
        else:
            surely = np.full((len(low), len(self.labels)), np.inf)
            for k, (centres, radii) in enumerate(self._of_many(low, high)):
                for rival in range(centres.shape[2]):
                    leads = self._leads(centres, radii, self._own, np.full(len(self.labels), rival))
                    surely[k] = np.where(self._own == rival, surely[k], np.minimum(surely[k], leads))
        surely[:, self._unknown] = 0.0
        return surely

    def right(self, low: float, high: float) -> Any:
        """Rows whose label is proved to be right at the optimum of every C between two."""
        return self.right_by(np.array([low]), np.array([high]))[0] > 1.0
