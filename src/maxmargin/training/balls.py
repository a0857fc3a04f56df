"""Where the optimum's scores are: at the C that was solved for, and at every C between two that were.

Weights ``w`` have losses ``L(w)`` per unit of C, and dual variables ``alpha`` of some C stand for ``beta = alpha / C``,
of which ``v = sum_i beta_i x_i`` and ``a(beta)``, what the dual value has beside ``-|C v|^2/2`` per unit of C, do not
depend on C. At any C they give the bounds ``|w|^2/2 + C L(w)`` and ``C a(beta) - C^2 |v|^2/2``, and the optimum lies in
the ball with the centre ``(w + C v) / 2`` and the radius

    R^2 = |w|^2/2 + C L - C a + C^2 |v|^2/2 - |w - C v|^2/4

(``docs/mathematics/choice.md`` derives it). Between two solved C, mixtures of their weights and of their variables are
very near to the optimum, and their L and a follow from the scores and variables of the two: no pass over the data.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from maxmargin.problems.losses import Floats
from maxmargin.problems.multiclass import MulticlassProblem
from maxmargin.solvers.solution import Solution

EPSILON = float(np.finfo(np.float64).eps)
#: By how much verified bounds may be off: this share of the gap, and this share of the primal value.
GAP_ERROR, VALUE_ERROR = 1e-5, 1e-13
#: Between two solutions the losses of mixtures are computed at so many places, and bounded by chords in between.
CHORDS = 32


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
    linear: float
    lost: float

    @classmethod
    def of(cls, problem: Any, solution: Solution, C: float, scores: Floats) -> Point:
        """The point of a solution."""
        w, v = solution.weights.ravel(), problem.weights(solution.alpha).ravel() / C
        primal, dual = solution.certificate
        vv = _dot(v, v)
        _, quadratic = problem.dual_parts(solution.alpha)
        linear = (dual + 0.5 * quadratic + 0.5 * C * C * vv) / C
        rounding = 16 * EPSILON * (_dot(w, w) + C * C * vv + quadratic + abs(primal) + abs(dual))
        lost = (float(safe_gap(primal, dual)) - max(primal - dual, 0.0) + rounding) / C
        return cls(problem, C, w, v, scores, solution.alpha / C if quadratic > 0.0 else None, linear, lost)


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
        if not getattr(problems[0], "penalize_bias", True):
            raise ValueError("an intercept outside the regulariser is in no ball; use penalize_intercept=True")
        self.C = C
        self.joint = isinstance(problems[0], MulticlassProblem)
        weights = np.vstack([solution.weights for solution in solutions])
        scores = self._score(problems[0], weights)
        self.points = [
            Point.of(problem, solution, C, scores if self.joint else scores[:, k])
            for k, (problem, solution) in enumerate(zip(problems, solutions, strict=True))
        ]
        sums = np.vstack([point.sums.reshape(-1, weights.shape[1]) for point in self.points])
        self.by_weights, self.by_sums = scores[rows], self._score(problems[0], sums)[rows]
        # What scores may be off by, for each unit of the length of a row.
        sizes = np.sqrt(np.max(np.sum(weights**2, axis=1))) + C * np.sqrt(np.max(np.sum(sums**2, axis=1)))
        self.rounding = float((weights.shape[1] + 4) * EPSILON * sizes)

    @staticmethod
    def _score(problem: Any, weights: Floats) -> Floats:
        scores: Floats = problem.matrix.scores(np.asfortranarray(weights[:, :-1]), problem.bias * weights[:, -1])
        return scores


class Mixture(NamedTuple):
    """A ball, for values of C near each other, from mixtures of what two solutions found.

    Attributes
    ----------
    s, t : float
        The shares of the right one's weights and variables.
    square : tuple of float
        ``R^2 = a + b C + c C^2``, which is convex in C.
    """

    s: float
    t: float
    square: tuple[float, float, float]

    def radius(self, low: float, high: float) -> float:
        """The largest radius for the values of C between two."""
        a, b, c = self.square
        return float(np.sqrt(max(0.0, *(a + b * C + c * C * C for C in (low, high)))))


class Pair:
    """Two points of one problem, and the products that balls between them need."""

    def __init__(self, left: Point, right: Point) -> None:
        self.left, self.right = left, right
        self.ww = _products(left.weights, right.weights)
        self.vv = _products(left.sums, right.sums)
        self.wv = [_dot(w, v) for w in (left.weights, right.weights) for v in (left.sums, right.sums)]
        self.qq = (0.0, 0.0, 0.0)
        if left.beta is not None and right.beta is not None:
            problem = left.problem
            unit = problem.C / left.C
            scale = np.sqrt(problem.loss.diagonal_times_C / np.where(unit > 0, unit, 1.0))
            self.qq = _products(scale * left.beta, scale * right.beta)
        elif left.beta is not None or right.beta is not None:
            raise ValueError("one of two solutions has no variables")
        self._bend: float | None = None
        self._samples: dict[int, float] = {}

    def losses(self, s: float) -> float:
        """An upper bound of ``L`` of a mixture of weights: a chord between two of its values, as it is convex."""
        first = min(int(s * CHORDS), CHORDS - 1)
        rest = s * CHORDS - first
        if rest == 0.0:
            return self._sample(first)
        return (1.0 - rest) * self._sample(first) + rest * self._sample(first + 1)

    def _sample(self, number: int) -> float:
        """``L`` of one of the mixtures, exactly, from the scores of both."""
        if number not in self._samples:
            s = number / CHORDS
            scores = self.left.scores if number == 0 else (1 - s) * self.left.scores + s * self.right.scores
            self._samples[number] = float(self.left.problem.losses_at(scores)) / self.left.C
        return self._samples[number]

    def share(self, C: float) -> float:
        """The share of the right one's weights that is near the best at a C: exact in the middle, smooth beside it."""
        ratio = self.right.C / self.left.C
        if ratio <= 1.0:
            return 0.0
        if self._bend is None:
            middle = np.sqrt(self.left.C * self.right.C)
            best = _minimum(lambda s: 0.5 * _mixed(self.ww, s) + middle * self.losses(s))
            self._bend = 4.0 * (best - 0.5)
        x = float(np.log(C / self.left.C) / np.log(ratio))
        return min(max(x + self._bend * x * (1.0 - x), 0.0), 1.0)

    def at(self, C: float) -> Mixture:
        """The ball for values near a C."""
        s = self.share(C)
        linear = (self.left.linear, self.right.linear)
        slope = linear[1] - linear[0] - (self.qq[1] - self.qq[0]) - C * (self.vv[1] - self.vv[0])
        curvature = (self.qq[0] - 2 * self.qq[1] + self.qq[2]) + C * (self.vv[0] - 2 * self.vv[1] + self.vv[2])
        t = min(max(slope / curvature, 0.0), 1.0) if curvature > 0.0 else float(slope > 0.0)
        ww, vv, qq = _mixed(self.ww, s), _mixed(self.vv, t), _mixed(self.qq, t)
        wv = (1 - s) * ((1 - t) * self.wv[0] + t * self.wv[1]) + s * ((1 - t) * self.wv[2] + t * self.wv[3])
        dual = (1 - t) * linear[0] + t * linear[1] - 0.5 * qq
        lost = max(self.left.lost, self.right.lost)
        loss = self.losses(s)
        rounding = 64 * EPSILON * (ww + C * C * vv + C * (loss + abs(dual) + qq))
        return Mixture(s, t, (0.25 * ww + rounding, loss - dual + lost + 0.5 * wv, 0.25 * vv))


