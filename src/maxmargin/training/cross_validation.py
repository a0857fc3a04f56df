"""Cross-validation over several C without copying a row.

Rows of weight zero take no part in training, so a fold is left out by its weights, and all folds share the matrix, its
norms and its packed copy. Within a fold each C is seeded by the one before (`maxmargin.training.path`), and folds are
solved side by side where that is faster (`maxmargin.training.folds`). Folds are spread over threads; the result does
not depend on how many there are.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from maxmargin._core import StopFlag
from maxmargin.problems.losses import Floats
from maxmargin.problems.ranking import NothingToRankError
from maxmargin.solvers.deadline import Deadline
from maxmargin.solvers.method import Method
from maxmargin.solvers.threads import map_threads
from maxmargin.training.folds import Fold, fold_groups, fold_tasks, follow_folds
from maxmargin.training.tasks import Solved, Task

#: Mean scores this close are equal: their difference is rounding.
SAME = 1e-12
#: How C is chosen from the scores.
RULES = ("best", "one_standard_error")


class Held(NamedTuple):
    """What is known when one C of one fold is solved, for those who score it.

    Attributes
    ----------
    fold : int
        Which fold.
    number : int
        Which C, by its place among those given.
    solved : Solved
        The problems and their solutions.
    rows : ndarray
        The rows left out.
    scores : ndarray of shape (len(rows), columns)
        Their scores.
    task : Task
        The task over the rows trained on.
    """

    fold: int
    number: int
    solved: Solved
    rows: NDArray[np.intp]
    scores: Floats
    task: Task


@dataclass(frozen=True)
class CrossValidation:
    """Scores of rows that were left out, for each C (rows) and fold (columns).

    Attributes
    ----------
    Cs : ndarray of shape (n_Cs,)
        The values of C, as given.
    scores : ndarray of shape (n_Cs, n_folds)
        Accuracy, share of pairs in order, or what the scorer says; larger is better.
    right : ndarray of shape (n_Cs, n_folds)
        Rows labelled as they should be; NaN for tasks without labels.
    sizes : ndarray of shape (n_folds,)
        Rows left out in each fold.
    gaps : ndarray of shape (n_Cs, n_folds)
        The largest certified gap of each training.
    converged : ndarray of shape (n_Cs, n_folds)
        Whether each training reached its tolerance.
    fit_seconds, score_seconds : ndarray of shape (n_Cs, n_folds)
        Time.
    held_out : ndarray of shape (n_Cs, rows, columns) or None
        Scores of each row by the model that was trained without it, if they were kept; NaN for rows in no fold.
    """

    Cs: Floats
    scores: Floats
    right: Floats
    sizes: NDArray[np.intp]
    gaps: Floats
    converged: NDArray[np.bool_]
    fit_seconds: Floats
    score_seconds: Floats
    held_out: Floats | None = field(default=None, repr=False)

    @property
    def means(self) -> Floats:
        """Mean score of each C over the folds."""
        return np.asarray(self.scores.mean(axis=1))

    @property
    def deviations(self) -> Floats:
        """Standard deviation of the scores of each C over the folds, as scikit-learn's ``std_test_score``."""
        return np.asarray(self.scores.std(axis=1))

    def best(self, rule: str = "best") -> int:
        """Which C to take.

        "best": the highest mean score; among equal ones most rows labelled right, then the smallest C.
        "one_standard_error": the smallest C whose mean is within one standard error of the best one's (Breiman et al.
        1984), which is a simpler model that is as good as far as the folds can tell.
        """
        if rule not in RULES:
            raise ValueError(f"rule={rule!r} is unknown; choose from {list(RULES)}")
        means = np.where(np.isnan(self.means), -np.inf, self.means)
        top = means.max()
        equal = means >= top - SAME * max(abs(top), 1.0)
        counts = np.where(equal, np.nan_to_num(self.right.sum(axis=1)), -1.0)
        equal &= counts == counts.max()
        best = min(np.flatnonzero(equal).tolist(), key=lambda k: self.Cs[k])
        if rule == "best" or self.scores.shape[1] < 2:
            return int(best)
        error = self.scores[best].std(ddof=1) / np.sqrt(self.scores.shape[1])
        near = np.flatnonzero(means >= means[best] - error)
        return int(min([best, *near.tolist()], key=lambda k: self.Cs[k]))

    def note(self, best: int) -> str | None:
        """A word of advice when the best C is at the end of the grid; None if it is not."""
        if len(self.Cs) < 2 or self.Cs[best] not in (self.Cs.min(), self.Cs.max()):
            return None
        end, other = ("smallest", "smaller") if self.Cs[best] == self.Cs.min() else ("largest", "larger")
        return f"the best C, {self.Cs[best]:g}, is the {end} of the grid; {other} ones may be better"


