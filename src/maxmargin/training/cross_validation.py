"""k-fold cross-validation over several C without copying a row.

Rows of weight zero take no part in training, so a fold is left out by its weights, and all folds share the matrix and
its row norms. Within a fold each C starts from the dual variables of the one before.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from maxmargin._core import StopFlag
from maxmargin.models.model import best_index, linear_scores, weight_rows
from maxmargin.problems.losses import Floats
from maxmargin.problems.matrix import Matrix
from maxmargin.solvers.solution import Solution
from maxmargin.solvers.threads import map_threads
from maxmargin.training.classification import train_classifier
from maxmargin.training.weights import row_weights


class Scores(NamedTuple):
    """Accuracy and worst certified gap for each C (rows) and fold (columns)."""

    accuracy: Floats
    gap: Floats


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


def cross_validate(
    X: Any,
    labels: NDArray[np.intp],
    classes: NDArray[Any],
    Cs: Sequence[float],
    *,
    folds: int = 5,
    seed: int = 0,
    class_weight: Mapping[Any, float] | str | None = None,
    bias: float = 1.0,
    multi_class: str = "ovr",
    n_jobs: int = 1,
    on_fold: Callable[[int], None] | None = None,
    **options: Any,
) -> Scores:
    """Accuracy on rows that were left out, for every C and fold.

    Parameters
    ----------
    X : ndarray or CSR matrix of shape (rows, features)
        Used where it lies.
    labels : array of shape (rows,)
        Which class each row has, as a position in ``classes``.
    classes : array
        The labels of the classes.
    Cs : sequence of float
        Weights of the loss to try.
    folds : int, default=5
        How many parts.
    seed : int, default=0
        Decides the folds and the solvers' random choices.
    class_weight : dict or "balanced", optional
        Weight of each class, computed without the rows left out.
    bias : float, default=1.0
        Value of the constant column; 0 means no intercept.
    multi_class : {"ovr", "crammer_singer", "weston_watkins"}, default="ovr"
        One problem per class, or one over all classes.
    n_jobs : int, default=1
        Threads over folds. The result does not depend on it.
    on_fold : callable, optional
        Called with the number of each fold when it is done.
    **options
        Passed to ``solve``, and ``loss`` and ``penalize_bias``.

    Returns
    -------
    Scores
        Two arrays of shape (len(Cs), folds).

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_iris
    >>> from maxmargin.training.cross_validation import cross_validate
    >>> X, y = load_iris(return_X_y=True)
    >>> scores = cross_validate(X, y, np.arange(3), [0.01, 1.0])
    >>> scores.accuracy.shape, bool(scores.accuracy.mean() > 0.8)
    ((2, 5), True)
    """
    if not 2 <= folds <= len(labels):
        raise ValueError(f"the number of folds must lie between 2 and the number of rows ({len(labels)}), not {folds}")
    numbers = fold_numbers(labels, folds, seed)
    matrix = Matrix.of(X)
    matrix.problems = folds * len(Cs)

    def run(fold: int, stop: StopFlag) -> tuple[Floats, Floats]:
        out = numbers == fold
        kept = np.where(out, 0.0, 1.0)
        accuracy, gap = np.zeros(len(Cs)), np.zeros(len(Cs))
        starts: list[Solution] | None = None
        for k in np.argsort(Cs, kind="stable"):
            if stop.is_set():
                break
            _, solutions = train_classifier(
                matrix,
                labels,
                len(classes),
                row_weights(Cs[k], class_weight, classes, labels, kept),
                multi_class=multi_class,
                seed=seed,
                bias=bias,
                starts=starts,
                stop=stop,
                **options,
            )
            starts = solutions
            weights = weight_rows([solution.weights for solution in solutions])
            scores = linear_scores(matrix, weights[:, :-1], bias * weights[:, -1])
            accuracy[k] = np.mean(best_index(scores)[out] == labels[out])
            gap[k] = max(solution.certificate.gap for solution in solutions)
        if on_fold is not None:
            on_fold(fold)
        return accuracy, gap

    results = map_threads(run, range(folds), n_jobs)
    return Scores(np.array([accuracy for accuracy, _ in results]).T, np.array([gap for _, gap in results]).T)
