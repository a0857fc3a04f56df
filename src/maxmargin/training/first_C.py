"""The C up to which a model is known without being solved for: where a path over C begins.

For small C every row (or pair) has a loss, so that every dual variable has the value that the slope of the loss gives
it, and the weights are a sum over all rows. ``docs/mathematics/path.md`` derives how far this goes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from maxmargin.problems.binary import BinaryProblem
from maxmargin.problems.losses import Floats
from maxmargin.problems.multiclass import MulticlassProblem
from maxmargin.problems.ranking import RankingProblem
from maxmargin.problems.regression import RegressionProblem
from maxmargin.solvers.solve import solve

#: Where rows do not matter at all the model is zero for every C; then a path begins here.
ANY_C = 1.0
#: How often an interval of C is halved.
HALVINGS = 60
#: The accuracy with which the linear part of a path of Crammer and Singer is found, and how often it is looked for.
PROBE_TOL, MOST_PROBES = 1e-3, 8


def first_C(problem: Any, tol: float) -> float:
    """The C up to which the model of a problem is known, in units of the problem's own C.

    Parameters
    ----------
    problem : BinaryProblem, RegressionProblem, MulticlassProblem or RankingProblem
        A problem, of which the weights of the rows are those of ``C = 1``.
    tol : float
        For curved losses and regressions: the relative duality gap that the closed form may have.

    Returns
    -------
    float
        Positive and finite.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin import BinaryProblem
    >>> from maxmargin.training.first_C import first_C
    >>> first_C(BinaryProblem(np.array([[2.0], [-1.0]]), [1, -1], loss="hinge"), tol=1e-3)  # v = 3, 3 * 2 C <= 1
    0.16666666666666666
    """
    return _FIRST[problem.kind](problem, tol)


def _inverse(largest: float) -> float:
    return 1.0 / largest if largest > 0.0 else ANY_C


def _columns(problem: BinaryProblem) -> float:
    """The value of the constant column that counts for the weights."""
    return problem.bias if problem.penalize_bias else 0.0


def _first_hinge(problem: BinaryProblem) -> float:
    """``alpha_i = C_i`` as long as no margin is above 1."""
    used, y, c = problem.C > 0, problem.y.astype(np.float64), problem.C
    signed = c * y
    if not problem.penalize_bias:
        # The variables of the two classes must have the same sum. Where the classes have different weights, those of
        # the heavier one are scaled down, which is feasible but not yet the optimum.
        sides = [signed[y > 0].sum(), -signed[y < 0].sum()]
        if min(sides) == 0.0:
            return ANY_C
        signed = signed * np.where(y > 0, min(sides) / sides[0], min(sides) / sides[1])
    bias = _columns(problem)
    z = problem.X @ (problem.X.T @ signed) + bias**2 * signed.sum()
    if problem.penalize_bias:
        return _inverse(float((y * z)[used].max()))
    # Some bias leaves a loss to every row: 1 - C z_i >= b for the one class and b >= -1 - C z_i for the other.
    return _inverse(0.5 * float(z[used & (y > 0)].max() - z[used & (y < 0)].min()))


def _first_curved(problem: BinaryProblem, tol: float) -> float:
    """``w = k v`` with ``k = C / d`` as long as ``k^2 sum_i c_i (x_i.v)^2 <= tol (S - k |v|^2)``."""
    c, y = problem.C, problem.y.astype(np.float64)
    center = 0.0 if problem.penalize_bias else float(c @ y / c.sum())  # the bias of w = 0
    signed = c * (y - center)
    bias = _columns(problem)
    v = problem.X.T @ signed
    square = float(v @ v) + bias**2 * float(signed.sum()) ** 2
    z = problem.X @ v + bias**2 * signed.sum()
    M, S = float(c @ z**2), float(c.sum()) * (1.0 - center**2)
    if not (M > 0.0 and S > 0.0):
        return ANY_C
    k = (np.sqrt((tol * square) ** 2 + 4.0 * M * tol * S) - tol * square) / (2.0 * M)
    return float(k) * problem.loss.diagonal_times_C


def _first_of_residuals(problem: RegressionProblem, tol: float) -> float:
    """``alpha_i = C_i times the slope of the loss at weights of zero`` as long as the gap is at most ``tol``.

    With ``v`` the sum of rows times these slopes the weights are ``C v``. One pass over the rows gives ``v`` and the
    scores by it, and so both values at any C.
    """
    c, loss = problem.C, problem.loss
    bias = problem.best_bias(np.zeros(problem.shape[1])) * problem.bias if not problem.penalize_bias else 0.0
    y = problem.y - bias
    outside = y - np.clip(y, -loss.epsilon, loss.epsilon)
    slopes = np.sign(outside) if not loss.is_curved else outside / loss.diagonal_times_C
    if not problem.penalize_bias:  # the variables must add up to zero: those of the heavier side are scaled down
        sides = float(c @ np.maximum(slopes, 0.0)), float(c @ np.maximum(-slopes, 0.0))
        if min(sides) == 0.0:
            return ANY_C
        slopes = slopes * np.where(slopes > 0, min(sides) / sides[0], min(sides) / sides[1])
    signed = c * slopes
    v, column = problem.X.T @ signed, problem.bias if problem.penalize_bias else 0.0
    square = float(v @ v) + column**2 * float(signed.sum()) ** 2
    z = problem.X @ v + column**2 * signed.sum()
    gain = float(loss.dual_terms(signed, c, y).sum())
    if not (square > 0.0 and gain > 0.0):
        return ANY_C

    def gap(C: float) -> float:
        primal = 0.5 * C * square + float(loss.primal(y - C * z, c).sum())
        return (primal - gain + 0.5 * C * square) / primal  # all of it per unit of C

    # At C = gain / |v|^2 the dual value is highest, and the closed form of no use beyond.
    low, high = 0.0, gain / square
    if gap(0.0) > tol:
        return high  # targets within the tube of one side only, or sides of different weight: there is no closed form
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if gap(middle) <= tol else (low, middle)
    return low if low > 0.0 else high


def _first_of_l1(problem: BinaryProblem) -> float:
    """No weight is in use while ``|sum_i alpha_i y_i x_i| <= 1`` for the variables of the slacks ``1 - y_i b``."""
    c, y = problem.C, problem.y.astype(np.float64)
    center = 0.0 if problem.penalize_bias else float(c @ y / c.sum())  # the bias of w = 0
    signed = c * (y - center) / problem.loss.diagonal_times_C
    largest = float(np.abs(problem.X.T @ signed).max(initial=0.0))
    return _inverse(max(largest, abs(_columns(problem) * float(signed.sum()))))


def _first_of_classes(problem: MulticlassProblem) -> float:
    """Weston and Watkins: every variable is ``C_i``; Crammer and Singer: every sum of a row's variables is."""
    rows = np.arange(problem.shape[0])
    beta = -np.repeat(problem.C[:, np.newaxis], problem.n_classes, axis=1)
    beta[rows, problem.y] *= -(problem.n_classes - 1)
    v = np.hstack([(problem.X.T @ beta).T, problem.bias * beta.sum(axis=0)[:, np.newaxis]])
    used = problem.C > 0
    first = _inverse(float(_leads(problem, v)[used].max()))
    if problem.formulation == "weston_watkins" or problem.n_classes == 2:
        return first
    # How the C_i are divided between the classes is a problem of its own, whose solution is the same for all small C.
    # So it is solved once, for a C at which all rows have a loss, and the weights are W C from there on.
    for _ in range(MOST_PROBES):
        probe = MulticlassProblem(
            problem.matrix, problem.y, first * problem.C, n_classes=problem.n_classes, bias=problem.bias
        )
        least = float(_leads(problem, solve(probe, tol=PROBE_TOL).weights)[used].min(axis=1).max())
        if least < 1.0:
            return first / least if least > 0.0 else first
        first /= 2.0 * least
    return first


