"""scikit-learn's LinearSVC."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchopt import BaseSolver


class Solver(BaseSolver):
    """``LinearSVC(loss='hinge', tol=tolerance)``."""

    name = "scikit-learn"
    requirements = ["scikit-learn"]
    sampling_strategy = "tolerance"

    def set_objective(self, X: Any, y: np.ndarray, C: float) -> None:
        """Keep the problem."""
        self.X, self.y, self.C = X, y, C

    def run(self, tolerance: float) -> None:
        """One fit, from the start."""
        import warnings

        from sklearn.svm import LinearSVC

        model = LinearSVC(
            loss="hinge", C=self.C, fit_intercept=False, tol=max(tolerance, 1e-12), max_iter=1_000_000, random_state=0
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.beta = model.fit(self.X, self.y).coef_.ravel()

    def get_result(self) -> dict[str, np.ndarray]:
        """The weights."""
        return {"beta": self.beta}
