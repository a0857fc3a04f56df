"""Solutions along increasing C, each seeded by the last one.

The largest C of a grid takes most of the time (Keerthi et al. 2008; Joachims 2006), and the solution of a smaller C is
near. Three things are carried over: the weights, whose primal value at the new C is a bound at once; the dual
variables, scaled by the factor for which the dual value at the new C is largest, which is known without a pass over the
data; and for cutting planes the points where the cuts touch.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from maxmargin.problems.csr import Csr
from maxmargin.solvers.auto import MOST_NEWTON_FEATURES, Auto
from maxmargin.solvers.deadline import Deadline
from maxmargin.solvers.method import Method
from maxmargin.solvers.newton import Newton
from maxmargin.solvers.solution import Solution, Values
from maxmargin.training.balls import safe_gap
from maxmargin.training.tasks import Solved, Task

#: Where scaling by the ratio of C overshoots the best factor by no more than this, it is taken.
OVERSHOOT = 1.5


def scaled(problem: Any, solution: Solution, ratio: float) -> Solution:
    """A solution as the start for the C that is ``ratio`` times its own.

    With ``A`` the linear part of the dual value, ``B = sum_i D_ii alpha_i^2`` and ``u = w(alpha)``, the variables
    ``s alpha`` have the dual value ``s A - s^2 (|u|^2 + B / ratio) / 2`` at the new C, which is largest at
    ``s = A / (|u|^2 + B / ratio)``: near ``ratio`` where C is small or the losses remain, and near 1 where the rows are
    separated. Variables with an upper bound allow ``s <= ratio``. From ``D = A - B / 2 - |u|^2 / 2`` the length of
    ``u`` is known, so that nothing has to be summed; nor for the primal value of the same weights.

    In directions that leave ``u`` as it is the optimum grows by ``ratio`` exactly. Coordinate descent is slow there and
    fast in the others, so ``ratio`` itself is the better factor even where it overshoots a little.
    """
    parts = problem.dual_parts(solution.alpha)
    if parts is None:
        return solution
    linear, quadratic = parts
    square = max(2.0 * (linear - solution.certificate.dual) - quadratic, 0.0)
    curvature = square + quadratic / ratio
    if not (linear > 0.0 and curvature > 0.0):
        return solution
    best = linear / curvature
    factor = ratio if ratio <= OVERSHOOT * best else best
    alpha, values = solution.alpha, None
    if getattr(problem, "penalize_bias", False):
        # Losses grow with C, and the regulariser does not.
        own, (primal, dual) = problem.regulariser.value(solution.weights), solution.certificate
        values = Values(
            own + ratio * (primal - own),
            factor * linear - 0.5 * factor * factor * curvature,
            max(ratio, 1.0) * (float(safe_gap(primal, dual)) - max(primal - dual, 0.0)),
        )
    return replace(
        solution,
        alpha=alpha._replace(data=factor * alpha.data) if isinstance(alpha, Csr) else factor * alpha,
        values=values,
    )


def seeds(solved: Solved | None, C: float) -> list[Solution] | None:
    """Where the problems of a C start from, after those of another."""
    if solved is None:
        return None
    return [
        scaled(problem, solution, C / solved.C)
        for problem, solution in zip(solved.problems, solved.solutions, strict=True)
    ]


def next_method(method: Method, task: Task, solved: Solved | None) -> Method:
    """The method for the next C: where "auto" came to Newton's method, that is the one to begin with.

    Its steps hardly depend on C and are few from a near start, while those of coordinate descent grow with C.
    """
    return method if solved is None else method_after(method, task, [solution.solver for solution in solved.solutions])


def method_after(method: Method, task: Task, solvers: Sequence[str]) -> Method:
    """The method for problems like those that went through these stages."""
    if not isinstance(method, Auto) or method.dual is not None:
        return method
    few = task.matrix.shape[1] <= MOST_NEWTON_FEATURES
    return Newton() if few and solvers and all(own.split("+")[-1] == "newton" for own in solvers) else method


def follow(
    task: Task,
    Cs: Iterable[float],
    *,
    solver: str | Method = "auto",
    time_limit: float | None = None,
    **options: Any,
) -> Iterator[Solved]:
    """The solutions at values of C, in their order, each seeded by the one before.

    Parameters
    ----------
    task : Task
        What is learned.
    Cs : iterable of float
        Weights of the loss; best in increasing order.
    solver : str or Method, default="auto"
        The method.
    time_limit : float, optional
        Seconds for all together.
    **options
        Passed to ``solve``; ``n_jobs`` is the number of threads over the problems of one C.

    Yields
    ------
    Solved
        One for each C.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin.training.path import follow
    >>> from maxmargin.training.tasks import Classification
    >>> task = Classification(np.array([[1.0], [-1.0]]), np.array([1, 0]), 2, loss="hinge", bias=0.0)
    >>> [solved.solutions[0].weights[0].round(3).item() for solved in follow(task, [0.1, 0.2, 1.0], tol=1e-9)]
    [0.2, 0.4, 1.0]
    """
    deadline = Deadline(time_limit)
    method = task.method(solver)
    last: Solved | None = None
    for C in Cs:
        last = task.solve(C, next_method(method, task, last), seeds(last, C), time_limit=deadline.left(), **options)
        yield last
