"""The small dense set of scikit-learn."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchopt import BaseDataset


class Dataset(BaseDataset):
    """Breast cancer, columns standardised."""

    name = "breast_cancer"
    requirements = ["scikit-learn"]

    def get_data(self) -> dict[str, Any]:
        """All rows; there is no test set."""
        from sklearn.datasets import load_breast_cancer
        from sklearn.preprocessing import scale

        X, y = load_breast_cancer(return_X_y=True)
        return {"X": scale(X), "y": np.where(y == 1, 1.0, -1.0)}
