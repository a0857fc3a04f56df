"""Multilabel targets: any number of labels for each row, each label a binary problem of its own over one matrix.

Labels are swept side by side, eight at a time, where that pays. Of each solved label only its nonzero dual variables
are kept, and where there are many labels only its nonzero weights, so that memory grows with what the model holds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from maxmargin.io.files import PathLike
from maxmargin.models.model import Model, Training
from maxmargin.problems.certificate import Certificate
from maxmargin.problems.csr import Csr
from maxmargin.problems.losses import Floats
from maxmargin.problems.matrix import Matrix
from maxmargin.solvers.method import Method
from maxmargin.solvers.solution import Report, Solution
from maxmargin.solvers.together import WIDTH
from maxmargin.training.checkpoint import INTERVAL, Checkpoint, fingerprint
from maxmargin.training.classification import Listener, check_memory, make_problem, measure_of, method_for, solve_all
from maxmargin.training.weights import class_weights

#: Weights that would take more bytes than this are stored sparsely, if less than half of them are nonzero.
LARGE_WEIGHTS = 1 << 28


class Indicator(NamedTuple):
    """Which rows have which label: the rows of label ``j`` are ``rows[starts[j] : starts[j + 1]]``.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin.training.multilabel import Indicator
    >>> labels = Indicator.of_matrix(np.array([[1, 0], [1, 1]]))
    >>> labels.signs(1), labels.counts.tolist()
    (array([-1,  1], dtype=int8), [2, 1])
    """

    rows: NDArray[np.intp]
    starts: NDArray[np.intp]
    size: int

    @classmethod
    def of_matrix(cls, Y: Any) -> Indicator:
        """That of a matrix of zeros and ones, dense or sparse."""
        if hasattr(Y, "tocsc"):
            columns = Y.tocsc(copy=True)
            columns.sum_duplicates()
            columns.eliminate_zeros()
            return cls(columns.indices.astype(np.intp), columns.indptr.astype(np.intp), Y.shape[0])
        labels, rows = np.nonzero(np.asarray(Y).T)
        return cls(rows, np.searchsorted(labels, np.arange(Y.shape[1] + 1)), Y.shape[0])

    @classmethod
    def of_lists(cls, lists: Sequence[Sequence[Any]]) -> tuple[NDArray[Any], Indicator]:
        """The distinct labels in increasing order, and that of lists of labels, one for each row."""
        rows = np.repeat(np.arange(len(lists)), [len(own) for own in lists])
        names, numbers = np.unique(np.array([label for own in lists for label in own]), return_inverse=True)
        pairs = np.unique(numbers * len(lists) + rows)  # a row may name a label twice
        labels, rows = np.divmod(pairs, max(len(lists), 1))
        return names, cls(rows, np.searchsorted(labels, np.arange(len(names) + 1)), len(lists))

    @property
    def n_labels(self) -> int:
        """How many labels there are."""
        return len(self.starts) - 1

    @property
    def counts(self) -> NDArray[np.intp]:
        """How many rows have each label."""
        return np.diff(self.starts)

    def signs(self, label: int) -> NDArray[np.int8]:
        """+1 for the rows that have a label, -1 for the others."""
        signs = np.full(self.size, -1, dtype=np.int8)
        signs[self.rows[self.starts[label] : self.starts[label + 1]]] = 1
        return signs

    def constant(self, weight: Floats | None) -> NDArray[np.int8]:
        """+1 for labels that all rows have, -1 for those of none, 0 for the others; rows of weight 0 do not count."""
        counts, size = self.counts, self.size
        if weight is not None:
            used = np.append(0, np.cumsum((weight > 0)[self.rows]))
            counts, size = np.diff(used[self.starts]), int(np.count_nonzero(weight > 0))
        return np.asarray((counts == size).astype(np.int8) - (counts == 0).astype(np.int8))


class _Nonzero(NamedTuple):
    """A vector by its nonzero entries."""

    values: Floats
    indices: NDArray[np.int32]

    @classmethod
    def of(cls, vector: Floats) -> _Nonzero:
        indices = np.flatnonzero(vector)
        return cls(vector[indices], indices.astype(np.int32))


class _Label(NamedTuple):
    """What is kept of one label."""

    weights: Floats | _Nonzero
    bias: float
    dual: _Nonzero
    certificate: Certificate
    converged: bool
    n_iter: int
    solver: str
    exit: str
    history: list[Report]


def train_multilabel(
    X: Any,
    indicator: Indicator,
    C: float,
    parameters: dict[str, Any],
    classes: NDArray[Any],
    *,
    sparse_output: bool = False,
    sample_weight: Floats | None = None,
    solver: str | Method = "auto",
    dual_coef: Any = None,
    listeners: Callable[[list[int]], Sequence[Listener] | None] | None = None,
    n_jobs: int = 1,
    checkpoint: PathLike | None = None,
    checkpoint_interval: float = INTERVAL,
    **options: Any,
) -> Model:
    """The model of labels, each learned by itself.

    A label that all rows have, or none, is not learned: its score is +1 or -1 for every row. That is the optimum where
    the intercept is not regularised, and what scikit-learn's ``OneVsRestClassifier`` predicts.

    Parameters
    ----------
    X : Matrix, ndarray or CSR matrix of shape (rows, features)
        Used where it lies.
    indicator : Indicator
        Which rows have which label.
    C : float
        Weight of the losses.
    parameters : dict
        Those of LinearSVC, of which loss, penalty, intercept and class_weight decide what is minimised. A class weight
        is one for rows that have a label (1) and for those that do not (0); "balanced" holds for each label by itself.
    classes : array of shape (labels,)
        The labels.
    sparse_output : bool, default=False
        Whether predictions are sparse.
    sample_weight : array of shape (rows,), optional
        How much each row counts.
    solver : str or Method, default="auto"
        The method.
    dual_coef : sparse array of shape (labels, rows), optional
        Signed dual variables to start from.
    listeners : callable, optional
        Gets the labels to be learned and returns one listener for each.
    n_jobs : int, default=1
        Threads over labels.
    checkpoint, checkpoint_interval, **options
        As in ``train_classifier``.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin import LinearSVC
    >>> from maxmargin.training.multilabel import Indicator, train_multilabel
    >>> Y = np.array([[1, 0, 1], [0, 1, 1]])
    >>> model = train_multilabel(np.eye(2), Indicator.of_matrix(Y), 1.0, LinearSVC().get_params(), np.arange(3))
    >>> model.predict(np.eye(2)).tolist()
    [[1, 0, 1], [0, 1, 1]]
    """
    matrix = Matrix.of(X)
    features, n_labels = matrix.shape[1], indicator.n_labels
    bias = parameters["intercept_scaling"] if parameters["fit_intercept"] else 0.0
    what = {
        "multi_class": "ovr",
        "loss": parameters["loss"],
        "bias": bias,
        "penalize_bias": parameters["penalize_intercept"],
        "penalty": parameters["penalty"],
    }
    large = 8 * features * n_labels > LARGE_WEIGHTS
    check_memory(features, WIDTH * n_jobs if large else n_labels)
    constant = indicator.constant(sample_weight)
    learned = np.flatnonzero(constant == 0).tolist()
    class_weight = parameters["class_weight"]

    def problem_of(task: int) -> Any:
        signs = indicator.signs(learned[task])
        labels = (signs > 0).astype(np.intp)
        own = _row_weights(C, class_weight, labels, sample_weight)
        return make_problem(matrix, labels, 2, 1, own, solver=solver, **what)

    def keep(problem: Any, solution: Solution) -> _Label:
        own = solution.weights[:-1]
        sparse = large and 3 * np.count_nonzero(own) < 2 * len(own)
        return _Label(
            _Nonzero.of(own) if sparse else own,
            bias * float(solution.weights[-1]),
            _Nonzero.of(problem.dual_coef(solution.alpha)),
            solution.certificate,
            solution.converged,
            solution.n_iter,
            solution.solver,
            solution.exit,
            solution.history,
        )

    saved: Checkpoint | None = None
    if checkpoint is not None:
        weights = np.zeros(0) if sample_weight is None else sample_weight
        decides = (indicator.rows, indicator.starts, weights, C, str(class_weight), *map(str, what.values()))
        name = fingerprint(matrix, "multilabel", *decides, measure_of(solver), getattr(solver, "k", None))
        saved = Checkpoint(checkpoint, name, len(learned), checkpoint_interval)
    solved = solve_all(
        matrix,
        len(learned),
        problem_of,
        keep,
        method=method_for(solver, "ovr", parameters["penalty"], parameters["loss"], parameters["penalize_intercept"]),
        together=class_weight is None,
        start_of=None if dual_coef is None else lambda task: dual_coef[[learned[task]]].toarray().ravel(),
        listeners=None if listeners is None else listeners(learned),
        saved=saved,
        n_jobs=n_jobs,
        **options,
    )
    found = [_constant_label(sign, features, large) for sign in constant.tolist()]
    for label, own in zip(learned, solved, strict=True):
        found[label] = own
    return _model(found, (indicator.size, features), classes, parameters, sparse_output)


def _row_weights(
    C: float, class_weight: Mapping[Any, float] | str | None, labels: NDArray[np.intp], sample_weight: Floats | None
) -> Any:
    weights: Any = C if sample_weight is None else C * sample_weight
    if class_weight is None:
        return weights
    return weights * class_weights(class_weight, np.arange(2), labels, sample_weight)[labels]


def _constant_label(sign: int, features: int, large: bool) -> _Label:
    nothing = _Nonzero(np.zeros(0), np.zeros(0, dtype=np.int32))
    weights = nothing if large else np.zeros(features)
    return _Label(weights, float(sign), nothing, Certificate(0.0, 0.0), True, 0, "constant", "converged", [])


def _model(
    found: list[_Label],
    shape: tuple[int, int],
    classes: NDArray[Any],
    parameters: dict[str, Any],
    sparse_output: bool,
) -> Model:
    dual_coef = _csr([own.dual for own in found], shape[0])
    return Model(
        estimator="LinearSVC",
        parameters=parameters,
        classes=classes,
        coef=_coef([own.weights for own in found], shape[1]),
        intercept=np.array([own.bias for own in found]),
        multilabel="sparse" if sparse_output else "dense",
        training=Training(
            primal=np.array([own.certificate.primal for own in found]),
            dual=np.array([own.certificate.dual for own in found]),
            converged=all(own.converged for own in found),
            n_iter=max(own.n_iter for own in found),
            solvers=[own.solver for own in found],
            n_support=np.diff(dual_coef.indptr),
            history=[own.history for own in found],
            exits=[own.exit for own in found],
            dual_coef=dual_coef,
        ),
    )


def _coef(weights: list[Floats | _Nonzero], features: int) -> Any:
    """The weights of all labels: dense, or sparse where they are large and mostly zero."""
    if all(isinstance(own, np.ndarray) for own in weights):
        return np.vstack(weights)
    sparse = [_Nonzero.of(own) if isinstance(own, np.ndarray) else own for own in weights]
    if 2 * sum(len(own.values) for own in sparse) < len(weights) * features:
        return _csr(sparse, features)
    dense = np.zeros((len(weights), features))
    for row, own in zip(dense, sparse, strict=True):
        row[own.indices] = own.values
    return dense


def _csr(rows: list[_Nonzero], columns: int) -> Csr:
    return Csr(
        np.concatenate([row.values for row in rows]),
        np.concatenate([row.indices for row in rows]),
        np.cumsum([0, *(len(row.values) for row in rows)]),
        (len(rows), columns),
    )
