"""The one way in: ``solve(problem, ...) -> Solution``. One module per method of the papers."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from maxmargin import _core
from maxmargin.csr import Csr
from maxmargin.losses import LOSSES, Floats, Loss
from maxmargin.multiclass import FORMULATIONS, MulticlassProblem, as_lists
from maxmargin.problems import BinaryProblem, Certificate
from maxmargin.ranking import RankingProblem
from maxmargin.solution import Solution
from maxmargin.solvers.auto import auto, auto_classes
from maxmargin.solvers.cutting_plane import cut_classes, cut_pairs, cutting_plane
from maxmargin.solvers.dual_coordinate_descent import avsf, dcd, online
from maxmargin.solvers.multiclass import class_weights, eg, newton_classes, sdm
from maxmargin.solvers.newton import newton_or_other
from maxmargin.solvers.primal import pcd, pegasos
from maxmargin.solvers.run import Callback, Outcome, Run, Solver

__all__ = ["MULTICLASS_SOLVERS", "RANKING_SOLVERS", "SOLVERS", "solve"]

#: The solvers of binary problems by name.
SOLVERS: dict[str, Solver] = {
    "auto": auto,
    "dcd": dcd,
    "avsf": avsf,
    "online": online,
    "newton": newton_or_other,
    "pcd": pcd,
    "cutting_plane": cutting_plane,
    "pegasos": pegasos,
}
#: The losses of solvers that do not take all of them.
LOSSES_OF: dict[str, tuple[str, ...]] = {
    "pcd": ("squared_hinge", "least_squares"),
    "cutting_plane": ("hinge",),
    "pegasos": ("hinge",),
}
#: The solvers for which the bias is a weight like all others.
PENALIZED_BIAS_ONLY = ("cutting_plane", "pegasos")
#: The solvers of several classes at once, by formulation.
MULTICLASS_SOLVERS: dict[str, dict[str, Solver]] = {
    "crammer_singer": {
        "auto": auto_classes,
        "sdm": sdm,
        "newton": newton_classes,
        "eg": eg,
        "cutting_plane": cut_classes,
    },
    "weston_watkins": {"auto": auto_classes, "sdm": sdm, "newton": newton_classes},
}
#: The solvers of ranking problems.
RANKING_SOLVERS: dict[str, Solver] = {"auto": cut_pairs, "cutting_plane": cut_pairs}


def solve(
    problem: BinaryProblem | MulticlassProblem | RankingProblem,
    *,
    solver: str = "auto",
    tol: float = 1e-3,
    max_iter: int = 10_000,
    shrinking: bool = True,
    acceleration: bool = True,
    adaptive: bool = True,
    averaging: bool = False,
    projection: bool = True,
    alpha: Any = None,
    points: ArrayLike | None = None,
    time_limit: float | None = None,
    seed: int = 0,
    callback: Callback | None = None,
    stop: _core.StopFlag | None = None,
) -> Solution:
    """Solve a problem to a certified relative duality gap.

    Parameters
    ----------
    problem : BinaryProblem, MulticlassProblem or RankingProblem
        What to minimise.
    solver : str, default="auto"
        The method: "dcd" is dual coordinate descent with shrinking, "avsf" the same with adaptive selection
        frequencies, "online" with rows picked at random, "newton" Newton's method in the primal (where rounding
        errors stop it, another one goes on), "pcd" primal
        coordinate descent (not for the hinge; it copies the data by columns), "cutting_plane" (hinge only) that of
        cutting planes, "pegasos" (hinge only) stochastic subgradient descent. "auto" chooses. Several classes at once
        are solved by "sdm", the sequential dual method, by "newton", for few weights in all, and, in the formulation of
        Crammer & Singer, by the rivals "eg", exponentiated gradient, and "cutting_plane". Ranking problems are
        solved by "cutting_plane".
    tol : float, default=1e-3
        Stop when ``(primal - dual) / |primal|`` is at most this, computed exactly.
    max_iter : int, default=10000
        Most epochs (or Newton steps, or cuts) per stage.
    shrinking : bool, default=True
        Whether "dcd" and "sdm" set rows aside that seem to stay at a bound.
    acceleration : bool, default=True
        Whether "cutting_plane" keeps its best iterate and searches the line from there; False is the algorithm as
        the paper has it.
    adaptive : bool, default=True
        Whether "sdm" visits rows by adaptive frequencies; False is a random permutation, as its paper has it.
    averaging : bool, default=False
        Whether "pegasos" returns the average of its iterates since the last power of two of epochs, instead of the last
        one.
    projection : bool, default=True
        Whether "pegasos" projects its iterates onto the ball that holds the optimum.
    alpha : array of shape (rows,), or array or sparse matrix of shape (rows, classes), optional
        Dual variables to start from, brought within their bounds; zeros if not given.
    points : array of shape (any, features + 1), optional
        For a ranking problem: weights at which cuts are made before the start, such as ``Solution.points`` of a similar
        problem.
    time_limit : float, optional
        Seconds after which the best certified solution so far is returned.
    seed : int, default=0
        Seed of this call's own random generator: the same seed gives the same bits.
    callback : callable, optional
        Called as ``callback(report, weights)`` after every exact evaluation, with a `Report` and a copy of the weights;
        returning true stops the solver.
    stop : StopFlag, optional
        Setting it from another thread stops the solver.

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
    solvers, kind = _solvers_of(problem)
    if solver not in solvers:
        raise ValueError(f"solver={solver!r} is unknown{kind}; choose from {list(solvers)}")
    if isinstance(problem, BinaryProblem):
        check_solver(solver, problem.loss, problem.penalize_bias)
    if not acceleration and solvers[solver] not in (cutting_plane, cut_pairs, cut_classes):
        raise ValueError(f"acceleration=False is for solver='cutting_plane', not for {solver!r}")
    if not adaptive and solvers[solver] is not sdm:
        raise ValueError(f"adaptive=False is for solver='sdm', not for {solver!r}")
    if averaging and solvers[solver] is not pegasos:
        raise ValueError(f"averaging=True is for solver='pegasos', not for {solver!r}")
    if not projection and solvers[solver] is not pegasos:
        raise ValueError(f"projection=False is for solver='pegasos', not for {solver!r}")
    if not tol >= 0:
        raise ValueError(f"tol must be a number >= 0, not {tol}")
    if max_iter < 1:
        raise ValueError(f"max_iter must be at least 1, not {max_iter}")
    if time_limit is not None and not time_limit > 0:
        raise ValueError(f"time_limit must be positive, not {time_limit}")
    start = time.perf_counter()
    run = Run(
        tol=float(tol),
        max_iter=int(max_iter),
        shrinking=shrinking,
        seed=seed,
        deadline=start + (np.inf if time_limit is None else time_limit),
        callback=callback,
        stop=stop or _core.StopFlag(),
        start=start,
        acceleration=bool(acceleration),
        adaptive=bool(adaptive),
        averaging=bool(averaging),
        projection=bool(projection),
    )
    if isinstance(problem, RankingProblem):
        if alpha is not None:
            raise ValueError("a ranking problem starts from points, not from alpha")
        outcome = solvers[solver](problem, run, _initial_points(problem, points))
    else:
        if points is not None:
            raise ValueError("a classification problem starts from alpha, not from points")
        start_alpha = _initial(problem, alpha)
        outcome = solvers[solver](problem, run, start_alpha)
        if outcome.exit is not _core.Exit.CONVERGED:
            outcome = _best(problem, run, start_alpha)._replace(exit=outcome.exit)
    return Solution(
        weights=outcome.weights,
        alpha=outcome.alpha,
        certificate=Certificate(outcome.primal, outcome.dual),
        exit=outcome.exit.name.lower(),
        n_iter=run.n_iter,
        solver="+".join(run.stages),
        history=run.history,
        check_seconds=run.check_seconds,
        seconds=time.perf_counter() - start,
        points=outcome.points,
    )


