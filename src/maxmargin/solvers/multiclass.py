"""Several classes at once: sequential dual method (Keerthi et al. 2008), Newton's method, exponentiated gradient."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from maxmargin import _core
from maxmargin.csr import Csr
from maxmargin.losses import Floats
from maxmargin.multiclass import FORMULATIONS, MulticlassProblem
from maxmargin.solvers.run import OnReport, Outcome, RawOutcome, Run

#: Of all classes together, for which Newton's method takes about a gigabyte.
MOST_WEIGHTS = 8192


def sdm(problem: MulticlassProblem, run: Run, alpha: Csr | None, max_passes: float = np.inf) -> Outcome:
    """Row after row, each to the optimum of its own variables, by adaptive frequencies if ``run.adaptive``."""
    order = _core.Order.ADAPTIVE if run.adaptive else _core.Order.PERMUTED
    return _solve("sdm", _core.sequential_dual_method, order, problem, run, alpha, max_passes)


def eg(problem: MulticlassProblem, run: Run, alpha: Csr | None) -> Outcome:
    """Rows at random, a multiplicative step on each."""
    return _solve("eg", _core.exponentiated_gradient, _core.Order.UNIFORM, problem, run, alpha, np.inf)


def newton_classes(problem: MulticlassProblem, run: Run, alpha: Csr | None) -> Outcome:
    """Newton's method, which needs a square matrix with a row for each weight of each class.

    Where rounding keeps it from the tolerance, its dual variables are a good start for the sequential dual method.
    """
    weights = problem.n_classes * (problem.shape[1] + 1)
    if weights > MOST_WEIGHTS:
        raise ValueError(
            f"solver='newton' needs a matrix of {weights:,} x {weights:,} entries for {problem.n_classes} classes and "
            f"{problem.shape[1]:,} features, and takes up to {MOST_WEIGHTS:,} only; use 'sdm' or 'auto'"
        )
    outcome = _solve("newton", _core.multiclass_newton, _core.Order.PERMUTED, problem, run, alpha, np.inf)
    return sdm(problem, run, outcome.alpha) if outcome.exit is _core.Exit.BUDGET else outcome


def _solve(
    name: str,
    solver: Callable[..., Any],
    order: _core.Order,
    problem: MulticlassProblem,
    run: Run,
    alpha: Csr | None,
    max_passes: float,
) -> Outcome:
    return class_stage(
        name,
        problem,
        run,
        lambda on_report, time_left: solver(
            problem.rows,
            problem.y,
            problem.C,
            FORMULATIONS[problem.formulation],
            problem.n_classes,
            problem.bias,
            order,
            run.shrinking,
            None if alpha is None else alpha[:3],
            run.tol,
            run.max_iter,
            max_passes,
            time_left,
            run.seed,
            on_report,
            run.stop,
        ),
    )


def class_stage(
    name: str, problem: MulticlassProblem, run: Run, solver: Callable[[OnReport, float], tuple[RawOutcome, Any]]
) -> Outcome:
    """Run a C++ solver of several classes, whose weights and variables lie otherwise than they are given back."""

    def run_core(on_report: OnReport, time_left: float) -> RawOutcome:
        def report(
            epoch: int, seconds: float, primal: float, dual: float, gap: float, active: int, weights: Floats
        ) -> bool:
            return on_report(epoch, seconds, primal, dual, gap, active, class_weights(problem, weights))

        raw, lists = solver(report, time_left)
        return (class_weights(problem, raw[0]), problem.lists_of(*lists), *raw[2:])

    return run.stage(name, run_core)


def class_weights(problem: MulticlassProblem, weights: Floats) -> Floats:
    """Weights of shape (classes, features + 1) from those of the core, which lie feature by feature."""
    by_feature = weights.reshape(problem.shape[1] + 1, -1)
    return np.ascontiguousarray(by_feature[:, : problem.n_classes].T)
