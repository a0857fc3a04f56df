"""One call of ``solve`` in progress: its limits, and the history of what the C++ core reports."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from maxmargin import _core
from maxmargin.problems.losses import Floats
from maxmargin.solvers.deadline import Deadline
from maxmargin.solvers.method import Exit, Plan, Stage
from maxmargin.solvers.solution import Report, Solution

Callback = Callable[[Report, Floats], bool | None]

FOREVER = float("inf")


class Recorder:
    """Receives the reports of all stages, keeps them, and passes them on.

    Parameters
    ----------
    callback : callable or None
        As in ``solve``.
    weights_of_report : callable
        Turns weights of the core into those that are returned.
    before : Solution or None
        The history, which goes on from here, of a solution that is continued.
    """

    def __init__(
        self,
        callback: Callback | None,
        weights_of_report: Callable[[Floats], Floats],
        before: Solution | None = None,
    ) -> None:
        self.callback = callback
        self.weights_of_report = weights_of_report
        self.stages: list[str] = []
        self.history: list[Report] = [] if before is None else list(before.history)
        self.epochs, self.seconds, self.check_seconds = (
            (0, 0.0, 0.0) if before is None else (before.n_iter, before.seconds, before.check_seconds)
        )
        #: Called after every report: the state can be read then.
        self.after: Callable[[], None] | None = None

    def __call__(
        self,
        epoch: int,
        seconds: float,
        check_seconds: float,
        primal: float,
        dual: float,
        gap: float,
        active: int,
        weights: Floats | None,
    ) -> bool:
        """One report of the core; true when the callback wants the fit to stop."""
        report = Report(
            self.stages[-1],
            self.epochs + epoch,
            self.seconds + seconds,
            primal,
            dual,
            gap,
            active,
            self.check_seconds + check_seconds,
        )
        self.history.append(report)
        if self.after is not None:
            self.after()
        if self.callback is None or weights is None:
            return False
        return bool(self.callback(report, self.weights_of_report(weights)))


class Run:
    """Limits that all stages of a call share.

    Parameters
    ----------
    recorder : Recorder
        Who hears the reports.
    tol, max_iter, seed, time_limit, stop, report_passes, report_seconds, pack, n_jobs
        As in ``solve``.
    with_weights : bool
        Whether reports carry weights, and the state knows the best ones when it is reported.
    """

    def __init__(
        self,
        recorder: Recorder,
        *,
        tol: float,
        max_iter: int,
        seed: int,
        time_limit: float | None,
        stop: _core.StopFlag,
        report_passes: float | None = None,
        report_seconds: float | None = None,
        pack: bool = True,
        with_weights: bool = True,
        n_jobs: int = 1,
    ) -> None:
        self.pack = pack
        self.threads = n_jobs
        self.recorder = recorder
        self.tol = tol
        self.max_iter = max_iter
        self.seed = seed
        self.stop = stop
        self.deadline = Deadline(time_limit)
        #: Whether rounding errors have stopped a method.
        self.rounding = False
        self.core = _core.Run(
            self.time_left(),
            recorder,
            stop,
            report_passes or 0.0,
            report_seconds or 0.0,
            with_weights=with_weights,
            threads=n_jobs,
        )

    def time_left(self) -> float:
        """Seconds until the deadline."""
        left = self.deadline.left()
        return FOREVER if left is None else left

    def limits(self, max_iter: int | None = None, tol: float | None = None, **others: float) -> _core.Limits:
        """The limits of a stage."""
        most = self.max_iter if max_iter is None else min(max_iter, self.max_iter)
        own: dict[str, Any] = {"max_passes": FOREVER, "worth": FOREVER, "patience": FOREVER, **others}
        return _core.Limits(self.tol if tol is None else tol, most, self.seed, **own)

    def stage(self, name: str, max_iter: int | None = None, tol: float | None = None, **others: float) -> _core.Limits:
        """Begin the next stage; its limits."""
        self.recorder.stages.append(name)
        return self.limits(max_iter, tol, **others)

    @staticmethod
    def next_stage(plan: Plan, exit_: Exit) -> Stage | None:
        """The stage that a plan has after one that ended so; None if it has no more."""
        try:
            return plan.send(exit_)
        except StopIteration:
            return None

    def silent(self, time_limit: float) -> _core.Run:
        """A run of which nobody hears, for a part of the work."""
        return _core.Run(time_limit, None, self.stop, 0.0, 0.0, with_weights=False, threads=self.threads)