def _products(one: Floats, two: Floats) -> tuple[float, float, float]:
    return _dot(one, one), _dot(one, two), _dot(two, two)


def _dot(one: Floats, two: Floats) -> float:
    """The product of two vectors, in this thread alone: to wake others takes longer than to do without them."""
    return float(np.einsum("i,i->", one, two))


def _mixed(products: tuple[float, float, float], s: float) -> float:
    """The square of ``(1 - s) left + s right``."""
    return (1 - s) ** 2 * products[0] + 2 * s * (1 - s) * products[1] + s * s * products[2]


def _minimum(function: Any, low: float = 0.0, high: float = 1.0, rounds: int = 9) -> float:
    """Where a convex function is about lowest, by golden sections."""
    golden = 0.6180339887498949
    one, two = high - golden * (high - low), low + golden * (high - low)
    at_one, at_two = function(one), function(two)
    for _ in range(rounds):
        if at_one < at_two:
            high, two, at_two = two, one, at_one
            one = high - golden * (high - low)
            at_one = function(one)
        else:
            low, one, at_one = one, two, at_two
            two = low + golden * (high - low)
            at_two = function(two)
    return 0.5 * (low + high)


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

    def __init__(self, left: Seen, right: Seen, rows: Any, labels: Any) -> None:
        self._joint = left.joint
        self._pairs = [Pair(one, two) for one, two in zip(left.points, right.points, strict=True)]
        problem = left.points[0].problem
        self._lengths = problem.matrix.lengths(problem.bias)[rows]
        self.labels, self._unknown, self._own = labels, labels < 0, np.maximum(labels, 0)
        self._scores = [left.by_weights, left.by_sums, right.by_weights, right.by_sums]
        self._rounding = left.rounding + right.rounding

    def _bounds(self, low: float, high: float) -> tuple[Floats, Floats, Floats]:
        """The scores of the centres at two values of C, and the radius of each column in between."""
        C = float(np.sqrt(low * high))
        mixtures = [pair.at(C) for pair in self._pairs]
        radii = np.array([mixture.radius(low, high) for mixture in mixtures])
        s, t = (np.array(part) for part in zip(*((mixture.s, mixture.t) for mixture in mixtures), strict=True))
        if self._joint:
            columns = self._scores[0].shape[1]
            s, t, radii = np.repeat(s, columns), np.repeat(t, columns), np.repeat(radii, columns)
        w = (1 - s) * self._scores[0] + s * self._scores[2]
        v = (1 - t) * self._scores[1] + t * self._scores[3]
        return 0.5 * (w + low * v), 0.5 * (w + high * v), radii + self._rounding

    def _above(self, centres: Any, radii: Floats, high: Any, low: Any) -> Any:
        """Rows of which one class is proved to be above another."""
        each = np.arange(len(self.labels))
        # In one ball over all classes a difference moves by at most sqrt(2) times as much as all weights together.
        width = np.sqrt(2.0) * radii[high] if self._joint else radii[high] + radii[low]
        lead = np.minimum(*(centre[each, high] - centre[each, low] for centre in centres))
        return lead > self._lengths * width

    def wrong(self, low: float, high: float) -> Any:
        """Rows whose label is proved to be wrong at the optimum of every C between two."""
        first, last, radii = self._bounds(low, high)
        if first.shape[1] == 1:
            # The second class is predicted where the score is positive.
            sign = np.where(self.labels == 1, -1.0, 1.0)
            proved = np.minimum(sign * first[:, 0], sign * last[:, 0]) > self._lengths * radii[0]
        else:
            others = first + last
            others[np.arange(len(self.labels)), self._own] = -np.inf
            proved = self._above((first, last), radii, others.argmax(axis=1), self._own)
        return proved | self._unknown

    def right(self, low: float, high: float) -> Any:
        """Rows whose label is proved to be right at the optimum of every C between two."""
        first, last, radii = self._bounds(low, high)
        if first.shape[1] == 1:
            sign = np.where(self.labels == 1, 1.0, -1.0)
            proved = np.minimum(sign * first[:, 0], sign * last[:, 0]) > self._lengths * radii[0]
        else:
            proved = np.ones(len(self.labels), dtype=bool)
            for rival in range(first.shape[1]):
                others = np.full(len(self.labels), rival)
                proved &= self._above((first, last), radii, self._own, others) | (self._own == rival)
        return proved & ~self._unknown

    def keep(self, rows: Any) -> None:
        """Forget all rows but some."""
        self.labels, self._unknown, self._own = self.labels[rows], self._unknown[rows], self._own[rows]
        self._lengths = self._lengths[rows]
        self._scores = [scores[rows] for scores in self._scores]