def check_solver(solver: str, loss: Loss, penalize_bias: bool) -> None:
    """Refuse a loss or a free bias that a solver of binary problems does not know."""
    losses = LOSSES_OF.get(solver, tuple(LOSSES))
    if solver in LOSSES_OF and loss.dual not in [LOSSES[name].dual for name in losses]:
        names = " or ".join(f"loss={name!r}" for name in losses)
        raise ValueError(f"solver={solver!r} works with {names} only, not with {loss.name!r}")
    if not penalize_bias and solver in PENALIZED_BIAS_ONLY:
        others = [name for name in SOLVERS if name not in PENALIZED_BIAS_ONLY]
        raise ValueError(f"solver={solver!r} knows no intercept outside the regulariser; choose from {others}")


def _solvers_of(problem: Any) -> tuple[dict[str, Solver], str]:
    """The solvers by name, and for what they are."""
    if isinstance(problem, RankingProblem):
        return RANKING_SOLVERS, " for ranking"
    if isinstance(problem, MulticlassProblem):
        return MULTICLASS_SOLVERS[problem.formulation], f" for the formulation {problem.formulation!r}"
    return SOLVERS, ""


def _best(problem: BinaryProblem | MulticlassProblem, run: Run, start_alpha: Any) -> Outcome:
    """The best pair of all stages and of the start."""
    candidates = list(run.outcomes)
    if start_alpha is not None and isinstance(problem, MulticlassProblem):
        raw, primal, dual, lists = _core.certify_classes(
            problem.rows,
            problem.y,
            problem.C,
            FORMULATIONS[problem.formulation],
            problem.n_classes,
            problem.bias,
            start_alpha[:3],
        )
        weights, alpha = class_weights(problem, raw), problem.lists_of(*lists)
        candidates.append(Outcome(weights, alpha, primal, dual, 0, _core.Exit.STOPPED, 0.0))
    elif start_alpha is not None:
        assert isinstance(problem, BinaryProblem)
        feasible = np.clip(start_alpha, np.where(problem.C > 0, problem.loss.lower, 0.0), problem.loss.upper(problem.C))
        weights, feasible, primal, dual = _core.certify(
            problem.rows, problem.y, problem.C, problem.loss.dual, problem.bias_column, feasible
        )
        candidates.append(Outcome(weights, feasible, primal, dual, 0, _core.Exit.STOPPED, 0.0))
    return min(candidates, key=lambda outcome: Certificate(outcome.primal, outcome.dual).gap)


def _initial(problem: BinaryProblem | MulticlassProblem, alpha: Any) -> Floats | Csr | None:
    if alpha is None:
        return None
    if isinstance(problem, MulticlassProblem):
        return as_lists(alpha, problem.shape[0], problem.n_classes)
    values = np.asarray(alpha, dtype=np.float64)
    if values.shape != problem.y.shape or not np.all(np.isfinite(values)):
        raise ValueError(f"alpha must hold {problem.shape[0]} finite numbers, one per row of X")
    return values


def _initial_points(problem: RankingProblem, points: ArrayLike | None) -> Floats | None:
    if points is None:
        return None
    values = np.ascontiguousarray(points, dtype=np.float64)
    if values.ndim != 2 or values.shape[1] != problem.shape[1] + 1 or not np.all(np.isfinite(values)):
        raise ValueError(
            f"points must have {problem.shape[1] + 1} columns of finite numbers: one per feature, and the bias"
        )
    return values
