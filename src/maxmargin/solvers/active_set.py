"""The one-class problem by an active set of rows near its hyperplane (after Chou, Lin & Lin 2020).

Most dual variables are at a bound. A working set of rows with a score near the offset is solved by itself: pairs of
variables are moved against each other, and those between their bounds solved for exactly. All other rows are proved to
be on their side of the hyperplane, or looked at again.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from maxmargin import _core
from maxmargin.problems.one_class import OneClassProblem
from maxmargin.solvers.method import Exit, Method
from maxmargin.solvers.newton import EXACT, SMALL

if TYPE_CHECKING:
    from maxmargin.solvers.run import Run


@dataclass(frozen=True)
class ActiveSet(Method):
    """Working sets of rows near the hyperplane. It has no options.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin import ActiveSet, OneClassProblem, solve
    >>> solution = solve(OneClassProblem(np.array([[1.0], [2.0], [3.0]]), nu=0.5), ActiveSet(), tol=1e-9)
    >>> solution.alpha.round(6).tolist()
    [1.0, 0.5, 0.0]
    """

    kinds: ClassVar[tuple[str, ...]] = ("one_class",)

    @property
    def name(self) -> str:
        """The short name: "active_set"."""
        return "active_set"

    def state(self, problem: OneClassProblem, start: Any) -> _core.OneClassState:
        """A state of its own, which holds no more than it needs."""
        return problem.start_light(start)

    def run(self, problem: Any, state: _core.OneClassState, run: Run) -> Exit:
        """One working set after the other; small problems go on to `EXACT`, as with Newton's method."""
        tol = min(run.tol, EXACT) if problem.matrix.stored <= SMALL else run.tol
        return _core.active_set(state, run.stage(self.name, tol=tol), run.core)
