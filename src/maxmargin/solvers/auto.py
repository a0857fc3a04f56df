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
  at once. With several threads, which share the loops of Newton's method, its passes count less.
- With more features the measure is ``C * mean(Q_ii)``, the bound of the dual variables over the length of a typical
  step. Up to about 40 ("easy") "dcd", with its steps in a plane, is done before "avsf" is. Beyond, either may be the
  faster one by a factor of two or three, which only its pace can tell: so "dcd" goes first up to 300, as long as it
  promises to need few passes more. At still larger C "avsf" is faster by more and more. Where even "avsf" stalls
  (unscaled rows, large C) its dual variables are still good enough that a few Newton steps from their weights bring
  the primal value down by orders of magnitude, and "avsf" then finishes from there.

- Problems of one class have a method of their own, "active_set".

The tolerance enters through the pace: the same fall of the gap is enough for 1e-3 and not for 1e-6.

"cutting_plane", "pcd", "online" and "pegasos" are not chosen: where one of them is the fastest on a benchmark set, it
is so by a few hundredths of a second at most (``benchmarks/results/solvers.md``). Only where rounding errors stop
Newton's method on the hinge do cutting planes go on.

Several classes at once have features times classes weights. Where these are few, Newton's method needs 20 to 30 steps
whatever C is, while the loops of the sequential dual method grow with it: so "newton" takes over after a few passes of
"sdm", or at once where rows are so many that a sample of them gives it a start. With some thousand weights its steps,
now by conjugate gradients, are dear, and it comes in only where "sdm" has not been done after many passes. With still
more, or more than rows, "sdm" is alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from maxmargin import _core
from maxmargin.problems.binary import BinaryProblem
from maxmargin.problems.multiclass import MulticlassProblem
from maxmargin.solvers.active_set import ActiveSet
from maxmargin.solvers.cutting_plane import CuttingPlane
from maxmargin.solvers.dual_coordinate_descent import DualCoordinateDescent
from maxmargin.solvers.method import Exit, Method, Plan, Stage, check_flags
from maxmargin.solvers.newton import MOST_WEIGHTS, SMALL, Newton, weight_count
from maxmargin.solvers.sequential_dual import SequentialDual
from maxmargin.solvers.working_sets import WorkingSets

if TYPE_CHECKING:
    from maxmargin.solvers.run import Run

#: With more features the Hessian is never a matrix (``most_dense`` in newton.cpp).
MOST_NEWTON_FEATURES = 1024
#: Mean eigenvalues of the Hessian of the losses, curved ones and the hinge, up to which "dcd" goes first.
DCD_EIGENVALUE = {True: 100.0, False: 2000.0}
#: With so many rows for each weight Newton's method begins with a tenth of them, and the hinge is easy up to less: at
#: this tolerance up to this, and at smaller ones, which cost "dcd" little, up to more by this power of the tolerance.
ROWS_PER_SAMPLED, SAMPLED_EIGENVALUE, SAMPLED_TOL, SAMPLED_POWER = 200, 300.0, 1e-3, 0.25
#: With many features, a problem with at most this ``C * mean(Q_ii)`` is easy for "dcd".
EASY = 40.0
#: The work that "dcd" gets on easy problems, in passes over the data (an epoch is at most two).
DCD_PASSES = 100.0
#: Up to this it is tried first, and goes on as long as at its pace it needs at most so many passes more.
HARD, DCD_WORTH = 300.0, 40.0
#: Smaller tolerances are as good as none.
TINY = 1e-15
#: Steps of Newton's method, for curved losses and for the hinge.
STEPS = {True: 10.0, False: 30.0}
#: What a step costs in passes over all rows, of which most steps look at a part.
PASSES_PER_STEP = 1.5
#: How many products of two entries of a row take as long as visiting one stored value.
PRODUCTS_PER_VALUE = 1.5
#: How many multiplications of a factorisation take as long as visiting one stored value.
MULTIPLICATIONS_PER_VALUE = 30.0
#: In threads its passes take half their time or less, while sweeps over dense and short rows stay on one.
PASSES_IN_THREADS = 0.5
#: From so many passes on, Newton's method is worth the wait for the pace of "dcd".
EXPENSIVE = 60.0
#: Passes of "avsf" before its pace is judged: for curved losses, and for the hinge, where Newton steps cost more.
PATIENCE = {True: 25.0, False: 60.0}
#: Newton steps between two stages of "avsf".
NEWTON_STEPS = 5
#: Each further stage of either gets more, so that the alternation cannot go on without progress for ever.
GROWTH = 1.5

