"""Choices of C with a proof.

`choose_on_grid` finds which C of a grid the exact optima would choose: it solves coarsely, and more closely only where
a label that could change the choice is not yet proved (``tol="auto"``).

`choose_in_range` proves that no C between the ends of a grid, on it or not, has a cross-validation error lower than
that of the chosen one by more than a tolerance (Giesen et al. 2012; Shibagaki et al. 2015). The solution of each C
proves some labels wrong for an interval around it, and values of C are added where these intervals leave too many rows
open. Both rest on `maxmargin.training.balls`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from maxmargin._core import StopFlag
from maxmargin.problems.losses import Floats
from maxmargin.solvers.deadline import Deadline
from maxmargin.solvers.method import Method
from maxmargin.solvers.threads import map_threads
from maxmargin.training.balls import Proofs, Seen
from maxmargin.training.cross_validation import CrossValidation, Fold, Held, cross_validate
from maxmargin.training.folds import FoldsTogether, fold_groups
from maxmargin.training.path import next_method, seeds
from maxmargin.training.tasks import Classification, Solved

#: Tolerances of the rounds of `choose_on_grid`, and the smallest that is tried.
FIRST_TOL, LAST_TOL, FINER = 1e-2, 1e-11, 0.01
#: By how much rounds differ where folds are solved side by side: the last digits of Newton's method cost little.
FINER_TOGETHER = 1e-4
#: The share of the tolerance that rows without a proof at their own C may take.
OPEN_SHARE = 0.25
#: Intervals of C narrower than this, relatively, are not divided any more.
NARROW = 1e-6
#: The ratio of C within a cell to begin with, and the power of it that is tried after a cell with a proof.
FIRST_WIDTH, WIDER = 1.02, 1.3
#: Errors this close are equal.
ROUNDING = 1e-12
#: What a `Deadline` says when there is no time left.
NO_TIME = 1e-9


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

    Every C is solved to a gap of 1e-2. Of those that may be best, given what is proved about their labels, each with an
    open label is solved a hundred times more closely, and so on, until one is left or those left have no open label.
    Where folds are solved side by side by Newton's method, the first gap is 1e-4 and each further one 1e-4 times that.

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
    values = np.asarray(Cs, dtype=np.float64)
    shape = (len(values), len(folds))
    low, high = np.zeros(shape), np.ones(shape)
    deadline = Deadline(time_limit)
    result: CrossValidation | None = None
    open_ = np.arange(len(values))
    size = task.matrix.shape[0]
    tasks = [task.on(np.bincount(train, minlength=size).astype(np.float64)) for train, _ in folds]
    together = len(fold_groups(tasks, task.method(options.get("solver", "auto")))) < len(folds)
    first, finer = (FINER_TOGETHER, FINER_TOGETHER) if together else (FIRST_TOL, FINER)
    tol, rounds = first, 0

    while True:
        mine = open_.copy()

        def scored(held: Held, mine: Any = mine) -> float:
            k = mine[held.number]
            right, wrong, is_right = _proved(held)
            size = len(held.rows)
            low[k, held.fold], high[k, held.fold] = right.sum() / size, 1.0 - wrong.sum() / size
            return float(np.count_nonzero(right | (~wrong & is_right)) / size)

        part = cross_validate(
            task,
            values[mine].tolist(),
            folds,
            score=scored,
            tol=tol,
            keep_scores=keep_scores,
            on_step=on_step,
            time_limit=deadline.left(),
            **options,
        )
        part = replace(part, right=part.scores * part.sizes)
        result = part if result is None else _merged(result, part, mine)
        rounds += 1
        lows, highs = low.mean(axis=1), high.mean(axis=1)
        may_win = highs >= lows.max() - 1e-12
        unproved = (highs - lows > 1e-12) & may_win
        open_ = np.flatnonzero(unproved)
        certified = may_win.sum() == 1 or not unproved.any()
        late = deadline.moment is not None and not part.converged.all()
        if certified or tol <= LAST_TOL or late:
            return GridChoice(result, low, high, bool(certified), rounds)
        tol *= finer


def _merged(result: CrossValidation, part: CrossValidation, rows: NDArray[np.intp]) -> CrossValidation:
    """The result with some values of C replaced."""
    fields = ("scores", "right", "gaps", "converged", "fit_seconds", "score_seconds", "held_out")
    for name in fields:
        whole = getattr(result, name)
        if whole is not None:
            more = getattr(part, name)
            whole[rows] = whole[rows] + more if name.endswith("seconds") else more
    return result


def _proved(held: Held) -> tuple[Any, Any, Any]:
    """Rows whose labels at the optimum are proved right, those proved wrong, and those that the solution has right."""
    task = held.task
    assert isinstance(task, Classification)
    is_right = task.is_right(held.scores, held.rows)
    if not held.solved.problems:
        return is_right, ~is_right, is_right
    C = held.solved.C
    seen = Seen(held.solved.problems, held.solved.solutions, C, held.rows)
    proofs = Proofs(seen, seen, held.rows, task.known_labels(held.rows))
    return proofs.right(C, C), proofs.wrong(C, C), is_right


class Node(NamedTuple):
    """A value of C that is solved in every fold."""

    C: float
    error: float
    solved: list[Solved]
    seen: list[Seen | None]


@dataclass(frozen=True)
class RangeChoice:
    """A C with a proof about the whole range.

    Attributes
    ----------
    C : float
        The chosen one: of lowest error among all that were solved.
    error : float
        Its cross-validation error, the mean over folds of the share of wrong labels.
    bound : float
        No C of the range has an error below this.
    certified : bool
        Whether ``error - bound`` is at most the tolerance.
    Cs, errors : ndarray
        All values of C that were solved, increasing, and their errors.
    """

    C: float
    error: float
    bound: float
    certified: bool
    Cs: Floats
    errors: Floats


def choose_in_range(
    task: Classification,
    Cs: Sequence[float],
    folds: Sequence[Fold],
    cv_tol: float,
    *,
    best_error: float = np.inf,
    best_C: float | None = None,
    tol: float = 1e-3,
    solver: Any = "auto",
    n_jobs: int = 1,
    most_values: int = 1_000,
    time_limit: float | None = None,
    stop: StopFlag | None = None,
    on_value: Callable[[float, float], None] | None = None,
    **options: Any,
) -> RangeChoice:
    """A C between the ends of a grid, and a proof that none there is better by more than ``cv_tol``.

    Parameters
    ----------
    task : Classification
        What is learned.
    Cs : sequence of float
        The ends of the range, and values in between to begin with.
    folds : sequence of (train, test)
        Rows by number.
    cv_tol : float
        By how much, as a share of the rows, the error of another C may be lower.
    best_error, best_C : float, optional
        What is known already: the lower the error, the less there is to prove.
    tol : float, default=1e-3
        Gap of the first solution of each C. It is solved more closely where that leaves too many labels open.
    solver, n_jobs, stop
        As in ``cross_validate``.
    most_values : int, default=1000
        Most values of C.
    time_limit : float, optional
        Seconds for everything; then the proof is what has been proved so far.
    on_value : callable, optional
        Called with each C and its error.
    **options
        Passed to ``solve``.

    Returns
    -------
    RangeChoice
        The chosen C, its error, and the proved bound.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from maxmargin.training.choice import choose_in_range
    >>> from maxmargin.training.cross_validation import fold_numbers, folds_of
    >>> from maxmargin.training.tasks import Classification
    >>> X, y = load_iris(return_X_y=True)
    >>> folds = folds_of(fold_numbers(y, 3, seed=0))
    >>> choice = choose_in_range(Classification(X, y, 3), [0.1, 10.0], folds, cv_tol=0.03)
    >>> choice.certified, choice.error - choice.bound <= 0.03
    (True, True)
    """
    rows = [np.asarray(test) for _, test in folds]
    proving = _Proving(task, folds, rows, cv_tol, task.method(solver), n_jobs, stop, tol, Deadline(time_limit), options)
    values = sorted({float(C) for C in Cs})
    task.matrix.problems = max(task.matrix.problems, 20 * len(folds))
    found: dict[float, float] = {}
    best = (best_error, values[0] if best_C is None else best_C)

    def visit(C: float, near: Node | None) -> Node:
        node = proving.visit(C, near)
        found[C] = node.error
        if on_value is not None:
            on_value(C, node.error)
        return node

    left = visit(values[0], None)
    best = min(best, (left.error, left.C))
    bound = 1.0
    # Values of C to the right of the left end, the nearest last; where the proof fails between, one more is put there.
    stack: list[tuple[float, Node | None]] = [(C, None) for C in reversed(values[1:] or values)]
    while stack:
        C, node = stack[-1]
        if node is None:
            node = visit(C, left) if C > left.C else left
            best = min(best, (node.error, node.C))
            stack[-1] = (C, node)
        ended = len(found) >= most_values or node.C / left.C < 1.0 + NARROW or proving.ended()
        lowest, failing = proving.between(left, node, best[0] - cv_tol, ended)
        if failing is None or ended:
            bound = min(bound, lowest)
            left = node
            stack.pop()
        else:
            stack.append((failing, None))
    order = sorted(found)
    error, chosen = best
    return RangeChoice(
        C=chosen,
        error=error,
        bound=min(bound, error),
        certified=bool(bound >= error - cv_tol - ROUNDING),
        Cs=np.array(order),
        errors=np.array([found[C] for C in order]),
    )


@dataclass
class _Proving:
    """The work of `choose_in_range`: to solve a C in all folds, and to bound the error between two."""

    task: Classification
    folds: Sequence[Fold]
    rows: list[NDArray[np.intp]]
    cv_tol: float
    method: Method
    n_jobs: int
    stop: StopFlag | None
    tol: float
    deadline: Deadline
    options: dict[str, Any]

    def __post_init__(self) -> None:
        size = self.task.matrix.shape[0]
        self.width = FIRST_WIDTH  # of cells, as the ratio of their ends
        self.own = [self.task.on(np.bincount(train, minlength=size).astype(np.float64)) for train, _ in self.folds]
        self.groups = fold_groups(self.own, self.method)
        self.tols = [self.tol] * len(self.groups)
        self.together = [
            FoldsTogether([self.own[fold] for fold in group], self.method) if len(group) > 1 else None
            for group in self.groups
        ]

    def ended(self) -> bool:
        """Whether there is no time left."""
        late = self.deadline.moment is not None and self.deadline.left() == NO_TIME
        return late or (self.stop is not None and self.stop.is_set())

    def visit(self, C: float, near: Node | None) -> Node:
        """A C in all folds, seeded by another one."""

        def work(number: int, stop: StopFlag) -> list[tuple[Solved, Seen | None, float]]:
            return self._solve(number, C, near, stop)

        parts = map_threads(work, range(len(self.groups)), self.n_jobs, self.stop)
        solved, seen, shares = zip(*(part for group in parts for part in group), strict=True)
        return Node(C, float(np.mean(shares)), list(solved), list(seen))

    def _solve(
        self, number: int, C: float, near: Node | None, stop: StopFlag
    ) -> list[tuple[Solved, Seen | None, float]]:
        """A group of folds at one C, so closely that few wrong labels are without a proof; with shares of wrong labels.

        The first solution starts from that of another C, and each closer one from the last.
        """
        group = self.groups[number]
        solved = None if near is None else [near.solved[fold] for fold in group]
        while True:
            solved = self._solve_once(number, C, solved, stop)
            found = [self._seen(fold, own) for fold, own in zip(group, solved, strict=True)]
            enough = all(
                open_ <= OPEN_SHARE * self.cv_tol * len(self.rows[f])
                for f, (_, _, open_) in zip(group, found, strict=True)
            )
            tol = self.tols[number]
            if enough or tol <= LAST_TOL or not all(own.converged for own in solved):
                return [(own, seen, share) for own, (seen, share, _) in zip(solved, found, strict=True)]
            self.tols[number] = max(FINER * tol, LAST_TOL)  # the next C will need it as well

    def _solve_once(self, number: int, C: float, last: list[Solved] | None, stop: StopFlag) -> list[Solved]:
        """A group of folds at one C to the tolerance it has come to, from what is known."""
        limits = {"tol": self.tols[number], "time_limit": self.deadline.left(), "stop": stop, **self.options}
        together = self.together[number]
        if together is not None:
            weights = None if last is None else [own.solutions[0].weights for own in last]
            return together.solve(C, weights, n_jobs=max(self.n_jobs // len(self.groups), 1), **limits)
        own, before = self.own[number], None if last is None else last[0]
        start = seeds(before, C) if before is None or before.C != C else before.solutions
        return [own.solve(C, next_method(self.method, own, before), start, **limits)]

    def _seen(self, fold: int, solved: Solved) -> tuple[Seen | None, float, float]:
        """What a fold's solution says of its rows, the share of wrong labels, and how many of them have no proof."""
        own, rows = self.own[fold], self.rows[fold]
        wrong = ~own.is_right(own.scores(solved, rows), rows)
        if not solved.problems:
            return None, float(wrong.mean()), 0.0
        seen = Seen(solved.problems, solved.solutions, solved.C, rows)
        proved = self._proofs(fold, seen, seen).wrong(solved.C, solved.C).sum()
        return seen, float(wrong.mean()), float(wrong.sum() - proved)

    def _proofs(self, fold: int, left: Seen, right: Seen) -> Proofs:
        return Proofs(left, right, self.rows[fold], self.own[fold].known_labels(self.rows[fold]))

    def between(self, left: Node, right: Node, needed: float, ended: bool) -> tuple[float, float | None]:
        """The lowest proved error between two nodes, and a C where the proof needs another node.

        The range is divided into cells, each of which has a ball for all of its C.
        """
        proofs, constant = [], 0.0
        for fold, (one, two) in enumerate(zip(left.seen, right.seen, strict=True)):
            if one is None or two is None:  # one class only: the labels do not depend on C
                own, rows = self.own[fold], self.rows[fold]
                scores = own.scores(left.solved[fold], rows)
                constant += float((~own.is_right(scores, rows)).mean()) / len(self.folds)
                continue
            proof = self._proofs(fold, one, two)
            # Rows that are right at both ends hardly ever turn wrong in between, and leaving them out is safe.
            proof.keep(proof.wrong(left.C, left.C) | proof.wrong(right.C, right.C))
            proofs.append((proof, 1.0 / (len(self.folds) * len(self.rows[fold]))))

        def proved(low: float, high: float) -> float:
            return constant + sum(share * float(proof.wrong(low, high).sum()) for proof, share in proofs)

        lowest, low, ratio = 1.0, left.C, right.C / left.C
        while low < right.C or ratio == 1.0:
            high = min(low * self.width, right.C)
            error = proved(low, high)
            if error >= needed - ROUNDING or ended:
                lowest, low = min(lowest, error), high
                self.width **= WIDER
                if ratio == 1.0:
                    break
                continue
            # Where the middle by itself has the proof, narrower cells will have it; if not, a solution is missing.
            middle = float(np.sqrt(low * high))
            if self.width < 1.0 + NARROW or proved(middle, middle) < needed - ROUNDING:
                return error, float(np.sqrt(left.C * right.C))
            self.width = float(np.sqrt(self.width))
        return lowest, None
