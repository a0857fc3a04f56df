"""What is minimised, and how good weights are: the hinge without an intercept."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchopt import BaseObjective


class Objective(BaseObjective):
    """``1/2 |w|^2 + C sum_i max(0, 1 - y_i w.x_i)``, and the accuracy on rows that were left out."""

    name = "Linear SVM, hinge, no intercept"
    parameters: dict[str, list[float]] = {"C": [1.0, 0.01, 100.0]}
    min_benchopt_version = "1.6"
    sampling_strategy = "tolerance"

    def skip(self, X: Any, y: Any, X_test: Any = None, y_test: Any = None) -> tuple[bool, str | None]:  # noqa: ARG002
        """A set whose file is missing is left out."""
        return (True, "its file is missing: set MAXMARGIN_DATA") if X is None else (False, None)

    def set_data(self, X: Any, y: Any, X_test: Any = None, y_test: Any = None) -> None:
        """Keep the data of a set."""
        self.X, self.y, self.X_test, self.y_test = X, y, X_test, y_test

    def evaluate_result(self, beta: np.ndarray) -> dict[str, float]:
        """The objective, which is ``value``, and the test accuracy."""
        slack = np.maximum(0.0, 1.0 - self.y * (self.X @ beta))
        result = {"value": 0.5 * float(beta @ beta) + self.C * float(slack.sum())}
        if self.X_test is not None:
            result["test_accuracy"] = float(np.mean(np.sign(self.X_test @ beta) == self.y_test))
        return result

    def get_one_result(self) -> dict[str, np.ndarray]:
        """A result, for benchopt's own tests."""
        return {"beta": np.zeros(self.X.shape[1])}

    def get_objective(self) -> dict[str, Any]:
        """What solvers are given."""
        return {"X": self.X, "y": self.y, "C": self.C}
