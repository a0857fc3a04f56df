"""The folds of a task, each along increasing C by itself, or several of them side by side where that is faster.

Which folds go side by side depends on the task and the folds alone, so that the result is the same for any number of
threads.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxmargin.problems.losses import Floats
from maxmargin.solvers.deadline import Deadline
from maxmargin.solvers.folds import FoldNewton, folds_go_together
from maxmargin.solvers.method import Method
from maxmargin.solvers.together import WIDTH
from maxmargin.training.path import follow, next_method, seeds
from maxmargin.training.tasks import Classification, Solved, Task

#: Rows to train on and rows to test on.
Fold = tuple[NDArray[np.intp], NDArray[np.intp]]


def fold_tasks(task: Any, folds: Sequence[Fold]) -> list[Any]:
    """The task over the rows of each fold."""
    size = task.matrix.shape[0]
    return [task.on(np.bincount(train, minlength=size).astype(np.float64)) for train, _ in folds]


def fold_groups(tasks: Sequence[Task], method: Method) -> list[range]:
    """The folds, by number, that go side by side; ``tasks`` are those of all folds."""
    count = -(-len(tasks) // WIDTH)
    groups = [range(len(tasks) * k // count, len(tasks) * (k + 1) // count) for k in range(count)]
    if all(FoldsTogether.takes([tasks[fold] for fold in group], method) for group in groups):
        return groups
    return [range(fold, fold + 1) for fold in range(len(tasks))]


def go_together(task: Task, folds: Sequence[Fold], method: Method) -> bool:
    """Whether such folds go side by side."""
    tasks = fold_tasks(task, folds)
    return len(fold_groups(tasks, method)) < len(tasks)


class FoldsTogether:
    """Folds of two classes, solved side by side, one C after the other.

    Parameters
    ----------
    tasks : sequence of Classification
        Those of the folds, which `takes` accepts.
    method : Method
        For folds that have to go on by themselves.
    """

    def __init__(self, tasks: Sequence[Any], method: Method) -> None:
        self.tasks, self.method = tasks, method
        self._newton = FoldNewton(tasks[0].binary_problem(1.0))

    @staticmethod
    def takes(tasks: Sequence[Task], method: Method) -> bool:
        """Whether these folds are faster side by side."""
        problems = [task.binary_problem(1.0) if isinstance(task, Classification) else None for task in tasks]
        known = [problem for problem in problems if problem is not None]
        return len(known) == len(tasks) and folds_go_together(method, known)

    def solve(self, C: float, weights: Sequence[Floats] | None = None, **options: Any) -> list[Solved]:
        """All folds at one C, from the solutions of the last one or from given weights."""
        problems = [task.binary_problem(C) for task in self.tasks]
        solutions = self._newton.solve(problems, self.method, weights=weights, **options)
        return [Solved(C, [problem], [solution]) for problem, solution in zip(problems, solutions, strict=True)]


class FoldSolver:
    """The folds of a task at any C, from solutions of the same C or of another one.

    Parameters
    ----------
    task : Classification
        What is learned.
    folds : sequence of (train, test)
        Rows by number.
    method : Method
        The method.
    """

    def __init__(self, task: Classification, folds: Sequence[Fold], method: Method) -> None:
        self.method = method
        self.own: list[Classification] = fold_tasks(task, folds)
        self.rows = [np.asarray(test) for _, test in folds]
        self.groups = fold_groups(self.own, method)
        self._together = [
            FoldsTogether([self.own[fold] for fold in group], method) if len(group) > 1 else None
            for group in self.groups
        ]

    @property
    def side_by_side(self) -> bool:
        """Whether folds are solved together."""
        return len(self.groups) < len(self.own)

    def solve(
        self, number: int, C: float, last: list[Solved] | None, *, n_jobs: int = 1, **limits: Any
    ) -> list[Solved]:
        """A group of folds at one C, from what is known of them."""
        together = self._together[number]
        if together is not None:
            weights = None if last is None else [own.solutions[0].weights for own in last]
            return together.solve(C, weights, n_jobs=max(n_jobs // len(self.groups), 1), **limits)
        own, before = self.own[self.groups[number][0]], None if last is None else last[0]
        start = seeds(before, C) if before is None or before.C != C else before.solutions
        return [own.solve(C, next_method(self.method, own, before), start, **limits)]


def follow_folds(
    tasks: Sequence[Task], Cs: Sequence[float], method: Method, *, time_limit: float | None, n_jobs: int, **options: Any
) -> Iterator[list[Solved]]:
    """The solutions of a group of folds at each C, in their order, seeded by those of the C before.

    Parameters
    ----------
    tasks : sequence of Task
        One fold, or a group of `fold_groups`.
    Cs : sequence of float
        Best in increasing order.
    method : Method
        The method.
    time_limit : float or None
        Seconds for all together.
    n_jobs : int
        Threads that a group may use.
    **options
        Passed to ``solve``.

    Yields
    ------
    list of Solved
        One for each fold.
    """
    if len(tasks) == 1:
        for solved in follow(tasks[0], Cs, solver=method, time_limit=time_limit, **options):
            yield [solved]
        return
    deadline = Deadline(time_limit)
    together = FoldsTogether(tasks, method)
    for C in Cs:
        yield together.solve(C, time_limit=deadline.left(), n_jobs=n_jobs, **options)
