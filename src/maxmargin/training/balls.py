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
        # What scores may be off by, for each unit of the length of a row.
        sizes = np.sqrt(np.max(np.sum(weights**2, axis=1))) + C * np.sqrt(np.max(np.sum(sums**2, axis=1)))
        self.rounding = float((weights.shape[1] + 4) * EPSILON * sizes)

    @staticmethod
    def _score(problem: Any, weights: Floats, rows: Any = None) -> Floats:
        coef, intercept = np.asfortranarray(weights[:, :-1]), problem.bias * weights[:, -1]
        scores: Floats = problem.matrix.scores(coef, intercept, rows)
        return scores


class Cell(NamedTuple):
    """Balls for all values of C between two.

    Attributes
    ----------
    centre : ndarray of shape (3, 4)
        Bernstein coefficients of the centre, a quadratic polynomial of C: each a sum of the left one's weights, the
        right one's, and the left and right one's ``v``.
    radius : float
        The largest radius.
    """

    centre: Floats
    radius: float


class End(NamedTuple):
    """The shares of the right one's weights and variables in the mixtures at one C, and the losses of the weights."""

    C: float
    s: float
    t: float
    losses: float


class Pair:
    """Two points of one problem, and the products that balls between them need."""

    def __init__(self, left: Point, right: Point) -> None:
        self.left, self.right = left, right
        vectors = (left.weights, right.weights, left.sums, right.sums)
        products = np.empty((4, 4))
        for i, one in enumerate(vectors):
            for j in range(i, 4):
                products[i, j] = products[j, i] = _dot(one, vectors[j])
        self._products = products
        self._qq = np.zeros((2, 2))
        if left.beta is not None and right.beta is not None:
            problem = left.problem
            unit = problem.C / left.C
            scale = np.sqrt(problem.loss.diagonal_times_C / np.where(unit > 0, unit, 1.0))
            one, two = scale * left.beta, scale * right.beta
            self._qq = np.array([[_dot(one, one), _dot(one, two)], [_dot(one, two), _dot(two, two)]])
        elif left.beta is not None or right.beta is not None:
            raise ValueError("one of two solutions has no variables")
        self._ends: dict[float, End] = {}

    def _losses(self, s: float) -> float:
        """``L`` of a mixture of weights, from the scores of both."""
        left, right = self.left, self.right
        scores = left.scores if s == 0.0 else right.scores if s == 1.0 else (1 - s) * left.scores + s * right.scores
        return float(left.problem.losses_at(scores)) / left.C

    @cached_property
    def _slopes(self) -> tuple[float, float, float]:
        """The slopes of ``L`` along the mixtures at both ends, where weights are optima, and what bends it between."""
        ww = self._products
        first, last = ((ww[k, 0] - ww[k, 1]) / C for k, C in ((0, self.left.C), (1, self.right.C)))
        return first, last, self._losses(1.0) - self._losses(0.0) - 0.5 * (first + last)

    def share(self, C: float) -> float:
        """The share of the right one's weights for which the primal value at a C is about lowest.

        Values and slopes of the losses at both ends make them a cubic function of the share, whose slope is quadratic.
        """
        if self.right.C <= self.left.C:
            return 0.0
        ww, (first, last, bend) = self._products, self._slopes
        square = ww[0, 0] - 2 * ww[0, 1] + ww[1, 1]
        a, b, c = -6 * bend * C, square + C * (last - first + 6 * bend), ww[0, 1] - ww[0, 0] + C * first
        root = np.sqrt(max(b * b - 4 * a * c, 0.0))
        return float(min(max(-2 * c / (b + root), 0.0), 1.0)) if b + root > 0.0 else 0.0

    def share_of_variables(self, C: float) -> float:
        """The share of the right one's variables for which the dual value at a C is highest."""
        vv, qq = self._products[2:, 2:], self._qq
        slope = self.right.linear - self.left.linear - (qq[0, 1] - qq[0, 0]) - C * (vv[0, 1] - vv[0, 0])
        curvature = (qq[0, 0] - 2 * qq[0, 1] + qq[1, 1]) + C * (vv[0, 0] - 2 * vv[0, 1] + vv[1, 1])
        return min(max(slope / curvature, 0.0), 1.0) if curvature > 0.0 else float(slope > 0.0)

    def _end(self, C: float) -> End:
        if C not in self._ends:
            s = self.share(C)
            self._ends[C] = End(C, s, self.share_of_variables(C), self._losses(s))
        return self._ends[C]

    def values(self, C: float) -> tuple[float, float]:
        """The primal and the dual value of the mixtures at a C."""
        end = self._end(C)
        s, t = np.array([1 - end.s, end.s]), np.array([1 - end.t, end.t])
        linear = t @ (self.left.linear, self.right.linear)
        primal = 0.5 * s @ self._products[:2, :2] @ s + C * end.losses
        dual = C * (linear - 0.5 * t @ self._qq @ t) - 0.5 * C * C * (t @ self._products[2:, 2:] @ t)
        return float(primal), float(dual)

    def cell(self, low: float, high: float) -> Cell:
        """The balls for all values of C between two.

        ``R^2 = |q|^2/4 + C L - C a`` with ``q = w + C v``, where ``w``, ``v`` and C are linear from one end to the
        other. So ``q`` is quadratic, ``C a`` cubic, and ``L``, being convex, is below its chord.
        """
        one, two = self._end(low), self._end(high)
        w, v = np.zeros((2, 4)), np.zeros((2, 4))
        for k, end in enumerate((one, two)):
            w[k, :2] = 1 - end.s, end.s
            v[k, 2:] = 1 - end.t, end.t
        q = np.array([w[0] + low * v[0], 0.5 * (w[0] + w[1] + low * v[1] + high * v[0]), w[1] + high * v[1]])
        qq = q @ self._products @ q.T
        linear = [(1 - end.t) * self.left.linear + end.t * self.right.linear for end in (one, two)]
        b = v[:, 2:] @ self._qq @ v[:, 2:].T
        lost = max(self.left.lost, self.right.lost)
        e = [end.losses - own + lost for end, own in zip((one, two), linear, strict=True)]
        square = (
            0.25 * np.array([qq[0, 0], qq[0, 1], (qq[0, 2] + 2 * qq[1, 1]) / 3, qq[1, 2], qq[2, 2]])
            + _RAISE_2 @ np.array([low * e[0], 0.5 * (low * e[1] + high * e[0]), high * e[1]])
            + _RAISE_3
            @ np.array(
                [
                    low * b[0, 0],
                    (high * b[0, 0] + 2 * low * b[0, 1]) / 3,
                    (2 * high * b[0, 1] + low * b[1, 1]) / 3,
                    high * b[1, 1],
                ]
            )
            * 0.5
        )
        size = max(qq[0, 0], qq[2, 2]) + high * max(
            end.losses + abs(own) + own_b for end, own, own_b in zip((one, two), linear, np.diag(b), strict=True)
        )
        return Cell(0.5 * q, float(np.sqrt(max(_largest(square), 0.0) + 256 * EPSILON * size)))


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


