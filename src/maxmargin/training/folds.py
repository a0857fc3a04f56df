"""The folds of a task, each along increasing C by itself, or several of them side by side where that is faster.

Folds of two classes go side by side: with few features and a curved loss by Newton's method (`FoldsByNewton`), with
many features by sweeps that visit a row once for all folds (`FoldsBySweeps`). Which folds do so depends on the task and
the folds alone, so that the result is the same for any number of threads.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from types import SimpleNamespace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from maxmargin._core import StopFlag
from maxmargin.solvers.auto import MOST_NEWTON_FEATURES
from maxmargin.solvers.deadline import Deadline
from maxmargin.solvers.folds import FoldNewton, folds_go_together
from maxmargin.solvers.method import Method
from maxmargin.solvers.solution import Values
from maxmargin.solvers.threads import map_threads
from maxmargin.solvers.together import WIDTH, folds_sweep_together, goes_together, solve_together
from maxmargin.training.path import method_after, next_method, seeds
from maxmargin.training.tasks import Classification, Solved, Task

#: The dual value that a fold starts with, as a share of what its share of the rows had.
START_SHARE = 0.5
#: Rows to train on and rows to test on.
Fold = tuple[NDArray[np.intp], NDArray[np.intp]]


def fold_tasks(task: Any, folds: Sequence[Fold]) -> list[Any]:
    """The task over the rows of each fold."""
    size = task.matrix.shape[0]
    return [task.on(np.bincount(train, minlength=size).astype(np.float64)) for train, _ in folds]


class FoldGroup(Protocol):
    """Folds that are solved by one call at each C."""

    def solve(self, C: float, last: Sequence[Solved] | None, **limits: Any) -> list[Solved]:
        """The folds at one C, from their solutions at this C or at another one; ``limits`` are those of ``solve``."""

    def begin(self, C: float, starts: Sequence[Any], solvers: Sequence[str], **limits: Any) -> list[Solved]:
        """The folds at one C, each from its ``starts``, which a training of all rows has found with ``solvers``."""


def fold_groups(tasks: Sequence[Task], method: Method) -> list[range]:
    """The folds, by number, that go side by side; ``tasks`` are those of all folds."""
    count = -(-len(tasks) // WIDTH)
    groups = [range(len(tasks) * k // count, len(tasks) * (k + 1) // count) for k in range(count)]
    for kind in (FoldsByNewton, FoldsBySweeps):
        if all(kind.takes([tasks[fold] for fold in group], method) for group in groups):
            return groups
    return [range(fold, fold + 1) for fold in range(len(tasks))]


def group_of(tasks: Sequence[Any], method: Method) -> FoldGroup:
    """What solves the folds of one of `fold_groups`."""
    if len(tasks) == 1:
        return OneFold(tasks[0], method)
    few = tasks[0].matrix.shape[1] <= MOST_NEWTON_FEATURES
    return (FoldsByNewton if few else FoldsBySweeps)(tasks, method)


def folds_polish(task: Task, folds: Sequence[Fold], method: Method) -> bool:
    """Whether a very small gap costs such folds hardly more than a large one, as with Newton's method side by side."""
    tasks = fold_tasks(task, folds)
    group = fold_groups(tasks, method)[0]
    return len(group) > 1 and FoldsByNewton.takes([tasks[fold] for fold in group], method)


class OneFold:
    """A fold by itself."""

    def __init__(self, task: Task, method: Method) -> None:
        self.task, self.method = task, method

    def solve(self, C: float, last: Sequence[Solved] | None, **limits: Any) -> list[Solved]:
        """Each C is seeded by the last one."""
        before = None if last is None else last[0]
        return [self.task.solve(C, next_method(self.method, self.task, before), seeds(before, C), **limits)]

    def begin(self, C: float, starts: Sequence[Any], solvers: Sequence[str], **limits: Any) -> list[Solved]:
        """From known solutions."""
        return [self.task.solve(C, method_after(self.method, self.task, solvers), starts[0], **limits)]


