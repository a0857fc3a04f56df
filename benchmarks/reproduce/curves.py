"""Methods over time: what they have reached after how many seconds of their own work.

Values are exact and taken at the end of epochs, steps or cuts; the time that this takes is not counted
(`Report.check_seconds`). Values are the best so far, which favours methods that jump, such as Pegasos.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from benchmarks.reproduce.items import Cell, ratio
from maxmargin import Method, solve


@dataclass
class Curve:
    """One method on one problem; all lists have one entry for each report."""

    seconds: list[float] = field(default_factory=list)
    primal: list[float] = field(default_factory=list)
    dual: list[float] = field(default_factory=list)
    score: list[float] = field(default_factory=list)
    epochs: list[int] = field(default_factory=list)
    active: list[int] = field(default_factory=list)
    exit: str = ""

    def errors(self, optimum: float) -> list[float]:
        """Criterion (20) of Hsieh et al.: how far the primal value is above the optimum, relatively."""
        return [max(value - optimum, 0.0) / abs(optimum) for value in self.primal]

    def dual_errors(self, optimum: float) -> list[float]:
        """How far the dual value is below the optimum, relatively."""
        return [max(optimum - value, 0.0) / abs(optimum) for value in self.dual]

    def gaps(self) -> list[float]:
        """Certified relative gaps."""
        return [(primal - dual) / abs(primal) for primal, dual in zip(self.primal, self.dual, strict=True)]

    def steps(self, rows: int, adaptive: bool) -> list[float]:
        """Steps on single variables so far.

        An epoch visits the rows that were active when it began; with adaptive frequencies always as many as there are.
        """
        if adaptive:
            return [float(rows * epoch) for epoch in self.epochs]
        total, steps, before, epoch_before = 0.0, [], rows, 0
        for epoch, active in zip(self.epochs, self.active, strict=True):
            total += before * (epoch - epoch_before)
            steps.append(total)
            before, epoch_before = active, epoch
        return steps


def record(
    problem: Any,
    method: Method | str,
    *,
    seconds: float,
    tol: float = 1e-6,
    max_iter: int = 1_000_000,
    every: float = 1.0,
    score: Callable[[np.ndarray], float] | None = None,
    seed: int = 0,
) -> Curve:
    """Run a method until its gap is ``tol`` or it has worked so many seconds, its reports not counted.

    ``every`` is the interval of reports in passes over the data, and ``score`` is what to know of the weights, such as
    their test accuracy.
    """
    curve = Curve()

    def listen(report: Any, weights: np.ndarray) -> bool:
        worked = report.seconds - report.check_seconds
        curve.seconds.append(worked)
        curve.primal.append(report.primal)
        curve.dual.append(report.dual)
        curve.epochs.append(report.epoch)
        curve.active.append(report.active)
        if score is not None:
            curve.score.append(score(weights))
        return worked >= seconds

    solution = solve(
        problem,
        method,
        tol=tol,
        max_iter=max_iter,
        time_limit=8 * seconds + 5.0,
        report_passes=every,
        callback=listen,
        pack=False,
        seed=seed,
    )
    curve.exit = solution.exit
    return curve


def first_below(values: list[float], level: float, places: list[float]) -> float:
    """Where values first are at most ``level``; infinity if they never are."""
    return next((place for value, place in zip(values, places, strict=True) if value <= level), math.inf)


def thinned(x: list[float], y: list[float], most: int = 80) -> tuple[list[float], list[float]]:
    """At most so many points of a curve, dense where its logarithmic axis is."""
    if len(x) <= most:
        return x, y
    places = np.unique(np.round(np.geomspace(1, len(x), most)).astype(int)) - 1
    return [x[place] for place in places], [y[place] for place in places]


def slope(x: list[float], y: list[float]) -> float:
    """The exponent of growth: the slope of a straight line through the logarithms."""
    return float(np.polyfit(np.log(x), np.log(y), 1)[0])


def before(statement: str, ours: float, theirs: float, own: bool, *, told: str = "", factor: float = 1.0) -> Cell:
    """The statement that something takes less than ``factor`` times as many seconds as something else."""
    numbers = f"{told}{shown(ours)} s against {shown(theirs)} s"
    return Cell(statement, ours < factor * theirs, numbers, own, ratio(ours, theirs))


def shown(value: float) -> str:
    """A number with three digits, a dash for infinity."""
    return "-" if math.isinf(value) else f"{value:.3g}"