def _leads(problem: MulticlassProblem, weights: Floats) -> Floats:
    """``(w_y - w_m).x_i`` for the other classes ``m`` of each row."""
    scores = problem.scores(weights)
    rows = np.arange(len(scores))
    leads = scores[rows, problem.y][:, np.newaxis] - scores
    other = np.ones(leads.shape, dtype=bool)
    other[rows, problem.y] = False
    return leads[other].reshape(len(scores), -1)


def _first_of_pairs(problem: RankingProblem) -> float:
    """Every variable of a pair is its share of C as long as no pair is ordered by a difference above 1."""
    ranks = problem.ranks
    weights = np.ones(len(ranks.y)) if ranks.scaled_weights is None else ranks.scaled_weights
    groups = np.zeros(len(ranks.y), dtype=np.int64) if ranks.group_of is None else ranks.group_of
    used = np.flatnonzero(weights > 0)
    order = used[np.lexsort((ranks.y[used], groups[used]))]
    group, y, weight = groups[order], ranks.y[order], weights[order]
    new_group = np.append(True, group[1:] != group[:-1])
    new_level = new_group | np.append(True, y[1:] != y[:-1])
    level, of_group = np.cumsum(new_level) - 1, np.cumsum(new_group) - 1
    # Weights of the rows below and above each level, within its group.
    of_level = np.bincount(level, weights=weight)
    group_of_level = of_group[new_level]
    total = np.bincount(group_of_level, weights=of_level)
    before = np.cumsum(of_level) - of_level
    below = before - before[np.flatnonzero(np.append(True, np.diff(group_of_level) > 0))][group_of_level]
    above = total[group_of_level] - below - of_level
    coefficients = np.zeros(len(ranks.y))
    coefficients[order] = weight * (below - above)[level]
    v = problem.X.T @ coefficients / ranks.pairs.total()
    scores = np.asarray(problem.X @ v)[order]
    largest = 0.0
    for first, last in zip(*_runs(of_group), strict=True):
        lowest = np.inf  # of the levels below
        for begin, end in zip(*_runs(level[first:last]), strict=True):
            own = scores[first + begin : first + end]
            largest = max(largest, float(own.max()) - lowest)
            lowest = min(lowest, float(own.min()))
    return _inverse(largest)


#: How the first C is found, by the kind of the problem.
_FIRST: dict[str, Callable[[Any, float], float]] = {
    "binary": lambda problem, tol: _first_curved(problem, tol) if problem.loss.is_curved else _first_hinge(problem),
    "l1": lambda problem, _: _first_of_l1(problem),
    "regression": _first_of_residuals,
    "crammer_singer": lambda problem, _: _first_of_classes(problem),
    "weston_watkins": lambda problem, _: _first_of_classes(problem),
    "ranking": lambda problem, _: _first_of_pairs(problem),
}


def _runs(numbers: Any) -> tuple[list[int], list[int]]:
    """Where runs of equal numbers begin and end."""
    begins = np.flatnonzero(np.append(True, numbers[1:] != numbers[:-1]))
    return begins.tolist(), [*begins[1:].tolist(), len(numbers)]
