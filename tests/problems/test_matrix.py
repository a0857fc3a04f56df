"""One matrix for all: checked once, shared by classes, folds and values of C, and scored with the same bits."""

import numpy as np
import pytest
import scipy.sparse as sp

import maxmargin.problems.matrix
from maxmargin import (
    BinaryProblem,
    LinearSVC,
    Matrix,
    MulticlassProblem,
    RankingProblem,
    RegressionProblem,
    solve,
)
from maxmargin.models.model import linear_scores
from maxmargin.training.classification import train_classifier
from maxmargin.training.cross_validation import cross_validate, fold_numbers, folds_of
from maxmargin.training.tasks import Classification

from ..conftest import csr, random_problem

STORAGES = {
    "dense float64": np.ascontiguousarray,
    "dense float32": lambda X: np.ascontiguousarray(X, dtype=np.float32),
    "csr float64 int32": csr,
    "csr float64 int64": lambda X: csr(X, np.int64, np.int64),
    "csr float32 int32": lambda X: csr(X.astype(np.float32)),
    "csr float32 int64": lambda X: csr(X.astype(np.float32), np.int64, np.int64),
    "csr float64 int32 and int64": lambda X: csr(X, np.int32, np.int64),
}
CLASSES = [*range(1, 10), 33, 57]


def rows(X, first, last):
    """Some rows in the same storage; scipy would choose the types of indices anew."""
    if not sp.issparse(X):
        return X[first:last]
    part = X[first:last]
    part.indices, part.indptr = part.indices.astype(X.indices.dtype), part.indptr.astype(X.indptr.dtype)
    return part


@pytest.fixture
def checks(monkeypatch):
    """Every matrix that is checked from now on."""
    checked = []
    original = maxmargin.problems.matrix._rows_of

    def counted(X):
        checked.append(X)
        return original(X)

    monkeypatch.setattr(maxmargin.problems.matrix, "_rows_of", counted)
    return checked


def test_a_matrix_of_a_matrix_is_itself():
    X, _ = random_problem()
    for stored in (X, csr(X)):
        matrix = Matrix(stored)
        assert Matrix.of(matrix) is matrix
        assert Matrix.of(stored) is not matrix
        assert matrix.X is stored
        assert matrix.shape == stored.shape
        assert matrix.stored == (stored.nnz if sp.issparse(stored) else stored.size)
        assert matrix.mean_squared_norm() == pytest.approx((X**2).sum(axis=1).mean())


def test_problems_over_one_matrix_do_not_check_it_again(checks):
    X, y = random_problem()
    matrix = Matrix(X)
    assert len(checks) == 1
    for problem in (
        BinaryProblem(matrix, y),
        BinaryProblem(matrix, y, 10.0, loss="hinge", bias=1.0, penalize_bias=False),
        MulticlassProblem(matrix, (y > 0).astype(int)),
        RankingProblem(matrix, y),
    ):
        assert problem.matrix is matrix
        solution = solve(problem)
        assert solution.converged
        linear_scores(matrix, np.atleast_2d(solution.weights)[:, :-1], np.zeros(len(np.atleast_2d(solution.weights))))
    assert len(checks) == 1


@pytest.mark.parametrize("store", [np.ascontiguousarray, csr], ids=["dense", "csr"])
@pytest.mark.parametrize("multi_class", ["ovr", "crammer_singer"])
def test_a_fit_of_five_classes_checks_the_matrix_once(checks, multi_class, store):
    rng = np.random.default_rng(1)
    X, y = store(rng.normal(size=(80, 4))), np.arange(80) % 5
    model = LinearSVC(multi_class=multi_class).fit(X, y)
    assert len(checks) == 1
    model.predict(X)
    assert len(checks) == 2


def test_threads_over_classes_share_the_matrix(checks):
    rng = np.random.default_rng(2)
    LinearSVC(n_jobs=2).fit(rng.normal(size=(80, 4)), np.arange(80) % 5)
    assert len(checks) == 1


