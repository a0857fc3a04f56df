"""Cross-validation without copies, against training on the rows of each fold alone."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_iris

from maxmargin import LinearSVC
from maxmargin.training.cross_validation import cross_validate, fold_numbers
from tests.conftest import random_problem


@pytest.mark.parametrize("classes", [2, 5])
@pytest.mark.parametrize("rows", [20, 103])
def test_folds_have_equal_size_and_their_share_of_every_class(rows, classes):
    labels = np.random.default_rng(0).integers(classes, size=rows)
    numbers = fold_numbers(labels, 4, seed=3)
    sizes = np.bincount(numbers, minlength=4)
    assert sizes.max() - sizes.min() <= 1
    for k in range(classes):
        share = np.bincount(numbers[labels == k], minlength=4)
        assert share.max() - share.min() <= 1
    np.testing.assert_array_equal(numbers, fold_numbers(labels, 4, seed=3))
    assert np.any(numbers != fold_numbers(labels, 4, seed=4))


@pytest.mark.parametrize("class_weight", [None, "balanced", {0: 3.0}])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("sparse", [False, True])
def test_the_same_as_training_on_the_other_rows_alone(loss, class_weight, sparse):
    X, y = load_iris(return_X_y=True)
    X = sp.csr_array(X) if sparse else X
    Cs = [1.0, 0.01]  # any order
    scores = cross_validate(
        X, y, np.arange(3), Cs, folds=3, seed=1, class_weight=class_weight, loss=loss, tol=1e-9, bias=2.0
    )
    numbers = fold_numbers(y, 3, seed=1)
    for k, C in enumerate(Cs):
        for fold in range(3):
            model = LinearSVC(loss, C=C, class_weight=class_weight, tol=1e-9, intercept_scaling=2.0)
            model.fit(X[numbers != fold], y[numbers != fold])
            expected = model.score(X[numbers == fold], y[numbers == fold])
            assert scores.accuracy[k, fold] == pytest.approx(expected, abs=0.021)  # one row of a tie
            assert scores.gap[k, fold] <= 1e-9


def test_threads_change_nothing():
    X, y = random_problem(rows=300)
    labels = (y > 0).astype(np.intp)
    one = cross_validate(X, labels, np.array([-1, 1]), [0.1, 1.0], n_jobs=1, solver="dcd")
    two = cross_validate(X, labels, np.array([-1, 1]), [0.1, 1.0], n_jobs=2, solver="dcd")
    np.testing.assert_array_equal(one.accuracy, two.accuracy)
    np.testing.assert_array_equal(one.gap, two.gap)


def test_a_class_of_one_row():
    X, y = random_problem(rows=50)
    labels = (y > 0).astype(np.intp)
    labels[7] = 2
    scores = cross_validate(X, labels, np.arange(3), [1.0])
    assert np.all((scores.accuracy >= 0) & (scores.accuracy <= 1))
    assert np.all(scores.gap <= 1e-3)
