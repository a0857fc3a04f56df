"""skglm's LinearSVC."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchopt import BaseSolver


class Solver(BaseSolver):
    """``LinearSVC(C=C, tol=tolerance)``, compiled before it is timed."""

    name = "skglm"
    requirements = ["pip::skglm"]
    sampling_strategy = "tolerance"

    def set_objective(self, X: Any, y: np.ndarray, C: float) -> None:
        """Keep the problem, and compile."""
        self.X, self.y, self.C = X, y, C
        self.run(1.0)

    def run(self, tolerance: float) -> None:
        """One fit, from the start."""
        import warnings

        from skglm import LinearSVC

        model = LinearSVC(C=self.C, tol=max(tolerance, 1e-12), max_iter=100_000)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.beta = model.fit(self.X, self.y).coef_.ravel()

    def get_result(self) -> dict[str, np.ndarray]:
        """The weights."""
        return {"beta": self.beta}
