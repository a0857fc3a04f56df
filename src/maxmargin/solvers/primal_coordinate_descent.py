"""Primal coordinate descent (Chang, Hsieh & Lin 2008), the rival of the papers' tables for losses with a curvature.

It minimises over one weight at a time and so needs the data by columns: it makes a copy, 4 bytes and a value for each
nonzero entry, the only method to do so.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from maxmargin import _core
from maxmargin.solvers.method import Exit, Method, check_flags

if TYPE_CHECKING:
    from maxmargin.solvers.run import Run


@dataclass(frozen=True)
class PrimalCoordinateDescent(Method):
    """Primal coordinate descent: one-variable Newton steps with a line search.

    Parameters
    ----------
    plane : bool, default=True
        Whether an epoch sweeps over the features forward and back and then minimises over the plane of its move and the
        one before, which takes many times fewer epochs where features are few and correlated. False is the paper's:
        one sweep in random order.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin import BinaryProblem, PrimalCoordinateDescent, solve
    >>> solve(BinaryProblem(np.array([[1.0], [-1.0]]), [1, -1]), PrimalCoordinateDescent()).solver
    'pcd'
    """

    kinds: ClassVar[tuple[str, ...]] = ("binary", "regression")
    losses: ClassVar[tuple[str, ...]] = ("squared_hinge", "least_squares", "squared_epsilon_insensitive")
    is_dual: ClassVar[bool | None] = False

    plane: bool = True

    def __post_init__(self) -> None:
        check_flags(self, "plane")

    @property
    def name(self) -> str:
        """The short name: "pcd"."""
        return "pcd"

    def run(self, problem: Any, state: _core.BinaryState, run: Run) -> Exit:  # noqa: ARG002
        """Sweep over the features."""
        return _core.primal_coordinate_descent(state, self.plane, run.stage(self.name), run.core)
