"""The choice of method behind ``solver="auto"``.

Measured on the benchmark sets (``benchmarks/``), three facts decide:

- With few features (at most 512) Newton's method needs a number of steps that hardly depends on C. For squared hinge
  and least squares, whose Hessian changes little, it is the fastest from the start.
- The epochs of dual coordinate descent grow with ``C * mean(Q_ii)``, the bound of the dual variables over the length of
  a typical step. Up to about 4 "dcd" converges in a few epochs and nothing beats it.
- Beyond that, with many features, "avsf" overtakes "dcd", by more the larger C is. Where even "avsf" stalls (unscaled
  rows, large C) its dual variables are still good enough that a few Newton steps from their weights bring the primal
  value down by orders of magnitude, and "avsf" then finishes from there.

"cutting_plane" is never chosen: its passes over the data are few, but "dcd" and "newton" need fewer still on all of
the benchmark sets, also where rows outnumber features by far (``benchmarks/results/cutting_planes.md``).

Several classes at once have features times classes weights. Where these are few, Newton's method needs 20 to 30 steps
whatever C is, while the loops of the sequential dual method grow with it: so "newton" takes over after a few passes of
"sdm", or at once where rows are so many that a sample of them gives it a start. With more weights "sdm" is alone; its
adaptive frequencies are level with permutations on most sets and more than ten times faster on news20.

So "dcd" runs first, with much work allowed where it should suffice and little where it only has to give the second
method a start. Work is counted in passes over the data, not in epochs, because shrunk epochs are cheap.
"""

from __future__ import annotations

from maxmargin import _core
from maxmargin.csr import Csr
from maxmargin.losses import Floats
from maxmargin.multiclass import MulticlassProblem
from maxmargin.problems import BinaryProblem
from maxmargin.solvers.dual_coordinate_descent import avsf, dcd
from maxmargin.solvers.multiclass import newton_classes, sdm
from maxmargin.solvers.newton import newton
from maxmargin.solvers.run import Outcome, Run

#: With more features the Hessian no longer pays as a matrix.
MOST_NEWTON_FEATURES = 512
#: Up to this ``C * mean(Q_ii)`` a problem is easy for "dcd".
EASY = 4.0
#: Work for "dcd" on easy and on other problems, in passes over the data (an epoch is at most two).
DCD_PASSES = {True: 60.0, False: 2.0}
#: Epochs of "avsf" before its pace is judged: for curved losses, and for the hinge, where Newton steps cost more.
PATIENCE = {True: 20.0, False: 40.0}
#: Each further stage of "avsf" gets more, so that the alternation cannot go on without progress for ever.
GROWTH = 1.5
#: Newton steps between two stages of "avsf".
NEWTON_STEPS = 4

#: With more weights in all (classes times features) their Hessian no longer pays as a matrix.
MOST_NEWTON_WEIGHTS = 1024
#: From so many rows per weight on, Newton's method is the faster one from the start.
ROWS_PER_WEIGHT = 320
#: Up to this ``C * mean(Q_ii)`` a problem is easy for "sdm".
EASY_CLASSES = 1.0
#: Work for "sdm" before Newton's method on easy and on other problems, in passes over all rows and classes.
SDM_PASSES = {True: 100.0, False: 10.0}


def auto(problem: BinaryProblem, run: Run, alpha: Floats | None) -> Outcome:
    """Choose by the number of features, the loss, and C; change the method when its pace is too slow."""
    few_features = problem.shape[1] <= MOST_NEWTON_FEATURES
    curved = problem.loss.diagonal_times_C > 0
    if few_features and curved:
        return newton(problem, run, alpha)
    curvature = problem.rows.mean_squared_norm() + problem.bias**2
    easy = float(problem.C.mean()) * curvature <= EASY
    outcome = dcd(problem, run, alpha, DCD_PASSES[easy])
    if outcome.exit is not _core.Exit.BUDGET:
        return outcome
    if few_features:
        return newton(problem, run, outcome.alpha)
    patience = PATIENCE[curved]
    while True:
        outcome = avsf(problem, run, outcome.alpha, patience)
        if not run.gave_up or outcome.exit is not _core.Exit.STOPPED or run.stop.is_set():
            return outcome
        outcome = newton(problem, run, outcome.alpha, NEWTON_STEPS)
        if outcome.exit is not _core.Exit.MAX_ITER:
            return outcome
        patience *= GROWTH


def auto_classes(problem: MulticlassProblem, run: Run, alpha: Csr | None) -> Outcome:
    """Several classes at once: by the number of weights, the sequential dual method, then Newton's method."""
    weights = problem.n_classes * (problem.shape[1] + 1)
    if weights > MOST_NEWTON_WEIGHTS:
        return sdm(problem, run, alpha)
    curvature = problem.rows.mean_squared_norm() + problem.bias**2
    easy = float(problem.C.mean()) * curvature <= EASY_CLASSES
    if easy or alpha is not None or problem.shape[0] < ROWS_PER_WEIGHT * weights:
        outcome = sdm(problem, run, alpha, SDM_PASSES[easy])
        if outcome.exit is not _core.Exit.BUDGET:
            return outcome
        alpha = outcome.alpha
    return newton_classes(problem, run, alpha)
