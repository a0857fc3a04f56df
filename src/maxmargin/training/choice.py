"""The C of a grid that exact optima would choose (``tol="auto"``).

`choose_on_grid` solves coarsely, and more closely only where a label that could change the choice is not yet proved by
`maxmargin.training.balls`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxmargin.problems.losses import Floats
from maxmargin.solvers.deadline import Deadline
from maxmargin.training.balls import Proofs, Seen
from maxmargin.training.cross_validation import CrossValidation, Held, cross_validate
from maxmargin.training.folds import Fold, go_together
from maxmargin.training.tasks import Classification

#: Tolerances of the rounds of `choose_on_grid`, and the smallest that is tried.
FIRST_TOL, LAST_TOL, FINER = 1e-2, 1e-11, 0.01
#: By how much rounds differ where folds are solved side by side: the last digits of Newton's method cost little.
FINER_TOGETHER = 1e-4


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
    together = go_together(task, folds, task.method(options.get("solver", "auto")))
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
