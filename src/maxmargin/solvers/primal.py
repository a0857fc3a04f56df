"""The rivals in the primal of the papers' tables: coordinate descent (Chang et al. 2008), and Pegasos.

``pcd`` minimises over one weight at a time and so needs the data by columns: it makes a copy, 4 bytes and a value for
each nonzero entry, the only solver to do so. ``pegasos`` (Shalev-Shwartz et al. 2007) takes subgradient steps on one
row at a time; its steps are sums over rows, and so it too has dual variables and a certificate. Its error falls like
one over the number of steps: tolerances below 1e-3 take very long.
"""

from __future__ import annotations

from maxmargin import _core
from maxmargin.losses import Floats
from maxmargin.problems import BinaryProblem
from maxmargin.solvers.run import Outcome, Run


def pcd(problem: BinaryProblem, run: Run, alpha: Floats | None) -> Outcome:
    """One-variable Newton steps with a line search, features in random order."""
    return _primal("pcd", _core.primal_coordinate_descent, problem, run, alpha)


def pegasos(problem: BinaryProblem, run: Run, alpha: Floats | None) -> Outcome:
    """Stochastic subgradient steps, with ``run.averaging`` of iterates and ``run.projection`` onto a ball."""
    return _primal("pegasos", _core.pegasos, problem, run, alpha)


def _primal(name: str, solver: _core._PrimalSolver, problem: BinaryProblem, run: Run, alpha: Floats | None) -> Outcome:
    return run.stage(
        name,
        lambda on_report, time_left: solver(
            problem.rows,
            problem.y,
            problem.C,
            problem.loss.dual,
            problem.bias_column,
            alpha,
            run.tol,
            run.max_iter,
            run.seed,
            run.averaging,
            run.projection,
            time_left,
            on_report,
            run.stop,
        ),
    )
