"""The C++ kernels. Everything here trusts its caller for sizes it cannot check; use ``maxmargin.solve`` instead."""

from collections.abc import Callable
from enum import Enum
from typing import Any

import numpy as np
from numpy.typing import NDArray

_Floats = NDArray[np.float64]

class Rows:
    @staticmethod
    def csr(values: NDArray[Any], indices: NDArray[Any], indptr: NDArray[Any], n_features: int) -> Rows: ...
    @staticmethod
    def dense(values: NDArray[Any]) -> Rows: ...
    def mean_squared_norm(self) -> float: ...
    def squared_norms(self) -> _Floats: ...
    def measure(self, threads: int) -> None: ...
    def stored(self) -> int: ...

def score(
    rows: Rows,
    weights: _Floats,
    intercepts: _Floats,
    wanted: NDArray[np.int64] | None = None,
    threads: int = 1,
) -> _Floats: ...

# sum_i c_i x_i, and the lower triangle of sum_i c_i x_i x_i' of rows with a constant column as their last entry
def row_sums(rows: Rows, coefficients: _Floats) -> _Floats: ...
def outer_sums(rows: Rows, coefficients: _Floats, column: float) -> _Floats: ...

# What a run is made of: when to end, and who hears of it.

class StopFlag:
    def __init__(self) -> None: ...
    def set(self) -> None: ...
    def is_set(self) -> bool: ...

class Exit(Enum):
    CONVERGED = 0
    MAX_ITER = 1
    TIME_LIMIT = 2
    STOPPED = 3
    BUDGET = 4
    EPSILON = 5

class Limits:
    def __init__(
        self, tol: float, max_iter: int, seed: int, max_passes: float, worth: float, patience: float
    ) -> None: ...

# 1 for the numbers that are in a sample of one in `one_in`, else 0
def sample(numbers: NDArray[np.int64], one_in: int) -> _Floats: ...

class Run:
    # on_report: epoch, seconds, check_seconds, primal, dual, gap, active, weights or None; true ends the method
    def __init__(
        self,
        time_limit: float,
        on_report: Callable[[int, float, float, float, float, float, int, _Floats | None], bool] | None,
        stop: StopFlag,
        report_passes: float,
        report_seconds: float,
        with_weights: bool,
        threads: int = 1,
    ) -> None: ...
    def reserve(self, seconds: float) -> None: ...
    @property
    def epochs(self) -> int: ...
    @property
    def check_seconds(self) -> float: ...

# What the states of all problems have in common; the core has no such class.
class _State:
    def verify(self) -> None: ...
    @property
    def primal(self) -> float: ...
    @property
    def dual(self) -> float: ...
    def weights(self) -> _Floats: ...

# Binary problems.

class Loss:
    def __init__(
        self, lower_per_C: float, upper_per_C: float, diagonal_times_C: float, epsilon: float = 0.0
    ) -> None: ...

class BinaryState(_State):
    def __init__(
        self,
        rows: Rows,
        signs: NDArray[np.int8],
        targets: _Floats | None,
        C: _Floats,
        loss: Loss,
        bias: float,
        free_bias: bool,
        bias_slope: float = 0.0,
    ) -> None: ...
    def start(
        self,
        alpha: _Floats | None,
        weights: _Floats | None,
        primal: float | None = None,
        dual: float | None = None,
        error: float = 0.0,
    ) -> None: ...
    @property
    def parts(self) -> int: ...
    def alpha(self) -> _Floats: ...

class Order(Enum):
    CYCLIC = 0
    PERMUTED = 1
    SHUFFLED = 2
    UNIFORM = 3
    ADAPTIVE = 4

class DescentOptions:
    def __init__(
        self,
        order: Order,
        shrinking: bool,
        resting: bool,
        averaging: bool,
        anchoring: bool,
        plane: bool,
        pack: bool,
        parts: int,
        epsilon: float,
    ) -> None: ...

class PegasosOptions:
    def __init__(self, averaging: bool, projection: bool) -> None: ...

class CuttingOptions:
    def __init__(self, acceleration: bool, keep_cuts: bool, epsilon: float) -> None: ...

def dual_coordinate_descent(state: BinaryState, options: DescentOptions, limits: Limits, run: Run) -> Exit: ...
def newton(state: BinaryState, limits: Limits, run: Run) -> Exit: ...
def primal_coordinate_descent(state: BinaryState, plane: bool, limits: Limits, run: Run) -> Exit: ...
def pegasos(state: BinaryState, options: PegasosOptions, limits: Limits, run: Run) -> Exit: ...
def cut_hinge(state: BinaryState, options: CuttingOptions, limits: Limits, run: Run) -> Exit: ...

# the new alpha and weights, then gain, estimate of the gap, and work in stored values
def joint_descent(states: list[BinaryState], pack: bool, limits: Limits, runs: list[Run]) -> list[Exit]: ...

class FoldNewton:
    def __init__(self, rows: Rows) -> None: ...
    def start(self, weights: list[list[float]]) -> None: ...
    def solve(self, states: list[BinaryState], limits: Limits, runs: list[Run], threads: int = 1) -> list[Exit]: ...

def dual_sweep(
    state: BinaryState,
    alpha: _Floats,
    weights: _Floats,
    schedule: NDArray[np.uint32],
    scale: float,
    anchored: float = 0.0,
) -> tuple[_Floats, _Floats, float, float, float]: ...

