"""Rows at random, dense, with noisy labels."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchopt import BaseDataset


class Dataset(BaseDataset):
    """Two overlapping clouds."""

    name = "simulated"
    parameters: dict[str, list[Any]] = {"rows, features": [(1_000, 50), (200, 500)]}
    test_parameters: dict[str, list[Any]] = {"rows, features": [(60, 5)]}

    def get_data(self) -> dict[str, Any]:
        """Four fifths for training."""
        rng = np.random.default_rng(0)
        X = rng.normal(size=(self.rows, self.features)) / np.sqrt(self.features)
        y = np.where(X @ rng.normal(size=self.features) + 0.3 * rng.normal(size=self.rows) > 0, 1.0, -1.0)
        split = self.rows * 4 // 5
        return {"X": X[:split], "y": y[:split], "X_test": X[split:], "y_test": y[split:]}