@pytest.mark.parametrize("multi_class", ["ovr", "weston_watkins"])
def test_cross_validation_over_three_C_and_three_folds_checks_the_matrix_once(checks, multi_class):
    rng = np.random.default_rng(3)
    X, labels = rng.normal(size=(60, 4)), np.arange(60) % 3
    task = Classification(X, labels, 3, multi_class=multi_class)
    scores = cross_validate(task, [0.01, 0.1, 1.0], folds_of(fold_numbers(labels, 3, seed=0)))
    assert scores.scores.shape == (3, 3)
    assert len(checks) == 1
    cross_validate(Classification(Matrix(X), labels, 3), [0.01], folds_of(fold_numbers(labels, 3, seed=0)))
    assert len(checks) == 2


def test_a_matrix_gives_the_same_training_as_its_rows():
    rng = np.random.default_rng(4)
    X, labels = csr(rng.normal(size=(60, 4))), np.arange(60) % 3
    _, of_rows = train_classifier(X, labels, 3, 1.0)
    _, of_matrix = train_classifier(Matrix(X), labels, 3, 1.0)
    for one, other in zip(of_rows, of_matrix, strict=True):
        assert np.array_equal(one.weights, other.weights)


@pytest.mark.parametrize("classes", CLASSES)
@pytest.mark.parametrize("name", list(STORAGES))
def test_scores_are_products_with_the_weights_in_either_order(name, classes):
    rng = np.random.default_rng(5)
    for size, features, density in ((23, 7, 1.0), (40, 130, 0.1), (5, 1, 0.5)):
        X = STORAGES[name](rng.normal(size=(size, features)) * (rng.random((size, features)) < density))
        coef, intercept = rng.normal(size=(classes, features)), rng.normal(size=classes)
        truth = X.astype(np.float64) @ coef.T + intercept
        largest = abs(X.astype(np.float64)) @ abs(coef).T + abs(intercept)
        found = [Matrix(X).scores(order(coef), intercept) for order in (np.ascontiguousarray, np.asfortranarray)]
        assert np.array_equal(found[0], found[1])
        assert found[0].shape == (size, classes)
        assert np.all(np.abs(found[0] - truth) <= 1e-14 * largest)


@pytest.mark.parametrize("classes", CLASSES)
@pytest.mark.parametrize("name", list(STORAGES))
def test_a_row_has_the_same_score_alone_and_among_others(name, classes):
    rng = np.random.default_rng(6)
    X = STORAGES[name](rng.normal(size=(70, 19)) * (rng.random((70, 19)) < 0.6))
    coef, intercept = np.asfortranarray(rng.normal(size=(classes, 19))), rng.normal(size=classes)
    together = Matrix(X).scores(coef, intercept)
    for i in (0, 1, 35, 68, 69):
        alone = Matrix(rows(X, i, i + 1)).scores(coef, intercept)
        assert np.array_equal(alone[0].view(np.int64), together[i].view(np.int64))
    for first, last in ((0, 3), (1, 9), (13, 70), (5, 6)):
        part = Matrix(rows(X, first, last)).scores(coef, intercept)
        assert np.array_equal(part, together[first:last])


def test_a_column_of_scores_does_not_depend_on_the_number_of_other_classes():
    """Whether a class is scored by itself or among others changes its score by rounding at most."""
    rng = np.random.default_rng(7)
    X, coef, intercept = rng.normal(size=(20, 9)), rng.normal(size=(57, 9)), rng.normal(size=57)
    for store in (np.ascontiguousarray, csr):
        matrix = Matrix(store(X))
        together = matrix.scores(coef, intercept)
        for k in (0, 5, 56):
            alone = matrix.scores(coef[k : k + 1], intercept[k : k + 1])
            np.testing.assert_allclose(alone[:, 0], together[:, k], rtol=0, atol=1e-13)


def test_rows_without_entries_score_as_the_intercept():
    coef, intercept = np.ones((3, 4)), np.array([1.0, -2.0, 0.0])
    for X in (np.zeros((2, 4)), csr(np.zeros((2, 4)))):
        assert Matrix(X).scores(coef, intercept).tolist() == [intercept.tolist()] * 2


