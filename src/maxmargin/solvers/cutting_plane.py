"""Cutting planes (Joachims 2006) for the hinge, for ranking and for the loss of Crammer and Singer, by one C++ engine.

The paper stops when no constraint is violated by more than its ``epsilon``. At the solution of a master problem the
violation times ``C`` (with ``C/n`` or ``C/m`` in front of the sum of losses) is the duality gap, so that ``tol`` here
is ``epsilon * C / objective``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from maxmargin import _core
from maxmargin.problems.losses import Loss
from maxmargin.problems.measure import check_measure
from maxmargin.problems.ranking import RankingProblem
from maxmargin.solvers.method import Exit, Method, check_epsilon, check_flags

if TYPE_CHECKING:
    from maxmargin.solvers.run import Run

#: From so many rows on, cuts are first found on a sample, one in `SAMPLE` rows or groups.
LARGE = 100_000
SAMPLE = 8
#: With so many groups, whole groups are sampled.
MANY_GROUPS = 1_000

_CUT: dict[str, Callable[..., Exit]] = {
    "binary": _core.cut_hinge,
    "crammer_singer": _core.cut_classes,
    "ranking": _core.cut_pairs,
    "measure": _core.cut_measure,
}


@dataclass(frozen=True)
class CuttingPlane(Method):
    """Cutting planes: a small quadratic program over the cuts found so far shows where the next one is.

    ``CuttingPlane(acceleration=False, keep_cuts=True, epsilon=1e-3)`` is the paper's.

    Parameters
    ----------
    acceleration : bool, default=True
        Whether the best iterate is kept, and the line from there is searched for the next cut; False takes several
        times as many cuts.
    keep_cuts : bool, default=False
        Whether cuts that have long been of no use are kept all the same.
    epsilon : float or None, default=None
        Stop when no constraint is violated by more, as the paper does; None: by the duality gap alone.
    measure : str or None, default=None
        For `LinearSVC`: optimise a measure of the whole prediction instead of a loss of each row (Joachims 2005), one
        of "f1", "prbep", "precision_at_k", "recall_at_k", "error_rate" and "roc_area".
    k : int or None, default=None
        How many rows "precision_at_k" and "recall_at_k" call positive.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin import BinaryProblem, CuttingPlane, solve
    >>> problem = BinaryProblem(np.array([[1.0], [-1.0]]), [1, -1], loss="hinge")
    >>> solve(problem, CuttingPlane(acceleration=False, keep_cuts=True, epsilon=1e-3)).solver
    'cutting_plane'
    """

    kinds: ClassVar[tuple[str, ...]] = ("binary", "crammer_singer", "ranking", "measure")
    losses: ClassVar[tuple[str, ...]] = ("hinge",)
    takes_free_bias: ClassVar[bool] = False
    is_dual: ClassVar[bool | None] = False

    acceleration: bool = True
    keep_cuts: bool = False
    epsilon: float | None = None
    measure: str | None = None
    k: int | None = None

    def __post_init__(self) -> None:
        check_flags(self, "acceleration", "keep_cuts")
        check_epsilon(self.epsilon)
        if self.measure is not None:
            check_measure(self.measure, self.k)
        elif self.k is not None:
            raise ValueError(f"k={self.k!r} needs a measure at k, such as measure='precision_at_k'")

    @property
    def name(self) -> str:
        """The short name: "cutting_plane"."""
        return "cutting_plane"

    def refuses(self, kind: str, loss: Loss | None = None, penalize_bias: bool = True) -> str | None:
        """With a measure it solves problems of that measure only."""
        if self.measure is not None and kind != "measure":
            return f"its measure is {self.measure!r}, which goes with LinearSVC or a MeasureProblem, one-versus-rest"
        return super().refuses(kind, loss, penalize_bias)

    def run(self, problem: Any, state: Any, run: Run) -> Exit:
        """Cut after cut; on large ranking problems, cuts of a sample first."""
        if problem.kind == "measure" and self.measure not in (None, problem.measure):
            raise ValueError(f"its measure is {self.measure!r}, but that of the problem {problem.measure!r}")
        options = _core.CuttingOptions(self.acceleration, self.keep_cuts, self.epsilon or 0.0)
        if problem.kind == "ranking" and self.acceleration and len(state.points()) == 0:
            sample = _sample(problem)
            if sample is not None:
                part = _core.RankingState(problem.matrix.rows, sample, problem.C, None)
                _core.cut_pairs(part, options, run.limits(), run.silent(0.5 * run.time_left()))
                state.set_points(part.points())
        return _CUT[problem.kind](state, options, run.stage(self.name), run.core)


def _sample(problem: RankingProblem) -> _core.Pairs | None:
    """The pairs of some rows of large data: where cuts of their risk touch, those of the whole risk are good too."""
    ranks = problem.ranks
    size = len(ranks.y)
    if size < LARGE:
        return None
    unit = ranks.group_of if ranks.group_of is not None and len(ranks.groups) >= MANY_GROUPS else np.arange(size)
    taken = _core.sample(unit.astype(np.int64), SAMPLE)
    weights = taken if ranks.scaled_weights is None else taken * ranks.scaled_weights
    pairs = _core.Pairs(ranks.y, ranks.group_of, weights)
    return pairs if pairs.total() > 0 else None