# changes alpha, weights and moving in place; gain, estimate of the gap by the first sweep, and number of steps
def local_sweeps(
    state: BinaryState,
    alpha: _Floats,
    weights: _Floats,
    moving: NDArray[np.bool_],
    more: int,
    anchored: float,
    seed: int,
) -> tuple[float, float, int]: ...

# Binary problems with the regulariser |w|_1.

class L1State(_State):
    def __init__(
        self, rows: Rows, signs: NDArray[np.int8], C: _Floats, loss: Loss, bias: float, free_bias: bool
    ) -> None: ...
    def start(self, alpha: _Floats | None, weights: _Floats | None) -> None: ...
    def alpha(self) -> _Floats: ...

class WorkingSetOptions:
    def __init__(self, screening: bool) -> None: ...

def working_sets(state: L1State, options: WorkingSetOptions, limits: Limits, run: Run) -> Exit: ...

# One class.

class OneClassState(_State):
    def __init__(self, rows: Rows, C: _Floats, slope: float) -> None: ...
    def start(self, alpha: _Floats | None, weights: _Floats | None) -> None: ...
    def alpha(self) -> _Floats: ...

def active_set(state: OneClassState, limits: Limits, run: Run) -> Exit: ...

# Performance measures of a whole prediction.

class Measure(Enum):
    ERROR_RATE = 0
    F1 = 1
    PRECISION_AT_K = 2
    RECALL_AT_K = 3
    ROC_AREA = 4

class MeasureState(_State):
    def __init__(
        self,
        rows: Rows,
        measure: Measure,
        signs: NDArray[np.int8],
        C: float,
        k: int,
        bias: float,
        points: _Floats | None,
    ) -> None: ...
    def alpha(self) -> _Floats: ...
    def points(self) -> _Floats: ...

def cut_measure(state: MeasureState, options: CuttingOptions, limits: Limits, run: Run) -> Exit: ...

# Several classes at once. Weights lie feature by feature, padded to whole blocks of classes; dual variables are sparse
# rows: values, classes, row pointers.

_Lists = tuple[_Floats, NDArray[np.int32], NDArray[np.int64]]

class Formulation(Enum):
    CRAMMER_SINGER = 0
    WESTON_WATKINS = 1

class MulticlassState(_State):
    def __init__(
        self,
        rows: Rows,
        labels: NDArray[np.int32],
        C: _Floats,
        formulation: Formulation,
        classes: int,
        bias: float,
    ) -> None: ...
    def start(self, alpha: _Lists | None, weights: _Floats | None) -> None: ...
    def alpha(self) -> _Lists: ...
    # the variables that sweeps work on, and the weights that belong to them
    def assign(self, alpha: _Lists) -> None: ...
    def variables(self) -> _Lists: ...
    def sums(self) -> _Floats: ...

# the new weights, gain and estimate of the gap
def class_sweep(
    state: MulticlassState, weights: _Floats, schedule: NDArray[np.uint32], listed: bool
) -> tuple[_Floats, float, float]: ...
def signed_variables(alpha: _Lists, labels: NDArray[np.int32], classes: int) -> _Lists: ...

class SequentialDualOptions:
    def __init__(self, adaptive: bool, shrinking: bool, most_effort: float, little_gain: float) -> None: ...

def sequential_dual_method(
    state: MulticlassState, options: SequentialDualOptions, limits: Limits, run: Run
) -> Exit: ...
def exponentiated_gradient(state: MulticlassState, limits: Limits, run: Run) -> Exit: ...
def multiclass_newton(state: MulticlassState, limits: Limits, run: Run) -> Exit: ...
def cut_classes(state: MulticlassState, options: CuttingOptions, limits: Limits, run: Run) -> Exit: ...

# Rankings.

class Pairs:
    def __init__(self, labels: _Floats, groups: NDArray[np.int64] | None, weights: _Floats | None) -> None: ...
    def total(self) -> float: ...
    # the sum over violated pairs, and for each row the weights of those it is the higher one of minus the others
    def violated(self, scores: _Floats) -> tuple[float, _Floats]: ...
    # groups, and for each all pairs, swapped ones and ties
    def count(self, scores: _Floats) -> tuple[_Floats, _Floats, _Floats, _Floats]: ...

class RankingState(_State):
    def __init__(self, rows: Rows, pairs: Pairs, C: float, points: _Floats | None) -> None: ...
    def alpha(self) -> _Floats: ...
    # where cuts touch the risk, one point after the other
    def points(self) -> _Floats: ...
    def set_points(self, points: _Floats) -> None: ...

def cut_pairs(state: RankingState, options: CuttingOptions, limits: Limits, run: Run) -> Exit: ...

# Text.

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
    progress: Callable[[float], object] | None,
) -> dict[str, Any]: ...
def write_svmlight(
    values: NDArray[Any],
    indices: NDArray[np.int64],
    indptr: NDArray[np.int64],
    labels: NDArray[np.float64],
    label_starts: NDArray[np.int64] | None,
    qid: NDArray[np.int64] | None,
    base: int,
) -> bytes: ...
def write_numbers(values: NDArray[np.float64]) -> bytes: ...

# the numbers, and the position of the first thing that is none, or -1
def read_numbers(text: NDArray[np.uint8]) -> tuple[NDArray[np.float64], int]: ...
