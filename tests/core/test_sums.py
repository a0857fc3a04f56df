"""What streamed methods are put together from: sums over rows, and sweeps over all classes of a block."""

import numpy as np
import pytest

from maxmargin import Matrix, MulticlassProblem, _core, solve
from maxmargin.problems.csr import Csr
from maxmargin.problems.multiclass import FORMULATIONS

from ..conftest import csr


def rows(seed=0, size=30, features=7):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(size, features)) * (rng.uniform(size=(size, features)) < 0.5)
    X[3] = 0.0
    return X, rng.normal(size=size) * (np.arange(size) % 3 > 0)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("store", [np.ascontiguousarray, csr], ids=["dense", "csr"])
def test_sums_over_rows_are_those_of_numpy(store, dtype):
    X, c = rows()
    X = X.astype(dtype)
    matrix = Matrix(store(X))
    np.testing.assert_allclose(_core.row_sums(matrix.rows, c), X.T.astype(float) @ c, rtol=1e-12, atol=1e-12)
    for column in (0.0, 1.0, 3.0):
        A = np.hstack([X.astype(float), np.full((len(X), 1), column)])
        found = _core.outer_sums(matrix.rows, c, column)
        np.testing.assert_allclose(np.tril(found), np.tril((A.T * c) @ A), rtol=1e-12, atol=1e-12)


def test_repeated_and_unsorted_indices_add_up():
    X = Csr(np.array([1.0, 2.0, 4.0]), np.array([1, 0, 1], dtype=np.int32), np.array([0, 3]), (1, 2))
    dense = np.array([2.0, 5.0, 1.0])
    found = _core.outer_sums(Matrix(X).rows, np.array([3.0]), 1.0)
    assert np.array_equal(np.tril(found), np.tril(3.0 * np.outer(dense, dense)))


def test_sums_refuse_coefficients_that_do_not_fit():
    matrix = Matrix(np.eye(3))
    for function in (lambda c: _core.row_sums(matrix.rows, c), lambda c: _core.outer_sums(matrix.rows, c, 1.0)):
        with pytest.raises(ValueError, match="one entry per row"):
            function(np.ones(2))


def state_of(problem):
    return _core.MulticlassState(
        problem.matrix.rows, problem.y, problem.C, FORMULATIONS[problem.formulation], problem.n_classes, problem.bias
    )


@pytest.mark.parametrize("listed", [False, True])
@pytest.mark.parametrize("formulation", list(FORMULATIONS))
def test_a_sweep_over_classes_gains_what_the_dual_grows_and_keeps_the_weights_in_step(formulation, listed):
    X, _ = rows()
    y = np.arange(30) % 5
    problem = MulticlassProblem(csr(X), y, np.linspace(0.1, 2.0, 30), formulation=formulation, bias=1.0)
    state = state_of(problem)
    begin = solve(problem, tol=0.3).alpha
    state.assign(begin[:3])
    weights = state.sums()
    np.testing.assert_allclose(problem.weights_of_report(weights), problem.weights(begin), rtol=1e-12, atol=1e-12)
    used = np.flatnonzero(np.diff(begin.indptr) > 0) if listed else np.arange(30)
    after, gain, _ = _core.class_sweep(state, weights, used.astype(np.uint32), listed)
    alpha = Csr(*state.variables(), (30, 5))
    assert gain == pytest.approx(problem.dual(alpha) - problem.dual(begin), rel=1e-9, abs=1e-12)
    assert gain >= 0
    np.testing.assert_allclose(problem.weights_of_report(after), problem.weights(alpha), rtol=1e-12, atol=1e-12)


def test_sweeps_over_classes_lead_to_the_optimum():
    X, _ = rows()
    problem = MulticlassProblem(X, np.arange(30) % 4, 0.5, bias=1.0)
    state = state_of(problem)
    weights = state.sums()
    for _ in range(300):
        weights, _, gap = _core.class_sweep(state, weights, np.arange(30, dtype=np.uint32), False)
    assert gap == pytest.approx(0.0, abs=1e-3)
    assert problem.dual(Csr(*state.variables(), (30, 4))) == pytest.approx(
        solve(problem, tol=1e-8).certificate.primal, rel=1e-5
    )


def test_a_sweep_over_classes_refuses_what_does_not_fit():
    problem = MulticlassProblem(np.eye(3), [0, 1, 2], np.array([1.0, 0.0, 1.0]))
    state = state_of(problem)
    for weights, schedule in ((np.zeros(3), [0]), (np.zeros(16), [3]), (np.zeros(16), [1])):
        with pytest.raises(ValueError, match="the schedule hold rows of positive weight"):
            _core.class_sweep(state, weights, np.array(schedule, dtype=np.uint32), False)
    with pytest.raises(ValueError, match="one row per row of X"):
        state.assign((np.zeros(0), np.zeros(0, dtype=np.int32), np.zeros(2, dtype=np.int64)))
