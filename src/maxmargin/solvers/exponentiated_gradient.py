"""Online exponentiated gradient (Collins et al. 2008), the rival of section 2.3 of Keerthi et al."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from maxmargin import _core
from maxmargin.problems.multiclass import MulticlassProblem
from maxmargin.solvers.method import Exit, Method

if TYPE_CHECKING:
    from maxmargin.solvers.run import Run


@dataclass(frozen=True)
class ExponentiatedGradient(Method):
    """Exponentiated gradient: rows at random, a multiplicative step on each. Memory is rows times classes.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin import ExponentiatedGradient, MulticlassProblem, solve
    >>> solve(MulticlassProblem(np.eye(3), [0, 1, 2]), ExponentiatedGradient(), tol=0.1).solver
    'eg'
    """

    kinds: ClassVar[tuple[str, ...]] = ("crammer_singer",)

    @property
    def name(self) -> str:
        """The short name: "eg"."""
        return "eg"

    def run(self, problem: MulticlassProblem, state: _core.MulticlassState, run: Run) -> Exit:  # noqa: ARG002
        """Epochs of multiplicative steps."""
        return _core.exponentiated_gradient(state, run.stage(self.name), run.core)
