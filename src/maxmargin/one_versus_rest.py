"""Classification as binary problems over one matrix: the second class against the first, or each against the rest.

The C++ solvers release the interpreter lock, so threads share ``X`` and its row norms without a copy. Each problem
has its own seed, which makes the result the same whatever the number of threads.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from maxmargin._core import StopFlag
from maxmargin.losses import Floats
from maxmargin.problems import BinaryProblem, make_rows
from maxmargin.solution import Report, Solution
from maxmargin.solvers import solve

Item = TypeVar("Item")
Result = TypeVar("Result")


class Listener(Protocol):
    """Follows one binary problem; a true ``report`` ends the whole training."""

    def begin(self) -> None:
        """The problem is about to be solved."""

    def report(self, report: Report, weights: Floats) -> bool | None:
        """One exact evaluation on the way."""

    def end(self) -> None:
        """The problem is solved, one way or another."""


def positive_classes(n_classes: int) -> list[int]:
    """The class that is +1 in each binary problem. Two classes are one problem: the second against the first."""
    return [1] if n_classes == 2 else list(range(n_classes))


def train_one_versus_rest(
    X: Any,
    labels: NDArray[np.intp],
    n_classes: int,
    C: Any,
    *,
    seeds: Sequence[int],
    listeners: Sequence[Listener],
    bias: float,
    penalize_bias: bool = True,
    loss: str = "squared_hinge",
    alphas: Sequence[Floats] | None = None,
    time_limit: float | None = None,
    n_jobs: int = 1,
    stop: StopFlag | None = None,
    **options: Any,
) -> list[Solution]:
    """Solve the binary problems of a classification.

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
    seeds, listeners : sequences
        One per binary problem.
    bias : float
        Value of the constant column; 0 means none.
    penalize_bias : bool, default=True
        Whether its weight is regularised.
    loss : str
        The loss.
    alphas : sequence of arrays, optional
        Signed dual variables ``y_i alpha_i`` to start from, one array per problem.
    time_limit : float, optional
        Seconds for all problems together.
    n_jobs : int, default=1
        Threads.
    stop : StopFlag, optional
        Setting it from another thread ends the training.
    **options
        Passed to ``solve``.

    Returns
    -------
    list of Solution
        One per class, or one in all for two classes.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin.one_versus_rest import Silent, train_one_versus_rest
    >>> X, labels = np.array([[1.0], [-1.0]]), np.array([1, 0])
    >>> [solution] = train_one_versus_rest(X, labels, 2, 1.0, seeds=[0], listeners=[Silent()], bias=0.0, loss="hinge")
    >>> solution.converged
    True
    """
    start = time.perf_counter()
    if time_limit is not None and not time_limit > 0:
        raise ValueError(f"time_limit must be positive, not {time_limit}")
    positives = positive_classes(n_classes)
    check_memory(X.shape[1], len(positives))
    rows = make_rows(X)

    def train(task: int, stop: StopFlag) -> Solution:
        listener = listeners[task]
        listener.begin()
        y = np.where(labels == positives[task], np.int8(1), np.int8(-1))
        solution = solve(
            BinaryProblem(X, y, C, loss=loss, bias=bias, penalize_bias=penalize_bias, rows=rows),
            alpha=None if alphas is None else y * alphas[task],
            time_limit=None if time_limit is None else max(time_limit - (time.perf_counter() - start), 1e-9),
            seed=seeds[task],
            callback=listener.report,
            stop=stop,
            **options,
        )
        if solution.exit == "stopped":
            stop.set()  # a listener that stops one class stops them all
        listener.end()
        return solution

    return map_threads(train, range(len(positives)), n_jobs, stop)


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


class Silent:
    """A listener that does nothing."""

    def begin(self) -> None:
        """Nothing."""

    def report(self, report: Report, weights: Floats) -> bool | None:
        """Nothing."""

    def end(self) -> None:
        """Nothing."""


def seeds_of(seed: int, n_classes: int) -> list[int]:
    """One seed per binary problem, all different and far apart."""
    return [(seed + k * 0x9E3779B97F4A7C15) % 2**63 for k in range(len(positive_classes(n_classes)))]


def class_weights(
    spec: Mapping[Any, float] | str,
    classes: NDArray[Any],
    labels: NDArray[np.intp],
    sample_weight: Floats | None = None,
) -> Floats:
    """The weight of each class.

    A mapping gives it by label, 1 where it names none; "balanced" makes all classes count alike, whatever their share
    of the (weighted) rows. Rows of weight zero are as good as absent, and with them perhaps whole classes.
    """
    if isinstance(spec, str):
        if spec != "balanced":
            raise ValueError(f"class_weight must be a dict or 'balanced', not {spec!r}")
        share = np.bincount(labels, weights=sample_weight, minlength=len(classes))
        present = share > 0
        weights = np.zeros(len(classes))
        weights[present] = share.sum() / (present.sum() * share[present])
        return weights
    known = classes.tolist()
    unknown = [label for label in spec if label not in known]
    if unknown:
        shown = ", ".join(map(repr, known[:10])) + (", ..." if len(known) > 10 else "")
        raise ValueError(f"class_weight names {unknown[0]!r}, which is not a class of y; the classes are {shown}")
    weights = np.array([spec.get(label, 1.0) for label in known], dtype=np.float64)
    if not np.all(np.isfinite(weights)) or np.any(weights < 0):
        raise ValueError(f"class_weight must be finite and not negative, but is {dict(spec)}")
    return weights


def row_weights(
    C: float,
    class_weight: Mapping[Any, float] | str | None,
    classes: NDArray[Any],
    labels: NDArray[np.intp],
    sample_weight: Floats | None = None,
) -> Any:
    """``C_i = C * class weight * sample weight``: a number when all rows count alike, else one per row."""
    weights: Any = float(C)
    if sample_weight is not None:
        weights = weights * sample_weight
    if class_weight is not None:
        weights = weights * class_weights(class_weight, classes, labels, sample_weight)[labels]
    return weights


def count_threads(n_jobs: int | None) -> int:
    """Threads by scikit-learn's convention: None is 1, -1 all processors, -2 all but one."""
    if n_jobs is None:
        return 1
    if n_jobs == 0:
        raise ValueError("n_jobs=0 has no meaning; use a positive number, or -1 for all processors")
    return n_jobs if n_jobs > 0 else max(1, (os.cpu_count() or 1) + 1 + n_jobs)


def map_threads(
    work: Callable[[Item, StopFlag], Result], items: Sequence[Item], n_jobs: int, stop: StopFlag | None = None
) -> list[Result]:
    """``[work(item, stop) for item in items]`` in at most ``n_jobs`` threads.

    An exception, in a thread or by Ctrl-C in this one, sets ``stop``, waits for all threads to end, and is raised.
    """
    stop = stop or StopFlag()
    if n_jobs == 1 or len(items) == 1:
        return [work(item, stop) for item in items]
    # Imported here: it takes a tenth as long as numpy, and one thread does not need it.
    from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait

    with ThreadPoolExecutor(max_workers=min(n_jobs, len(items))) as pool:
        futures = [pool.submit(work, item, stop) for item in items]
        try:
            wait(futures, return_when=FIRST_EXCEPTION)
            return [future.result() for future in futures]
        except BaseException:
            stop.set()
            for future in futures:
                future.cancel()
            raise
