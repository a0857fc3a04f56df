"""Where the optimum's scores are: at the C that was solved for, and at every C between two that were.

Weights ``w`` have losses ``L(w)`` per unit of C, and dual variables ``alpha`` of some C stand for ``beta = alpha / C``,
of which ``v = sum_i beta_i x_i`` and ``a(beta)``, what the dual value has beside ``-|C v|^2/2`` per unit of C, do not
depend on C. At any C they give the bounds ``|w|^2/2 + C L(w)`` and ``C a(beta) - C^2 |v|^2/2``, and the optimum lies in
the ball with the centre ``(w + C v) / 2`` and the radius

    R^2 = |w|^2/2 + C L - C a + C^2 |v|^2/2 - |w - C v|^2/4

(``docs/mathematics/choice.md`` derives it). Between two solved C, mixtures of their weights and of their variables are
very near to the optimum, and their L and a follow from the scores and variables of the two: no pass over the data.
Where the shares in the mixtures change linearly with C, centre and radius are polynomials of C, and their coefficients
in Bernstein's basis bound them over a whole interval of C.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import solve_triangular

from maxmargin._core import outer_sums, row_sums
from maxmargin.problems.losses import Floats
from maxmargin.problems.multiclass import MulticlassProblem
from maxmargin.solvers.solution import Solution

EPSILON = float(np.finfo(np.float64).eps)
TINY = float(np.finfo(np.float64).tiny)
#: By how much verified bounds may be off: this share of the gap, and this share of the primal value.
GAP_ERROR, VALUE_ERROR = 1e-5, 1e-13
#: How often an interval is halved for the largest value of a polynomial.
HALVINGS = 2
#: The curvature of losses is used for at most so many features.
MOST_FEATURES = 512
#: With more features and more open rows than this, each has to be proved by itself.
MOST_OPEN = 768
#: Steps of the power iteration for an eigenvalue, and by how much the guess is raised until it is above all of them.
POWERS, GUESS = 12, 1.15
#: Square roots of the shares of curvature that rows may have, from the smallest.
STEPS = np.array([0.125, 0.25, 0.5, 1.0])
#: A factorisation has at most this relative error.
FACTOR_ERROR = 1e-6


def safe_gap(primal: Any, dual: Any) -> Any:
    """``P - D`` with what rounding may have taken from it."""
    return np.maximum(primal - dual, 0.0) * (1.0 + GAP_ERROR) + VALUE_ERROR * np.abs(primal)


class Point(NamedTuple):
    """What the solution of one problem says about every C.

    Attributes
    ----------
    problem : problem
        The problem that was solved.
    C : float
        Its C.
    weights, sums : ndarray
        ``w`` and ``v = w(alpha) / C``, flat.
    scores : ndarray
        Those of all rows by ``w``.
    beta : ndarray or None
        ``alpha / C`` where the loss is curved.
    losses : float
        ``L`` of the weights.
    quadratic : float
        Twice the quadratic part of ``a(beta)``.
    linear : float
        The linear part of ``a(beta)``, less what rounding may have added.
    lost : float
        What rounding may have taken from ``L`` and ``a`` together.
    """

    problem: Any
    C: float
    weights: Floats
    sums: Floats
    scores: Floats
    beta: Floats | None
    losses: float
    quadratic: float
    linear: float
    lost: float

    @classmethod
    def of(cls, problem: Any, solution: Solution, C: float, scores: Floats) -> Point:
        """The point of a solution."""
        w, v = solution.weights.ravel(), problem.weights(solution.alpha).ravel() / C
        primal, dual = solution.certificate
        ww, vv = _dot(w, w), _dot(v, v)
        _, quadratic = problem.dual_parts(solution.alpha)
        linear = (dual + 0.5 * quadratic + 0.5 * C * C * vv) / C
        rounding = 16 * EPSILON * (ww + C * C * vv + quadratic + abs(primal) + abs(dual))
        lost = (float(safe_gap(primal, dual)) - max(primal - dual, 0.0) + rounding) / C
        beta = solution.alpha / C if quadratic > 0.0 else None
        return cls(problem, C, w, v, scores, beta, (primal - 0.5 * ww) / C, quadratic / C, linear, lost)


class Seen:
    """The solutions of one C, and scores by them.

    Parameters
    ----------
    problems, solutions : list
        One for two classes, one for each of more, or one over all classes.
    C : float
        Their C.
    rows : ndarray
        The rows in question.
    """

    def __init__(self, problems: list[Any], solutions: list[Solution], C: float, rows: Any) -> None:
        first = problems[0]
        if not getattr(first, "penalize_bias", True):
            raise ValueError("an intercept outside the regulariser is in no ball; use penalize_intercept=True")
        self.C = C
        self.joint = isinstance(first, MulticlassProblem)
        weights = np.vstack([solution.weights for solution in solutions])
        scores = self._score(first, weights)
        self.points = [
            Point.of(problem, solution, C, scores if self.joint else scores[:, k])
            for k, (problem, solution) in enumerate(zip(problems, solutions, strict=True))
        ]
        sums = np.vstack([point.sums.reshape(-1, weights.shape[1]) for point in self.points])
        self.by_weights, self.by_sums = scores[rows], self._score(first, sums, rows)
        # An empty row without a constant column has the score zero for all weights.
        self.lengths = np.maximum(first.matrix.lengths(first.bias)[rows], TINY)
        # What scores may be off by, for each unit of the length of a row.
        sizes = np.sqrt(np.max(np.sum(weights**2, axis=1))) + C * np.sqrt(np.max(np.sum(sums**2, axis=1)))
        self.rounding = float((weights.shape[1] + 4) * EPSILON * sizes)

    @staticmethod
    def _score(problem: Any, weights: Floats, rows: Any = None) -> Floats:
        coef, intercept = np.asfortranarray(weights[:, :-1]), problem.bias * weights[:, -1]
        scores: Floats = problem.matrix.scores(coef, intercept, rows)
        return scores


class Cells(NamedTuple):
    """Balls for intervals of C, one for each entry of the arrays.

    Attributes
    ----------
    centre : ndarray of shape (cells, 3, 4)
        Bernstein coefficients of the centre, a quadratic polynomial of C: each a sum of the left one's weights, the
        right one's, and the left and right one's ``v``.
    radius : ndarray of shape (cells,)
        The largest radius.
    apart : ndarray of shape (cells, 3, 4)
        Those of ``C v - w``.
    weights : ndarray of shape (cells, 2, 4)
        Bernstein coefficients of the mixture of weights, which is linear, in the same way.
    gap : ndarray of shape (cells,)
        The largest difference between the bounds that the mixtures have.
    """

    centre: Floats
    radius: Floats
    apart: Floats
    weights: Floats
    gap: Floats


class Pair:
    """Two points of one problem, and the products that balls between them need."""

    def __init__(self, left: Point, right: Point) -> None:
        self.left, self.right = left, right
        w, v = [left.weights], [left.sums]
        self._qq = np.full((2, 2), left.quadratic)
        if left is not right:
            w.append(right.weights)
            v.append(right.sums)
            self._qq = np.diag([left.quadratic, right.quadratic])
            if left.beta is not None and right.beta is not None:
                unit = left.problem.C / left.C
                scale = left.problem.loss.diagonal_times_C / np.where(unit > 0, unit, 1.0)
                self._qq[0, 1] = self._qq[1, 0] = _dot(scale * left.beta, right.beta)
            elif left.beta is not None or right.beta is not None:
                raise ValueError("one of two solutions has no variables")
        products = [[_dot(one, two) if k >= i else 0.0 for k, two in enumerate(w + v)] for i, one in enumerate(w + v)]
        upper = np.array(products)
        whole = upper + np.triu(upper, 1).T
        self._products = whole if left is not right else np.repeat(np.repeat(whole, 2, axis=0), 2, axis=1)
        self._last: tuple[tuple[bytes, bytes], Cells] | None = None

    @cached_property
    def _bent(self) -> tuple[Floats, Floats, Floats, Floats]:
        """The losses of two classes in parts: a polynomial of the share, and rows with a loss by one of the weights."""
        problem, loss = self.left.problem, self.left.problem.loss
        unit = problem.C / self.left.C
        slacks = [1.0 - problem.y * point.scores for point in (self.left, self.right)]
        one, two = slacks if loss.lower_per_C != 0.0 else (np.maximum(own, 0.0) for own in slacks)
        bent = np.flatnonzero(((one > 0.0) != (two > 0.0)) & (unit > 0.0)) if loss.lower_per_C == 0.0 else slice(0)
        rows = [own[bent] for own in (*slacks, unit)]
        ends = [
            own.losses - loss.primal(slack, rows[2]).sum()
            for own, slack in zip((self.left, self.right), rows[:2], strict=True)
        ]
        between = 0.5 * sum(ends)
        if loss.is_curved:
            between = 0.5 / loss.diagonal_times_C * _dot(unit * one, two)
        return np.array([ends[0], between, ends[1]]), *rows

    def losses(self, s: Floats) -> Floats:
        """``L`` of mixtures of weights, from the scores of both."""
        left, right = self.left, self.right
        if left is right:
            return np.full(len(s), left.losses)
        if isinstance(left.problem, MulticlassProblem):
            mixed = ((1 - share) * left.scores + share * right.scores for share in s)
            return np.array([left.problem.losses_at(scores) for scores in mixed]) / left.C
        smooth, one, two, unit = self._bent
        rows = left.problem.loss.primal(np.outer(1 - s, one) + np.outer(s, two), unit).sum(axis=1)
        return np.asarray(smooth @ [(1 - s) ** 2, 2 * s * (1 - s), s * s] + rows)

    def share(self, C: Floats) -> Floats:
        """The shares of the right one's weights for which the primal values at some C are about lowest.

        Values and slopes of the losses at both ends, where the weights are optima, make the losses a cubic function of
        the share, whose slope is quadratic.
        """
        if self.right.C <= self.left.C:
            return np.zeros(len(C))
        ww = self._products
        first, last = ((ww[k, 0] - ww[k, 1]) / own for k, own in ((0, self.left.C), (1, self.right.C)))
        bend = self.right.losses - self.left.losses - 0.5 * (first + last)
        square = ww[0, 0] - 2 * ww[0, 1] + ww[1, 1]
        a, b, c = -6 * bend * C, square + C * (last - first + 6 * bend), ww[0, 1] - ww[0, 0] + C * first
        below = b + np.sqrt(np.maximum(b * b - 4 * a * c, 0.0))
        return np.clip(-2 * c / np.where(below > 0.0, below, np.inf), 0.0, 1.0)

    def share_of_variables(self, C: Floats) -> Floats:
        """The shares of the right one's variables for which the dual values at some C are highest."""
        vv, qq = self._products[2:, 2:], self._qq
        slope = self.right.linear - self.left.linear - (qq[0, 1] - qq[0, 0]) - C * (vv[0, 1] - vv[0, 0])
        curvature = (qq[0, 0] - 2 * qq[0, 1] + qq[1, 1]) + C * (vv[0, 0] - 2 * vv[0, 1] + vv[1, 1])
        best = np.where(slope > 0.0, 1.0, 0.0)
        return np.clip(np.divide(slope, curvature, out=best, where=curvature > 0.0), 0.0, 1.0)

    def values(self, C: float) -> tuple[float, float]:
        """The primal and the dual value of the mixtures at a C."""
        own = np.array([C])
        (s,), (t,), (losses,) = (
            part.tolist() for part in (self.share(own), self.share_of_variables(own), self.losses(self.share(own)))
        )
        w, v = np.array([1 - s, s]), np.array([1 - t, t])
        primal = 0.5 * w @ self._products[:2, :2] @ w + C * losses
        dual = C * (v @ (self.left.linear, self.right.linear) - 0.5 * v @ self._qq @ v)
        return float(primal), float(dual - 0.5 * C * C * (v @ self._products[2:, 2:] @ v))

    def cells(self, low: Floats, high: Floats) -> Cells:
        """The balls for all values of C from each of the first to the corresponding one of the second.

        With ``q = w + C v`` the gap is ``(|w|^2 + |C v|^2)/2 + C L - C a`` and ``R^2 = |q|^2/4 + C L - C a``. From one
        end to the other ``w``, ``v`` and C are linear, so ``C v`` is quadratic, ``C a`` cubic, and ``L``, being convex,
        is below its chord.
        """
        key = low.tobytes(), high.tobytes()
        if self._last is None or self._last[0] != key:
            self._last = key, self._make_cells(low, high)
        return self._last[1]

    def _make_cells(self, low: Floats, high: Floats) -> Cells:
        ends, number = np.unique(np.concatenate([low, high]), return_inverse=True)
        s, t = self.share(ends), self.share_of_variables(ends)
        at = number.reshape(2, -1).T  # the ends of each cell
        C, losses = ends[at], self.losses(s)[at]
        w, v = np.zeros((len(low), 2, 4)), np.zeros((len(low), 2, 4))
        w[..., 0], w[..., 1], v[..., 2], v[..., 3] = 1 - s[at], s[at], 1 - t[at], t[at]
        u = np.stack([C[:, :1] * v[:, 0], 0.5 * (C[:, :1] * v[:, 1] + C[:, 1:] * v[:, 0]), C[:, 1:] * v[:, 1]], axis=1)
        q = u + np.stack([w[:, 0], 0.5 * (w[:, 0] + w[:, 1]), w[:, 1]], axis=1)
        qq, uu, ww = (part @ self._products @ part.swapaxes(1, 2) for part in (q, u, w))
        b = v[..., 2:] @ self._qq @ v[..., 2:].swapaxes(1, 2)
        linear = v[..., 2:] @ (self.left.linear, self.right.linear)
        e = losses - linear + max(self.left.lost, self.right.lost)
        square = np.stack([C[:, 0] * e[:, 0], 0.5 * (C[:, 0] * e[:, 1] + C[:, 1] * e[:, 0]), C[:, 1] * e[:, 1]], axis=1)
        cubic = np.stack(
            [
                C[:, 0] * b[:, 0, 0],
                (C[:, 1] * b[:, 0, 0] + 2 * C[:, 0] * b[:, 0, 1]) / 3,
                (2 * C[:, 1] * b[:, 0, 1] + C[:, 0] * b[:, 1, 1]) / 3,
                C[:, 1] * b[:, 1, 1],
            ],
            axis=1,
        )
        rest = square @ _RAISE_2.T + 0.5 * cubic @ _RAISE_3.T
        sizes = losses + np.abs(linear) + np.diagonal(b, axis1=1, axis2=2)
        rounding = 256 * EPSILON * (np.maximum(qq[:, 0, 0], qq[:, 2, 2]) + C[:, 1] * sizes.max(axis=1))
        gap = rest + 0.5 * _squared(uu) + 0.5 * np.stack([ww[:, 0, 0], ww[:, 0, 1], ww[:, 1, 1]], axis=1) @ _RAISE_2.T
        radius = np.sqrt(np.maximum(_largest(rest + 0.25 * _squared(qq)), 0.0) + rounding)
        return Cells(0.5 * q, radius, 2 * u - q, w, np.maximum(_largest(gap), 0.0) + rounding)


