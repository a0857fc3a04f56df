"""The settings of Keerthi et al. 2008: no bias, text with rows of norm 1, MNIST and COVER as they are, dual values.

SDM with its heuristics is ``SequentialDual(adaptive=False, effort=5, little_gain=0)``; CP is the plain cutting plane.
The optimum is the best dual value of a run of the library's own choice to a gap of 1e-6, or of any method here.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks import datasets
from benchmarks.reproduce.context import Context, normalised, split
from benchmarks.reproduce.curves import Curve, record
from benchmarks.reproduce.data import Found
from maxmargin import CuttingPlane, ExponentiatedGradient, Method, MulticlassProblem, SequentialDual, solve

SETS = ["news20", "sector", "mnist", "rcv1.multiclass", "covtype"]
UNNORMALISED = ("mnist", "covtype")
SDM = SequentialDual(adaptive=False, effort=5.0, little_gain=0.0)
PLAIN = SequentialDual(adaptive=False, shrinking=False)
RIVALS: dict[str, Method] = {
    "SDM": SDM,
    "EG": ExponentiatedGradient(),
    "CP": CuttingPlane(acceleration=False, keep_cuts=True),
}
SETTINGS = (
    "No bias, rows of norm 1 but for MNIST and COVER, 4/5 of the rows for training, methods as in the paper: a "
    "permutation per loop, shrinking with five effective loops and cooling, plain cutting planes. Values are dual."
)


class Experiment:
    """One data set, C and formulation: its optimum, and the curves of methods."""

    def __init__(self, context: Context, found: Found, C: float, formulation: str = "crammer_singer") -> None:
        self.context, self.found = context, found
        data = found
        if found.used not in UNNORMALISED:
            data = Found(found.name, found.used, normalised(found.X), found.y)
        self.X, self.y, self.X_test, self.y_test = split(data)
        self.key = f"paper003-{found.used}-{C:g}-{formulation}"
        self.problem = MulticlassProblem(self.X, self.y, C, formulation=formulation, n_classes=int(found.y.max()) + 1)
        self.optimum = float(context.once(f"{self.key}-reference", self._reference))

    def _reference(self) -> float:
        return solve(self.problem, tol=1e-6, time_limit=self.context.pick(30.0, 3600.0)).certificate.dual

    def score(self, weights: np.ndarray) -> float:
        """Test accuracy in percent."""
        return 100 * float(np.mean(np.argmax(self.X_test @ weights[:, :-1].T, axis=1) == self.y_test))

    def curve(self, name: str, method: Method, seconds: float = 300.0) -> Curve:
        """A method over time."""

        def run() -> dict[str, Any]:
            limit = self.context.pick(5.0, seconds)
            return vars(record(self.problem, method, seconds=limit, tol=1e-6, every=0.25, score=self.score))

        return Curve(**self.context.once(f"{self.key}-{name}", run))

    def errors(self, curve: Curve) -> list[float]:
        """Relative function value differences, those below 1e-7 cut off."""
        return [max(error, 1e-7) for error in curve.dual_errors(self.optimum)]


def with_tests(context: Context, name: str) -> Found | None:
    """A set with its test rows, as the papers join them for partitions."""
    found = context.data(name, two_classes=False)
    more = datasets.load_classes(f"{name}.t", "float64")
    if found is None or more is None or context.quick or not found.own:
        return found
    return Found(name, found.used, sp.csr_matrix(sp.vstack([found.X, more[0]])), np.concatenate([found.y, more[1]]))
