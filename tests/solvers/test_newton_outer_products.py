"""Newton's Hessian: rows with few zeros are summed up over all columns, others entry by entry. All of it is one sum."""

import numpy as np
import pytest
import scipy.sparse as sp

from maxmargin import BinaryProblem, solve


def half_filled(features, density, rows=203, seed=0):
    """Rows of which some columns are always empty, one is always the same, and some rows have no entry."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, features)) * (rng.random((rows, features)) < density)
    X[:, features // 3 : features // 2] = 0.0
    X[:, -1] = 1.0
    X[::17] = 0.0
    y = np.where(X @ rng.normal(size=features) + rng.normal(size=rows) > 0, 1.0, -1.0)
    return X, y


def with_doubled_entries(X):
    """The same matrix with each entry stored in two halves, in falling order of columns."""
    rows = [np.flatnonzero(row)[::-1] for row in X]
    indices = np.concatenate([np.repeat(columns, 2) for columns in rows]).astype(np.int32)
    values = np.concatenate([np.repeat(0.5 * X[i, columns], 2) for i, columns in enumerate(rows)])
    starts = np.concatenate([[0], np.cumsum([2 * len(columns) for columns in rows])])
    return sp.csr_matrix((values, indices, starts), shape=X.shape)


def optimum(X, y, C):
    """The minimum of the squared hinge by Newton's method with dense matrices of numpy."""
    w = np.zeros(X.shape[1])
    for _ in range(200):
        slack = 1 - y * (X @ w)
        curved = slack > 0
        gradient = w - 2 * C * X[curved].T @ (y[curved] * slack[curved])
        step = np.linalg.solve(np.eye(len(w)) + 2 * C * X[curved].T @ X[curved], -gradient)

        def value(t, w=w, step=step):
            moved = w + t * step
            return 0.5 * moved @ moved + C * np.sum(np.maximum(0, 1 - y * (X @ moved)) ** 2)

        w = w + min((1.0, 0.5, 0.1, 0.01), key=value) * step
    return w


@pytest.mark.parametrize("features", [33, 64, 67, 130])
@pytest.mark.parametrize("density", [0.1, 0.7])
@pytest.mark.parametrize("jobs", [1, 2])
def test_weights_are_those_of_numpy_whatever_the_storage(features, density, jobs):
    X, y = half_filled(features, density)
    expected = optimum(X, y, 10.0)
    stored = {
        "dense": X,
        "float32": X.astype(np.float32),
        "csr": sp.csr_matrix(X),
        "csr float32": sp.csr_matrix(X.astype(np.float32)),
        "doubled": with_doubled_entries(X),
    }
    for name, matrix in stored.items():
        solution = solve(BinaryProblem(matrix, y, C=10.0, loss="squared_hinge"), "newton", tol=1e-12, n_jobs=jobs)
        loose = "float32" in name
        assert solution.certificate.gap <= 1e-9, name
        assert np.abs(np.ravel(solution.weights)[:features] - expected).max() <= (1e-4 if loose else 1e-6), name
