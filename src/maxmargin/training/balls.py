"""Where the optimum's scores are, at the C that was solved for and at every other C.

From weights ``w``, dual variables ``alpha`` with ``u = w(alpha)``, and the gap ``g = P(w) - D(alpha)`` at one C, the
optimum at ``rho C`` lies in a ball with the centre ``(w + rho u) / 2`` and the radius ``R(rho)``,

    R^2 = rho g + (1 - rho) (|w|^2 - rho |u|^2) / 2 - |w - rho u|^2 / 4

(``docs/mathematics/choice.md`` derives it; for an exact solution it is the ball of Shibagaki et al. 2015). So the score
of a row lies within ``|x| R`` of that of the centre, and the values of C for which its sign is proved are an interval
with ends that solve a quadratic equation.
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


def safe_gap(primal: Any, dual: Any) -> Any:
    """``P - D`` with what rounding may have taken from it."""
    return np.maximum(primal - dual, 0.0) * (1.0 + GAP_ERROR) + VALUE_ERROR * np.abs(primal)


class Ball(NamedTuple):
    """The ball of one problem, as polynomials in ``rho``.

    Attributes
    ----------
    weights, sums : ndarray
        ``w`` and ``u``, of shape (features + 1,), or (classes, features + 1) for one problem over all classes.
    square : tuple of float
        ``R^2 = a + b rho + c rho^2``.
    rounding : float
        What scores computed in floating-point numbers may be off by, over ``|x|``.
    """

    weights: Floats
    sums: Floats
    square: tuple[float, float, float]
    rounding: float

    @classmethod
    def of(cls, problem: Any, solution: Solution) -> Ball:
        """The ball that a solution proves."""
        w, u = solution.weights, problem.weights(solution.alpha)
        gap = float(safe_gap(*solution.certificate))
        ww, uu, wu = float(np.sum(w * w)), float(np.sum(u * u)), float(np.sum(w * u))
        gap += 16 * EPSILON * (ww + uu)  # the sums below cancel
        # rho g + (ww - rho (ww + uu) + rho^2 uu) / 2 - (ww - 2 rho wu + rho^2 uu) / 4
        square = (0.25 * ww, gap - 0.5 * (ww + uu) + 0.5 * wu, 0.25 * uu)
        features = w.shape[-1]
        rounding = (features + 4) * EPSILON * (np.sqrt(ww) + np.sqrt(uu))
        return cls(w, u, square, float(rounding))

    def radius(self, rho: float) -> float:
        """``R(rho)``."""
        a, b, c = self.square
        return float(np.sqrt(max(a + b * rho + c * rho * rho, 0.0)))


def reach(first: Floats, second: Floats, lengths: Floats, square: tuple[Any, Any, Any]) -> tuple[Floats, Floats]:
    """Between which ``rho`` around 1 scores are proved to be positive.

    Parameters
    ----------
    first, second : array of shape (rows,)
        ``w.x`` and ``u.x``, less what rounding may have added: the centre's score is ``(first + rho second) / 2``.
    lengths : array of shape (rows,)
        ``|x|``.
    square : tuple of float or of arrays
        ``R^2 = a + b rho + c rho^2``.

    Returns
    -------
    low, high : ndarray of shape (rows,)
        The proof holds for ``low < rho < high``; ``low = high = 1`` for rows without one at ``rho = 1``.
    """
    a, b, c = square
    squared = lengths**2
    # (first + rho second)^2 / 4 - |x|^2 R^2 = k0 + k1 rho + k2 rho^2, positive where the centre is far enough.
    k0 = 0.25 * first**2 - squared * a
    k1 = 0.5 * first * second - squared * b
    k2 = 0.25 * second**2 - squared * c
    proved = (first + second > 0) & (k0 + k1 + k2 > 0)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        root = np.sqrt(np.maximum(k1 * k1 - 4.0 * k2 * k0, 0.0))
        # The stable form of both roots.
        q = -0.5 * (k1 + np.where(k1 >= 0, root, -root))
        roots = np.stack([q / k2, k0 / q])
    real = k1 * k1 - 4.0 * k2 * k0 >= 0
    roots = np.where(real & np.isfinite(roots), roots, np.nan)
    above = np.nanmin(np.where(roots > 1, roots, np.inf), axis=0, initial=np.inf)
    below = np.nanmax(np.where(roots < 1, roots, 0.0), axis=0, initial=0.0)
    # Between the roots the centre's score has no zero, as the square would be negative there. A margin of rounding is
    # taken off both ends.
    high = np.where(proved, np.maximum(above * (1.0 - 1e-9), 1.0), 1.0)
    low = np.where(proved, np.minimum(below * (1.0 + 1e-9), 1.0), 1.0)
    return low, high


class Reaches:
    """What the solutions of one C prove about the labels of rows, at this C and at others.

    Parameters
    ----------
    problems, solutions : list
        One for two classes, one for each of more, or one over all classes.
    rows : ndarray
        The numbers of the rows in question.
    labels : array of shape (len(rows),)
        Their own classes, as numbers of the classes that the problems are made of; -1 for a class they do not know,
        whose rows are wrong whatever C is.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin import BinaryProblem, solve
    >>> from maxmargin.training.balls import Reaches
    >>> problem = BinaryProblem(np.array([[1.0], [-1.0]]), [1, -1], C=0.1)
    >>> reaches = Reaches([problem], [solve(problem, tol=1e-6)], np.arange(2), np.array([1, 1]))
    >>> right, wrong = reaches.proved()
    >>> right.tolist(), wrong.tolist()
    ([True, False], [False, True])
    """

    def __init__(self, problems: list[Any], solutions: list[Solution], rows: Any, labels: Any) -> None:
        if not getattr(problems[0], "penalize_bias", True):
            raise ValueError("an intercept outside the regulariser is in no ball; use penalize_intercept=True")
        self.labels = labels
        self._unknown = labels < 0
        self._own = np.maximum(labels, 0)
        balls = [Ball.of(problem, solution) for problem, solution in zip(problems, solutions, strict=True)]
        matrix, bias = problems[0].matrix, problems[0].bias
        self._lengths = matrix.lengths(bias)[rows]
        joint = isinstance(problems[0], MulticlassProblem)
        self._first, self._second = (
            matrix.scores(np.asfortranarray(part[:, :-1]), bias * part[:, -1])[rows]
            for part in (
                np.vstack([ball.weights for ball in balls]),
                np.vstack([ball.sums for ball in balls]),
            )
        )
        # A difference of two classes: of one ball it moves by at most sqrt(2) times as much as all weights together; of
        # two, |x| (R_m + R_y) <= |x| sqrt(2 R_m^2 + 2 R_y^2), which is a polynomial again.
        squares = np.array([ball.square for ball in balls])
        self._squares = np.repeat(squares, self._first.shape[1], axis=0) if joint else 2.0 * squares
        self._single = None if joint or len(balls) > 1 else balls[0].square
        self._slack = (1.0 if self._single else 2.0) * max(ball.rounding for ball in balls) * self._lengths

    def _above(self, high: Any, low: Any) -> tuple[Floats, Floats]:
        """Between which ``rho`` the scores of some classes are above those of others."""
        each = np.arange(len(self.labels))
        leads = [part[each, high] - part[each, low] - self._slack for part in (self._first, self._second)]
        a, b, c = (self._squares[high] + self._squares[low]).T
        return reach(leads[0], leads[1], self._lengths, (a, b, c))

    def _signed(self, sign: Floats) -> tuple[Floats, Floats]:
        """The same for the sign of the one score of two classes."""
        assert self._single is not None
        leads = [sign * part[:, 0] - self._slack for part in (self._first, self._second)]
        return reach(leads[0], leads[1], self._lengths, self._single)

    def wrong_between(self) -> tuple[Floats, Floats]:
        """Between which ``rho`` around 1 the optimum's label of each row is wrong; both 1 where nothing is proved."""
        if self._single is not None:
            low, high = self._signed(np.where(self.labels == 1, -1.0, 1.0))
        else:
            others = self._first + self._second
            others[np.arange(len(self.labels)), self._own] = -np.inf
            low, high = self._above(others.argmax(axis=1), self._own)
        low[self._unknown], high[self._unknown] = 0.0, np.inf
        return low, high

    def proved(self) -> tuple[Any, Any]:
        """Rows whose labels at the optimum of this C are proved to be right, and to be wrong."""
        low, high = self.wrong_between()
        wrong = high > low
        if self._single is not None:
            low, high = self._signed(np.where(self.labels == 1, 1.0, -1.0))
            right = high > low
        else:
            right = ~self._unknown
            for rival in range(self._first.shape[1]):
                low, high = self._above(self._own, np.full(len(self.labels), rival))
                right &= (high > low) | (self._own == rival)
        return right & ~self._unknown, wrong