def _squared(products: Floats) -> Floats:
    """Bernstein coefficients of squares of quadratic polynomials, from the products of their own."""
    p = products
    return np.stack([p[:, 0, 0], p[:, 0, 1], (p[:, 0, 2] + 2 * p[:, 1, 1]) / 3, p[:, 1, 2], p[:, 2, 2]], axis=1)


#: Bernstein coefficients of degree 4 from those of degrees 2 and 3.
_RAISE_2 = np.array([[6, 0, 0], [3, 3, 0], [1, 4, 1], [0, 3, 3], [0, 0, 6]]) / 6
_RAISE_3 = np.array([[4, 0, 0, 0], [1, 3, 0, 0], [0, 2, 2, 0], [0, 0, 3, 1], [0, 0, 0, 4]]) / 4
#: The coefficients of degree 4 for both halves of the interval.
_HALVES = (
    np.array(
        [
            [16, 0, 0, 0, 0],
            [8, 8, 0, 0, 0],
            [4, 8, 4, 0, 0],
            [2, 6, 6, 2, 0],
            [1, 4, 6, 4, 1],
            [0, 2, 6, 6, 2],
            [0, 0, 4, 8, 4],
            [0, 0, 0, 8, 8],
            [0, 0, 0, 0, 16],
        ]
    )
    / 16
)


