"""The data sets of the benchmarks, as CSR and labels.

They are not part of the project. Each ``NAME.npz`` holds a CSR matrix (``data``, ``indices``, ``indptr``, ``shape``)
and labels ``y``; the folder is the first that exists of ``$MAXMARGIN_DATA``, ``benchmarks/data``, ``../shared/data``.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import scipy.sparse as sp

#: Small sets as scikit-learn ships them, their columns unscaled, and the class that is +1.
RAW = {"breast_cancer": 1, "iris": 2, "digits": 5}
ROOT = Path(__file__).resolve().parent.parent


def folder() -> Path | None:
    """Where the data are, or None."""
    candidates = [os.environ.get("MAXMARGIN_DATA"), ROOT / "benchmarks" / "data", ROOT.parent / "shared" / "data"]
    return next((Path(path) for path in candidates if path and Path(path).is_dir()), None)


def load(name: str, dtype: str = "float32") -> tuple[sp.csr_matrix, np.ndarray] | None:
    """The matrix and the labels as they are, or None when the file is missing."""
    home = folder()
    if home is None or not (home / f"{name}.npz").is_file():
        return None
    with np.load(home / f"{name}.npz") as z:
        values = z["data"].astype(dtype)
        if name.startswith("mnist"):
            values /= 255
        return sp.csr_matrix((values, z["indices"], z["indptr"]), shape=z["shape"]), z["y"]


def load_binary(name: str, dtype: str = "float32") -> tuple[sp.csr_matrix, np.ndarray] | None:
    """The same with labels -1 and +1, by the splits the papers use; raw small sets come with scikit-learn."""
    if name in RAW:
        from sklearn import datasets

        X, y = getattr(datasets, f"load_{name}")(return_X_y=True)
        positive = y >= 5 if name == "digits" else y == RAW[name]
        return sp.csr_matrix(X.astype(dtype)), np.where(positive, 1, -1).astype(np.int8)
    found = load(name, dtype)
    if found is None:
        return None
    X, y = found
    classes = np.unique(y)
    halves = np.isin(y, classes[len(classes) // 2 :])  # of many classes, the second half
    positive = {"news20": y <= 10, "covtype": y == 2, "mnist": y % 2 == 1}.get(name, halves)
    return X, np.where(positive, 1, -1).astype(np.int8)


def load_classes(name: str, dtype: str = "float32") -> tuple[sp.csr_matrix, np.ndarray] | None:
    """Rows and class numbers from 0 on."""
    found = load(name, dtype)
    return None if found is None else (found[0], np.unique(found[1], return_inverse=True)[1])


def load_queries(name: str) -> tuple[sp.csr_matrix, np.ndarray, np.ndarray] | None:
    """Matrix, relevance and query numbers of a ranking set; None when it is missing or has no queries."""
    found, home = load(name), folder()
    if found is None or home is None:
        return None
    with np.load(home / f"{name}.npz") as z:
        return (*found, z["qid"]) if "qid" in z else None
