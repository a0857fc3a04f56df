"""The values of C that a proof over a range is made of, each solved in every fold as closely as the proof needs it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from maxmargin._core import StopFlag
from maxmargin.problems.losses import Floats
from maxmargin.solvers.deadline import Deadline
from maxmargin.solvers.method import Method
from maxmargin.solvers.threads import map_threads
from maxmargin.training.balls import Scored, Seen, score_together
from maxmargin.training.curvature import Scatter
from maxmargin.training.folds import Fold, FoldSolver
from maxmargin.training.proofs import Proofs
from maxmargin.training.tasks import Classification, Solved

#: The share of what may be open between two values of C that rows without a proof at their own C may take.
OPEN_SHARE = 0.3
#: The smallest gap that is tried, and by how much it falls at least where the first one leaves too many rows open.
LAST_TOL, FINER = 1e-12, 0.25
#: The share of the squared radius of the last proof that the gap of a node may have.
NODE_SHARE = 0.2
#: The tolerance where folds are solved side by side: it costs one step of Newton's method more than a large one.
TOGETHER_TOL = 1e-9


class Node(NamedTuple):
    """A value of C that is solved in every fold.

    ``seen`` is None for folds of one class, and ``wrong`` tells which labels are wrong by what was found. ``fine``
    tells whether it is solved so closely that few wrong labels have no proof at this C itself.
    """

    C: float
    error: float
    solved: list[Solved]
    seen: list[Seen | None]
    wrong: list[NDArray[np.bool_]]
    fine: bool


@dataclass
class RangeNodes:
    """The values of C that are solved for a proof, and how closely they have to be."""

    task: Classification
    folds: Sequence[Fold]
    cv_tol: float
    method: Method
    n_jobs: int
    stop: StopFlag | None
    tol: float
    deadline: Deadline
    options: dict[str, Any]

    def __post_init__(self) -> None:
        self.solver = FoldSolver(self.task, self.folds, self.method)
        self.own, self.rows, self.groups = self.solver.own, self.solver.rows, self.solver.groups
        self.labels = [own.known_labels(rows) for own, rows in zip(self.own, self.rows, strict=True)]
        self.scatters = [Scatter() for _ in self.folds]
        #: The radius with which each fold had its last proof between two nodes.
        self.radii: list[float | None] = [None] * len(self.folds)
        #: The distance between bounds that each group needs, from the last C on.
        self.distances: list[float | None] = [None] * len(self.groups)

    def ended(self) -> bool:
        """Whether there is no time left."""
        return self.deadline.is_over() or (self.stop is not None and self.stop.is_set())

    def visit(self, C: float, start: list[Solved] | None, best_error: float, fine: bool) -> Node:
        """A C in all folds, from solutions of this C or of another one."""
        coarse = not fine and start is not None and (self.solver.polishes or all(self.radii))

        def work(number: int, stop: StopFlag) -> list[tuple[Solved, Found]]:
            group = self.groups[number]
            own = None if start is None else [start[fold] for fold in group]
            if coarse and own is not None:
                return self._solve_coarsely(number, C, own, stop)
            return self._solve(number, C, own, best_error, stop)

        parts = map_threads(work, range(len(self.groups)), self.n_jobs, self.stop)
        solved, found = zip(*(part for group in parts for part in group), strict=True)
        error = float(np.mean([own.share for own in found]))
        return Node(C, error, list(solved), [own.seen for own in found], [own.wrong for own in found], not coarse)

    def _solve(
        self, number: int, C: float, start: list[Solved] | None, best_error: float, stop: StopFlag
    ) -> list[tuple[Solved, Found]]:
        """A group of folds at one C, so closely that few wrong labels are without a proof."""
        solved, tol, distance = start, self.tol, self.distances[number]
        if start is not None and distance is not None:
            tol = min(max(distance / max(value_at(own, C) for own in start), LAST_TOL), self.tol)
        while True:
            # A solution that is known already may be close enough.
            if solved is None or not all(own.C == C and own.converged and own.gap <= tol for own in solved):
                solved = self._solve_once(number, C, solved, tol, stop)
            found = self._look(number, solved)
            error = float(np.mean([own.share for own in found]))
            # Where the error is well above the best one, more may stay open.
            allowed = OPEN_SHARE * max(error - best_error + self.cv_tol, self.cv_tol)
            shrink = min(own.shrink(allowed) for own in found)
            gap = max(max(own.gap for own in solved), LAST_TOL)
            self.distances[number] = max(shrink, 0.0) ** 2 * gap * max(value_at(own, C) for own in solved)
            if shrink >= 1.0 or tol <= LAST_TOL or not all(own.converged for own in solved):
                return list(zip(solved, found, strict=True))
            tol = max(min(FINER * tol, 0.5 * max(shrink, 0.1) ** 2 * gap), LAST_TOL)

    def _solve_coarsely(self, number: int, C: float, start: list[Solved], stop: StopFlag) -> list[tuple[Solved, Found]]:
        """A group of folds at one C, so closely that its gap hardly adds to those between it and its neighbours."""
        group, tol = self.groups[number], TOGETHER_TOL
        radii = [radius for radius in (self.radii[fold] for fold in group) if radius is not None]
        if not self.solver.polishes and len(radii) == len(group):
            shares = [NODE_SHARE * radius**2 / value_at(own, C) for radius, own in zip(radii, start, strict=True)]
            tol = max(min(shares), LAST_TOL)
        tol, solved = min(tol, self.tol), start
        if not all(own.C == C and own.converged and own.gap <= tol for own in start):
            solved = self._solve_once(number, C, start, tol, stop)
        return list(zip(solved, self._look(number, solved), strict=True))

    def _solve_once(self, number: int, C: float, last: list[Solved] | None, tol: float, stop: StopFlag) -> list[Solved]:
        """A group of folds at one C, from what is known."""
        limits = {"tol": tol, "time_limit": self.deadline.left(), "stop": stop, **self.options}
        return self.solver.solve(number, C, last, n_jobs=self.n_jobs, **limits)

    def _look(self, number: int, solved: list[Solved]) -> list[Found]:
        """What the solutions of a group of folds say of the rows left out."""
        group = self.groups[number]
        scored: list[Any] = [None] * len(group)
        if len(group) > 1:
            scored = score_together([own.problems[0] for own in solved], [own.solutions[0] for own in solved])
        return [self._look_at(*parts) for parts in zip(group, solved, scored, strict=True)]

    def _look_at(self, fold: int, solved: Solved, scored: Scored | None) -> Found:
        """What a fold's solution says of its rows."""
        own, rows = self.own[fold], self.rows[fold]
        if not solved.problems:
            wrong = ~own.is_right(own.scores(solved, rows), rows)
            return Found(None, float(wrong.mean()), wrong, np.zeros(0))
        seen = Seen(solved.problems, solved.solutions, solved.C, rows, scored)
        plain = len(own.present) == own.n_classes
        wrong = ~own.is_right(seen.by_weights if plain else own.scores(solved, rows), rows)
        surely = Proofs(seen, seen, rows, self.labels[fold]).wrong_by(*np.full((2, 1), solved.C))[0]
        return Found(seen, float(wrong.mean()), wrong, np.sort(surely[wrong]))


class Found(NamedTuple):
    """What a fold's solution says of its rows: the share that is wrong, which, and how surely they are, sorted."""

    seen: Seen | None
    share: float
    wrong: NDArray[np.bool_]
    surely: Floats

    def shrink(self, allowed: float) -> float:
        """The factor that the ball may be multiplied by for this share of the rows to be wrong without a proof."""
        number = int(allowed * len(self.wrong))
        return float(self.surely[number]) if number < len(self.surely) else 10.0


def value_at(solved: Solved, C: float) -> float:
    """About the objective at a C, from a solution at another one: it grows with C at most as fast as C does."""
    return max((solution.certificate.primal for solution in solved.solutions), default=1.0) * max(C / solved.C, 1.0)
