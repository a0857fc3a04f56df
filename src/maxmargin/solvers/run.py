"""One call of ``solve`` in progress: its limits, its history, and the hook every C++ solver reports through."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from maxmargin import _core
from maxmargin.losses import Floats
from maxmargin.solution import Report

Callback = Callable[[Report, Floats], bool | None]
OnReport = Callable[[int, float, float, float, float, int, Floats], bool]
RawOutcome = tuple[Floats, Any, float, float, int, _core.Exit, float]


class Outcome(NamedTuple):
    """What a C++ solver returns."""

    weights: Floats
    alpha: Any  # an array, or for several classes at once a sparse matrix
    primal: float
    dual: float
    epochs: int
    exit: _core.Exit
    check_seconds: float
    points: Floats | None = None


#: A gap that is still so large after so many epochs, and half of those a stage is given: it gets nowhere.
FIRST_LOOK = 14
NO_PROGRESS = 0.95

#: Problem, limits, and the dual variables (or, for ranking, the points) to start from.
Solver = Callable[[Any, "Run", Any], Outcome]


@dataclass
class Run:
    """Limits that all stages of a call share, and what the stages have reported."""

    tol: float
    max_iter: int
    shrinking: bool
    seed: int
    deadline: float
    callback: Callback | None
    stop: _core.StopFlag
    start: float
    acceleration: bool = True
    adaptive: bool = True
    averaging: bool = False
    projection: bool = True
    history: list[Report] = field(default_factory=list)
    stages: list[str] = field(default_factory=list)
    n_iter: int = 0
    before_stage: int = 0
    gave_up: bool = False
    outcomes: list[Outcome] = field(default_factory=list)
    check_seconds: float = 0.0

    def time_left(self) -> float:
        """Seconds until the deadline, never negative."""
        return max(self.deadline - time.perf_counter(), 0.0)

    def stalls(self) -> bool:
        """Whether this stage, at the pace of its second half, would need more than twice its epochs again."""
        stage = [report for report in self.history if report.epoch > self.before_stage]
        last = stage[-1]
        middle = min(stage, key=lambda report: abs(report.epoch - (self.before_stage + last.epoch) / 2))
        if middle is last or not last.gap < middle.gap:
            return True
        to_go = (
            math.log(last.gap / max(self.tol, 1e-15)) / math.log(middle.gap / last.gap) * (last.epoch - middle.epoch)
        )
        return to_go > 2 * (last.epoch - self.before_stage)

    def stage(
        self, solver: str, run_core: Callable[[OnReport, float], RawOutcome], patience: float = math.inf
    ) -> Outcome:
        """Run one C++ solver as the next stage, given the hook and the time left.

        After ``patience`` epochs a stage that stalls is ended, and earlier one that has got nowhere; ``gave_up`` tells
        so.
        """
        before = self.before_stage = self.n_iter
        self.gave_up = False
        self.stages.append(solver)

        def on_report(
            epoch: int, _: float, primal: float, dual: float, gap: float, active: int, weights: Floats
        ) -> bool:
            seconds = time.perf_counter() - self.start
            report = Report(solver, before + epoch, seconds, primal, dual, gap, active)
            self.history.append(report)
            if self.callback and self.callback(report, weights):
                return True
            hopeless = gap > NO_PROGRESS and epoch >= max(FIRST_LOOK, patience / 2)
            self.gave_up = gap > self.tol and (hopeless or (epoch >= patience and self.stalls()))
            return self.gave_up

        outcome = Outcome(*run_core(on_report, self.time_left()))
        self.outcomes.append(outcome)
        self.n_iter = before + outcome.epochs
        self.check_seconds += outcome.check_seconds
        return outcome