def _largest(coefficients: Floats) -> Floats:
    """Upper bounds of polynomials of degree 4 over their intervals: the largest coefficients after some halvings."""
    parts = coefficients
    for _ in range(HALVINGS):
        halves = parts @ _HALVES.T
        parts = np.stack([halves[..., :5], halves[..., 4:]], axis=-2)
    return np.asarray(parts.reshape(len(coefficients), -1).max(axis=1))


def _dot(one: Floats, two: Floats) -> float:
    """The product of two vectors, in this thread alone: to wake others takes longer than to do without them."""
    return float(np.einsum("i,i->", one, two))


def _inverse_factor(metric: Floats) -> Floats:
    """The inverse of the factor of Cholesky."""
    factor = np.linalg.cholesky(metric)
    return np.asarray(solve_triangular(factor, np.eye(len(metric)), lower=True, check_finite=False))


def _largest_eigenvalue(matrix: Floats) -> float:
    """An upper bound of the eigenvalues of a symmetric matrix, by Cholesky's test of a guess by power iterations."""
    if len(matrix) == 0:
        return 0.0
    vector = np.ones(len(matrix)) + np.arange(len(matrix)) % 7
    for _ in range(POWERS):
        vector = matrix @ (vector / np.linalg.norm(vector))
    guess, unit = float(np.linalg.norm(vector)), np.eye(len(matrix))
    while True:
        guess *= GUESS
        try:
            np.linalg.cholesky(guess * unit - matrix)
        except np.linalg.LinAlgError:
            continue
        return guess * (1.0 + FACTOR_ERROR)


