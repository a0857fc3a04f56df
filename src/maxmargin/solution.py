"""What a solver gives back, and what it reports on the way."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from maxmargin.losses import Floats
from maxmargin.problems import Certificate

#: Why a fit ended, by the word in ``Solution.exit``.
EXITS = {
    "converged": "the certified gap is at most tol",
    "max_iter": "max_iter was reached",
    "time_limit": "time_limit was reached",
    "stopped": "a callback asked to stop",
}


class Report(NamedTuple):
    """One line of a fit's history: exact values at one moment.

    ``active`` counts the rows the solver still works on: not shrunk ("dcd"), preferred ("avsf"), with a variable
    between its bounds ("sdm"), all ("online", "eg", "pegasos"), with a curved loss ("newton"), or with a nonzero dual
    variable ("pcd"); for "cutting_plane" the cuts in use. Primal and dual are exact. For "newton" they belong to its
    weights ``w`` and to the dual variables read off them, for "cutting_plane" to the best iterate and to the master
    problem, and for "dcd", "avsf" and "online" the bias may be one that the dual variables only tend to; in these cases
    the variables have weights of their own, slightly different until the solver converges, and the last report of a
    fit that converges is that of the pair that is returned. "avsf" reports the mean of its iterates where it is better.
    """

    solver: str
    epoch: int
    seconds: float
    primal: float
    dual: float
    gap: float
    active: int

    def __str__(self) -> str:
        return (
            f"{self.solver:>7}  epoch {self.epoch:>6}  {self.seconds:9.3f} s  primal {self.primal:.6e}  "
            f"dual {self.dual:.6e}  gap {self.gap:.2e}  active {self.active}"
        )


def share_done(first_gap: float, gap: float, tol: float) -> float:
    """How far a fit has come, from 0 to 1, on the logarithmic scale on which gaps shrink evenly.

    Examples
    --------
    >>> from maxmargin.solution import share_done
    >>> share_done(first_gap=1.0, gap=1e-2, tol=1e-4)
    0.5
    """
    tol = max(tol, 1e-15)
    first_gap = max(first_gap, 2 * tol)
    return min(max(math.log(first_gap / max(gap, tol)) / math.log(first_gap / tol), 0.0), 1.0)


@dataclass(frozen=True)
class Solution:
    """A solved problem.

    ``weights`` and ``alpha`` belong together, ``weights == problem.weights(alpha)``, and ``certificate`` is the exact
    value of both objectives at this pair.

    Attributes
    ----------
    weights : ndarray of shape (features + 1,) or (classes, features + 1)
        The bias weight last.
    alpha : ndarray of shape (rows,), or Csr of shape (rows, classes)
        Dual variables; for a ranking problem the sum of those of a row's pairs, with their signs.
    certificate : Certificate
        Primal value, dual value and their relative gap.
    exit : str
        Why the solver ended: a key of ``maxmargin.solution.EXITS``.
    n_iter : int
        Epochs, Newton steps or cuts, over all stages.
    solver : str
        The method used; where it changed, the stages in order, joined by ``+``.
    history : list of Report
        Every report, in order.
    seconds : float
        Time inside ``solve``.
    check_seconds : float
        The part of it spent on certificates.
    points : ndarray of shape (cuts, features + 1) or None
        For a ranking problem: where the cuts in use touch the risk. A similar problem may start from there.
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

    @property
    def converged(self) -> bool:
        """Whether the certified gap is at most the tolerance asked for."""
        return self.exit == "converged"