class FoldsByNewton:
    """Folds of two classes that share the passes of Newton's method.

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
        self._last: list[Solved] = []

    @staticmethod
    def takes(tasks: Sequence[Task], method: Method) -> bool:
        """Whether these folds are faster so."""
        problems = binary_problems(tasks)
        return problems is not None and folds_go_together(method, problems)

    def solve(self, C: float, last: Sequence[Solved] | None, **limits: Any) -> list[Solved]:
        """Where ``last`` is what the last call has found, its Hessians are at hand, and the first step is for free."""
        same = last is not None and all(one is two for one, two in zip(last, self._last, strict=False))
        weights = None if last is None or same else [own.solutions[0].weights for own in last]
        return self._solve(C, weights, limits)

    def begin(self, C: float, starts: Sequence[Any], solvers: Sequence[str], **limits: Any) -> list[Solved]:  # noqa: ARG002
        """From known weights."""
        return self._solve(C, [own[0].weights for own in starts], limits)

    def _solve(self, C: float, weights: list[Any] | None, limits: dict[str, Any]) -> list[Solved]:
        problems = [task.binary_problem(C) for task in self.tasks]
        solutions = self._newton.solve(problems, self.method, weights=weights, **limits)
        self._last = [Solved(C, [problem], [found]) for problem, found in zip(problems, solutions, strict=True)]
        return list(self._last)


class FoldsBySweeps:
    """Folds of two classes whose rows are swept once for all of them, as long as sweeps are enough.

    From the first C on that some fold could not be solved by sweeps alone, each goes on by itself.

    Parameters
    ----------
    tasks : sequence of Classification
        Those of the folds, which `takes` accepts.
    method : Method
        For folds that have to go on by themselves.
    """

    def __init__(self, tasks: Sequence[Any], method: Method) -> None:
        self.tasks, self.method = tasks, method

    @staticmethod
    def takes(tasks: Sequence[Task], method: Method) -> bool:
        """Whether these folds may be faster so."""
        problems = binary_problems(tasks)
        return problems is not None and folds_sweep_together(method, problems)

    def solve(self, C: float, last: Sequence[Solved] | None, **limits: Any) -> list[Solved]:
        """Side by side, unless the last C was too much for sweeps."""
        if last is None:
            return self.begin(C, [None] * len(self.tasks), (), **limits)
        easy = all(own.solutions[0].solver == "joint" for own in last)
        return self._solve(C, [seeds(own, C) for own in last], easy, **limits)

    def begin(self, C: float, starts: Sequence[Any], solvers: Sequence[str], **limits: Any) -> list[Solved]:  # noqa: ARG002
        """Side by side where C is small enough for sweeps."""
        easy = goes_together(self.method, self.tasks[0].binary_problem(C), len(self.tasks))
        if easy:
            starts = [own and [without_passes(own[0], task)] for own, task in zip(starts, self.tasks, strict=True)]
        return self._solve(C, starts, easy, **limits)

    def _solve(
        self,
        C: float,
        starts: Sequence[Any],
        easy: bool,
        *,
        time_limit: float | None = None,
        n_jobs: int = 1,
        stop: StopFlag | None = None,
        **limits: Any,
    ) -> list[Solved]:
        size = len(self.tasks)
        if easy:
            problems = [task.binary_problem(C) for task in self.tasks]
            solutions = solve_together(
                problems,
                self.method,
                starts=[own[0] if own else None for own in starts],
                callbacks=[None] * size,
                time_limit=time_limit,
                stop=stop,
                **limits,
            )
            return [Solved(C, [problem], [found]) for problem, found in zip(problems, solutions, strict=True)]
        deadline, rounds = Deadline(time_limit), -(-size // n_jobs)

        def alone(fold: int, stop: StopFlag) -> Solved:
            left = deadline.left()
            share = None if left is None else left / (rounds - fold // n_jobs)
            found: Solved = self.tasks[fold].solve(C, self.method, starts[fold], time_limit=share, stop=stop, **limits)
            return found

        return map_threads(alone, range(size), n_jobs, stop)


def without_passes(start: Any, task: Classification) -> Any:
    """A solution of all rows as the start of a fold, with values that nobody has to compute.

    The losses of a fold are some of all, so the primal value is no higher. The dual value is a guess that is low enough
    for the first sweep to be above it; it is nowhere taken for true, as it may be off by anything.
    """
    certificate = getattr(start, "certificate", None)
    if certificate is None or not certificate.dual > 0.0:
        return start
    dual = START_SHARE * float(np.mean(np.asarray(task.weights) > 0)) * certificate.dual
    return SimpleNamespace(**{**vars(start), "values": Values(certificate.primal, dual, np.inf)})


def binary_problems(tasks: Sequence[Task]) -> list[Any] | None:
    """The one problem of each fold at C = 1; None where some fold has several or none."""
    problems = [task.binary_problem(1.0) if isinstance(task, Classification) else None for task in tasks]
    return None if any(problem is None for problem in problems) else problems


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
        self._solvers = [group_of([self.own[fold] for fold in group], method) for group in self.groups]

    @property
    def polishes(self) -> bool:
        """Whether a very small gap costs hardly more than a large one."""
        return isinstance(self._solvers[0], FoldsByNewton)

    def solve(
        self, number: int, C: float, last: list[Solved] | None, *, n_jobs: int = 1, **limits: Any
    ) -> list[Solved]:
        """A group of folds at one C, from what is known of them."""
        return self._solvers[number].solve(C, last, n_jobs=max(n_jobs // len(self.groups), 1), **limits)


def follow_folds(
    tasks: Sequence[Task], Cs: Sequence[float], method: Method, *, time_limit: float | None, **options: Any
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
    **options
        Passed to ``solve``; ``n_jobs`` is how many threads the group may use.

    Yields
    ------
    list of Solved
        One for each fold.
    """
    deadline = Deadline(time_limit)
    group, last = group_of(tasks, method), None
    for C in Cs:
        last = group.solve(C, last, time_limit=deadline.left(), **options)
        yield last
