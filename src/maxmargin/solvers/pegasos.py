"""Pegasos (Shalev-Shwartz et al. 2007), the stochastic subgradient method of the papers' tables.

Its steps are sums over rows, and so it too has dual variables and a certificate. Its error falls like one over the
number of steps: tolerances below 1e-3 take very long.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from maxmargin import _core
from maxmargin.problems.binary import BinaryProblem
from maxmargin.solvers.method import Exit, Method, check_flags

if TYPE_CHECKING:
    from maxmargin.solvers.run import Run


@dataclass(frozen=True)
class Pegasos(Method):
    """Pegasos: subgradient steps on one row at a time, for the hinge.

    Parameters
    ----------
    averaging : bool, default=False
        Whether the average of the iterates since the last power of two of epochs is taken instead of the last one.
    projection : bool, default=True
        Whether iterates are projected onto the ball that holds the optimum.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin import BinaryProblem, Pegasos, solve
    >>> problem = BinaryProblem(np.array([[1.0], [-1.0]]), [1, -1], loss="hinge")
    >>> solve(problem, Pegasos(averaging=True), tol=0.1).solver
    'pegasos'
    """

    losses: ClassVar[tuple[str, ...]] = ("hinge",)
    takes_free_bias: ClassVar[bool] = False
    is_dual: ClassVar[bool | None] = False

    averaging: bool = False
    projection: bool = True

    def __post_init__(self) -> None:
        check_flags(self, "averaging", "projection")

    @property
    def name(self) -> str:
        """The short name: "pegasos"."""
        return "pegasos"

    def run(self, problem: BinaryProblem, state: _core.BinaryState, run: Run) -> Exit:  # noqa: ARG002
        """Epochs of subgradient steps."""
        options = _core.PegasosOptions(self.averaging, self.projection)
        return _core.pegasos(state, options, run.stage(self.name), run.core)
