"""The choice of method behind ``solver="auto"``.

Measured on the benchmark sets (``benchmarks/``), two facts decide:

- With few features (at most 512) Newton's method wins: for squared hinge and least squares always, for hinge unless a
  few epochs of "dcd" already reach the tolerance, as they do at small C.
- With many features "dcd" wins as long as it needs only a few epochs; after that "avsf" overtakes it, by more the
  larger C is.

So a short stage of "dcd", limited in work and not in epochs (shrunk epochs are cheap), is followed by the method that
always arrives. What the first stage found is where the second one starts.
"""

from __future__ import annotations

from maxmargin import _core
from maxmargin.losses import Floats
from maxmargin.problems import BinaryProblem
from maxmargin.solvers.dual_coordinate_descent import avsf, dcd
from maxmargin.solvers.newton import newton
from maxmargin.solvers.run import Outcome, Run

#: With more features the Hessian no longer pays as a matrix.
MOST_NEWTON_FEATURES = 512
#: Work for the first stage, in passes over the data.
FIRST_PASSES = {"newton": 16.0, "avsf": 8.0}


def auto(problem: BinaryProblem, run: Run, alpha: Floats | None) -> Outcome:
    """Choose by the number of features and the loss."""
    few_features = problem.shape[1] <= MOST_NEWTON_FEATURES
    if few_features and problem.loss.diagonal_times_C > 0:
        return newton(problem, run, alpha)
    outcome = dcd(problem, run, alpha, FIRST_PASSES["newton" if few_features else "avsf"])
    if outcome.exit is not _core.Exit.BUDGET:
        return outcome
    return (newton if few_features else avsf)(problem, run, outcome.alpha)