def fold_numbers(labels: NDArray[np.intp], folds: int, seed: int) -> NDArray[np.intp]:
    """The fold of each row: random, of equal size, and each with its share of every class.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin.training.cross_validation import fold_numbers
    >>> folds = fold_numbers(np.array([0, 0, 0, 0, 1, 1]), folds=2, seed=0)
    >>> sorted(folds[:4].tolist()), sorted(folds[4:].tolist())
    ([0, 0, 1, 1], [0, 1])
    """
    order = np.random.RandomState(seed).permutation(len(labels))
    order = order[np.argsort(labels[order], kind="stable")]
    numbers = np.empty(len(labels), dtype=np.intp)
    numbers[order] = np.arange(len(labels)) % folds
    return numbers


def group_fold_numbers(groups: ArrayLike, folds: int, seed: int) -> NDArray[np.intp]:
    """The fold of each row such that groups stay whole: in random order, each group to the fold with fewest rows.

    Examples
    --------
    >>> from maxmargin.training.cross_validation import group_fold_numbers
    >>> numbers = group_fold_numbers(["a", "b", "a", "c", "b"], folds=3, seed=0)
    >>> bool(numbers[0] == numbers[2]), len(set(numbers.tolist()))
    (True, 3)
    """
    names, group_of = np.unique(np.asarray(groups), return_inverse=True)
    if not 2 <= folds <= len(names):
        raise ValueError(f"the number of folds must lie between 2 and the number of groups ({len(names)}), not {folds}")
    counts = np.bincount(group_of)
    order = np.random.RandomState(seed).permutation(len(names))
    order = order[np.argsort(-counts[order], kind="stable")]  # large ones first, so that sizes come out even
    sizes = np.zeros(folds, dtype=np.intp)
    fold_of_group = np.empty(len(names), dtype=np.intp)
    for group in order:
        smallest = int(sizes.argmin())
        fold_of_group[group] = smallest
        sizes[smallest] += counts[group]
    return fold_of_group[group_of]


def folds_of(numbers: NDArray[np.intp]) -> list[Fold]:
    """Each fold as the rows to train on and the rows to test on."""
    return [(np.flatnonzero(numbers != fold), np.flatnonzero(numbers == fold)) for fold in range(numbers.max() + 1)]


def check_count(folds: int, rows: int) -> int:
    """The number of folds, checked."""
    if not 2 <= folds <= rows:
        raise ValueError(f"the number of folds must lie between 2 and the number of rows ({rows}), not {folds}")
    return folds