#: With more weights in all (classes times features) Newton's steps are so expensive that "sdm" goes first for longer.
MOST_NEWTON_WEIGHTS = 1024
#: From this ``C * mean(Q_ii)`` on a problem is hard for "sdm" there.
HARD_CLASSES = 30.0
#: Work for "sdm" before Newton's method there on hard and on other problems, in passes over all rows and classes.
LONG_SDM_PASSES = {True: 100.0, False: 400.0}
#: From so many rows per weight on, Newton's method is the faster one from the start.
ROWS_PER_WEIGHT = 320
#: Up to this ``C * mean(Q_ii)`` a problem is easy for "sdm".
EASY_CLASSES = 1.0
#: Work for "sdm" before Newton's method on easy and on other problems, in passes over all rows and classes.
SDM_PASSES = {True: 100.0, False: 10.0}


def newton_passes(problem: BinaryProblem) -> float:
    """The work of Newton's method with a matrix, in passes over the data."""
    rows, features = problem.shape
    values = max(problem.matrix.stored, 1)
    steps = STEPS[problem.loss.is_curved]
    products = rows * (values / rows) ** 2 / 2
    factorisations = steps * features**3 / 6
    return (
        steps * PASSES_PER_STEP
        + products / (PRODUCTS_PER_VALUE * values)
        + factorisations / (MULTIPLICATIONS_PER_VALUE * values)
    )


