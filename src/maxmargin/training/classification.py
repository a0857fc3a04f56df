"""Training a classifier: labels as problems over one matrix, each class against the rest or all classes at once.

Threads share the matrix without a copy. Each problem has its own seed, which makes the result the same whatever the
number of threads.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from maxmargin._core import StopFlag
from maxmargin.io.files import PathLike
from maxmargin.problems.binary import BinaryProblem
from maxmargin.problems.certificate import Certificate
from maxmargin.problems.losses import LOSSES, Floats
from maxmargin.problems.matrix import Matrix
from maxmargin.problems.measure import MeasureProblem
from maxmargin.problems.multiclass import FORMULATIONS, MulticlassProblem
from maxmargin.solvers.cutting_plane import CuttingPlane
from maxmargin.solvers.deadline import Deadline
from maxmargin.solvers.method import Method
from maxmargin.solvers.methods import method_of
from maxmargin.solvers.solution import Report, Solution
from maxmargin.solvers.solve import solve
from maxmargin.solvers.threads import map_threads
from maxmargin.solvers.together import goes_together, groups_of, solve_together
from maxmargin.solvers.working_sets import WorkingSets
from maxmargin.training.checkpoint import INTERVAL, Checkpoint, fingerprint
from maxmargin.training.method_choice import narrow_method

Kept = TypeVar("Kept")

#: How more than two classes are treated.
MULTI_CLASS = ("ovr", *FORMULATIONS)
#: The losses that do not contradict a formulation over all classes, which is a hinge loss by itself.
JOINT_LOSSES = ("hinge", "squared_hinge")


class Listener(Protocol):
    """Follows one problem; a true ``report`` ends the whole training."""

    @property
    def listens(self) -> bool:
        """Whether it wants reports."""

    def begin(self) -> None:
        """The problem is about to be solved."""

    def report(self, report: Report, weights: Floats) -> bool | None:
        """One exact evaluation on the way."""

    def end(self) -> None:
        """The problem is solved, one way or another."""


class Silent:
    """A listener that does nothing."""

    listens = False

    def begin(self) -> None:
        """Nothing."""

    def report(self, report: Report, weights: Floats) -> bool | None:
        """Nothing."""

    def end(self) -> None:
        """Nothing."""


def positive_classes(n_classes: int) -> list[int]:
    """The class that is +1 in each binary problem. Two classes are one problem: the second against the first."""
    return [1] if n_classes == 2 else list(range(n_classes))


def problems_of(multi_class: str, n_classes: int) -> list[int | None]:
    """The positive class of each binary problem, or None for the one problem over all classes."""
    return list(positive_classes(n_classes)) if multi_class == "ovr" else [None]


def measure_of(solver: str | Method | None) -> str | None:
    """The measure that a method optimises instead of the loss, if any."""
    return solver.measure if isinstance(solver, CuttingPlane) else None


def method_for(solver: str | Method, multi_class: str, penalty: str, loss: str, penalize_bias: bool) -> Method:
    """The method that solves these problems, by their kind and, where they have one score per row, their loss."""
    if multi_class != "ovr":
        return method_of(solver, multi_class, None, penalize_bias)
    if measure_of(solver) is not None:
        return method_of(solver, "measure", None, penalize_bias)
    return method_of(solver, "binary" if penalty == "l2" else penalty, LOSSES[loss], penalize_bias)


def make_problem(
    matrix: Matrix,
    labels: NDArray[np.intp],
    n_classes: int,
    positive: int | None,
    C: Any,
    *,
    multi_class: str,
    loss: str,
    bias: float,
    penalize_bias: bool,
    penalty: str = "l2",
    solver: str | Method | None = None,
) -> Any:
    """One of the problems of a classification, by its positive class, or the one over all classes."""
    if positive is None:
        return MulticlassProblem(matrix, labels, C, formulation=multi_class, n_classes=n_classes, bias=bias)
    y = np.where(labels == positive, np.int8(1), np.int8(-1))
    if isinstance(solver, CuttingPlane) and solver.measure is not None:
        return MeasureProblem(matrix, y, C, measure=solver.measure, k=solver.k, bias=bias)
    return BinaryProblem(matrix, y, C, loss=loss, bias=bias, penalize_bias=penalize_bias, penalty=penalty)


def choose_method(
    solver: str | Method,
    multi_class: str,
    loss: str,
    *,
    penalize_bias: bool = True,
    dual: bool | str = "auto",
    shrinking: bool = True,
    penalty: str = "l2",
) -> Method:
    """The method for a classification; what does not go together is an error that says what does.

    Examples
    --------
    >>> from maxmargin.training.classification import choose_method
    >>> choose_method("auto", "ovr", "hinge", dual=True)
    Auto(dual=True, shrinking=True)
    """
    if penalty == "l1":
        refuse_l1(multi_class, loss, dual)
        method = method_of(solver, "l1", LOSSES[loss], penalize_bias)
        return method.with_shrinking(shrinking) if isinstance(solver, str) else method
    if measure_of(solver) is not None and multi_class == "ovr":
        if loss not in JOINT_LOSSES:
            raise ValueError(f"loss={loss!r}: a measure takes the place of the loss; leave it at 'squared_hinge'")
        if dual is not False and dual != "auto":
            raise ValueError(f"dual={dual} contradicts solver={solver!r}, which works on the weights; use dual='auto'")
        return method_of(solver, "measure", None, penalize_bias)
    kind = "binary" if multi_class == "ovr" else multi_class
    if kind != "binary" and loss not in JOINT_LOSSES:
        raise ValueError(f"loss={loss!r} does not work with multi_class={multi_class!r}, which is a hinge loss")
    if kind != "binary" and not penalize_bias:
        raise ValueError(
            f"multi_class={multi_class!r} regularises its intercepts; one outside the regulariser needs "
            "multi_class='ovr'"
        )
    binary_loss = LOSSES[loss] if kind == "binary" else None
    return narrow_method(solver, kind, binary_loss, penalize_bias=penalize_bias, dual=dual, shrinking=shrinking)


def refuse_l1(multi_class: str, loss: str, dual: bool | str) -> None:
    """What does not go together with the penalty "l1", by the message that scikit-learn's users know."""
    reason = None
    if loss not in WorkingSets.losses:
        reason = f"the losses for penalty='l1' are {' and '.join(map(repr, WorkingSets.losses))}"
    elif dual is not False and dual != "auto":
        reason = "with penalty='l1' methods work on the weights; use dual=False or dual='auto'"
    elif multi_class != "ovr":
        reason = f"penalty='l1' needs multi_class='ovr', not {multi_class!r}"
    if reason is not None:
        raise ValueError(f"Unsupported set of arguments: penalty='l1', loss={loss!r}, dual={dual!r}: {reason}")


