"""Table 4.1 of Mallela: primal and dual coordinate descent on breast cancer and two kinds of iris."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.report import best_of
from benchmarks.reproduce import limits
from benchmarks.reproduce.context import Context
from benchmarks.reproduce.curves import before, first_below, record, shown
from benchmarks.reproduce.items import Cell, Item, Result, Table
from maxmargin import BinaryProblem, DualCoordinateDescent, Method, PrimalCoordinateDescent, solve


@dataclass(frozen=True)
class Row:
    """A method on one data set in the paper: iterations, accuracy, and seconds of training."""

    epochs: int
    accuracy: float
    seconds: float


#: The primal, then the dual method, and DOptTime.
PAPER = {
    "breast cancer": (Row(16, 0.86, 0.64), Row(16, 0.965, 0.651), 0.202),
    "iris": (Row(9, 0.94, 0.06), Row(10, 0.97, 0.053), 0.0109),
}
PRIMAL = PrimalCoordinateDescent(plane=False)
DUAL = DualCoordinateDescent(
    order="shuffled", shrinking=False, resting=False, averaging=False, anchoring=False, plane=False
)
WITHIN = 0.02
#: What counts as the dual's optimal value: a relative error.
OPTIMAL = 1e-2
REPEATS = 5


def load(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Columns divided by their largest entries; labels -1 and +1."""
    from sklearn.datasets import load_breast_cancer, load_iris

    X, y = (load_breast_cancer if name == "breast cancer" else load_iris)(return_X_y=True)
    if name == "iris":
        X, y = X[y > 0], y[y > 0] - 1
    return X / np.abs(X).max(axis=0), np.where(y == 1, 1, -1)


def trained(problem: Any, method: Method, epochs: int) -> tuple[float, float]:
    """Seconds of so many iterations, the fastest of some runs, and the accuracy on the training rows."""

    def run() -> tuple[float, Any]:
        solution = solve(problem, method, tol=0.0, max_iter=epochs)
        return solution.seconds - solution.check_seconds, solution.weights

    seconds, weights = best_of(REPEATS, run)
    return seconds, float(np.mean(problem.margins(weights) > 0))


def to_optimum(problem: Any) -> float:
    """Seconds until the dual value is optimal, the fastest of some runs."""
    optimum = solve(problem, tol=1e-8).certificate.dual

    def run() -> tuple[float, None]:
        curve = record(problem, DUAL, seconds=limits.PAPER000[0], tol=OPTIMAL / 10, every=1e-3)
        return first_below(curve.dual_errors(optimum), OPTIMAL, curve.seconds), None

    return best_of(REPEATS, run)[0]


def run(context: Context) -> Result:
    rows, paper, cells = [], [], []
    for name, (primal, dual, optimal) in PAPER.items():
        X, y = load(name)
        problems = {loss: BinaryProblem(X, y, 1.0, loss=loss, bias=1.0) for loss in ("squared_hinge", "hinge")}
        p_time, p_accuracy, d_time, d_accuracy, d_optimal = context.once(
            f"paper002-{name}",
            lambda problems=problems, primal=primal, dual=dual: [
                *trained(problems["squared_hinge"], PRIMAL, primal.epochs),
                *trained(problems["hinge"], DUAL, dual.epochs),
                to_optimum(problems["hinge"]),
            ],
        )
        times = (shown(1000 * seconds) for seconds in (p_time, d_time, d_optimal))
        rows.append(cells_of(name, primal, p_accuracy, dual, d_accuracy, times))
        times = (shown(1000 * seconds) for seconds in (primal.seconds, dual.seconds, optimal))
        paper.append(cells_of(name, primal, primal.accuracy, dual, dual.accuracy, times))
        for kind, found, row in (("primal", p_accuracy, primal), ("dual", d_accuracy, dual)):
            told = f"{found:.3f} after {row.epochs} iterations, paper {row.accuracy:.3f}"
            near = abs(found - row.accuracy) <= WITHIN + 1e-9  # 0.95 and 0.97 are within it
            cells.append(Cell(f"{name}: accuracy of the {kind} method within {WITHIN}", near, told, True))
        told = f"{d_accuracy:.3f} against {p_accuracy:.3f}"
        cells.append(Cell(f"{name}: the dual method is more accurate", d_accuracy > p_accuracy, told, True))
        statement = f"{name}: the dual method is at its optimal value before the primal one ends"
        cells.append(before(statement, d_optimal, p_time, True))
    head = ["data", "PI", "PMA", "PTime, ms", "DI", "DMA", "DTime, ms", "DOptTime, ms"]
    settings = (
        "C = 1, a bias column, columns divided by their largest entries, hinge for the dual and squared hinge for the "
        "primal method; the paper states none of these. Accuracies are on the training rows after the paper's numbers "
        "of iterations, PI and DI, and times are those of these iterations; DOptTime is the time until the dual value "
        f"is within {OPTIMAL:.0%} of its optimum. Fastest of {REPEATS} runs. Iris: versicolor against virginica, 100 "
        "rows (the text says 105)."
    )
    tables = [Table("Measured", head, rows), Table("The paper's", head, paper)]
    return Result(settings, tables=tables, cells=cells)


def cells_of(
    name: str, primal: Row, p_accuracy: float, dual: Row, d_accuracy: float, times: Iterable[str]
) -> list[str]:
    """A row of the table."""
    p_time, d_time, d_optimal = times
    before_times = [name, str(primal.epochs), f"{p_accuracy:.3f}", p_time]
    return [*before_times, str(dual.epochs), f"{d_accuracy:.3f}", d_time, d_optimal]


ITEM = Item(
    "paper002_table41",
    "002",
    "Table 4.1: primal against dual on small dense data",
    "Primal and dual coordinate descent end after 9 to 16 iterations with training accuracies of 0.86 and 0.965 on "
    "breast cancer, 0.94 and 0.97 on iris: the dual method is the more accurate one. It is at its optimal value in a "
    "third and a fifth of the primal method's training time.",
    run,
)
