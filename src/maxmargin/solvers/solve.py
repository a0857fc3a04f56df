"""The one way in: ``solve(problem, ...) -> Solution``."""

from __future__ import annotations

import time
from typing import Any

from maxmargin import _core
from maxmargin.problems.binary import BinaryProblem
from maxmargin.problems.certificate import Certificate
from maxmargin.problems.multiclass import MulticlassProblem
from maxmargin.problems.one_class import OneClassProblem
from maxmargin.problems.ranking import RankingProblem
from maxmargin.problems.regression import RegressionProblem
from maxmargin.solvers.method import Method, Stage
from maxmargin.solvers.methods import method_of
from maxmargin.solvers.run import Callback, Recorder, Run
from maxmargin.solvers.solution import Solution


def solve(
    problem: BinaryProblem | RegressionProblem | OneClassProblem | MulticlassProblem | RankingProblem,
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
) -> Solution:
    """Solve a problem to a certified relative duality gap.

    Parameters
    ----------
    problem : BinaryProblem, RegressionProblem, OneClassProblem, MulticlassProblem or RankingProblem
        What to minimise.
    solver : str or Method, default="auto"
        The method, as an object with its options, such as ``DualCoordinateDescent(order="cyclic")``, or by its short
        name. Binary problems: "dcd" is dual coordinate descent with shrinking, "avsf" the same with adaptive selection
        frequencies, "online" with rows picked at random, "newton" Newton's method in the primal, "pcd" primal
        coordinate descent (not for the hinge), "cutting_plane" and "pegasos" (both for the hinge only). Regression: the
        same but the last two, "pcd" for the squared losses only; one class: "dcd", "avsf", "online", "newton". Several
        classes at once: "sdm", the sequential dual method, "newton", for few weights in all, and, for Crammer & Singer,
        "eg", exponentiated gradient, and "cutting_plane". Ranking: "cutting_plane". "auto" chooses.
    tol : float, default=1e-3
        Stop when ``(primal - dual) / |primal|`` is at most this, computed exactly.
    max_iter : int, default=10000
        Most epochs (or Newton steps, or cuts) per stage.
    time_limit : float, optional
        Seconds after which the best bounds so far are returned.
    start : Solution or array, optional
        What is known of the solution: that of a similar problem, or dual variables (of shape (rows,), or (rows,
        classes), dense or sparse), or for ranking weights at which cuts are made (of shape (any, features + 1)). They
        are brought within their bounds.
    seed : int, default=0
        Seed of this call's own random generator: the same seed gives the same bits.
    callback : callable, optional
        Called as ``callback(report, weights)`` after every exact evaluation, with a `Report` and a copy of the best
        weights so far; returning true stops the solver.
    stop : StopFlag, optional
        Setting it from another thread stops the solver.
    n_jobs : int, optional
        Threads for this one problem. Methods work on one thread: None or 1.
    report_passes, report_seconds : float, optional
        Evaluate and report at least as often as this, in passes over the data or in seconds of work, at the end of an
        epoch, step or cut. By default methods evaluate when it pays. ``Report.check_seconds`` tells what it costs.

    pack : bool, default=True
        Whether sweeps over sparse rows may run on a packed copy of them where that pays and memory allows
        (``maxmargin/solvers/packing.py`` has the rule). False: the rows are used where they lie, always.

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
    if not tol >= 0:
        raise ValueError(f"tol must be a number >= 0, not {tol}")
    if max_iter != int(max_iter) or not 1 <= max_iter < 2**62:
        raise ValueError(f"max_iter must be a whole number from 1 on, not {max_iter}")
    if seed != int(seed) or not 0 <= seed < 2**63:
        raise ValueError(f"seed must be a whole number from 0 on and below 2**63, not {seed}")
    if stop is not None and not isinstance(stop, _core.StopFlag):
        raise TypeError(f"stop must be a maxmargin._core.StopFlag, not {type(stop).__name__}")
    for name, value in (
        ("time_limit", time_limit),
        ("report_passes", report_passes),
        ("report_seconds", report_seconds),
    ):
        if value is not None and not value > 0:
            raise ValueError(f"{name} must be positive, not {value}")
    if n_jobs not in (None, 1):
        raise ValueError(f"n_jobs={n_jobs}: one problem is solved by one thread; leave it at 1")
    begin = time.perf_counter()
    recorder = Recorder(callback, problem.weights_of_report)
    run = Run(
        recorder,
        tol=float(tol),
        max_iter=int(max_iter),
        seed=int(seed),
        time_limit=time_limit,
        stop=stop or _core.StopFlag(),
        report_passes=report_passes,
        report_seconds=report_seconds,
        pack=bool(pack),
    )
    made = time.perf_counter()
    state: Any = problem.start(start)
    # To verify the bounds and to read them out takes about as long as to make the state.
    run.core.reserve(time.perf_counter() - made)
    plan = method.plan(problem, state, run)
    stage: Stage | None = next(plan)
    while stage is not None:
        exit_ = stage.method.run(problem, state, run, **stage.limits)
        stage = run.next_stage(plan, exit_)
    reason = exit_.name.lower()
    if reason != "converged":
        state.verify()
        if Certificate(state.primal, state.dual).gap <= tol:
            reason = "converged"
        elif reason == "budget" or (reason == "max_iter" and run.rounding):
            reason = "rounding"
    weights, alpha = problem.found(state)
    return Solution(
        weights=weights,
        alpha=alpha,
        certificate=Certificate(state.primal, state.dual),
        exit=reason,
        n_iter=run.core.epochs,
        solver="+".join(recorder.stages),
        history=recorder.history,
        check_seconds=run.core.check_seconds,
        seconds=time.perf_counter() - begin,
        points=problem.points_of(state),
    )
