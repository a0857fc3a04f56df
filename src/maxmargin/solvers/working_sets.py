"""Coordinate descent over working sets of features, for problems with the penalty "l1" (Massias et al. 2018).

Most weights are zero at the optimum. A small set of features is solved by itself, a certificate over all features tells
which ones come next, and those that provably stay at zero are never looked at again.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from maxmargin import _core
from maxmargin.problems.binary import BinaryProblem
from maxmargin.solvers.method import Exit, Method, check_flags
from maxmargin.solvers.newton import EXACT, SMALL

if TYPE_CHECKING:
    from maxmargin.solvers.run import Run


@dataclass(frozen=True)
class WorkingSets(Method):
    """Working sets of features, each solved by coordinate descent; dual variables come from proximal steps over rows.

    Parameters
    ----------
    screening : bool, default=True
        Whether features that the gap proves to be zero at the optimum are set aside for good.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin import BinaryProblem, WorkingSets, solve
    >>> X = np.array([[2.0, 0.1], [-2.0, 0.1], [1.0, -0.1]])
    >>> solution = solve(BinaryProblem(X, [1, -1, 1], penalty="l1"), WorkingSets(), tol=1e-9)
    >>> bool(solution.weights[0] > 0), bool(solution.weights[1] == 0)
    (True, True)
    """

    kinds: ClassVar[tuple[str, ...]] = ("l1",)
    losses: ClassVar[tuple[str, ...]] = ("squared_hinge", "least_squares")
    is_dual: ClassVar[bool | None] = False

    screening: bool = True

    def __post_init__(self) -> None:
        check_flags(self, "screening")

    @property
    def name(self) -> str:
        """The short name: "working_sets"."""
        return "working_sets"

    def run(self, problem: BinaryProblem, state: _core.L1State, run: Run) -> Exit:
        """One working set after the other; small problems go on to `EXACT`, as with Newton's method."""
        tol = min(run.tol, EXACT) if problem.matrix.stored <= SMALL else run.tol
        options = _core.WorkingSetOptions(self.screening)
        return _core.working_sets(state, options, run.stage(self.name, tol=tol), run.core)
