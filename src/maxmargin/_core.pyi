"""The C++ kernels. Everything here trusts its caller for sizes it cannot check; use ``maxmargin.solve`` instead."""

from collections.abc import Callable
from enum import Enum
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

class Rows:
    @staticmethod
    def csr(values: NDArray[Any], indices: NDArray[Any], indptr: NDArray[Any], n_features: int) -> Rows: ...
    @staticmethod
    def dense(values: NDArray[Any]) -> Rows: ...
    def mean_squared_norm(self) -> float: ...
    def stored(self) -> int: ...

class StopFlag:
    def __init__(self) -> None: ...
    def set(self) -> None: ...
    def is_set(self) -> bool: ...

class Order(Enum):
    PERMUTED = 0
    UNIFORM = 1
    ADAPTIVE = 2

class Exit(Enum):
    CONVERGED = 0
    MAX_ITER = 1
    TIME_LIMIT = 2
    STOPPED = 3
    BUDGET = 4

# epoch, seconds, primal, dual, gap, active, weights; true ends the solver
_OnReport = Callable[[int, float, float, float, float, int, NDArray[np.float64]], bool]
# weights, alpha, primal, dual, epochs, exit, seconds spent on certificates
_Outcome = tuple[NDArray[np.float64], NDArray[np.float64], float, float, int, Exit, float]

# the value of the constant column, and whether its weight is free of the regulariser
_BiasColumn = tuple[float, bool]

def descend(
    rows: Rows,
    y: NDArray[np.int8],
    C: NDArray[np.float64],
    loss: tuple[float, float, float],
    bias: _BiasColumn,
    order: Order,
    shrinking: bool,
    alpha: NDArray[np.float64] | None,
    tol: float,
    max_iter: int,
    max_passes: float,
    worth: float,
    time_limit: float,
    seed: int,
    on_report: _OnReport | None,
    stop: StopFlag,
) -> _Outcome: ...
def newton(
    rows: Rows,
    y: NDArray[np.int8],
    C: NDArray[np.float64],
    loss: tuple[float, float, float],
    bias: _BiasColumn,
    alpha: NDArray[np.float64] | None,
    tol: float,
    max_iter: int,
    time_limit: float,
    on_report: _OnReport | None,
    stop: StopFlag,
) -> _Outcome: ...

class _PrimalSolver(Protocol):
    def __call__(
        self,
        rows: Rows,
        y: NDArray[np.int8],
        C: NDArray[np.float64],
        loss: tuple[float, float, float],
        bias: _BiasColumn,
        alpha: NDArray[np.float64] | None,
        tol: float,
        max_iter: int,
        seed: int,
        averaging: bool,
        projection: bool,
        time_limit: float,
        on_report: _OnReport | None,
        stop: StopFlag,
    ) -> _Outcome: ...

primal_coordinate_descent: _PrimalSolver
pegasos: _PrimalSolver

def cut(
    rows: Rows,
    y: NDArray[np.int8],
    C: NDArray[np.float64],
    bias: float,
    alpha: NDArray[np.float64] | None,
    tol: float,
    max_iter: int,
    accelerated: bool,
    time_limit: float,
    on_report: _OnReport | None,
    stop: StopFlag,
) -> _Outcome: ...

class Pairs:
    def __init__(
        self, labels: NDArray[np.float64], groups: NDArray[np.int64] | None, weights: NDArray[np.float64] | None
    ) -> None: ...
    def total(self) -> float: ...
    # the sum over violated pairs, and for each row the weights of those it is the higher one of minus the others
    def violated(self, scores: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]: ...
    # groups, and for each all pairs, swapped ones and ties
    def count(
        self, scores: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]: ...

# the outcome, and the points of the cuts in use, one after the other
def cut_pairs(
    rows: Rows,
    pairs: Pairs,
    C: float,
    points: NDArray[np.float64],
    tol: float,
    max_iter: int,
    accelerated: bool,
    time_limit: float,
    on_report: _OnReport | None,
    stop: StopFlag,
) -> tuple[_Outcome, NDArray[np.float64]]: ...

class Formulation(Enum):
    CRAMMER_SINGER = 0
    WESTON_WATKINS = 1

# dual variables as sparse rows: values, classes, row pointers
_Lists = tuple[NDArray[np.float64], NDArray[np.int32], NDArray[np.int64]]
# the same coming back: values, classes, and how many each row has; weights lie feature by feature
_ClassOutcome = tuple[_Outcome, tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]]

class _MulticlassSolver(Protocol):
    def __call__(
        self,
        rows: Rows,
        labels: NDArray[np.int32],
        C: NDArray[np.float64],
        formulation: Formulation,
        classes: int,
        bias: float,
        order: Order,
        shrinking: bool,
        alpha: _Lists | None,
        tol: float,
        max_iter: int,
        max_passes: float,
        time_limit: float,
        seed: int,
        on_report: _OnReport | None,
        stop: StopFlag,
    ) -> _ClassOutcome: ...

sequential_dual_method: _MulticlassSolver
exponentiated_gradient: _MulticlassSolver
multiclass_newton: _MulticlassSolver

def cut_classes(
    rows: Rows,
    labels: NDArray[np.int32],
    C: NDArray[np.float64],
    classes: int,
    bias: float,
    alpha: _Lists | None,
    tol: float,
    max_iter: int,
    accelerated: bool,
    time_limit: float,
    on_report: _OnReport | None,
    stop: StopFlag,
) -> _ClassOutcome: ...
def certify_classes(
    rows: Rows,
    labels: NDArray[np.int32],
    C: NDArray[np.float64],
    formulation: Formulation,
    classes: int,
    bias: float,
    alpha: _Lists,
) -> tuple[NDArray[np.float64], float, float, tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]]: ...
def certify(
    rows: Rows,
    y: NDArray[np.int8],
    C: NDArray[np.float64],
    loss: tuple[float, float, float],
    bias: _BiasColumn,
    alpha: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.float64], float, float]: ...
def score(rows: Rows, weights: NDArray[np.float64], intercepts: NDArray[np.float64]) -> NDArray[np.float64]: ...

# complaints as (line, column, message, excerpt, caret), dropped, smallest, largest, data, indices, indptr,
# labels, label_starts, qid
def read_svmlight(
    text: NDArray[np.uint8],
    single: bool,
    multilabel: bool,
    qid: bool,
    need_qid: bool,
    largest_index: int | None,
    drop_larger: bool,
    allow_zero: bool,
    base: int,
    max_complaints: int,
    threads: int,
) -> dict[str, Any]: ...
def write_svmlight(
    values: NDArray[Any],
    indices: NDArray[Any],
    indptr: NDArray[Any],
    labels: NDArray[np.float64],
    label_starts: NDArray[np.int64] | None,
    qid: NDArray[np.int64] | None,
    base: int,
) -> bytes: ...
def write_numbers(values: NDArray[np.float64]) -> bytes: ...

# the numbers, and the position of the first thing that is none, or -1
def read_numbers(text: NDArray[np.uint8]) -> tuple[NDArray[np.float64], int]: ...
