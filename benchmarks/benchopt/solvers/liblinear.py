"""LIBLINEAR's dual coordinate descent, by its own Python package."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchopt import BaseSolver


class Solver(BaseSolver):
    """``liblinear-train -s 3 -e tolerance``."""

    name = "LIBLINEAR"
    requirements = ["pip::liblinear-official"]
    sampling_strategy = "tolerance"

    def set_objective(self, X: Any, y: np.ndarray, C: float) -> None:
        """Keep the problem in LIBLINEAR's own form."""
        import scipy.sparse as sp
        from liblinear.liblinear import problem

        self.features, self.C = X.shape[1], C
        self.problem = problem(y, sp.csr_matrix(X), -1)

    def run(self, tolerance: float) -> None:
        """One fit, from the start."""
        from liblinear.liblinear import liblinear, parameter

        model = liblinear.train(self.problem, parameter(f"-s 3 -c {self.C!r} -e {max(tolerance, 1e-12)!r} -q"))
        weights = np.ctypeslib.as_array(model.contents.w, (self.features,)).copy()
        self.beta = model.contents.label[0] * weights
        liblinear.free_and_destroy_model(model)

    def get_result(self) -> dict[str, np.ndarray]:
        """The weights."""
        return {"beta": self.beta}
