"""What methods by rounds share: the best bounds, limits, reports, and what they found."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from maxmargin.problems.certificate import Certificate
from maxmargin.problems.losses import Floats
from maxmargin.solvers.deadline import Deadline
from maxmargin.solvers.run import Callback
from maxmargin.solvers.solution import Report


class Watch:
    """Keeps the two bounds of one problem, reports them, and says when to end.

    Parameters
    ----------
    name : str
        The method, for reports.
    features : int
        Columns, without the constant one.
    primal : float
        The objective of weights that are all zero.
    tol, max_iter : float, int
        When to end.
    deadline : Deadline
        When to end at the latest.
    callback : callable or None
        As in ``solve``.
    stopped : callable
        Whether somebody else asked to end.
    """

    def __init__(
        self,
        name: str,
        features: int,
        primal: float,
        *,
        tol: float,
        max_iter: int,
        deadline: Deadline,
        callback: Callback | None = None,
        stopped: Callable[[], bool] = lambda: False,
    ) -> None:
        self.name, self.tol, self.max_iter, self.deadline = name, tol, max_iter, deadline
        self.callback, self.stopped = callback, stopped
        self.weights: Floats = np.zeros(features + 1)
        self.primal, self.dual = primal, 0.0
        self.rounds = 0
        self.exit = "converged"
        self.history: list[Report] = []

    def offer_primal(self, weights: Floats, value: float) -> None:
        """Weights and their objective."""
        if value < self.primal:
            self.primal, self.weights = float(value), weights

    def offer_dual(self, value: float) -> bool:
        """The dual value of some variables; true if it is the best so far."""
        if value <= self.dual:
            return False
        self.dual = float(value)
        return True

    @property
    def certificate(self) -> Certificate:
        """The bounds so far."""
        return Certificate(self.primal, self.dual)

    def give_up(self) -> None:
        """Rounding errors do not allow more."""
        self.exit = "rounding"

    def ended(self, active: int = 0) -> bool:
        """Report a round; whether it was the last one."""
        self.rounds += 1
        gap = self.certificate.gap
        report = Report(self.name, self.rounds, self.deadline.spent(), self.primal, self.dual, gap, active)
        self.history.append(report)
        asked = self.callback is not None and bool(self.callback(report, self.weights))
        left = self.deadline.left()
        if gap <= self.tol:
            self.exit = "converged"
        elif asked or self.stopped():
            self.exit = "stopped"
        elif left is not None and left <= 1e-9:
            self.exit = "time_limit"
        elif self.rounds >= self.max_iter:
            self.exit = "max_iter"
        else:
            return False
        return True


@dataclass(frozen=True)
class Found:
    """What a method by rounds found: its bounds, computed once more from the data; the rest is in its watch."""

    certificate: Certificate
    watch: Watch
