"""The settings of Hsieh et al. 2008, section 5: C = 1, no bias, four fifths of each set for training, double precision.

The reference is the optimum to a gap of 1e-6. DCD is without this library's own additions: no step in a plane, no
means, no anchored bias; Pegasos takes the last iterate and projects; SVM-perf is the plain cutting plane with all cuts.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.reproduce import limits
from benchmarks.reproduce.context import Context, split
from benchmarks.reproduce.curves import Curve, record
from benchmarks.reproduce.data import Found
from benchmarks.reproduce.peers import PEERS, tolerance_curve
from maxmargin import (
    BinaryProblem,
    CuttingPlane,
    DualCoordinateDescent,
    Method,
    Pegasos,
    PrimalCoordinateDescent,
    solve,
)

TABLE_2 = ["a9a", "astro-physic", "real-sim", "news20.binary", "yahoo-japan", "rcv1.binary", "yahoo-korea"]
#: The sets of Figures 1 and 2.
FIGURES = ["astro-physic", "news20.binary", "rcv1.binary"]
LEVEL = 0.01
TRON = "LIBLINEAR -s 2"
HINGE, SQUARED = "hinge", "squared_hinge"


def dcd(order: str = "shuffled", shrinking: bool = False) -> Method:
    """Algorithm 1 in an order of visits, or Algorithm 2 ("uniform")."""
    return DualCoordinateDescent(
        order=order, shrinking=shrinking, resting=False, averaging=False, anchoring=False, plane=False
    )


METHODS: dict[str, dict[str, Method | None]] = {
    HINGE: {
        "DCDL1": dcd(),
        "Pegasos": Pegasos(),
        "SVM-perf": CuttingPlane(acceleration=False, keep_cuts=True),
        "DCDL1-S": dcd(shrinking=True),
    },
    SQUARED: {
        "DCDL2": dcd(),
        "PCD": PrimalCoordinateDescent(plane=False),
        "TRON": None,
        "DCDL2-S": dcd(shrinking=True),
    },
}
SETTINGS = (
    "C = 1, no bias, 4/5 of the rows, double precision, methods as in the paper (no additions of this library), "
    "reference to a certified gap of 1e-6; TRON is LIBLINEAR -s 2, run with decreasing stopping values."
)


class Experiment:
    """One data set with one loss: its optimum, and the curves of the methods."""

    def __init__(self, context: Context, found: Found, loss: str) -> None:
        self.context, self.found, self.loss = context, found, loss
        self.X, self.y, self.X_test, self.y_test = split(found)
        self.problem = BinaryProblem(self.X, self.y, 1.0, loss=loss)
        reference = context.once(f"paper000-reference-{found.used}-{loss}", self._reference)
        self.optimum, self.accuracy = reference["optimum"], reference["accuracy"]

    def _reference(self) -> dict[str, float]:
        solution = solve(self.problem, tol=1e-6, time_limit=self.context.limit(limits.REFERENCE))
        dual = solution.certificate.dual
        return {"optimum": dual, "accuracy": self.score(solution.weights)}

    def score(self, weights: np.ndarray) -> float:
        """Test accuracy in percent."""
        return 100 * float(np.mean(np.sign(self.X_test @ weights[:-1]) == self.y_test))

    def curve(self, name: str, method: Method | None = None) -> Curve:
        """A method of the paper by name, or one given; empty if its program is not installed."""
        method = method or METHODS[self.loss][name]
        seconds = self.context.limit(limits.PAPER000)
        if method is None and not PEERS[TRON].is_here():
            self.context.lacks(f"{name} (liblinear-official)")
            return Curve(exit="not installed")

        def run() -> dict[str, Any]:
            if method is None:
                start = self.context.limit(limits.PEER_START)
                return vars(tolerance_curve(TRON, self.X, self.y, 1.0, self.loss, self.score, seconds, start))
            return vars(record(self.problem, method, seconds=seconds, tol=1e-6, score=self.score))

        return Curve(**self.context.once(f"paper000-{self.found.used}-{self.loss}-{name}", run))


def experiments(context: Context, names: list[str]) -> list[Experiment]:
    """All data sets that can be had, with both losses."""
    return [Experiment(context, found, loss) for found in context.several(names) for loss in (HINGE, SQUARED)]


def labelled(loss: str) -> str:
    """How the paper calls a problem."""
    return "L1-SVM" if loss == HINGE else "L2-SVM"