class Scatter:
    """Sums over rows with a curved loss, of which only those are summed anew that have changed since the last C."""

    def __init__(self) -> None:
        self._unit: Floats | None = None
        self._sum: Floats

    def _change(self, unit: Floats, shape: tuple[int, ...]) -> Floats:
        if self._unit is None:
            self._unit, self._sum = np.zeros_like(unit), np.zeros(shape)
        change = unit - self._unit
        self._unit = unit
        return change

    def outer(self, problem: Any, unit: Floats) -> Floats:
        """``sum_i c_i x_i x_i'``."""
        change = self._change(unit, (problem.shape[1] + 1,) * 2)
        self._sum += outer_sums(problem.matrix.rows, change, problem.bias)
        return self._sum

    def mean(self, problem: Any, unit: Floats) -> Floats:
        """``sum_i c_i x_i / sum_i c_i``."""
        change = self._change(unit, (problem.shape[1],))
        self._sum += row_sums(problem.matrix.rows, change)
        return np.append(self._sum / max(float(unit.sum()), TINY), problem.bias)


class Mean(NamedTuple):
    """The mean row ``m`` of those with a curved loss, for ``N = I + k m m'``: ``N^-1 = I - share m m'``."""

    scores: Floats  # of the rows in question
    share: float
    products: Floats  # with the weights and sums of both solutions