def train_classifier(
    X: Any,
    labels: NDArray[np.intp],
    n_classes: int,
    C: Any,
    *,
    multi_class: str = "ovr",
    loss: str = "squared_hinge",
    bias: float = 1.0,
    penalize_bias: bool = True,
    penalty: str = "l2",
    solver: str | Method = "auto",
    seed: int = 0,
    listeners: Sequence[Listener] | None = None,
    starts: Sequence[Any] | None = None,
    time_limit: float | None = None,
    n_jobs: int = 1,
    stop: StopFlag | None = None,
    checkpoint: PathLike | None = None,
    checkpoint_interval: float = INTERVAL,
    **options: Any,
) -> tuple[list[Any], list[Solution]]:
    """Make the problems of a classification and solve them.

    Parameters
    ----------
    X : Matrix, ndarray or CSR matrix of shape (rows, features)
        Used where it lies.
    labels : array of shape (rows,)
        Which class each row has, from 0 to ``n_classes - 1``.
    n_classes : int
        At least 2.
    C : float or array of shape (rows,)
        Weight of the loss.
    multi_class : {"ovr", "crammer_singer", "weston_watkins"}, default="ovr"
        One problem per class, or one over all classes, which has a hinge loss whatever ``loss`` is.
    loss : str
        The loss of one-versus-rest.
    bias : float
        Value of the constant column; 0 means none.
    penalize_bias : bool, default=True
        Whether its weight is regularised; always so for one problem over all classes.
    penalty : {"l2", "l1"}, default="l2"
        The regulariser of one-versus-rest.
    solver : str or Method, default="auto"
        The method.
    seed : int
        Seed of the solvers' random choices.
    listeners : sequence, optional
        One for each of `problems_of`.
    starts : sequence, optional
        Solutions of a similar training, or for each problem its row (or rows) of signed dual variables; anything with
        ``alpha`` and ``weights`` counts as a solution.
    time_limit : float, optional
        Seconds for all problems together.
    n_jobs : int, default=1
        Threads over problems; those that are left over work on the problems.
    stop : StopFlag, optional
        Setting it from another thread ends the training.
    checkpoint : path, optional
        A file for the state of the training, which goes on from there if it is there already. The problems are solved
        one by one then.
    checkpoint_interval : float, default=60.0
        Seconds between two states.
    **options
        Passed to ``solve``.

    Returns
    -------
    problems : list of BinaryProblem or of one MulticlassProblem
        One for each of `problems_of`.
    solutions : list of Solution
        Their solutions.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin.training.classification import train_classifier
    >>> _, [solution] = train_classifier(np.eye(3), np.arange(3), 3, 1.0, multi_class="weston_watkins", bias=0.0)
    >>> solution.converged, solution.weights.shape
    (True, (3, 4))
    """
    matrix = Matrix.of(X)
    positives = problems_of(multi_class, n_classes)
    check_memory(matrix.shape[1], n_classes if n_classes > 2 else 1)
    saved: Checkpoint | None = None
    if checkpoint is not None:
        what = (labels, n_classes, np.asarray(C, dtype=np.float64), multi_class, bias, penalize_bias, penalty)
        own = (loss if multi_class == "ovr" else None, measure_of(solver), getattr(solver, "k", None))
        saved = Checkpoint(checkpoint, fingerprint(matrix, *what, *own), len(positives), checkpoint_interval)

    def problem_of(task: int) -> Any:
        return make_problem(
            matrix,
            labels,
            n_classes,
            positives[task],
            C,
            multi_class=multi_class,
            loss=loss,
            bias=bias,
            penalize_bias=penalize_bias,
            penalty=penalty,
            solver=solver,
        )

    method = method_for(solver, multi_class, penalty, loss, penalize_bias)
    solved = solve_all(
        matrix,
        len(positives),
        problem_of,
        lambda problem, solution: (problem, solution),
        method=method,
        together=multi_class == "ovr",
        start_of=None if starts is None else starts.__getitem__,
        listeners=listeners,
        saved=saved,
        seed=seed,
        time_limit=time_limit,
        n_jobs=n_jobs,
        stop=stop,
        **options,
    )
    return [problem for problem, _ in solved], [solution for _, solution in solved]


