"""The sequential dual method (Keerthi et al. 2008) for several classes at once, Algorithms 2.1 and 3.1."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from maxmargin import _core
from maxmargin.problems.multiclass import MulticlassProblem
from maxmargin.solvers.method import Exit, Method, check_flags, is_number

if TYPE_CHECKING:
    from maxmargin.solvers.run import Run


@dataclass(frozen=True)
class SequentialDual(Method):
    """The sequential dual method: row after row, each to the optimum of its own variables.

    ``SequentialDual(adaptive=False, effort=5.0, little_gain=0.0)`` is the paper's.

    Parameters
    ----------
    adaptive : bool, default=True
        Whether loops over rows that are not at a bound visit them by adaptive frequencies; False is a random
        permutation, as in full loops.
    shrinking : bool, default=True
        Whether a full loop is followed by loops over those rows and classes only that are not at a bound.
    effort : float, default=2.0
        How much such loops may cost, in full loops; the paper has 5.
    little_gain : float, default=0.1
        They also end when one of them gains at most this share of what the first gained; 0 for never, as in the paper.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin import MulticlassProblem, SequentialDual, solve
    >>> solve(MulticlassProblem(np.eye(3), [0, 1, 2]), SequentialDual(adaptive=False, effort=5.0)).solver
    'sdm'
    """

    kinds: ClassVar[tuple[str, ...]] = ("crammer_singer", "weston_watkins")

    adaptive: bool = True
    shrinking: bool = True
    effort: float = 2.0
    little_gain: float = 0.1

    def __post_init__(self) -> None:
        check_flags(self, "adaptive", "shrinking")
        if not (is_number(self.effort) and self.effort > 0):
            raise ValueError(f"effort must be a positive number of full loops, not {self.effort!r}")
        if not (is_number(self.little_gain) and 0 <= self.little_gain < 1):
            raise ValueError(f"little_gain must be a share from 0 on and below 1, not {self.little_gain!r}")

    @property
    def name(self) -> str:
        """The short name: "sdm"."""
        return "sdm"

    def run(
        self,
        problem: MulticlassProblem,  # noqa: ARG002
        state: _core.MulticlassState,
        run: Run,
        max_passes: float = float("inf"),
    ) -> Exit:
        """Loops over the rows, at most ``max_passes`` passes over all rows and classes."""
        options = _core.SequentialDualOptions(self.adaptive, self.shrinking, self.effort, self.little_gain)
        return _core.sequential_dual_method(state, options, run.stage(self.name, max_passes=max_passes), run.core)
