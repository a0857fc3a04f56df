"""``svm_path``: the models along a path of C, each with its certificate."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from maxmargin.models.model import NO_CLASSES, linear_scores
from maxmargin.problems.binary import LARGEST_C
from maxmargin.problems.csr import Csr
from maxmargin.problems.losses import Floats
from maxmargin.problems.matrix import Matrix
from maxmargin.solvers.deadline import Deadline
from maxmargin.solvers.method import Method
from maxmargin.solvers.threads import count_threads
from maxmargin.training.classification import measure_of
from maxmargin.training.labels import encode_labels
from maxmargin.training.path import follow
from maxmargin.training.streaming import must_load
from maxmargin.training.tasks import Classification, Ranking, Regression, Solved, Task

#: What a path can be followed for.
TASKS = ("classify", "regression", "rank")
#: Values of C in each decade of an automatic path, and the most there can be.
PER_DECADE, MOST_VALUES = 4, 100
#: A model has settled when its weights change by less than this share over a whole decade of C.
SETTLED = 1e-2


@dataclass(frozen=True)
class Path:
    """Models along values of C.

    Attributes
    ----------
    Cs : ndarray of shape (n_Cs,)
        The values of C, increasing.
    coefs : ndarray of shape (n_Cs, 1 or n_classes, n_features)
        Weights.
    intercepts : ndarray of shape (n_Cs, 1 or n_classes)
        Intercepts.
    classes : ndarray
        The labels; none for a ranking.
    primal, dual, gaps : ndarray of shape (n_Cs, n_problems)
        The certificate of each problem: one, or one for each class.
    converged : ndarray of shape (n_Cs,)
        Whether every gap is at most the tolerance.
    n_support : ndarray of shape (n_Cs,)
        Rows with a nonzero dual variable in any problem.
    n_iter : ndarray of shape (n_Cs,)
        Epochs, Newton steps or cuts, of the problem that took most.
    seconds : ndarray of shape (n_Cs,)
        Time in the solvers.
    solvers : list of str
        The stages of the problem that took most.
    ended : str
        Why the path ends: "grid" (the last C given), "settled" (the model no longer changes), "limit" (as many values
        as allowed), "time_limit" or "callback".
    """

    Cs: Floats
    coefs: Floats
    intercepts: Floats
    classes: NDArray[Any]
    primal: Floats
    dual: Floats
    gaps: Floats
    converged: NDArray[np.bool_]
    n_support: NDArray[np.intp]
    n_iter: NDArray[np.intp]
    seconds: Floats
    solvers: list[str] = field(repr=False)
    ended: str = "grid"

    def scores(self, X: Any) -> Floats:
        """Scores of rows by every model, of shape (n_Cs, rows, 1 or n_classes), by one pass over the rows."""
        n_values, columns, features = self.coefs.shape
        flat = linear_scores(matrix_of(X), self.coefs.reshape(-1, features), self.intercepts.ravel())
        return np.ascontiguousarray(np.moveaxis(flat.reshape(-1, n_values, columns), 1, 0))


def svm_path(
    X: Any,
    y: ArrayLike | None = None,
    Cs: str | ArrayLike = "auto",
    *,
    task: str = "classify",
    loss: str | None = None,
    epsilon: float = 0.0,
    penalty: str = "l2",
    multi_class: str = "ovr",
    fit_intercept: bool = True,
    penalize_intercept: bool = True,
    intercept_scaling: float = 1.0,
    class_weight: Mapping[Any, float] | str | None = None,
    sample_weight: ArrayLike | None = None,
    qid: ArrayLike | None = None,
    solver: str | Method = "auto",
    tol: float = 1e-3,
    max_iter: int = 10_000,
    time_limit: float | None = None,
    n_jobs: int | None = None,
    pack: bool = True,
    seed: int = 0,
    callback: Callable[[Solved], bool | None] | None = None,
) -> Path:
    """Train along increasing C, each model seeded by the one before and certified by itself.

    Parameters
    ----------
    X : Matrix, array or sparse matrix of shape (n_samples, n_features)
        float32 and float64, CSR or C-ordered dense, are used where they lie; all else is converted by one copy. Blocks
        (``open_blocks``) are loaded, with their own labels unless others are given.
    y : array of shape (n_samples,)
        Labels, or ranks.
    Cs : "auto" or array, default="auto"
        Weights of the loss. "auto" begins where the model is known in closed form, goes on by four values per decade,
        and ends when the model no longer changes, or after 100 values.
    task : {"classify", "regression", "rank"}, default="classify"
        What to learn.
    loss, penalty, multi_class, fit_intercept, penalize_intercept, intercept_scaling, class_weight
        As in `LinearSVC`; a ranking has none of them. A regression has the losses and the intercept of `LinearSVR`.
        The loss is by default "squared_hinge", or "epsilon_insensitive" of a regression.
    epsilon : float, default=0.0
        Of a regression: residuals up to this cost nothing.
    sample_weight : array of shape (n_samples,), optional
        Weight of each row.
    qid : array of shape (n_samples,), optional
        The groups of a ranking.
    solver, tol, max_iter, time_limit, pack
        As in `LinearSVC`; the time limit is for the whole path, which ends where it strikes.
    n_jobs : int, optional
        Threads over classes, for one-versus-rest; None means 1, -1 all processors.
    seed : int, default=0
        Seed of the solvers' random choices.
    callback : callable, optional
        Called after each C with its problems and solutions (``C``, ``problems``, ``solutions``); returning true ends
        the path there.

    Returns
    -------
    Path
        Weights, certificates and counts for each C.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from maxmargin import svm_path
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> path = svm_path(scale(X), y, [0.001, 0.01, 0.1, 1.0])
    >>> path.coefs.shape, bool(path.gaps.max() <= 1e-3)
    ((4, 1, 30), True)
    >>> bool((path.primal[1:] > path.primal[:-1]).all())
    True
    """
    X, y, sample_weight, qid = must_load("svm_path", X, y, sample_weight, qid)
    if y is None:
        raise ValueError("y is missing; only blocks have labels of their own")
    matrix = matrix_of(X)
    bias = intercept_scaling if fit_intercept else 0.0
    weights = None if sample_weight is None else _weights_of(sample_weight, matrix.shape[0])
    work: Task
    if task == "classify":
        if qid is not None:
            raise ValueError("qid has no meaning with task='classify'; use task='rank'")
        classes, labels = encode_labels(np.asarray(y))
        if len(labels) != matrix.shape[0]:
            raise ValueError(f"y has {len(labels)} entries, but X has {matrix.shape[0]} rows")
        if len(classes) < 2:
            raise ValueError(f"y holds one class only, {classes.tolist()}; a classifier needs at least two classes")
        work = Classification(
            matrix,
            labels,
            len(classes),
            multi_class=multi_class,
            loss=loss or "squared_hinge",
            bias=bias,
            penalize_bias=penalize_intercept,
            penalty=penalty,
            weights=weights,
            class_weight=class_weight,
            classes=classes,
        )
    elif task == "regression":
        if class_weight is not None or qid is not None or penalty != "l2" or multi_class != "ovr":
            raise ValueError("class_weight, qid, penalty and multi_class have no meaning with task='regression'")
        classes = NO_CLASSES
        what = loss or "epsilon_insensitive"
        work = Regression(matrix, np.asarray(y), what, epsilon, bias, penalize_intercept, weights)
    elif task == "rank":
        if class_weight is not None:
            raise ValueError("class_weight has no meaning with task='rank'; use sample_weight")
        if penalty != "l2":
            raise ValueError(f"penalty={penalty!r} has no meaning with task='rank'; leave it at 'l2'")
        classes = NO_CLASSES
        work = Ranking(matrix, y, qid, weights)
    else:
        raise ValueError(f"task={task!r} is unknown; choose from {list(TASKS)}")
    auto = isinstance(Cs, str)
    if auto and Cs != "auto":
        raise ValueError(f"Cs={Cs!r} is unknown; use 'auto' or values of C")
    if auto and measure_of(solver) is not None:
        raise ValueError(f"Cs='auto' knows no beginning for solver={solver!r}; give values of C")
    if epsilon != 0.0 and task != "regression":
        raise ValueError(f"epsilon={epsilon:g} has no meaning with task={task!r}; use task='regression'")
    deadline = Deadline(time_limit)
    values = automatic_values(work.first_C(tol)) if auto else check_values(Cs)
    matrix.problems = max(matrix.problems, 10)
    models: list[tuple[Floats, Floats]] = []
    facts: list[tuple[Any, ...]] = []
    ended = "limit" if auto else "grid"
    for solved in follow(
        work,
        values,
        solver=solver,
        tol=tol,
        max_iter=max_iter,
        pack=pack,
        seed=seed,
        time_limit=deadline.left(),
        n_jobs=count_threads(n_jobs),
    ):
        models.append(work.coefficients(solved))
        facts.append(_facts(solved, matrix.shape[0]))
        if any(solution.exit == "time_limit" for solution in solved.solutions):
            ended = "time_limit"
            break
        if callback is not None and callback(solved):
            ended = "callback"
            break
        if auto and has_settled(models):
            ended = "settled"
            break
    used, primal, dual, gaps, converged, support, n_iter, seconds, solvers = zip(*facts, strict=True)
    coefs, intercepts = zip(*models, strict=True)
    return Path(
        np.array(used),
        np.array(coefs),
        np.array(intercepts),
        classes,
        np.array(primal),
        np.array(dual),
        np.array(gaps),
        np.array(converged),
        np.array(support),
        np.array(n_iter),
        np.array(seconds),
        list(solvers),
        ended,
    )


def _facts(solved: Solved, rows: int) -> tuple[Any, ...]:
    """What a path keeps of one C: the variables of all of them would take more room than the data."""
    slowest = max(solved.solutions, key=lambda solution: solution.n_iter)
    support = np.zeros(rows, dtype=bool)
    for solution in solved.solutions:
        alpha = solution.alpha
        support |= np.diff(alpha.indptr) > 0 if isinstance(alpha, Csr) else alpha != 0
    certificates = [solution.certificate for solution in solved.solutions]
    return (
        solved.C,
        [certificate.primal for certificate in certificates],
        [certificate.dual for certificate in certificates],
        [certificate.gap for certificate in certificates],
        solved.converged,
        int(support.sum()),
        slowest.n_iter,
        sum(solution.seconds for solution in solved.solutions),
        slowest.solver,
    )


def automatic_values(first: float) -> Iterator[float]:
    """From the first C on, evenly on a logarithmic scale."""
    for step in range(MOST_VALUES):
        C = first * 10.0 ** (step / PER_DECADE)
        if C > LARGEST_C:
            return
        yield C


def check_values(Cs: str | ArrayLike) -> list[float]:
    """Values of C in increasing order, each once."""
    values = np.unique(np.asarray(Cs, dtype=np.float64))
    if len(values) == 0 or not np.all(np.isfinite(values)) or values[0] <= 0:
        raise ValueError(f"Cs must hold positive finite numbers, not {Cs!r}")
    return [float(value) for value in values]


def has_settled(models: list[tuple[Floats, Floats]]) -> bool:
    """Whether the weights have hardly changed over the last decade."""
    if len(models) <= PER_DECADE:
        return False
    last, before = models[-1][0], models[-1 - PER_DECADE][0]
    size = float(np.linalg.norm(last))
    return size > 0.0 and float(np.linalg.norm(last - before)) <= SETTLED * size


def matrix_of(X: Any) -> Matrix:
    """A `Matrix` over anything that rows can be made of; copied only where it cannot be used as it lies."""
    if isinstance(X, Matrix):
        return X
    if hasattr(X, "tocsr"):
        X = X.tocsr()
        return Matrix(X if X.dtype in (np.float32, np.float64) else X.astype(np.float64))
    if hasattr(X, "indptr"):
        return Matrix(X)
    array = np.asarray(X)
    return Matrix(np.ascontiguousarray(array, dtype=array.dtype if array.dtype == np.float32 else np.float64))


def _weights_of(sample_weight: ArrayLike, rows: int) -> Floats:
    weights = np.asarray(sample_weight, dtype=np.float64)
    if weights.shape != (rows,) or not np.all(np.isfinite(weights)) or np.any(weights < 0):
        raise ValueError(f"sample_weight must hold {rows} finite numbers that are not negative, one per row of X")
    return weights
