"""Newton's method in the primal: the right tool when features are few or C is large (Keerthi & DeCoste 2005).

The hinge is smoothed by a width that is driven to zero; the certificate is always that of the true problem.
"""

from __future__ import annotations

from maxmargin import _core
from maxmargin.losses import LOSSES, Floats
from maxmargin.problems import BinaryProblem
from maxmargin.solvers.cutting_plane import cutting_plane
from maxmargin.solvers.dual_coordinate_descent import avsf
from maxmargin.solvers.run import Outcome, Run


def newton_or_other(problem: BinaryProblem, run: Run, alpha: Floats | None) -> Outcome:
    """Newton's method, and where rounding errors stop it (huge ``C |x|^2``) one that they do not."""
    outcome = newton(problem, run, alpha)
    if outcome.exit is not _core.Exit.BUDGET:
        return outcome
    if problem.loss.dual == LOSSES["hinge"].dual and problem.penalize_bias:
        return cutting_plane(problem, run, outcome.alpha)
    return avsf(problem, run, outcome.alpha)


def newton(problem: BinaryProblem, run: Run, alpha: Floats | None, max_steps: int | None = None) -> Outcome:
    """Full Newton steps with an exact line search; at most ``max_steps`` of them if given."""
    return run.stage(
        "newton",
        lambda on_report, time_left: _core.newton(
            problem.rows,
            problem.y,
            problem.C,
            problem.loss.dual,
            problem.bias_column,
            alpha,
            run.tol,
            run.max_iter if max_steps is None else min(max_steps, run.max_iter),
            time_left,
            on_report,
            run.stop,
        ),
    )
