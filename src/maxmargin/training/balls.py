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

from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from maxmargin.problems.losses import Floats
from maxmargin.problems.multiclass import MulticlassProblem
from maxmargin.solvers.solution import Solution

EPSILON = float(np.finfo(np.float64).eps)
TINY = float(np.finfo(np.float64).tiny)
#: By how much verified bounds may be off: this share of the gap, and this share of the primal value.
GAP_ERROR, VALUE_ERROR = 1e-5, 1e-13
#: How often an interval is halved for the largest value of a polynomial.
HALVINGS = 2


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
    def of(cls, problem: Any, solution: Solution, C: float, scores: Floats, sums: Floats | None = None) -> Point:
        """The point of a solution, whose ``w(alpha)`` may be known."""
        w, v = solution.weights.ravel(), (problem.weights(solution.alpha).ravel() if sums is None else sums) / C
        primal, dual = solution.certificate
        ww, vv = dot(w, w), dot(v, v)
        _, quadratic = problem.dual_parts(solution.alpha)
        linear = (dual + 0.5 * quadratic + 0.5 * C * C * vv) / C
        rounding = 16 * EPSILON * (ww + C * C * vv + quadratic + abs(primal) + abs(dual))
        lost = (float(safe_gap(primal, dual)) - max(primal - dual, 0.0) + rounding) / C
        curved = not isinstance(problem, MulticlassProblem) and problem.loss.is_curved
        beta = solution.alpha / C if curved else None
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
    scored : Scored, optional
        What is known already of the one problem of two classes.
    """

    def __init__(
        self, problems: list[Any], solutions: list[Solution], C: float, rows: Any, scored: Scored | None = None
    ) -> None:
        first = problems[0]
        if not getattr(first, "penalize_bias", True):
            raise ValueError("an intercept outside the regulariser is in no ball; use penalize_intercept=True")
        self.C = C
        self.joint = isinstance(first, MulticlassProblem)
        weights = np.vstack([solution.weights for solution in solutions])
        if scored is None:
            scores = self._score(first, weights)
            self.points = [
                Point.of(problem, solution, C, scores if self.joint else scores[:, k])
                for k, (problem, solution) in enumerate(zip(problems, solutions, strict=True))
            ]
        else:
            scores = scored.by_weights[:, np.newaxis]
            self.points = [Point.of(first, solutions[0], C, scored.by_weights, scored.sums)]
        sums = np.vstack([point.sums.reshape(-1, weights.shape[1]) for point in self.points])
        self.by_weights = scores[rows]
        self.by_sums = self._score(first, sums, rows) if scored is None else scored.by_sums[rows, np.newaxis] / C
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


class Scored(NamedTuple):
    """``w(alpha)`` of a problem of two classes, and the scores of all rows by its weights and by these."""

    sums: Floats
    by_weights: Floats
    by_sums: Floats


def score_together(problems: list[Any], solutions: list[Solution]) -> list[Scored]:
    """Several problems over the same rows, as folds are, in one pass for the sums and one for the scores."""
    first = problems[0]
    signed = np.stack([own.y * found.alpha for own, found in zip(problems, solutions, strict=True)], axis=1)
    sums = np.vstack([first.X.T @ signed, first.bias * signed.sum(axis=0)]).T
    weights = np.vstack([*(found.weights for found in solutions), sums])
    scores = np.ascontiguousarray(first.matrix.scores(weights[:, :-1], first.bias * weights[:, -1]).T)
    return [Scored(*parts) for parts in zip(sums, *np.split(scores, 2), strict=True)]


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
    far : ndarray of shape (cells,)
        How far the optimum is from the mixture of weights at most.
    """

    centre: Floats
    radius: Floats
    apart: Floats
    weights: Floats
    gap: Floats
    far: Floats


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
                self._qq[0, 1] = self._qq[1, 0] = dot(scale * left.beta, right.beta)
            elif left.beta is not None or right.beta is not None:
                raise ValueError("one of two solutions has no variables")
        products = [[dot(one, two) if k >= i else 0.0 for k, two in enumerate(w + v)] for i, one in enumerate(w + v)]
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
            between = 0.5 / loss.diagonal_times_C * dot(unit * one, two)
        return np.array([ends[0], between, ends[1]]), *rows

    def losses(self, s: Floats) -> Floats:
        """``L`` of mixtures of weights, from the scores of both."""
        return self._losses(s, s)[:, 0]

    def _losses(self, s: Floats, other: Floats) -> Floats:
        """Three Bernstein coefficients, one row for each interval of shares: ``L`` is not above their polynomial.

        They are exact for curved losses of rows that have one at both ends; others are below their chord.
        """
        left, right = self.left, self.right
        if left is right:
            return np.full((len(s), 3), left.losses)
        if isinstance(left.problem, MulticlassProblem):
            first, last = (
                np.array([left.problem.losses_at((1 - share) * left.scores + share * right.scores) for share in own])
                / left.C
                for own in (s, other)
            )
            return np.stack([first, 0.5 * (first + last), last], axis=1)
        smooth, *slacks, unit = self._bent
        bent = [np.outer(1 - own, slacks[0]) + np.outer(own, slacks[1]) for own in (s, other)]
        loss = left.problem.loss
        first, last = (loss.primal(own, unit).sum(axis=1) for own in bent)
        middle = 0.5 * (first + last)
        if loss.is_curved:
            # A square that begins to grow from zero within an interval is below one that does so from its end.
            middle = 0.5 / loss.diagonal_times_C * (np.maximum(bent[0], 0.0) * np.maximum(bent[1], 0.0)) @ unit
        first += smooth @ [(1 - s) ** 2, 2 * s * (1 - s), s * s]
        middle += smooth @ [(1 - s) * (1 - other), s * (1 - other) + other * (1 - s), s * other]
        last += smooth @ [(1 - other) ** 2, 2 * other * (1 - other), other * other]
        return np.stack([first, middle, last], axis=1)

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
        return np.asarray(np.clip(-2 * c / np.where(below > 0.0, below, np.inf), 0.0, 1.0))

    def share_of_variables(self, C: Floats) -> Floats:
        """The shares of the right one's variables for which the dual values at some C are highest."""
        vv, qq = self._products[2:, 2:], self._qq
        slope = self.right.linear - self.left.linear - (qq[0, 1] - qq[0, 0]) - C * (vv[0, 1] - vv[0, 0])
        curvature = (qq[0, 0] - 2 * qq[0, 1] + qq[1, 1]) + C * (vv[0, 0] - 2 * vv[0, 1] + vv[1, 1])
        best = np.where(slope > 0.0, 1.0, 0.0)
        return np.asarray(np.clip(np.divide(slope, curvature, out=best, where=curvature > 0.0), 0.0, 1.0))

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
        end to the other ``w``, ``v`` and C are linear, so ``C v`` is quadratic, ``C a`` cubic, and so is ``C L`` or
        what is above it.
        """
        key = low.tobytes(), high.tobytes()
        if self._last is None or self._last[0] != key:
            self._last = key, self._make_cells(low, high)
        return self._last[1]

    def _make_cells(self, low: Floats, high: Floats) -> Cells:
        ends, number = np.unique(np.concatenate([low, high]), return_inverse=True)
        s, t = self.share(ends), self.share_of_variables(ends)
        at = number.reshape(2, -1).T  # the ends of each cell
        C = ends[at]
        w, v = np.zeros((len(low), 2, 4)), np.zeros((len(low), 2, 4))
        w[..., 0], w[..., 1], v[..., 2], v[..., 3] = 1 - s[at], s[at], 1 - t[at], t[at]
        u = np.stack([C[:, :1] * v[:, 0], 0.5 * (C[:, :1] * v[:, 1] + C[:, 1:] * v[:, 0]), C[:, 1:] * v[:, 1]], axis=1)
        q = u + np.stack([w[:, 0], 0.5 * (w[:, 0] + w[:, 1]), w[:, 1]], axis=1)
        qq, uu, ww = (part @ self._products @ part.swapaxes(1, 2) for part in (q, u, w))
        b = v[..., 2:] @ self._qq @ v[..., 2:].swapaxes(1, 2)
        linear = v[..., 2:] @ (self.left.linear, self.right.linear)
        losses = self._losses(s[at[:, 0]], s[at[:, 1]])
        e = losses + 0.5 * np.stack([b[:, 0, 0], b[:, 0, 1], b[:, 1, 1]], axis=1)  # L - a
        e += max(self.left.lost, self.right.lost) - linear @ _RAISE_1.T
        cubic = np.empty((len(low), 4))
        cubic[:, [0, 3]] = C * e[:, ::2]
        cubic[:, 1] = (C[:, 1] * e[:, 0] + 2 * C[:, 0] * e[:, 1]) / 3
        cubic[:, 2] = (2 * C[:, 1] * e[:, 1] + C[:, 0] * e[:, 2]) / 3
        rest = cubic @ _RAISE_3.T
        sizes = losses[:, ::2] + np.abs(linear) + np.diagonal(b, axis1=1, axis2=2)
        rounding = 256 * EPSILON * (np.maximum(qq[:, 0, 0], qq[:, 2, 2]) + C[:, 1] * sizes.max(axis=1))
        gap = rest + 0.5 * _squared(uu) + 0.5 * np.stack([ww[:, 0, 0], ww[:, 0, 1], ww[:, 1, 1]], axis=1) @ _RAISE_2.T
        radius = np.sqrt(np.maximum(_largest(rest + 0.25 * _squared(qq)), 0.0) + rounding)
        gaps, apart = np.maximum(_largest(gap), 0.0) + rounding, 2 * u - q
        squares = np.diagonal(apart @ self._products @ apart.swapaxes(1, 2), axis1=1, axis2=2).max(axis=1)
        # The ball of all weights with such a gap, and the ball above, whose centre is half as far away as C v.
        far = np.minimum(np.sqrt(2.0 * gaps), 0.5 * np.sqrt(np.maximum(squares, 0.0) + rounding) + radius)
        return Cells(0.5 * q, radius, apart, w, gaps, far)


def _squared(products: Floats) -> Floats:
    """Bernstein coefficients of squares of quadratic polynomials, from the products of their own."""
    p = products
    return np.stack([p[:, 0, 0], p[:, 0, 1], (p[:, 0, 2] + 2 * p[:, 1, 1]) / 3, p[:, 1, 2], p[:, 2, 2]], axis=1)


#: Bernstein coefficients of degree 2 from those of degree 1, and of degree 4 from those of degrees 2 and 3.
_RAISE_1 = np.array([[2, 0], [1, 1], [0, 2]]) / 2
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


def dot(one: Floats, two: Floats) -> float:
    """The product of two vectors, in this thread alone: to wake others takes longer than to do without them."""
    return float(np.einsum("i,i->", one, two))