class Open(NamedTuple):
    """Rows of which only some can be right at the same time: ``sum_i (x_i.d)^2 <= largest |d|^2`` in the metric."""

    rows: Any
    largest: float


class Metric(NamedTuple):
    """``x' M^-1 x`` of some rows, at two values of C."""

    rows: Any
    ends: tuple[float, float]
    squares: list[Floats]


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
    >>> from maxmargin.training.balls import Proofs, Seen
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

    def sharpen(self, low: Floats, high: Floats, scatter: Scatter) -> bool:
        """Look at rows that are open in some intervals of C once more, with the curvature of the losses.

        Rows whose loss is curved at ``w`` make the primal value grow faster than ``|w - w*|^2/2``,
        by ``M = I + C sum_i l_i'' x_i x_i'`` in place of ``I``. With few features that is what is used; with many the
        part of it that the mean of these rows makes up. And since ``sum_i (x_i.d)^2`` is at most the largest eigenvalue
        of the products of rows times ``|d|^2``, not all open rows can change sides at the same time.

        ``scatter`` is that of the same fold at other values of C. Returns whether anything was done.
        """
        pair = self.pairs[0]
        problem = pair.left.problem
        if self._metric or self._mean or self._scores.shape[2] != 1 or not problem.loss.is_curved:
            return False
        few, unit = problem.shape[1] <= MOST_FEATURES, problem.C / pair.left.C
        if problem.loss.lower_per_C == 0.0:
            # The slack of a mixture is at least the smaller one of its ends, and the optimum's differs from it by at
            # most `far`. So l(z) - l(z*) - l'(z*) (z - z*) >= share l''/2 (z - z*)^2, even where z* has no loss. Shares
            # are rounded down, so that they change rarely.
            far = np.sqrt(2.0 * pair.cells(low, high).gap.max()) + self._rounding
            slack = 1.0 - np.maximum(problem.y * pair.left.scores, problem.y * pair.right.scores)
            part = np.maximum(slack, 0.0) / (far * np.maximum(problem.matrix.lengths(problem.bias), TINY))
            if few:
                unit = np.where(part >= 1.0, unit, 0.0)
            else:
                unit = unit * np.append(0.0, STEPS**2)[np.searchsorted(STEPS, part, side="right")]
        ends = float(low.min()), float(high.max())
        curvature = ends[0] / problem.loss.diagonal_times_C
        if not few:
            mean = scatter.mean(problem, unit)
            half = 0.5 * curvature * float(unit.sum())
            share = half / (1.0 + half * _dot(mean, mean))
            scores = problem.matrix.scores(mean[np.newaxis, :-1], problem.bias * mean[-1:], self._rows)[:, 0]
            vectors = pair.left.weights, pair.right.weights, pair.left.sums, pair.right.sums
            self._mean = Mean(scores, share, np.array([_dot(mean, own) for own in vectors]))
            squares = self._lengths**2 - share * scores**2
            self._lengths = np.sqrt(np.maximum(squares, FACTOR_ERROR * self._lengths**2)) * (1.0 + FACTOR_ERROR)
        open_ = np.flatnonzero(self.wrong_by(low, high).min(axis=0) <= 1.0)
        rows = problem.X[self._rows[open_]]
        if few:
            outer = scatter.outer(problem, unit) / problem.loss.diagonal_times_C
            dense = rows.toarray() if hasattr(rows, "toarray") else np.asarray(rows, dtype=np.float64)
            dense = np.hstack([dense, np.full((len(dense), 1), problem.bias)])
            parts = [dense @ _inverse_factor(np.eye(len(outer)) + C * outer).T for C in ends]
            squares = [np.maximum(np.einsum("ij,ij->i", part, part) * (1.0 + FACTOR_ERROR), TINY) for part in parts]
            self._metric = Metric(open_, ends, squares)
            left = self.wrong_by(low, high).min(axis=0)[open_] <= 1.0
            part = parts[0][left]
            products = part.T @ part if len(part) > part.shape[1] else part @ part.T
            self._open = Open(open_[left], _largest_eigenvalue(products))
        elif len(open_) <= MOST_OPEN:
            products = rows @ rows.T
            products = products.toarray() if hasattr(products, "toarray") else np.asarray(products, dtype=np.float64)
            own = self._mean.scores[open_]
            products = products + problem.bias**2 - self._mean.share * np.outer(own, own)
            self._open = Open(open_, _largest_eigenvalue(products))
        return True

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
            open_, ends, squares = self._metric
            # As a function of C the inverse of a square is a harmonic mean of linear functions, which is concave.
            part = ((low - ends[0]) / max(ends[1] - ends[0], TINY))[:, np.newaxis]
            lengths = 1.0 / np.sqrt((1 - part) / squares[0] + part / squares[1])
            width = np.sqrt(2.0 * cells.gap)[:, np.newaxis] * lengths + self._lengths[open_] * self._rounding
            surely[:, open_] = np.maximum(surely[:, open_], (cells.weights @ scores[:, open_]).min(axis=1) / width)
        return np.asarray(surely)

    def _centre(self, cells: Cells, sign: Floats) -> Floats:
        """Bernstein coefficients of the scores of the centres, times a sign for each row."""
        centre = cells.centre @ (sign * self._scores[..., 0])
        if self._mean is None:
            return np.asarray(centre)
        shift = 0.5 * self._mean.share * (cells.apart @ self._mean.products)
        return np.asarray(centre - shift[..., np.newaxis] * (sign * self._mean.scores))

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
        open_, cells = self._open.rows, self.pairs[0].cells(low, high)
        sign = np.where(self.labels == 1, -1.0, 1.0)
        if self._metric is None:
            scores, square = self._centre(cells, sign)[..., open_].min(axis=1), cells.radius**2
        else:
            scores = (cells.weights @ (sign * self._scores[..., 0])[:, open_]).min(axis=1)
            square = 2.0 * cells.gap
        scores = np.maximum(scores - self._lengths[open_] * self._rounding, 0.0)
        scores[surely[:, open_] > 1.0] = np.inf
        sums = np.cumsum(np.sort(scores, axis=1) ** 2, axis=1)
        right = np.count_nonzero(sums <= (self._open.largest * square)[:, np.newaxis], axis=1)
        return proved + np.count_nonzero(np.isfinite(scores), axis=1) - right

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

    def right(self, low: float, high: float) -> Any:
        """Rows whose label is proved to be right at the optimum of every C between two."""
        ends = np.array([low]), np.array([high])
        if self._scores.shape[2] == 1:
            proved = self._of_two(np.where(self.labels == 1, 1.0, -1.0), *ends)[0] > 1.0
        else:
            proved = np.ones(len(self.labels), dtype=bool)
            ((centres, radii),) = self._of_many(*ends)
            for rival in range(centres.shape[2]):
                others = np.full(len(self.labels), rival)
                proved &= (self._leads(centres, radii, self._own, others) > 1.0) | (self._own == rival)
        return np.asarray(proved & ~self._unknown)
