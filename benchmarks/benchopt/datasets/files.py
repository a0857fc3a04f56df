"""The sets of ``benchmarks/datasets.py``: sparse text, and sets of few features."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from benchopt import BaseDataset


class Dataset(BaseDataset):
    """A file ``NAME.npz`` of the folder ``$MAXMARGIN_DATA``, or of ``../shared/data`` beside the project."""

    name = "files"
    parameters: dict[str, list[str]] = {"data": ["a9a", "imdb"]}

    @staticmethod
    def path(name: str) -> Path:
        """Where a set would be."""
        beside = Path(__file__).resolve().parents[4] / "shared" / "data"
        return Path(os.environ.get("MAXMARGIN_DATA") or beside) / f"{name}.npz"

    def get_data(self) -> dict[str, Any]:
        """The set and, where there is one, its test set; nothing if it is missing, which the objective skips."""
        if not self.path(self.data).is_file():
            return {"X": None, "y": None}
        X, y = self.load(self.data)
        data = {"X": X, "y": y}
        if self.path(f"{self.data}.t").is_file():
            X_test, y_test = self.load(f"{self.data}.t")
            if X_test.shape[1] == X.shape[1]:
                data |= {"X_test": X_test, "y_test": y_test}
        return data

    def load(self, name: str) -> tuple[sp.csr_matrix, np.ndarray]:
        """A file as CSR and signs."""
        with np.load(self.path(name)) as z:
            X = sp.csr_matrix((z["data"].astype(np.float64), z["indices"], z["indptr"]), shape=z["shape"])
            return X, np.where(z["y"] == z["y"].max(), 1.0, -1.0)