def solve_all(
    matrix: Matrix,
    count: int,
    problem_of: Callable[[int], Any],
    keep: Callable[[Any, Solution], Kept],
    *,
    method: Method,
    together: bool,
    start_of: Callable[[int], Any] | None = None,
    listeners: Sequence[Listener] | None = None,
    saved: Checkpoint | None = None,
    seed: int = 0,
    time_limit: float | None = None,
    n_jobs: int = 1,
    stop: StopFlag | None = None,
    **options: Any,
) -> list[Kept]:
    """Solve ``count`` problems over one matrix, in threads, side by side where that pays; ``keep`` is what stays.

    ``together`` says that the problems are binary ones with the same weights of rows, which joint sweeps need. A start
    is a solution, or the signed dual variables of a problem.
    """
    deadline = Deadline(time_limit)
    matrix.problems = max(matrix.problems, count)
    heard = listeners or [Silent()] * count

    def train(group: range, stop: StopFlag) -> list[Kept]:
        problems = [problem_of(task) for task in group]
        own_starts, callbacks = [], []
        for task, problem in zip(group, problems, strict=True):
            heard[task].begin()
            start = None if start_of is None else start_of(task)
            own_starts.append(start if start is None or hasattr(start, "weights") else problem.alpha_of(start))
            callbacks.append(heard[task].report if heard[task].listens else None)
        time_left = deadline.left()
        rounds = -(-sum(other.start >= group.start for other in groups) // n_jobs)  # this one and those to come
        limits = {
            "time_limit": None if time_left is None else time_left / rounds,
            "seed": (seed + group.start * 0x9E3779B97F4A7C15) % 2**63,  # all different and far apart
            "stop": stop,
            "n_jobs": max(n_jobs // len(groups), 1),
            **options,
        }
        if deadline.is_over() and group.start > 0 and own_starts.count(None) == len(own_starts):
            solutions = [untouched(problem, method) for problem in problems]
        elif len(group) > 1:
            solutions = solve_together(problems, method, starts=own_starts, callbacks=callbacks, **limits)
        else:
            solve_it = solve if saved is None else partial(saved.solve, group.start)
            solutions = [solve_it(problems[0], method, start=own_starts[0], callback=callbacks[0], **limits)]
        if any(solution.exit == "stopped" for solution in solutions):
            stop.set()  # a listener that stops one class stops them all
        for task in group:
            heard[task].end()
        return [keep(problem, solution) for problem, solution in zip(problems, solutions, strict=True)]

    if count == 0:
        return []
    together = saved is None and together and goes_together(method, problem_of(0), count, start_of is not None)
    groups = groups_of(count, together)
    solved = [train(groups[0], stop or StopFlag())] if len(groups) == 1 else map_threads(train, groups, n_jobs, stop)
    if saved is not None:
        saved.close()
    return [kept for group in solved for kept in group]


def untouched(problem: BinaryProblem, method: Method) -> Solution:
    """What is known of a problem for which there was no time: the bounds at zero."""
    rows, features = problem.shape
    return Solution(
        weights=np.zeros(features + 1),
        alpha=np.zeros(rows),
        certificate=Certificate(problem.losses_at_zero(), 0.0),
        exit="time_limit",
        n_iter=0,
        solver=method.name,
        seconds=0.0,
        check_seconds=0.0,
        history=[],
    )


def check_memory(features: int, problems: int) -> None:
    """Refuse what could only end with the process being killed: weights are dense, whatever the rows are."""
    try:
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError, AttributeError):
        return  # not every system tells
    needed = 8 * features * (2 * problems + 4)
    if needed > memory:
        raise MemoryError(
            f"{features:,} features need about {needed / 2**30:,.0f} GB for weights, and this machine has "
            f"{memory / 2**30:,.0f} GB; renumber the features without gaps"
        )
