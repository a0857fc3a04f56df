"""The C of a grid that exact optima would choose (``tol="auto"``).

`choose_on_grid` solves coarsely, and more closely only where a label that could change the choice is not certain
(`maxmargin.training.certain`).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from maxmargin._core import StopFlag
from maxmargin.problems.losses import Floats
from maxmargin.solvers.deadline import Deadline
from maxmargin.solvers.threads import map_threads
from maxmargin.training.certain import Certain
from maxmargin.training.cross_validation import SAME, CrossValidation, Held, cross_validate
from maxmargin.training.curvature import Scatter
from maxmargin.training.folds import Fold, FoldSolver
from maxmargin.training.range_nodes import TOGETHER_TOL
from maxmargin.training.tasks import Classification

#: The first tolerance, unless folds are solved side by side.
FIRST_TOL = 1e-3
#: The smallest tolerance that is tried, and by how much they differ at least, and at most.
LAST_TOL, FINER, SMALLEST_SHRINK = 1e-11, 0.25, 0.03
#: The share of the difference between two scores that the open rows of one may take.
OPEN_SHARE = 0.4


@dataclass(frozen=True)
class GridChoice:
    """Which C of a grid the exact optima choose.

    Attributes
    ----------
    result : CrossValidation
        Scores of all C, each as exact as was needed.
    low, high : ndarray of shape (n_Cs, n_folds)
        Between which the scores of the exact optima are.
    certified : bool
        Whether the choice is that of the exact optima.
    rounds : int
        How often some C were solved more closely.
    """

    result: CrossValidation
    low: Floats
    high: Floats
    certified: bool
    rounds: int


def choose_on_grid(
    task: Classification,
    Cs: Sequence[float],
    folds: Sequence[Fold],
    *,
    keep_scores: bool = False,
    on_step: Callable[[Held, float], None] | None = None,
    time_limit: float | None = None,
    **options: Any,
) -> GridChoice:
    """Cross-validate as exactly as the choice of C needs it.

    Every C is solved to a gap of 1e-3, or 1e-9 where folds are solved side by side by Newton's method. Of those that
    may be best, given which of their labels are certain, each with an open label is solved more closely, from where it
    is, as far as the distance of its score from the best one asks for, and so on, until one is left or those left have
    no open label.

    Parameters
    ----------
    task : Classification
        What is learned.
    Cs : sequence of float
        The grid.
    folds : sequence of (train, test)
        Rows by number.
    keep_scores, on_step, time_limit
        As in ``cross_validate``.
    **options
        ``n_jobs``, ``solver``, ``stop``, and what ``solve`` takes but ``tol``.

    Returns
    -------
    GridChoice
        Scores, their bounds, and whether the choice is certain.
    """
    values, method = np.asarray(Cs, dtype=np.float64), task.method(options.pop("solver", "auto"))
    deadline, stop = Deadline(time_limit), options.get("stop")
    solver = FoldSolver(task, folds, method)
    first = TOGETHER_TOL if solver.polishes else FIRST_TOL
    known = np.empty((len(values), len(folds)), dtype=object)
    scores = np.empty((len(values), len(folds)), dtype=object)

    def keep(held: Held, score: float) -> None:
        known[held.number, held.fold], scores[held.number, held.fold] = held.solved, held.scores
        if on_step is not None:
            on_step(held, score)

    result = cross_validate(
        task,
        values.tolist(),
        folds,
        solver=method,
        tol=first,
        keep_scores=keep_scores,
        on_step=keep,
        time_limit=deadline.left(),
        **options,
    )
    proving = _GridProof(solver, known, scores, result)
    n_jobs = options.pop("n_jobs", 1)
    rounds = 1
    while True:
        proving.bound(n_jobs, stop)
        open_ = proving.undecided()
        late = deadline.is_over() or (stop is not None and stop.is_set())
        tols = {k: proving.next_tol(k) for k in open_}
        if not open_ or late or max(tols.values()) <= LAST_TOL:
            return GridChoice(result, proving.low, proving.high, not open_, rounds)
        for k, tol in tols.items():
            if tol > LAST_TOL:
                proving.refine(k, tol, n_jobs, on_step, time_limit=deadline.left(), **options)
        rounds += 1


@dataclass
class _GridProof:
    """What the solutions of a grid prove about the labels of rows left out."""

    solver: FoldSolver
    known: Any
    scores: Any
    result: CrossValidation

    def __post_init__(self) -> None:
        shape = self.known.shape
        self.low, self.high = np.zeros(shape), np.ones(shape)
        self._certain: Any = np.empty(shape, dtype=object)
        self._scatters = [Scatter() for _ in self.solver.own]
        self._done = np.zeros(shape, dtype=bool)

    def bound(self, n_jobs: int, stop: StopFlag | None) -> None:
        """Bounds of the scores of all C: by gaps alone, and more closely for those that may be best.

        Those of highest scores come first, so that others are known early to be worse.
        """
        folds = range(self.known.shape[1])
        fresh = [k for k in np.argsort(-self.result.means, kind="stable").tolist() if not self._done[k].all()]

        def look(fold: int, _: StopFlag) -> None:
            for k in fresh:
                self._certain[k, fold] = self._look(k, fold)
                self._keep(k, fold)

        map_threads(look, folds, n_jobs, stop)
        self._done[:] = True
        for k in fresh:
            if k in self.undecided():

                def sharpen(fold: int, _: StopFlag, k: int = k) -> None:
                    self._certain[k, fold].sharpen(self._scatters[fold])
                    self._keep(k, fold)

                map_threads(sharpen, folds, n_jobs, stop)

    def _look(self, k: int, fold: int) -> Certain:
        own, rows, solved = self.solver.own[fold], self.solver.rows[fold], self.known[k, fold]
        return Certain.of(own, solved, rows, self.scores[k, fold])

    def _keep(self, k: int, fold: int) -> None:
        right, wrong = self._certain[k, fold].counts()
        size = len(self.solver.rows[fold])
        self.low[k, fold], self.high[k, fold] = right / size, 1.0 - wrong / size

    def undecided(self) -> list[int]:
        """Those C that may be best and whose scores are not known exactly, if there is more than one that may be."""
        lows, highs = self.low.mean(axis=1), self.high.mean(axis=1)
        may_win = highs >= lows.max() - SAME
        if may_win.sum() == 1:
            return []
        return np.flatnonzero(may_win & (highs - lows > SAME)).tolist()

    def next_tol(self, k: int) -> float:
        """The gap with which it should be known whether a C is best: its own, times the square of what is missing."""
        means = self.result.means
        others = np.delete(means, k)
        margin = float(np.abs(means[k] - others.max())) if len(others) else 0.0
        gap = max(own.gap for own in self.known[k])
        shrink = min(own.shrink(OPEN_SHARE * margin) for own in self._certain[k])
        return float(max(min(FINER * gap, 2.0 * max(shrink, SMALLEST_SHRINK) ** 2 * gap), LAST_TOL))

    def refine(self, k: int, tol: float, n_jobs: int, on_step: Any, **limits: Any) -> None:
        """Solve a C more closely, from what is known of it."""
        C, result, solver = float(self.result.Cs[k]), self.result, self.solver
        stop = limits.pop("stop", None)

        def solve(number: int, stop: StopFlag) -> None:
            group = solver.groups[number]
            begin = time.perf_counter()
            solved = solver.solve(
                number, C, list(self.known[k, list(group)]), n_jobs=n_jobs, tol=tol, stop=stop, **limits
            )
            seconds = (time.perf_counter() - begin) / len(group)
            for fold, found in zip(group, solved, strict=True):
                own, rows = solver.own[fold], solver.rows[fold]
                self.known[k, fold], self.scores[k, fold] = found, own.scores(found, rows)
                held = Held(fold, k, found, rows, self.scores[k, fold], own)
                result.right[k, fold] = own.right(held.scores, rows)
                result.scores[k, fold] = result.right[k, fold] / len(rows)
                result.gaps[k, fold], result.converged[k, fold] = found.gap, found.converged
                result.fit_seconds[k, fold] += seconds
                if result.held_out is not None:
                    result.held_out[k, rows] = held.scores
                self._done[k, fold] = False
                if on_step is not None:
                    on_step(held, result.scores[k, fold])

        map_threads(solve, range(len(solver.groups)), n_jobs, stop)
