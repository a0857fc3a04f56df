"""Which labels of rows are those of the optimum, from one solution and its gap alone.

The weights of the optimum are within ``sqrt(2 gap)`` of those found, so a label is certain where the score is larger
than that times the length of the row. No pass over the rows is needed for it. Where too many labels are left open, the
curvature of the losses is used (`maxmargin.training.curvature`), for which the training rows have to be scored.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from maxmargin.problems.losses import Floats
from maxmargin.training.balls import EPSILON, TINY, Seen, dot, safe_gap
from maxmargin.training.curvature import (
    FACTOR_ERROR,
    MOST_OPEN,
    Mean,
    Scatter,
    curved_rows,
    few_features,
    largest_eigenvalue,
    most_right,
    whitened,
)
from maxmargin.training.proofs import Proofs
from maxmargin.training.tasks import Classification, Solved


class Certain:
    """The labels of some rows, of which those with a number above 1 in ``surely`` are certain.

    Parameters
    ----------
    is_right : array of shape (rows,)
        Which labels are right by the solution.
    surely : array of shape (rows,)
        How surely they are: with a ball smaller by a factor it would be larger by that.
    """

    def __init__(self, is_right: Any, surely: Floats) -> None:
        self.is_right, self.surely = is_right, surely

    @staticmethod
    def of(task: Classification, solved: Solved, rows: Any, scores: Floats) -> Certain:
        """Those of a solution of a task, by the scores of the rows."""
        is_right = task.is_right(scores, rows)
        if not solved.problems:
            return Certain(is_right, np.full(len(rows), np.inf))
        if len(solved.problems) == 1 and scores.shape[1] == 1:
            return CertainOfTwo(solved, rows, is_right, scores[:, 0])
        seen = Seen(solved.problems, solved.solutions, solved.C, rows)
        proofs = Proofs(seen, seen, rows, task.known_labels(rows))
        C = np.array([solved.C])
        return Certain(is_right, np.where(is_right, proofs.right_by(C, C)[0], proofs.wrong_by(C, C)[0]))

    def counts(self) -> tuple[int, int]:
        """How many labels are certainly right, and how many wrong."""
        sure = self.surely > 1.0
        return int(np.count_nonzero(sure & self.is_right)), int(np.count_nonzero(sure & ~self.is_right))

    def shrink(self, allowed: float) -> float:
        """The factor that the ball may be multiplied by for this share of the rows to be open."""
        number = int(allowed * len(self.surely))
        return float(np.sort(self.surely)[number]) if number < len(self.surely) else 1.0

    def sharpen(self, scatter: Scatter) -> None:
        """Look at open rows more closely, if there is a way; ``scatter`` is that of the fold at other C."""


class CertainOfTwo(Certain):
    """The same for two classes.

    Parameters
    ----------
    solved : Solved
        One problem and its solution.
    rows : array
        The rows in question, by number.
    is_right : array of shape (rows,)
        Which labels are right.
    scores : array of shape (rows,)
        Scores of the rows.
    """

    def __init__(self, solved: Solved, rows: Any, is_right: Any, scores: Floats) -> None:
        (self.problem,), (self.solution,) = solved.problems, solved.solutions
        self.C, self.rows, self.scores = solved.C, rows, np.abs(scores)
        if not getattr(self.problem, "penalize_bias", True):
            raise ValueError("an intercept outside the regulariser is in no ball; use penalize_intercept=True")
        w = self.solution.weights.ravel()
        self.gap = float(safe_gap(*self.solution.certificate))
        self.rounding = (len(w) + 4) * EPSILON * float(np.sqrt(dot(w, w)))
        self.radius = float(np.sqrt(2.0 * self.gap))
        self.lengths = np.maximum(self.problem.matrix.lengths(self.problem.bias)[rows], TINY)
        if hasattr(self.problem, "n_classes"):
            # One problem over both classes: the difference of their weights moves by sqrt(2) times as much.
            self.radius *= np.sqrt(2.0)
        self._open: tuple[Any, float] | None = None
        super().__init__(is_right, self.scores / (self.lengths * (self.radius + self.rounding)))

    def counts(self) -> tuple[int, int]:
        """How many labels are certainly right, and how many wrong."""
        right, wrong = super().counts()
        if self._open is None:
            return right, wrong
        open_, largest = self._open
        scores = self.scores[open_] - self.lengths[open_] * self.rounding
        square, side = self.radius**2, self.is_right[open_]
        kept = [len(own) - int(most_right(own, largest, square)) for own in (scores[side], scores[~side])]
        return right + kept[0], wrong + kept[1]

    def sharpen(self, scatter: Scatter) -> None:
        """With the curvature of the losses."""
        problem, open_ = self.problem, np.flatnonzero(self.surely <= 1.0)
        if self._open is not None or hasattr(problem, "n_classes") or not problem.loss.is_curved or len(open_) == 0:
            return
        w = self.solution.weights.ravel()
        scores = problem.matrix.scores(w[np.newaxis, :-1], problem.bias * w[-1:])[:, 0]
        slack = 1.0 - problem.y * scores - self.rounding * problem.matrix.lengths(problem.bias)
        unit = curved_rows(problem, problem.C / self.C, slack, self.radius + self.rounding, self.gap, self.C)
        curvature = self.C / problem.loss.diagonal_times_C
        lengths = self.lengths[open_]
        if few_features(problem):
            parts = whitened(problem, self.rows[open_], scatter.metric(problem, unit, self.C))
            lengths = np.sqrt(np.einsum("ij,ij->i", parts, parts)) * (1.0 + FACTOR_ERROR)
        else:
            mean = Mean.of(problem, unit, curvature, scatter)
            by_mean = mean.scores(problem, self.rows[open_])
            lengths = mean.shortened(lengths, by_mean)
        width = lengths * self.radius + self.lengths[open_] * self.rounding
        self.surely[open_] = np.maximum(self.surely[open_], self.scores[open_] / np.maximum(width, TINY))
        left = np.flatnonzero(self.surely[open_] <= 1.0)
        if few_features(problem):
            part = parts[left]
            products = part.T @ part if len(part) > part.shape[1] else part @ part.T
            self._open = open_[left], largest_eigenvalue(products)
        elif len(left) <= MOST_OPEN:
            rows = self.rows[open_[left]]
            largest = scatter.products.largest_eigenvalue(problem, rows, mean, by_mean[left], np.ones(len(rows)))
            self._open = open_[left], largest
