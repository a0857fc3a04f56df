import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import StandardScaler

from maxmargin import LinearSVC, save_svmlight
from maxmargin.problems.scaling import column_scales, describe_scales

from ..conftest import csr, random_problem


def test_scales_of_dense_and_sparse_columns_are_the_same(monkeypatch):
    X, _ = random_problem(rows=50, features=6, seed=1, density=0.4)
    X[:, 2] = 0
    truth = np.array([np.sqrt(np.mean(x[x != 0] ** 2)) if np.any(x) else 0.0 for x in X.T])
    monkeypatch.setattr("maxmargin.problems.scaling.PIECE", 7)
    for matrix in (X, csr(X)):
        np.testing.assert_allclose(column_scales(matrix), truth)


def test_columns_of_similar_scale_are_not_mentioned():
    X, _ = random_problem(rows=50, features=6, seed=1)
    assert describe_scales(X) is None
    assert describe_scales(X[:, :1] * 1e6) is None
    assert describe_scales(np.zeros((3, 2))) is None


def test_large_columns_are_named_and_counted():
    X, _ = random_problem(rows=50, features=20, seed=1)
    X[:, 3] *= 1e4
    assert "column 3 is around 1" in describe_scales(X)
    assert "column 4 is around 1" in describe_scales(X, first=1)
    X[:, :6] *= 1e3
    words = describe_scales(X)
    assert "column 3, column" in words
    assert "and 2 more are around" in words
    small = np.ones((4, 3))
    small[:, 1:] *= 1e-6
    assert "column 0 is around 1, a typical column around 1e-06" in describe_scales(small)
    assert "the smallest around 1e-06" in describe_scales(small[:, [0, 1]])


def test_the_warning_names_the_columns_and_the_remedy():
    data = load_breast_cancer()
    X = pd.DataFrame(data.data, columns=data.feature_names)
    with pytest.warns(ConvergenceWarning, match="'worst area', 'mean area'.*StandardScaler"):
        LinearSVC("hinge", solver="dcd", max_iter=5).fit(X, data.target)
    with pytest.warns(ConvergenceWarning) as caught:
        LinearSVC("hinge", solver="dcd", max_iter=2, tol=1e-9).fit(StandardScaler().fit_transform(X), data.target)
    assert "different scales" not in str(caught[0].message)


def test_the_command_says_the_same(folder, command):
    data = load_breast_cancer()
    save_svmlight(data.data, data.target, "raw.svm")
    code, _, err = command("train", "raw.svm", "--solver", "dcd", "--max-iter", "3", "--loss", "hinge")
    assert code == 1
    assert "column 24, column 4" in err
