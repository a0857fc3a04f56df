"""The choice of method behind ``solver="auto"``: a cost model, and a change of method when the pace is too slow.

Work is counted in passes over the data, never in seconds, so that the same seed gives the same bits. Measured on the
benchmark sets (``benchmarks/``), these facts decide:

- The epochs of dual coordinate descent grow with the curvature of the losses. With few features its measure is the mean
  eigenvalue of their Hessian, ``sum(C_i Q_ii) / features``, beside which the regulariser counts 1: up to about 100 for
  curved losses and 2,000 for the hinge "dcd" is done before Newton's method is.
- The steps of Newton's method hardly depend on C or on the tolerance. With at most 1,024 features its Hessian is a
  matrix, and `newton_passes` says what it costs: some passes per step, the products of pairs of entries within rows,
  and the factorisations. For the hinge, whose width is driven down, there are about three times as many steps.
- So with few features "dcd" goes first where the mean eigenvalue is small or Newton's method expensive, as long as by
  the pace of its certified gap it promises to be done before Newton's method would be. Elsewhere Newton's method starts
  at once.
- With more features the measure is ``C * mean(Q_ii)``, the bound of the dual variables over the length of a typical
  step. Up to about 12 ("easy") "dcd" converges in a few epochs and little beats it. Beyond, "avsf" is up to 16 times
  faster, by more the larger C is; where it is not, as on imdb, it takes up to one and a half times as long. Where even
  "avsf" stalls (unscaled rows, large C) its dual variables are still good enough that a few Newton steps from their
  weights bring the primal value down by orders of magnitude, and "avsf" then finishes from there.

The tolerance enters through the pace: the same fall of the gap is enough for 1e-3 and not for 1e-6.

"cutting_plane", "pcd", "online" and "pegasos" are not chosen: where one of them is the fastest on a benchmark set, it
is so by a few hundredths of a second at most (``benchmarks/results/solvers.md``). Only where rounding errors stop
Newton's method on the hinge do cutting planes go on.

Several classes at once have features times classes weights. Where these are few, Newton's method needs 20 to 30 steps
whatever C is, while the loops of the sequential dual method grow with it: so "newton" takes over after a few passes of
"sdm", or at once where rows are so many that a sample of them gives it a start. With more weights "sdm" is alone; its
adaptive frequencies are level with permutations on most sets and more than ten times faster on news20.
"""

from __future__ import annotations

from maxmargin import _core
from maxmargin.csr import Csr
from maxmargin.losses import Floats
from maxmargin.multiclass import MulticlassProblem
from maxmargin.problems import BinaryProblem
from maxmargin.solvers.dual_coordinate_descent import avsf, dcd
from maxmargin.solvers.multiclass import newton_classes, sdm
from maxmargin.solvers.newton import newton, newton_or_other
from maxmargin.solvers.run import Outcome, Run

#: With more features the Hessian is never a matrix (``most_dense`` in newton.hpp).
MOST_NEWTON_FEATURES = 1024
#: Mean eigenvalues of the Hessian of the losses, curved ones and the hinge, up to which "dcd" goes first.
DCD_EIGENVALUE = {True: 100.0, False: 2000.0}
#: With many features: up to this ``C * mean(Q_ii)`` a problem is easy for "dcd",
EASY = 12.0
#: which gets so much work, in passes over the data (an epoch is at most two).
DCD_PASSES = 60.0
#: Newton's method, in passes: the steps, for curved losses and the hinge, each with some passes over part of the rows;
STEPS = {True: 10.0, False: 30.0}
PASSES_PER_STEP = 1.5
#: products of entries, and multiplications of a factorisation, that take as long as visiting one stored value.
PRODUCTS_PER_VALUE = 1.5
MULTIPLICATIONS_PER_VALUE = 30.0
#: From so many passes on, Newton's method is worth the wait for the pace of "dcd".
EXPENSIVE = 60.0
#: Up to so many stored values all methods take a millisecond, and Newton's ends nearest to the optimum.
SMALL = 20_000
#: Epochs of "avsf" before its pace is judged: for curved losses, and for the hinge, where Newton steps cost more.
PATIENCE = {True: 25.0, False: 40.0}
#: Newton steps between two stages of "avsf".
NEWTON_STEPS = 5
#: Each further stage of either gets more, so that the alternation cannot go on without progress for ever.
GROWTH = 1.5

#: With more weights in all (classes times features) their Hessian no longer pays as a matrix.
MOST_NEWTON_WEIGHTS = 1024
#: From so many rows per weight on, Newton's method is the faster one from the start.
ROWS_PER_WEIGHT = 320
#: Up to this ``C * mean(Q_ii)`` a problem is easy for "sdm".
EASY_CLASSES = 1.0
#: Work for "sdm" before Newton's method on easy and on other problems, in passes over all rows and classes.
SDM_PASSES = {True: 100.0, False: 10.0}


def newton_passes(problem: BinaryProblem) -> float:
    """The work of Newton's method with a matrix, in passes over the data."""
    rows, features = problem.shape
    values = max(problem.rows.stored(), 1)
    steps = STEPS[problem.loss.diagonal_times_C > 0]
    products = rows * (values / rows) ** 2 / 2
    factorisations = steps * features**3 / 6
    return (
        steps * PASSES_PER_STEP
        + products / (PRODUCTS_PER_VALUE * values)
        + factorisations / (MULTIPLICATIONS_PER_VALUE * values)
    )


def auto(problem: BinaryProblem, run: Run, alpha: Floats | None) -> Outcome:
    """Choose by the cost of the methods; change when the pace is too slow."""
    curved = problem.loss.diagonal_times_C > 0
    curvature = problem.rows.mean_squared_norm() + problem.bias**2
    if problem.shape[1] <= MOST_NEWTON_FEATURES:
        eigenvalue = float(problem.C.sum()) * curvature / problem.shape[1]
        return _few_features(problem, run, alpha, eigenvalue <= DCD_EIGENVALUE[curved])
    if float(problem.C.mean()) * curvature <= EASY:
        outcome = dcd(problem, run, alpha, DCD_PASSES)
        if outcome.exit is not _core.Exit.BUDGET:
            return outcome
        alpha = outcome.alpha
    patience, steps = PATIENCE[curved], float(NEWTON_STEPS)
    while True:
        outcome = avsf(problem, run, alpha, patience)
        if not run.gave_up or outcome.exit is not _core.Exit.STOPPED or run.stop.is_set():
            return outcome
        outcome = newton(problem, run, outcome.alpha, round(steps))
        if outcome.exit not in (_core.Exit.MAX_ITER, _core.Exit.BUDGET):
            return outcome
        alpha = outcome.alpha
        patience, steps = GROWTH * patience, GROWTH * steps


def _few_features(problem: BinaryProblem, run: Run, alpha: Floats | None, easy: bool) -> Outcome:
    cost = newton_passes(problem)
    if problem.rows.stored() > SMALL and (easy or cost >= EXPENSIVE):
        outcome = dcd(problem, run, alpha, cost, worth=cost)
        if outcome.exit is not _core.Exit.BUDGET:
            return outcome
        alpha = outcome.alpha
    return newton_or_other(problem, run, alpha)


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