def cross_validate(
    task: Task,
    Cs: Sequence[float],
    folds: Iterable[Fold],
    *,
    solver: str | Method = "auto",
    score: Callable[[Held], float] | None = None,
    n_jobs: int = 1,
    keep_scores: bool = False,
    on_step: Callable[[Held, float], None] | None = None,
    time_limit: float | None = None,
    stop: StopFlag | None = None,
    **options: Any,
) -> CrossValidation:
    """Scores of rows that were left out, for every C and fold.

    Parameters
    ----------
    task : Task
        What is learned: a `Classification` or a `Ranking` over one matrix.
    Cs : sequence of float
        Weights of the loss to try, in any order.
    folds : iterable of (train, test)
        Rows by number, as scikit-learn's splitters give them: train and test may leave out rows, and a row that is
        listed twice for training counts twice.
    solver : str or Method, default="auto"
        The method.
    score : callable, optional
        How good a `Held` is; by default the accuracy, or the share of pairs in order.
    n_jobs : int, default=1
        Threads over folds. The result does not depend on it.
    keep_scores : bool, default=False
        Whether the scores of the rows left out are kept.
    on_step : callable, optional
        Called with each `Held` and its score, from the thread that made it.
    time_limit : float, optional
        Seconds for everything. Each thread shares what is left of them evenly between what it has still to do.
    stop : StopFlag, optional
        Setting it from another thread ends everything.
    **options
        Passed to ``solve``.

    Returns
    -------
    CrossValidation
        Arrays of shape (len(Cs), folds).

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_iris
    >>> from maxmargin.training.cross_validation import cross_validate, fold_numbers, folds_of
    >>> from maxmargin.training.tasks import Classification
    >>> X, y = load_iris(return_X_y=True)
    >>> result = cross_validate(Classification(X, y, 3), [0.01, 1.0], folds_of(fold_numbers(y, 5, seed=0)))
    >>> result.scores.shape, float(result.Cs[result.best()])
    ((2, 5), 1.0)
    """
    parts = [(np.asarray(train), np.asarray(test)) for train, test in folds]
    values = np.asarray(Cs, dtype=np.float64)
    order = np.argsort(values, kind="stable")
    shape = (len(values), len(parts))
    scores, right, gaps, fitting, scoring = (np.full(shape, np.nan) for _ in range(5))
    converged = np.zeros(shape, dtype=bool)
    task.matrix.problems = max(task.matrix.problems, len(values) * len(parts))
    size = task.matrix.shape[0]
    tasks = fold_tasks(task, parts)
    method = task.method(solver)
    groups = fold_groups(tasks, method)
    deadline = Deadline(time_limit)
    rounds = -(-len(groups) // n_jobs)
    held_out = np.full((len(values), size, task.columns), np.nan) if keep_scores else None

    def take(fold: int, k: int, solved: Solved, fit_seconds: float) -> None:
        begin = time.perf_counter()
        own, test = tasks[fold], parts[fold][1]
        held = Held(fold, k, solved, test, own.scores(solved, test), own)
        scores[k, fold] = own.score(held.scores, test) if score is None else score(held)
        right[k, fold] = own.right(held.scores, test)
        gaps[k, fold] = solved.gap
        converged[k, fold] = solved.converged
        if held_out is not None:
            held_out[k, test] = held.scores
        if on_step is not None:
            on_step(held, scores[k, fold])
        fitting[k, fold], scoring[k, fold] = fit_seconds, time.perf_counter() - begin

    def run(number: int, stop: StopFlag) -> None:
        group = groups[number]
        left = deadline.left()
        steps = follow_folds(
            [tasks[fold] for fold in group],
            values[order].tolist(),
            method,
            time_limit=None if left is None else left / (rounds - number // n_jobs),
            n_jobs=max(n_jobs // len(groups), 1),
            stop=stop,
            **options,
        )
        begin = time.perf_counter()
        try:
            for k, solved in zip(order.tolist(), steps, strict=True):
                seconds = (time.perf_counter() - begin) / len(group)
                for fold, own in zip(group, solved, strict=True):
                    take(fold, k, own, seconds)
                    if stop.is_set():
                        return
                begin = time.perf_counter()
        except NothingToRankError as error:
            raise NothingToRankError(f"fold {group[0]}: {error}") from error

    map_threads(run, range(len(groups)), n_jobs, stop)
    return CrossValidation(
        Cs=values,
        scores=scores,
        right=right,
        sizes=np.array([len(test) for _, test in parts]),
        gaps=gaps,
        converged=converged,
        fit_seconds=fitting,
        score_seconds=scoring,
        held_out=held_out,
    )
