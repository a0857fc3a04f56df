"""Scores of many classes side by side with scikit-learn's LinearSVC, from batches and from single rows.

python -m benchmarks.predict [--repeats 7] [--output benchmarks/results/predict.md]

Both are given the same random weights, in the order in memory that scikit-learn's fit leaves them, and validate their
input as they do for users. Set OPENBLAS_NUM_THREADS=1 to hold scikit-learn to one thread for dense rows.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.svm import LinearSVC as Rival

from benchmarks.datasets import ROOT, load
from benchmarks.report import Table, describe_machine
from maxmargin import LinearSVC

#: Rows of a batch; 0 is all.
BATCHES = (0, 1000, 100, 1)


def text_like(rows: int, features: int, per_row: int) -> sp.csr_matrix:
    """Rows of words, few of which are frequent."""
    rng = np.random.default_rng(0)
    columns = np.minimum((rng.pareto(0.7, size=rows * per_row) * 3).astype(np.int32), features - 1)
    X = sp.csr_matrix(
        (rng.random(rows * per_row), columns, np.arange(0, rows * per_row + 1, per_row)), (rows, features)
    )
    X.sum_duplicates()
    return X


def cases() -> Iterator[tuple[str, Any, int]]:
    """A name, rows, and how many classes."""
    yield "57 classes, 39,934 features, made up", text_like(50_000, 39_934, 41), 57
    for name, classes in (("news20", 20), ("mnist.t", 10), ("letter", 26)):
        found = load(name)
        if found is None:
            print(f"{name}: not found, skipped")
            continue
        X = found[0].astype(np.float64)
        yield f"{name}, CSR", X, classes
        if X.shape[1] < 1000:
            yield f"{name}, dense", X.toarray(), classes


def fastest(model: Any, X: Any, repeats: int) -> float:
    """Seconds of the fastest of some calls."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        model.decision_function(X)
        times.append(time.perf_counter() - start)
    return min(times)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=7, help="calls of which the fastest counts")
    parser.add_argument("--output", type=Path, default=ROOT / "benchmarks" / "results" / "predict.md")
    arguments = parser.parse_args()
    table = Table(["data", "rows", "scikit-learn ms", "maxmargin ms", "ratio"])
    rng = np.random.default_rng(1)
    for name, X, classes in cases():
        models = [LinearSVC(), Rival()]
        coef, intercept = np.asfortranarray(rng.normal(size=(classes, X.shape[1]))), rng.normal(size=classes)
        for model in models:
            model.coef_, model.intercept_, model.classes_ = coef, intercept, np.arange(classes)
            model.n_features_in_ = X.shape[1]
        for batch in BATCHES:
            part = X[: batch or X.shape[0]]
            repeats = arguments.repeats if part.shape[0] > 1000 else 10 * arguments.repeats
            ours, theirs = (fastest(model, part, repeats) for model in models)
            table.add([name, f"{part.shape[0]:,}", f"{1e3 * theirs:.3g}", f"{1e3 * ours:.3g}", f"{theirs / ours:.2f}"])
    arguments.output.parent.mkdir(parents=True, exist_ok=True)
    arguments.output.write_text("\n".join(["# Prediction", "", describe_machine(), "", table.markdown(), ""]))
    print(f"written to {arguments.output}")


if __name__ == "__main__":
    main()
