"""Our library: its own choice of method, and single ones."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchopt import BaseSolver


class Solver(BaseSolver):
    """``solve`` to a certified relative gap."""

    name = "maxmargin"
    requirements = ["maxmargin"]
    parameters: dict[str, list[str]] = {"solver": ["auto", "dcd", "avsf"]}
    sampling_strategy = "tolerance"

    def set_objective(self, X: Any, y: np.ndarray, C: float) -> None:
        """Keep the problem."""
        self.X, self.y, self.C = X, y, C

    def run(self, tolerance: float) -> None:
        """One fit, from the start."""
        from maxmargin import BinaryProblem, solve

        problem = BinaryProblem(self.X, self.y, self.C, loss="hinge")
        self.beta = solve(problem, self.solver, tol=min(tolerance, 0.5), max_iter=1_000_000).weights[:-1]

    def get_result(self) -> dict[str, np.ndarray]:
        """The weights."""
        return {"beta": self.beta}
