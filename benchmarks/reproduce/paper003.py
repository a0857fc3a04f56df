"""The settings of Keerthi et al. 2008: no bias, text with rows of norm 1, MNIST and COVER as they are, dual values.

SDM with its heuristics is ``SequentialDual(adaptive=False, effort=5, little_gain=0)``; CP is the plain cutting plane.
The optimum is the best dual value of a run of the library's own choice to a gap of 1e-6, or of any method here.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks.reproduce import limits
from benchmarks.reproduce.context import Context, normalised, split
from benchmarks.reproduce.curves import Curve, record
from benchmarks.reproduce.data import Found
from maxmargin import CuttingPlane, ExponentiatedGradient, Method, MulticlassProblem, SequentialDual, solve

SETS = ["news20", "sector", "mnist", "rcv1.multiclass", "covtype"]
UNNORMALISED = ("mnist", "covtype")
#: Rows for training and for tests, by Table 1.1.
ROWS = {
    "news20": (15_935, 3_993),
    "sector": (6_412, 3_207),
    "mnist": (60_000, 10_000),
    "rcv1.multiclass": (531_742, 15_913),
    "covtype": (522_911, 58_101),
}
SDM = SequentialDual(adaptive=False, effort=5.0, little_gain=0.0)
PLAIN = SequentialDual(adaptive=False, shrinking=False)
RIVALS: dict[str, Method] = {
    "SDM": SDM,
    "EG": ExponentiatedGradient(),
    "CP": CuttingPlane(acceleration=False, keep_cuts=True),
}
SETTINGS = (
    "No bias, rows of norm 1 but for MNIST and COVER, the standard test rows where they are there, else as many of the "
    "rows at random as the paper has, or a fifth. Methods as in the paper: a permutation per loop, shrinking with five "
    "effective loops and cooling, plain cutting planes. Values are dual; test accuracies are those of the weights with "
    "the lowest primal value so far."
)


class Experiment:
    """One data set, C and formulation: its optimum, and the curves of methods."""

    def __init__(self, context: Context, found: Found, C: float, formulation: str = "crammer_singer") -> None:
        self.context, self.found = context, found
        self.own = own(context, found)
        self.X, self.y, self.X_test, self.y_test = parts(scaled(found))
        self.key = f"paper003-{found.used}-{C:g}-{formulation}"
        self.problem = MulticlassProblem(self.X, self.y, C, formulation=formulation, n_classes=int(found.y.max()) + 1)
        self.optimum = float(context.once(f"{self.key}-reference", self._reference))

    def _reference(self) -> float:
        return solve(self.problem, tol=1e-6, time_limit=self.context.limit(limits.REFERENCE)).certificate.dual

    def score(self, weights: np.ndarray) -> float:
        """Test accuracy in percent."""
        return 100 * float(np.mean(np.argmax(self.X_test @ weights[:, :-1].T, axis=1) == self.y_test))

    def curve(self, name: str, method: Method) -> Curve:
        """A method over time."""

        def run() -> dict[str, Any]:
            limit = self.context.limit(limits.PAPER003)
            return vars(record(self.problem, method, seconds=limit, tol=1e-6, every=0.25, score=self.score))

        return Curve(**self.context.once(f"{self.key}-{name}", run))

    def errors(self, curve: Curve) -> list[float]:
        """Relative function value differences, those below 1e-7 cut off."""
        return [max(error, 1e-7) for error in curve.dual_errors(self.optimum)]


def scaled(found: Found) -> Found:
    """Rows of norm 1, but for the sets that the paper leaves as they are."""
    if found.used in UNNORMALISED:
        return found
    X_test = None if found.X_test is None else normalised(found.X_test)
    return replace(found, X=normalised(found.X), X_test=X_test)


def parts(found: Found) -> tuple[sp.csr_matrix, np.ndarray, sp.csr_matrix, np.ndarray]:
    """Rows for training and for tests: the set's own, or at random, as many as in the paper."""
    if found.X_test is not None and found.y_test is not None:
        return found.X, found.y, found.X_test, found.y_test
    rows = ROWS.get(found.name, (0, 0))
    return split(found, rows[1] / sum(rows) if len(found.y) == sum(rows) else 0.2)


def joined(found: Found) -> Found:
    """All rows, those for tests too, as the paper joins them for partitions."""
    if found.X_test is None or found.y_test is None:
        return found
    X = sp.csr_matrix(sp.vstack([found.X, found.X_test]))
    return Found(found.name, found.used, X, np.concatenate([found.y, found.y_test]))


def own(context: Context, found: Found) -> bool:
    """Whether these are the paper's rows: as many for training and for tests, or, not yet parted, as many in all."""
    rows = ROWS.get(found.name, (0, 0))
    count = (sum(rows),) if found.y_test is None else rows
    return context.own(found) and tuple(len(y) for y in (found.y, found.y_test) if y is not None) == count
