"""What a solver gives back, and what it reports on the way."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from maxmargin.problems.certificate import Certificate
from maxmargin.problems.losses import Floats

#: Why a fit ended, by the word in ``Solution.exit``.
EXITS = {
    "converged": "the certified gap is at most tol",
    "max_iter": "max_iter was reached",
    "time_limit": "time_limit was reached",
    "stopped": "a callback asked to stop",
    "epsilon": "the stopping value of the method was reached",
    "rounding": "rounding errors do not allow more",
    "stalled": "the method made no more progress",
}


class Report(NamedTuple):
    """One line of a fit's history: the exact bounds at one moment.

    ``primal`` and ``dual`` are the best values seen so far, so that gaps never rise. ``active`` counts the rows the
    method still works on: not shrunk ("dcd"), preferred ("avsf"), with a variable between its bounds ("sdm"), all
    ("online", "eg", "pegasos"), with a curved loss ("newton"), or with a nonzero dual variable ("pcd"); for
    "cutting_plane" the cuts in use. ``check_seconds`` is the part of ``seconds`` that was spent on certificates and
    reports: a fair curve over time is drawn over the difference.
    """

    solver: str
    epoch: int
    seconds: float
    primal: float
    dual: float
    gap: float
    active: int
    check_seconds: float = 0.0

    def __str__(self) -> str:
        return (
            f"{self.solver:>7}  epoch {self.epoch:>6}  {self.seconds:9.3f} s  primal {self.primal:.6e}  "
            f"dual {self.dual:.6e}  gap {self.gap:.2e}  active {self.active}"
        )


def share_done(first_gap: float, gap: float, tol: float) -> float:
    """How far a fit has come, from 0 to 1, on the logarithmic scale on which gaps shrink evenly.

    Examples
    --------
    >>> from maxmargin.solvers.solution import share_done
    >>> share_done(first_gap=1.0, gap=1e-2, tol=1e-4)
    0.5
    """
    tol = max(tol, 1e-15)
    first_gap = max(first_gap, 2 * tol)
    return min(max(math.log(first_gap / max(gap, tol)) / math.log(first_gap / tol), 0.0), 1.0)


def describe_gap(primal: float, dual: float) -> str:
    """What a certificate proves, in words.

    Examples
    --------
    >>> from maxmargin.solvers.solution import describe_gap
    >>> describe_gap(100.0, 98.0)
    'The objective is at most 2.04 % above the optimum.'
    >>> describe_gap(100.0, 20.0)
    'The objective is up to 5 times the optimum.'
    >>> describe_gap(100.0, 0.0)
    'Nothing is proved about the optimum yet, but that it is not negative.'
    """
    if primal <= dual:
        return "The objective is the optimum."
    if dual >= 0.5 * primal > 0:
        return f"The objective is at most {100 * (primal - dual) / dual:.3g} % above the optimum."
    if dual > 1e-6 * primal:
        return f"The objective is up to {primal / dual:.3g} times the optimum."
    return "Nothing is proved about the optimum yet, but that it is not negative."


def describe_shortfall(
    exit_: str, certificate: Certificate, tol: float, limits: dict[str, str], scales: str | None
) -> str | None:
    """Why a fit ended before the tolerance and what would help; None if it did not, or was asked to end.

    ``limits`` says for "max_iter" and "time_limit" how to raise them, and ``scales`` names columns on different scales.
    """
    if exit_ in ("converged", "stopped", "epsilon"):
        return None
    text = (
        f"the fit ended with a certified gap of {certificate.gap:.2e} instead of tol={tol:g}, because {EXITS[exit_]}. "
        f"{describe_gap(*certificate)}"
    )
    if exit_ == "rounding":
        return f"{text} More iterations would not help; lower C{' or scale the columns' if scales is None else ''}." + (
            f" {scales}" if scales else ""
        )
    if exit_ == "stalled":
        return f"{text} More iterations would not help; use another solver, or lower C." + (
            f" {scales}" if scales else ""
        )
    return f"{text} To get closer {limits[exit_]} or lower C." + (f" {scales}" if scales else "")


class Values(NamedTuple):
    """The primal and the dual value of a start at the problem that begins with it, and how far they may be off."""

    primal: float
    dual: float
    error: float


@dataclass(frozen=True)
class Solution:
    """A solved problem.

    ``weights`` are those of lowest primal value and ``alpha`` the dual variables of highest dual value that were seen,
    zero included; ``certificate`` holds these two values. They need not belong together, but
    ``|weights - problem.weights(alpha)|^2 <= 4 (primal - dual)`` (with a regularised bias).

    Attributes
    ----------
    weights : ndarray of shape (features + 1,) or (classes, features + 1)
        The bias weight last.
    alpha : ndarray of shape (rows,), or Csr of shape (rows, classes)
        Dual variables; for a ranking problem the sum of those of a row's pairs, with their signs.
    certificate : Certificate
        Primal value, dual value and their relative gap.
    exit : str
        Why the solver ended: a key of ``maxmargin.solvers.solution.EXITS``.
    n_iter : int
        Epochs, Newton steps or cuts, over all stages.
    solver : str
        The method used; where it changed, the stages in order, joined by ``+``.
    history : list of Report
        Every report, in order.
    seconds : float
        Time inside ``solve``.
    check_seconds : float
        The part of it spent on certificates and reports.
    points : ndarray of shape (cuts, features + 1) or None
        For a ranking problem: where the cuts in use touch the risk. A similar problem may start from there.
    values : Values or None
        Of a solution that was made to be the start of another problem: what it has there, if that is known without a
        pass over the rows.
    """

    weights: Floats
    alpha: Any
    certificate: Certificate
    exit: str
    n_iter: int
    solver: str
    seconds: float
    check_seconds: float
    history: list[Report] = field(repr=False)
    points: Floats | None = field(default=None, repr=False)
    values: Values | None = field(default=None, repr=False)

    @property
    def converged(self) -> bool:
        """Whether the certified gap is at most the tolerance asked for."""
        return self.exit == "converged"


@dataclass(frozen=True)
class Snapshot:
    """A problem on the way to its solution: where ``solve(start=...)`` goes on.

    Attributes
    ----------
    solution : Solution
        What was found so far.
    method : dict
        The method, as plain data.
    ended : tuple of str
        How the stages before the present one ended: names of ``Exit`` in lower case. The same method goes on with the
        stage that follows these.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin import BinaryProblem, solve
    >>> problem = BinaryProblem(np.array([[1.0], [-1.0]]), [1, -1])
    >>> kept = []
    >>> _ = solve(problem, "dcd", tol=1e-9, keep=kept.append, keep_seconds=1e-9)
    >>> solve(problem, "dcd", tol=1e-9, start=kept[0]).converged
    True
    """

    solution: Solution
    method: dict[str, Any]
    ended: tuple[str, ...] = ()