@pytest.mark.parametrize(
    ("X", "error", "message"),
    [
        (np.ones((3, 2), dtype=int), TypeError, "must be float32 or float64, not int64"),
        (np.asfortranarray(np.ones((3, 2))), TypeError, "must be C-ordered"),
        (np.ones(3), ValueError, "two dimensions, not 1"),
        (sp.csc_array(np.ones((3, 2))), TypeError, "not csc: convert with X.tocsr()"),
        (sp.csr_array(np.ones((3, 2), dtype=int)), TypeError, "must be float32 or float64"),
        ([[1.0, 2.0]], TypeError, "not list"),
    ],
    ids=str,
)
def test_what_would_need_a_copy_is_refused_with_the_remedy(X, error, message):
    import re

    with pytest.raises(error, match=re.escape(message)):
        Matrix(X)


def misaligned(array):
    """The same numbers one byte beside the place where they should begin, as they come out of messages."""
    memory = np.zeros(array.nbytes + 1, dtype=np.uint8)
    odd = memory[1:].view(array.dtype).reshape(array.shape)
    odd[...] = array
    assert not odd.flags.aligned
    return odd


@pytest.mark.parametrize("storage", STORAGES)
def test_misaligned_arrays_are_copied(storage):
    X, y = random_problem(40, 6, seed=3)
    X = STORAGES[storage](X)
    odd = X.copy() if sp.issparse(X) else misaligned(X)
    if sp.issparse(X):
        odd.data, odd.indices, odd.indptr = (misaligned(array) for array in (X.data, X.indices, X.indptr))
    matrix = Matrix(odd)
    own = [matrix.X.data, matrix.X.indices, matrix.X.indptr] if matrix.is_sparse else [matrix.X]
    assert all(array.flags.aligned for array in own)
    assert Matrix(X).X is X
    weights = np.linspace(0.5, 2.0, 40)
    expected = LinearSVC().fit(X, y, weights)
    found = LinearSVC().fit(odd, misaligned(y.astype(np.float64)), misaligned(weights))
    np.testing.assert_array_equal(found.coef_, expected.coef_)
    np.testing.assert_array_equal(found.decision_function(odd), expected.decision_function(X))


def test_csr_arrays_that_do_not_lie_side_by_side_are_copied():
    X, y = random_problem(40, 6, seed=3)
    X = csr(X)
    apart = X.copy()
    apart.data, apart.indices, apart.indptr = (np.repeat(a, 2)[::2] for a in (X.data, X.indices, X.indptr))
    assert not apart.data.flags.c_contiguous
    expected, found = LinearSVC().fit(X, y), LinearSVC().fit(apart, y)
    np.testing.assert_array_equal(found.coef_, expected.coef_)
    np.testing.assert_array_equal(found.decision_function(apart), expected.decision_function(X))


def test_misaligned_vectors_are_copied():
    X, y = random_problem(30, 5, seed=4)
    C, ranks = np.linspace(0.1, 1.0, 30), np.arange(30.0) % 4
    for make, target in ((BinaryProblem, y.astype(np.float64)), (RegressionProblem, ranks)):
        expected = solve(make(X, target, C), tol=1e-8)
        start = misaligned(expected.alpha)
        found = solve(make(X, misaligned(target), misaligned(C)), tol=1e-8, start=start)
        np.testing.assert_allclose(found.weights, expected.weights, atol=1e-6)
    expected = solve(RankingProblem(X, ranks, weights=C), tol=1e-8)
    found = solve(RankingProblem(X, misaligned(ranks), weights=misaligned(C)), tol=1e-8)
    np.testing.assert_array_equal(found.weights, expected.weights)
    classes = (np.arange(30) % 3).astype(np.int32)
    expected = solve(MulticlassProblem(X, classes), tol=1e-8)
    found = solve(MulticlassProblem(X, misaligned(classes)), tol=1e-8)
    np.testing.assert_array_equal(found.weights, expected.weights)
