"""Several binary problems over the same rows, solved side by side where that is faster than one after the other.

One sweep of dual coordinate descent serves up to eight problems (``src/core/binary/joint_descent.hpp``): each row is
read once for all of them. Problems that are easy are done after it; the others go on by themselves, each from where the
sweeps have brought it. Which problems are swept together depends on the problems alone, never on the number of threads,
so that the result has the same bits for any.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from maxmargin import _core
from maxmargin.problems.binary import BinaryProblem
from maxmargin.solvers.auto import Auto
from maxmargin.solvers.method import Method
from maxmargin.solvers.packing import packing_pays
from maxmargin.solvers.run import FOREVER, Callback
from maxmargin.solvers.solution import Solution
from maxmargin.solvers.solve import Call, checked_limits

#: How many problems a sweep serves (``joint_width`` in joint_kernels.hpp).
WIDTH = 8
#: With fewer problems than this the lanes are too empty, and with fewer folds, each of which is solved in few sweeps.
FEWEST, FEWEST_FOLDS = 3, 3
#: Epochs of the joint descent, after which problems go on one by one.
EPOCHS = 30


def groups_of(count: int, together: bool) -> list[range]:
    """The problems, by number, that go together.

    Examples
    --------
    >>> from maxmargin.solvers.together import groups_of
    >>> groups_of(10, together=True), groups_of(2, together=False)
    ([range(0, 8), range(8, 10)], [range(0, 1), range(1, 2)])
    """
    width = WIDTH if together else 1
    return [range(first, min(first + width, count)) for first in range(0, count, width)]


def goes_together(method: Method, problem: BinaryProblem, count: int, seeded: bool = False) -> bool:
    """Whether ``count`` problems like this one, over the same rows with the same C, are faster side by side.

    ``seeded`` problems start from the solution of another C, from where sweeps are few however large C is.
    """
    if count < FEWEST or problem.kind != "binary" or not isinstance(method, Auto):
        return False
    return problem.penalize_bias and method.sweeps_first(problem, hard=seeded)


def agree_on_rows(problems: Sequence[BinaryProblem]) -> bool:
    """Whether problems over one matrix have the same C in each row, where the row takes part, as folds do."""
    largest = np.max([problem.C for problem in problems], axis=0)
    return all(
        problem.matrix is problems[0].matrix and bool(np.all((problem.C == 0.0) | (largest == problem.C)))
        for problem in problems
    )


def folds_sweep_together(method: Method, problems: Sequence[BinaryProblem]) -> bool:
    """Whether such problems, the folds of some rows, are faster side by side while sweeps are few."""
    few = FEWEST_FOLDS <= len(problems) <= WIDTH
    return few and goes_together(method, problems[0], len(problems), seeded=True) and agree_on_rows(problems)


def solve_together(
    problems: Sequence[BinaryProblem],
    method: Method,
    *,
    starts: Sequence[Any],
    callbacks: Sequence[Callback | None],
    **limits: Any,
) -> list[Solution]:
    """Solve up to eight problems that `goes_together` accepts; ``limits`` are those of ``solve``, for all of them.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin import Auto, BinaryProblem, Matrix
    >>> from maxmargin.solvers.together import solve_together
    >>> matrix = Matrix(np.eye(3))
    >>> problems = [BinaryProblem(matrix, 2 * (np.arange(3) == label) - 1) for label in range(3)]
    >>> [solution.converged for solution in solve_together(problems, Auto(), starts=[None] * 3, callbacks=[None] * 3)]
    [True, True, True]
    """
    checked = checked_limits(**limits)
    calls = [
        Call(problem, method, start, callback, **checked)
        for problem, start, callback in zip(problems, starts, callbacks, strict=True)
    ]
    for call in calls:
        call.recorder.stages.append("joint")
    epochs = min(EPOCHS, checked["max_iter"])
    own = _core.Limits(checked["tol"], epochs, checked["seed"], max_passes=FOREVER, worth=FOREVER, patience=FOREVER)
    pack = checked["pack"] and packing_pays(problems[0])
    exits = _core.joint_descent([call.state for call in calls], pack, own, [call.run.core for call in calls])
    return [call.finish(exit_) for call, exit_ in zip(calls, exits, strict=True)]