def _largest(coefficients: Floats) -> float:
    """An upper bound of a polynomial of degree 4 over its interval: the largest coefficient after some halvings."""
    parts = coefficients[:, np.newaxis]
    for _ in range(HALVINGS):
        halves = _HALVES @ parts
        parts = np.hstack([halves[:5], halves[4:]])
    return float(parts.max())


def _dot(one: Floats, two: Floats) -> float:
    """The product of two vectors, in this thread alone: to wake others takes longer than to do without them."""
    return float(np.einsum("i,i->", one, two))


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
        problem = left.points[0].problem
        self._lengths = problem.matrix.lengths(problem.bias)[rows][chosen]
        # An empty row without a constant column has the score zero for all weights.
        self._lengths = np.maximum(self._lengths, TINY)
        self.labels = labels[chosen]
        self._unknown, self._own = self.labels < 0, np.maximum(self.labels, 0)
        self._scores = np.stack(
            [part[chosen] for part in (left.by_weights, right.by_weights, left.by_sums, right.by_sums)]
        )
        self._rounding = left.rounding + right.rounding

    def _bounds(self, low: float, high: float) -> tuple[Floats, Floats]:
        """Bernstein coefficients of the scores of the centres between two C, and the radius of each column."""
        cells = [pair.cell(low, high) for pair in self.pairs]
        radii = np.array([cell.radius for cell in cells]) + self._rounding
        if len(cells) == 1:
            shape = self._scores.shape[1:]
            centres = (cells[0].centre @ self._scores.reshape(4, -1)).reshape(3, *shape)
            return centres, np.repeat(radii, shape[1])
        return np.stack([cell.centre @ self._scores[..., k] for k, cell in enumerate(cells)], axis=-1), radii

    def _leads(self, centres: Floats, radii: Floats, high: Any, low: Any) -> Floats:
        """How far one class is above another, in units of what is needed to prove it."""
        each = np.arange(len(self.labels))
        # In one ball over all classes a difference moves by at most sqrt(2) times as much as all weights together.
        width = np.sqrt(2.0) * radii[high] if self._joint else radii[high] + radii[low]
        lead = (centres[:, each, high] - centres[:, each, low]).min(axis=0)
        return np.asarray(lead / (self._lengths * width))

    def wrong_by(self, low: float, high: float) -> Floats:
        """How surely labels are wrong at the optimum of every C between two: above 1 for those with a proof.

        With balls smaller by a factor it would be larger by that.
        """
        centres, radii = self._bounds(low, high)
        if centres.shape[2] == 1:
            # The second class is predicted where the score is positive.
            sign = np.where(self.labels == 1, -1.0, 1.0)
            surely = (sign * centres[..., 0]).min(axis=0) / (self._lengths * radii[0])
        else:
            others = centres.sum(axis=0)
            others[np.arange(len(self.labels)), self._own] = -np.inf
            surely = self._leads(centres, radii, others.argmax(axis=1), self._own)
        return np.where(self._unknown, np.inf, surely)

    def wrong(self, low: float, high: float) -> Any:
        """Rows whose label is proved to be wrong at the optimum of every C between two."""
        return self.wrong_by(low, high) > 1.0

    def right(self, low: float, high: float) -> Any:
        """Rows whose label is proved to be right at the optimum of every C between two."""
        centres, radii = self._bounds(low, high)
        if centres.shape[2] == 1:
            sign = np.where(self.labels == 1, 1.0, -1.0)
            proved = (sign * centres[..., 0]).min(axis=0) > self._lengths * radii[0]
        else:
            proved = np.ones(len(self.labels), dtype=bool)
            for rival in range(centres.shape[2]):
                others = np.full(len(self.labels), rival)
                proved &= (self._leads(centres, radii, self._own, others) > 1.0) | (self._own == rival)
        return proved & ~self._unknown
