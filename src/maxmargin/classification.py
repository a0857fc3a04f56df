"""Training a classifier: as binary problems, each class against the rest, or as one problem over all classes."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxmargin._core import StopFlag
from maxmargin.losses import LOSSES
from maxmargin.multiclass import FORMULATIONS, MulticlassProblem
from maxmargin.one_versus_rest import Listener, check_memory, positive_classes, seeds_of, train_one_versus_rest
from maxmargin.solution import Solution
from maxmargin.solvers import MULTICLASS_SOLVERS, SOLVERS, check_solver, solve

#: How more than two classes are treated.
MULTI_CLASS = ("ovr", *FORMULATIONS)
#: The losses that do not contradict a formulation over all classes, which is a hinge loss by itself.
JOINT_LOSSES = ("hinge", "squared_hinge")


def problems_of(multi_class: str, n_classes: int) -> list[int | None]:
    """The positive class of each binary problem, or None for the one problem over all classes."""
    return list(positive_classes(n_classes)) if multi_class == "ovr" else [None]


def check_combination(multi_class: str, solver: str, loss: str, penalize_bias: bool) -> None:
    """Refuse a solver, a loss or a free bias that the treatment of classes or the solver does not know."""
    solvers = SOLVERS if multi_class == "ovr" else MULTICLASS_SOLVERS[multi_class]
    if solver not in solvers:
        raise ValueError(
            f"solver={solver!r} does not work with multi_class={multi_class!r}; choose from {list(solvers)}"
        )
    if multi_class == "ovr":
        check_solver(solver, LOSSES[loss], penalize_bias)
        return
    if loss not in JOINT_LOSSES:
        raise ValueError(f"loss={loss!r} does not work with multi_class={multi_class!r}, which is a hinge loss")
    if not penalize_bias:
        raise ValueError(
            f"multi_class={multi_class!r} regularises its intercepts; one outside the regulariser needs "
            "multi_class='ovr'"
        )


def train_classifier(
    X: Any,
    labels: NDArray[np.intp],
    n_classes: int,
    C: Any,
    *,
    multi_class: str = "ovr",
    seed: int,
    listeners: Sequence[Listener],
    bias: float,
    penalize_bias: bool = True,
    loss: str = "squared_hinge",
    starts: Sequence[Any] | None = None,
    time_limit: float | None = None,
    n_jobs: int = 1,
    stop: StopFlag | None = None,
    **options: Any,
) -> list[Solution]:
    """Solve the problems of a classification.

    Parameters
    ----------
    X : ndarray or CSR matrix of shape (rows, features)
        Used where it lies.
    labels : array of shape (rows,)
        Which class each row has, from 0 to ``n_classes - 1``.
    n_classes : int
        At least 2.
    C : float or array of shape (rows,)
        Weight of the loss.
    multi_class : {"ovr", "crammer_singer", "weston_watkins"}, default="ovr"
        One problem per class, or one over all classes, which has a hinge loss whatever ``loss`` is.
    seed : int
        Seed of the solvers' random choices.
    listeners : sequence
        One for each of `problems_of`.
    bias : float
        Value of the constant column; 0 means none.
    penalize_bias : bool, default=True
        Whether its weight is regularised; always so for one problem over all classes.
    loss : str
        The loss of one-versus-rest.
    starts : sequence, optional
        What `starts_of` says of earlier solutions.
    time_limit : float, optional
        Seconds for all problems together.
    n_jobs : int, default=1
        Threads over problems.
    stop : StopFlag, optional
        Setting it from another thread ends the training.
    **options
        Passed to ``solve``.

    Returns
    -------
    list of Solution
        One for each of `problems_of`.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin.classification import train_classifier
    >>> from maxmargin.one_versus_rest import Silent
    >>> X, labels = np.eye(3), np.arange(3)
    >>> [solution] = train_classifier(
    ...     X, labels, 3, 1.0, multi_class="weston_watkins", seed=0, listeners=[Silent()], bias=0.0
    ... )
    >>> solution.converged, solution.weights.shape
    (True, (3, 4))
    """
    if multi_class == "ovr":
        return train_one_versus_rest(
            X,
            labels,
            n_classes,
            C,
            seeds=seeds_of(seed, n_classes),
            listeners=listeners,
            bias=bias,
            penalize_bias=penalize_bias,
            loss=loss,
            alphas=starts,
            time_limit=time_limit,
            n_jobs=n_jobs,
            stop=stop,
            **options,
        )
    start = time.perf_counter()
    if time_limit is not None and not time_limit > 0:
        raise ValueError(f"time_limit must be positive, not {time_limit}")
    check_memory(X.shape[1], n_classes)
    problem = MulticlassProblem(X, labels, C, formulation=multi_class, n_classes=n_classes, bias=bias)
    [listener] = listeners
    listener.begin()
    solution = solve(
        problem,
        alpha=None if starts is None else starts[0],
        time_limit=None if time_limit is None else max(time_limit - (time.perf_counter() - start), 1e-9),
        seed=seed,
        callback=listener.report,
        stop=stop,
        **options,
    )
    listener.end()
    return [solution]


def starts_of(solutions: Sequence[Solution], labels: NDArray[np.intp], multi_class: str, n_classes: int) -> list[Any]:
    """Where a similar training may start: signed dual variables of each binary problem, or those of all classes."""
    if multi_class != "ovr":
        return [solution.alpha for solution in solutions]
    return [
        np.where(labels == positive, solution.alpha, -solution.alpha)
        for positive, solution in zip(positive_classes(n_classes), solutions, strict=True)
    ]
