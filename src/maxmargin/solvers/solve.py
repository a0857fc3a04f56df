"""The one way in: ``solve(problem, ...) -> Solution``."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from numbers import Real
from typing import Any

from maxmargin import _core
from maxmargin.problems.binary import BinaryProblem
from maxmargin.problems.certificate import Certificate
from maxmargin.problems.measure import MeasureProblem
from maxmargin.problems.multiclass import MulticlassProblem
from maxmargin.problems.one_class import OneClassProblem
from maxmargin.problems.ranking import RankingProblem
from maxmargin.problems.regression import RegressionProblem
from maxmargin.solvers.method import Exit, Method, Stage
from maxmargin.solvers.methods import method_of, method_to_json
from maxmargin.solvers.run import Callback, Recorder, Run
from maxmargin.solvers.solution import Snapshot, Solution
from maxmargin.solvers.threads import count_threads


def solve(
    problem: BinaryProblem | RegressionProblem | OneClassProblem | MulticlassProblem | RankingProblem | MeasureProblem,
    solver: str | Method = "auto",
    *,
    tol: float = 1e-3,
    max_iter: int = 10_000,
    time_limit: float | None = None,
    start: Any = None,
    seed: int = 0,
    callback: Callback | None = None,
    stop: _core.StopFlag | None = None,
    n_jobs: int | None = None,
    report_passes: float | None = None,
    report_seconds: float | None = None,
    pack: bool = True,
    keep: Callable[[Snapshot], None] | None = None,
    keep_seconds: float = 60.0,
) -> Solution:
    """Solve a problem to a certified relative duality gap.

    Parameters
    ----------
    problem : BinaryProblem, RegressionProblem, OneClassProblem, MulticlassProblem, RankingProblem or MeasureProblem
        What to minimise.
    solver : str or Method, default="auto"
        The method, as an object with its options, such as ``DualCoordinateDescent(order="cyclic")``, or by its short
        name. Binary problems: "dcd" is dual coordinate descent with shrinking, "avsf" the same with adaptive selection
        frequencies, "online" with rows picked at random, "newton" Newton's method in the primal, "pcd" primal
        coordinate descent (not for the hinge), "cutting_plane" and "pegasos" (both for the hinge only). Regression: the
        same but the last two, "pcd" for the squared losses only; one class: "active_set", working sets of rows near the
        hyperplane, and "dcd", "avsf", "online", "newton". Several classes at once: "sdm", the sequential dual method,
        "newton", for few weights in all, and, for Crammer & Singer, "eg", exponentiated gradient, and "cutting_plane".
        Ranking: "cutting_plane". "auto" chooses.
    tol : float, default=1e-3
        Stop when ``(primal - dual) / |primal|`` is at most this, computed exactly.
    max_iter : int, default=10000
        Most epochs (or Newton steps, or cuts) per stage.
    time_limit : float, optional
        Seconds after which the best bounds so far are returned.
    start : Solution or array, optional
        What is known of the solution: that of a similar problem, or dual variables (of shape (rows,), or (rows,
        classes), dense or sparse), or for ranking weights at which cuts are made (of shape (any, features + 1)). They
        are brought within their bounds. A `Snapshot` continues a call that did not end.
    seed : int, default=0
        Seed of this call's own random generator: the same seed gives the same bits.
    callback : callable, optional
        Called as ``callback(report, weights)`` after every exact evaluation, with a `Report` and a copy of the best
        weights so far; returning true stops the solver.
    stop : StopFlag, optional
        Setting it from another thread stops the solver.
    n_jobs : int, optional
        Threads for this one problem; None means 1, -1 all processors. "newton", but for one class, and "cutting_plane"
        for ranking share their loops among them, most methods their certificates, with the same bits for any number.
        "dcd" and "avsf" share sweeps over sparse rows unless they are short (see `DualCoordinateDescent`), with the
        same bits for any number from 2 on. Other methods work on one.
    report_passes, report_seconds : float, optional
        Evaluate and report at least as often as this, in passes over the data or in seconds of work, at the end of an
        epoch, step or cut. By default methods evaluate when it pays. ``Report.check_seconds`` tells what it costs.

    pack : bool, default=True
        Whether sweeps over sparse rows may run on a packed copy of them where that pays and memory allows
        (``maxmargin/solvers/packing.py`` has the rule). False: the rows are used where they lie, always.
    keep : callable, optional
        Called with a `Snapshot` at the end of an epoch, step or cut, so that never more than ``keep_seconds`` and the
        time of one of these is lost when the process ends.
    keep_seconds : float, default=60.0
        That interval.

    Returns
    -------
    Solution
        Weights, dual variables, certificate and history.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin import BinaryProblem, solve
    >>> X = np.array([[2.0, 0.0], [0.0, 1.0], [-1.0, 0.0]])
    >>> solution = solve(BinaryProblem(X, [1, 1, -1], loss="hinge"), tol=1e-6)
    >>> solution.converged, solution.certificate.gap <= 1e-6
    (True, True)
    """
    method = method_of(solver, problem.kind, getattr(problem, "loss", None), getattr(problem, "penalize_bias", True))
    _check_number("keep_seconds", keep_seconds, "a positive number", lambda value: value > 0)
    limits = checked_limits(
        tol=tol,
        max_iter=max_iter,
        time_limit=time_limit,
        seed=seed,
        stop=stop,
        report_passes=report_passes,
        report_seconds=report_seconds,
        pack=pack,
        n_jobs=n_jobs,
    )
    return Call(problem, method, start, callback, keep, keep_seconds, **limits).finish()


def checked_limits(
    *,
    tol: float = 1e-3,
    max_iter: int = 10_000,
    time_limit: float | None = None,
    seed: int = 0,
    stop: _core.StopFlag | None = None,
    report_passes: float | None = None,
    report_seconds: float | None = None,
    pack: bool = True,
    n_jobs: int | None = None,
) -> dict[str, Any]:
    """The limits of a `Run`; those that make no sense are errors."""
    _check_number("tol", tol, "a number >= 0", lambda value: value >= 0)
    _check_number(
        "max_iter", max_iter, "a whole number from 1 on", lambda value: 1 <= value < 2**62 and value == int(value)
    )
    _check_number(
        "seed",
        seed,
        "a whole number from 0 on and below 2**63",
        lambda value: 0 <= value < 2**63 and value == int(value),
    )
    if stop is not None and not isinstance(stop, _core.StopFlag):
        raise TypeError(f"stop must be a maxmargin._core.StopFlag, not {type(stop).__name__}")
    for name, limit in (
        ("time_limit", time_limit),
        ("report_passes", report_passes),
        ("report_seconds", report_seconds),
    ):
        if limit is not None:
            _check_number(name, limit, "a positive number", lambda value: value > 0)
    if pack not in (True, False):
        raise ValueError(f"pack must be True or False, not {pack!r}")
    return {
        "tol": float(tol),
        "max_iter": int(max_iter),
        "seed": int(seed),
        "time_limit": time_limit,
        "stop": stop or _core.StopFlag(),
        "report_passes": report_passes,
        "report_seconds": report_seconds,
        "pack": bool(pack),
        "n_jobs": count_threads(n_jobs),
    }


def _check_number(name: str, value: Any, expected: str, is_right: Callable[[Any], bool]) -> None:
    """Refuse what is no number, and numbers that are not right; NaN never is."""
    if not isinstance(value, Real) or isinstance(value, bool) or not is_right(value):
        raise ValueError(f"{name} must be {expected}, not {value!r}")


class Call:
    """One problem on its way through the stages of a method's plan.

    Parameters
    ----------
    problem : BinaryProblem, RegressionProblem, OneClassProblem, MulticlassProblem or RankingProblem
        What to minimise.
    method : Method
        A method that takes it.
    start, callback, keep, keep_seconds
        As in `solve`.
    **limits
        Those of a `Run`.
    """

    def __init__(
        self,
        problem: Any,
        method: Method,
        start: Any = None,
        callback: Callback | None = None,
        keep: Callable[[Snapshot], None] | None = None,
        keep_seconds: float = 60.0,
        **limits: Any,
    ) -> None:
        self.begin = time.perf_counter()
        self.problem, self.method = problem, method
        self.keep, self.keep_seconds = keep, keep_seconds
        self.known = start if isinstance(start, Snapshot) else None
        before = None if self.known is None else self.known.solution
        self.recorder = Recorder(callback, problem.weights_of_report, before)
        if keep is not None:
            # Two of these moments are at most one interval apart, wherever it ends between them.
            limits["report_seconds"] = min(limits.get("report_seconds") or keep_seconds, keep_seconds / 2)
        self.run = Run(self.recorder, with_weights=callback is not None or keep is not None, **limits)
        made = time.perf_counter()
        if limits.get("n_jobs", 1) > 1:
            problem.matrix.rows.measure(limits["n_jobs"])
        self.state: Any = method.state(problem, start if before is None else before)
        # To verify the bounds and to read them out takes about as long as to make the state.
        self.run.core.reserve(time.perf_counter() - made)

    def finish(self, exit_: Exit | None = None) -> Solution:
        """All stages of the plan, unless a stage before it has ended so; the solution."""
        problem, state, run = self.problem, self.state, self.run
        if exit_ is None or exit_ is Exit.BUDGET:
            plan = self.method.plan(problem, state, run)
            stage: Stage | None = next(plan)
            ended: list[str] = []
            if self.known is not None:
                ended = self._known_ends()
                for name in ended:
                    stage = run.next_stage(plan, getattr(Exit, name.upper()))
                state.verify()
                if Certificate(state.primal, state.dual).gap <= run.tol:
                    self.recorder.stages = self.known.solution.solver.split("+")
                    return self._found("converged")
            self._keep_from_now_on(ended)
            try:
                while stage is not None:
                    exit_ = stage.method.run(problem, state, run, **stage.limits)
                    stage = run.next_stage(plan, exit_)
                    ended.append(exit_.name.lower())
            finally:
                self.recorder.after = None  # it knows the run, which knows the recorder
        assert exit_ is not None
        reason = exit_.name.lower()
        if reason != "converged":
            state.verify()
            if Certificate(state.primal, state.dual).gap <= run.tol:
                reason = "converged"
            elif reason == "budget" or (reason == "max_iter" and run.rounding):
                reason = "rounding"
        return self._found(reason)

    def _known_ends(self) -> list[str]:
        """How the stages ended that a snapshot of the same method has behind it; none of another method."""
        assert self.known is not None
        ended = list(self.known.ended) if self.known.method == method_to_json(self.method) else []
        self.recorder.stages = self.known.solution.solver.split("+")[: len(ended)] if ended else []
        return ended

    def _keep_from_now_on(self, ended: list[str]) -> None:
        keep, method = self.keep, method_to_json(self.method)
        if keep is not None:
            self.recorder.after = _Keeper(
                lambda: keep(Snapshot(self._found("stopped"), method, tuple(ended))), self.keep_seconds
            )

    def _found(self, reason: str) -> Solution:
        recorder, state = self.recorder, self.state
        if not (math.isfinite(state.primal) and math.isfinite(state.dual)):
            # The core refuses what it finds so; but where nothing at all was found, the bound is the first one still.
            raise ValueError("nothing finite was found: X was changed during the fit")
        weights, alpha = self.problem.found(state)
        return Solution(
            weights=weights,
            alpha=alpha,
            certificate=Certificate(state.primal, state.dual),
            exit=reason,
            n_iter=max([recorder.epochs + self.run.core.epochs, *(report.epoch for report in recorder.history[-1:])]),
            solver="+".join(recorder.stages),
            history=list(recorder.history),
            check_seconds=recorder.check_seconds + self.run.core.check_seconds,
            seconds=recorder.seconds + time.perf_counter() - self.begin,
            points=self.problem.points_of(state),
        )


class _Keeper:
    """Calls a function when half an interval has passed since it was last called."""

    def __init__(self, keep: Callable[[], None], seconds: float) -> None:
        self.keep = keep
        self.seconds = seconds / 2
        self.last = time.perf_counter()

    def __call__(self) -> None:
        if time.perf_counter() - self.last >= self.seconds:
            self.keep()
            self.last = time.perf_counter()
