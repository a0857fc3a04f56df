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
from maxmargin.solvers.threads import map_threads
from maxmargin.training.balls import Reaches
from maxmargin.training.cross_validation import CrossValidation, Fold, Held, cross_validate
from maxmargin.training.path import next_method, seeds
from maxmargin.training.tasks import Classification, Solved

#: Tolerances of the rounds of `choose_on_grid`, and the smallest that is tried.
FIRST_TOL, LAST_TOL, FINER = 1e-2, 1e-9, 0.1
#: The share of the tolerance that rows without a proof at their own C may take.
OPEN_SHARE = 0.25
#: Intervals of C narrower than this, relatively, are not divided any more.
NARROW = 1e-6


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
    open label is solved ten times more closely, and so on, until one is left or those left have no open label.

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
    tol, rounds = FIRST_TOL, 0

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
        tol *= FINER


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
    reaches = Reaches(held.solved.problems, held.solved.solutions, held.rows, task.known_labels(held.rows))
    return (*reaches.proved(), is_right)


class Node(NamedTuple):
    """A value of C that is solved in every fold, and between which values of C its rows are proved to be wrong."""

    C: float
    error: float
    solved: list[Solved]
    low: list[Floats]
    high: list[Floats]


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
    most_values: int = 2_000,
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
    most_values : int, default=2000
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
    """
    own = [task.on(np.bincount(train, minlength=task.matrix.shape[0]).astype(np.float64)) for train, _ in folds]
    rows = [np.asarray(test) for _, test in folds]
    weights = [np.full(len(test), 1.0 / (len(folds) * len(test))) for test in rows]
    method = task.method(solver)
    deadline = Deadline(time_limit)
    values = sorted({float(C) for C in Cs})
    task.matrix.problems = max(task.matrix.problems, 50 * len(folds))
    found: dict[float, float] = {}
    best = (best_error, values[0] if best_C is None else best_C)

    def visit(C: float, near: Node | None) -> Node:
        def work(fold: int, stop: StopFlag) -> tuple[Solved, Floats, Floats, float]:
            return _prove(
                own[fold],
                C,
                None if near is None else near.solved[fold],
                rows[fold],
                OPEN_SHARE * cv_tol * len(rows[fold]),
                method,
                tol=tol,
                time_limit=deadline.left(),
                stop=stop,
                **options,
            )

        parts = map_threads(work, range(len(folds)), n_jobs, stop)
        error = float(sum(part[3] / (len(folds) * len(test)) for part, test in zip(parts, rows, strict=True)))
        found[C] = error
        if on_value is not None:
            on_value(C, error)
        return Node(C, error, [p[0] for p in parts], [C * p[1] for p in parts], [C * p[2] for p in parts])

    left = visit(values[0], None)
    best = min(best, (left.error, left.C))
    bound = left.error
    waiting = [(C, None) for C in reversed(values[1:])]
    stack: list[tuple[float, Node | None]] = list(waiting)
    while stack:
        C, node = stack[-1]
        if node is None:
            node = visit(C, left)
            best = min(best, (node.error, node.C))
            stack[-1] = (C, node)
        lowest, middle = _weakest(left, node, weights, best[0] - cv_tol)
        late = deadline.moment is not None and deadline.left() == 1e-9
        ended = len(found) >= most_values or late or (stop is not None and stop.is_set())
        if lowest >= best[0] - cv_tol - 1e-12 or ended or node.C / left.C < 1.0 + NARROW:
            bound = min(bound, lowest)
            left = node
            stack.pop()
        else:
            stack.append((middle, None))
    if len(values) == 1:
        bound = min(bound, _proved_error(left, weights))
    order = sorted(found)
    error, chosen = best
    return RangeChoice(
        C=chosen,
        error=error,
        bound=min(bound, error),
        certified=bool(bound >= error - cv_tol - 1e-12),
        Cs=np.array(order),
        errors=np.array([found[C] for C in order]),
    )


def _prove(
    task: Classification,
    C: float,
    near: Solved | None,
    rows: NDArray[np.intp],
    may_be_open: float,
    method: Any,
    *,
    tol: float,
    **options: Any,
) -> tuple[Solved, Floats, Floats, float]:
    """One fold at one C, closely enough that few wrong labels are without a proof; what it proves, and wrong labels."""
    solved = task.solve(C, next_method(method, task, near), seeds(near, C), tol=tol, **options)
    while True:
        wrong = ~task.is_right(task.scores(solved)[rows], rows)
        if not solved.problems:
            return solved, np.where(wrong, 0.0, 1.0), np.where(wrong, np.inf, 1.0), float(wrong.sum())
        reaches = Reaches(solved.problems, solved.solutions, rows, task.known_labels(rows))
        low, high = reaches.wrong_between()
        left_open = wrong.sum() - np.count_nonzero(high > low)
        if left_open <= may_be_open or tol <= LAST_TOL or not solved.converged:
            return solved, low, high, float(wrong.sum())
        tol = max(FINER * tol, LAST_TOL)
        solved = task.solve(C, next_method(method, task, solved), solved.solutions, tol=tol, **options)


def _weakest(left: Node, right: Node, weights: list[Floats], needed: float) -> tuple[float, float]:
    """The lowest proved error between two values of C, and a C in the middle of where it is below the needed one.

    A row is open between the C up to which the left node proves it wrong and the C from which on the right one does.
    """
    begins = np.concatenate([np.clip(high, left.C, right.C) for high in left.high])
    ends = np.concatenate([np.clip(low, left.C, right.C) for low in right.low])
    weight = np.concatenate(weights)
    is_open = begins <= ends
    begins, ends, weight = begins[is_open], ends[is_open], weight[is_open]
    places = np.concatenate([begins, ends])
    changes = np.concatenate([weight, -weight])
    # At one place, rows become open before others cease to be.
    order = np.lexsort((changes < 0, places))
    places, opened = places[order], np.cumsum(changes[order])
    lowest = 1.0 - float(opened.max(initial=0.0))
    failing = np.flatnonzero(1.0 - opened < needed - 1e-12)
    if len(failing) == 0:
        return lowest, float(np.sqrt(left.C * right.C))
    first, last = places[failing[0]], places[min(failing[-1] + 1, len(places) - 1)]
    # Not at the very ends, where a node is already.
    ratio = right.C / left.C
    middle = np.clip(np.sqrt(first * last), left.C * ratio**0.1, right.C / ratio**0.1)
    return lowest, float(middle)


def _proved_error(node: Node, weights: list[Floats]) -> float:
    return float(
        sum((weight * (high > low)).sum() for weight, low, high in zip(weights, node.low, node.high, strict=True))
    )