@dataclass(frozen=True)
class Auto(Method):
    """The choice of method: by the cost of each, and by their pace during the fit.

    Parameters
    ----------
    dual : bool or None, default=None
        True leaves the methods that work on the dual variables to choose from, False those that work on the weights,
        None all.
    shrinking : bool, default=True
        Whether the methods that know shrinking use it.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin import Auto, BinaryProblem, solve
    >>> problem = BinaryProblem(np.array([[1.0], [-1.0]]), [1, -1])
    >>> solve(problem, Auto(dual=True)).solver, solve(problem, Auto(dual=False)).solver
    ('dcd', 'newton')
    """

    kinds: ClassVar[tuple[str, ...]] = (
        "binary",
        "l1",
        "regression",
        "one_class",
        "crammer_singer",
        "weston_watkins",
        "ranking",
        "measure",
    )
    is_dual: ClassVar[bool | None] = None

    dual: bool | None = None
    shrinking: bool = True

    def __post_init__(self) -> None:
        check_flags(self, "shrinking")
        if self.dual is not None and not isinstance(self.dual, bool):
            raise ValueError(f"dual must be True, False or None, not {self.dual!r}")

    @property
    def name(self) -> str:
        """The short name: "auto"."""
        return "auto"

    def plan(self, problem: Any, state: Any, run: Run) -> Plan:
        """Choose, and change when the pace is too slow."""
        if problem.kind in ("ranking", "measure"):
            return CuttingPlane().plan(problem, state, run)
        if problem.kind == "l1":
            return WorkingSets().plan(problem, state, run)
        if problem.kind == "one_class" and self.dual is not False:
            return ActiveSet().plan(problem, state, run)
        if not problem.one_score_per_row:
            return self._classes(problem, state, run)
        if self.dual is False:
            return Newton().plan(problem, state, run, primal_only=True)
        if problem.shape[1] <= MOST_NEWTON_FEATURES and self.dual is None:
            return self._few_features(problem, state, run)
        return self._many_features(problem)

    def state(self, problem: Any, start: Any) -> Any:
        """That of the method which will be chosen."""
        if problem.kind == "one_class" and self.dual is not False:
            return ActiveSet().state(problem, start)
        return super().state(problem, start)

    def sweeps_first(self, problem: BinaryProblem, hard: bool = False) -> bool:
        """Whether a binary problem is one for dual coordinate descent, at least to begin with.

        ``hard`` means whatever C is.
        """
        many = problem.shape[1] > MOST_NEWTON_FEATURES
        return self.dual is not False and many and (hard or _hardness(problem) <= HARD)

    def refuses(self, kind: str, loss: Any = None, penalize_bias: bool = True) -> str | None:
        """Ranking has one method, which works on the weights."""
        if kind in ("ranking", "measure") and self.dual:
            what = "ranking problems" if kind == "ranking" else "measures"
            return f"{what} are solved by cutting planes, which are no dual method"
        if kind == "l1":
            if self.dual:
                return "problems with penalty='l1' are solved by working sets of weights, which are no dual method"
            return WorkingSets().refuses(kind, loss, penalize_bias)
        return super().refuses(kind, loss, penalize_bias)

    def _few_features(self, problem: BinaryProblem, state: _core.BinaryState, run: Run) -> Plan:
        eigenvalue = float(problem.C.sum()) * _curvature(problem) / (problem.shape[1] * _scale(problem))
        bound = DCD_EIGENVALUE[problem.loss.is_curved]
        if problem.shape[0] >= ROWS_PER_SAMPLED * (problem.shape[1] + 1):
            bound = min(bound, SAMPLED_EIGENVALUE * (SAMPLED_TOL / max(run.tol, TINY)) ** SAMPLED_POWER)
        easy = eigenvalue <= bound
        cost = newton_passes(problem) * (PASSES_IN_THREADS if run.threads > 1 else 1.0)
        if problem.matrix.stored > SMALL and (easy or cost >= EXPENSIVE):
            dcd = DualCoordinateDescent(shrinking=self.shrinking)
            if (yield Stage(dcd, {"max_passes": cost, "worth": cost})) is not Exit.BUDGET:
                return
        yield from Newton().plan(problem, state, run)

    def _many_features(self, problem: BinaryProblem) -> Plan:
        hardness = _hardness(problem)
        dcd = DualCoordinateDescent(shrinking=self.shrinking)
        limits = {"max_passes": DCD_PASSES} if hardness <= EASY else {"max_passes": DCD_PASSES, "worth": DCD_WORTH}
        if hardness <= HARD and (yield Stage(dcd, limits)) is not Exit.BUDGET:
            return
        avsf = DualCoordinateDescent(order="adaptive", shrinking=self.shrinking)
        if self.dual:
            yield Stage(avsf)
            return
        patience, steps = PATIENCE[problem.loss.is_curved], float(NEWTON_STEPS)
        while True:
            if (yield Stage(avsf, {"patience": patience})) is not Exit.BUDGET:
                return
            if (yield Stage(Newton(), {"max_iter": round(steps)})) not in (Exit.MAX_ITER, Exit.BUDGET):
                return
            patience, steps = GROWTH * patience, GROWTH * steps

    def _classes(self, problem: MulticlassProblem, state: _core.MulticlassState, run: Run) -> Plan:
        """Several classes at once: by the number of weights, the sequential dual method, then Newton's method."""
        weights = weight_count(problem)
        sdm = SequentialDual(shrinking=self.shrinking)
        if self.dual is False:
            if weights > MOST_WEIGHTS and problem.kind in CuttingPlane.kinds:
                yield Stage(CuttingPlane())
            else:
                yield from Newton().plan(problem, state, run, primal_only=True)
            return
        if weights > MOST_WEIGHTS or weights > problem.shape[0] or self.dual:
            yield Stage(sdm)
            return
        if weights > MOST_NEWTON_WEIGHTS:
            hard = _hardness(problem) > HARD_CLASSES
            if (yield Stage(sdm, {"max_passes": LONG_SDM_PASSES[hard]})) is Exit.BUDGET:
                yield from Newton().plan(problem, state, run)
            return
        easy = float(problem.C.mean()) * _curvature(problem) <= EASY_CLASSES
        descends = easy or state.dual > 0 or problem.shape[0] < ROWS_PER_WEIGHT * weights
        if descends and (yield Stage(sdm, {"max_passes": SDM_PASSES[easy]})) is not Exit.BUDGET:
            return
        yield from Newton().plan(problem, state, run)


def _hardness(problem: Any) -> float:
    """``C * mean(Q_ii)``: the bound of the dual variables over the length of a typical step."""
    return float(problem.C.mean()) * _curvature(problem) / _scale(problem)


def _curvature(problem: Any) -> float:
    """The mean of ``Q_ii``."""
    return float(problem.matrix.mean_squared_norm() + problem.bias**2)


def _scale(problem: Any) -> float:
    """The scale of the targets, where it matters.

    Weights grow with the targets. A loss with a curvature grows with their square, as the regulariser does, but one
    without grows by the factor alone: targets of 1000 and C are the same problem as targets of 1 and C / 1000.
    """
    if problem.kind != "regression" or problem.loss.is_curved:
        return 1.0
    return float(abs(problem.y).mean()) or 1.0
