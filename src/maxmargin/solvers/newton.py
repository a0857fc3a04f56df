"""Newton's method in the primal: the right tool when features are few or C is large (Keerthi & DeCoste 2005).

The hinge is smoothed by a width that is driven to zero; the certificate is always that of the true problem. For several
classes at once it is a proximal point method, with a matrix that has a row for each weight of each class or, beyond
some two thousand weights, by conjugate gradients and a matrix for each class.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from maxmargin import _core
from maxmargin.problems.certificate import Certificate
from maxmargin.problems.losses import LOSSES
from maxmargin.solvers.cutting_plane import CuttingPlane
from maxmargin.solvers.dual_coordinate_descent import DualCoordinateDescent
from maxmargin.solvers.method import Exit, Method, Plan, Stage
from maxmargin.solvers.primal_coordinate_descent import PrimalCoordinateDescent
from maxmargin.solvers.sequential_dual import SequentialDual

if TYPE_CHECKING:
    from maxmargin.solvers.run import Run

#: Weights of all classes together that Newton's method for several classes takes.
MOST_WEIGHTS = 8192
#: Up to so many stored values, which take a millisecond, a fit goes on to this gap, whatever was asked for: then the
#: model does not depend on the tolerance, and weighting a row equals repeating it to many digits.
SMALL, EXACT = 20_000, 1e-9


@dataclass(frozen=True)
class Newton(Method):
    """Newton's method: full steps with an exact line search. It has no options.

    Where rounding errors stop it (huge ``C |x|^2``), a method that they do not stop goes on from its bounds.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin import BinaryProblem, Newton, solve
    >>> solve(BinaryProblem(np.array([[1.0], [-1.0]]), [1, -1]), Newton(), tol=1e-9).converged
    True
    """

    kinds: ClassVar[tuple[str, ...]] = ("binary", "regression", "one_class", "crammer_singer", "weston_watkins")
    is_dual: ClassVar[bool | None] = False

    @property
    def name(self) -> str:
        """The short name: "newton"."""
        return "newton"

    def plan(self, problem: Any, state: Any, run: Run, primal_only: bool = False) -> Plan:
        """Newton's method, then another one, of the primal only if so wanted, where rounding stops it."""
        small = problem.one_score_per_row and problem.matrix.stored <= SMALL
        if (yield Stage(self, {"tol": min(run.tol, EXACT) if small else run.tol})) is Exit.BUDGET:
            if Certificate(state.primal, state.dual).gap <= run.tol:
                return
            run.rounding = True
            if problem.kind == "one_class" and problem.vanishes(state.dual):
                return
            successor = self._successor(problem, primal_only)
            if successor is not None:
                yield Stage(successor)

    def run(self, problem: Any, state: Any, run: Run, max_iter: int | None = None, tol: float | None = None) -> Exit:
        """Newton's method alone; at most ``max_iter`` steps, and to a gap of ``tol``, if given."""
        if not problem.one_score_per_row:
            _check_size(problem)
            return _core.multiclass_newton(state, run.stage(self.name, max_iter, tol), run.core)
        return _core.newton(state, run.stage(self.name, max_iter, tol), run.core)

    def _successor(self, problem: Any, primal_only: bool) -> Method | None:
        if not problem.one_score_per_row:
            return None if primal_only else SequentialDual()
        if problem.loss.is_like(LOSSES["hinge"]) and problem.penalize_bias:
            return CuttingPlane()
        if not primal_only:
            return DualCoordinateDescent(order="adaptive")
        return PrimalCoordinateDescent() if problem.loss.is_curved else None


def weight_count(problem: Any) -> int:
    """Weights of all classes together."""
    return int(problem.n_classes * (problem.shape[1] + 1))


def _check_size(problem: Any) -> None:
    weights = weight_count(problem)
    if weights > MOST_WEIGHTS:
        raise ValueError(
            f"solver='newton' takes up to {MOST_WEIGHTS:,} weights of all classes together, not {weights:,} for "
            f"{problem.n_classes} classes and {problem.shape[1]:,} features; use 'sdm'"
        )
