"""Sweeps that several threads share: the same optimum as in one thread, and the same bits for any number of them."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from maxmargin import BinaryProblem, DualCoordinateDescent, LinearSVC, Matrix, RegressionProblem, solve
from maxmargin.solvers import dual_coordinate_descent
from tests.conftest import LOSS_NAMES, assert_certified, csr


@pytest.fixture(autouse=True)
def always_packed(monkeypatch):
    """Makes a packed copy whatever the size."""
    monkeypatch.setattr(dual_coordinate_descent, "packing_pays", lambda problem, shared: problem.matrix.is_sparse)


def text_like(seed, rows=700, features=400):
    """Sparse rows of very different length that have a direction in common; some are equal, empty or alone."""
    rng = np.random.default_rng(seed)
    frequency = np.minimum(1.0, 8.0 / np.arange(1, features + 1))
    X = np.abs(rng.normal(size=(rows, features))) * (rng.random((rows, features)) < frequency)
    X[3] = 0.0
    X[5] = X[4]
    X[:20, features - 20 :] = np.diag(rng.random(20) + 0.5)  # columns of one row
    X[20:, features - 20 :] = 0.0
    y = np.where(X @ rng.normal(size=features) + rng.normal(size=rows) > 0, 1, -1)
    return X, y


@pytest.mark.parametrize("parts", [2, 5])
@pytest.mark.parametrize(("bias", "penalize"), [(0.0, True), (1.0, True), (20.0, True), (1.0, False)])
@pytest.mark.parametrize("loss", LOSS_NAMES)
@pytest.mark.parametrize("order", ["permuted", "cyclic", "adaptive"])
def test_the_optimum_is_that_of_one_thread(order, loss, bias, penalize, parts):
    X, y = text_like(parts)
    C = np.random.default_rng(7).choice([0.0, 0.1, 1.0], size=len(y))
    problem = BinaryProblem(csr(X), y, C, loss=loss, bias=bias, penalize_bias=penalize)
    method = DualCoordinateDescent(order=order, parts=parts)
    shared = solve(problem, method, tol=1e-8, max_iter=100_000, n_jobs=2)
    alone = solve(problem, method, tol=1e-8, max_iter=100_000)
    assert shared.converged
    assert_certified(problem, shared)
    assert shared.certificate.primal == pytest.approx(alone.certificate.primal, rel=2e-8)
    assert shared.solver == f"{method.name} in {parts} parts"
    assert alone.solver == method.name


def test_regression_is_shared_too():
    X, _ = text_like(1)
    y = X @ np.random.default_rng(0).normal(size=X.shape[1])
    problem = RegressionProblem(csr(X), y, 1.0, loss="epsilon_insensitive", epsilon=0.1, bias=1.0)
    one, two = (solve(problem, DualCoordinateDescent(parts=3), tol=1e-6, n_jobs=n_jobs) for n_jobs in (1, 2))
    assert two.converged
    assert two.certificate.primal == pytest.approx(one.certificate.primal, rel=2e-6)


@pytest.mark.parametrize("order", ["permuted", "adaptive"])
@pytest.mark.parametrize("value_type", [np.float32, np.float64])
@pytest.mark.parametrize("tol", [1e-3, 1e-8])  # values may be rounded for the first only
def test_the_bits_do_not_depend_on_the_number_of_threads(tol, value_type, order):
    X, y = text_like(3)
    method = DualCoordinateDescent(order=order, parts=4)
    solutions = [
        solve(
            BinaryProblem(Matrix(csr(X.astype(value_type))), y, 1.0, loss="hinge", bias=1.0), method, tol=tol, n_jobs=n
        )
        for n in (2, 3, 4, 7)
    ]
    assert solutions[0].converged
    for other in solutions[1:]:
        assert np.array_equal(solutions[0].weights, other.weights)
        assert np.array_equal(solutions[0].alpha, other.alpha)
        assert [report.gap for report in solutions[0].history] == [report.gap for report in other.history]


def test_rows_with_much_in_common_are_left_to_one_thread_and_converge():
    """Steps that do not know of each other would go too far, all of them in the same direction."""
    rng = np.random.default_rng(2)
    base = rng.normal(size=(4, 300)) * 3.0  # several directions
    X = base[rng.integers(4, size=800)] + 0.01 * rng.normal(size=(800, 300))
    y = rng.choice([-1, 1], size=800)
    problem = BinaryProblem(csr(X), y, 0.01, loss="squared_hinge")
    shared = solve(problem, DualCoordinateDescent(parts=2), tol=1e-6, n_jobs=2)
    assert shared.converged
    assert_certified(problem, shared)
    assert shared.certificate.primal == pytest.approx(solve(problem, "dcd", tol=1e-6).certificate.primal, rel=2e-6)


def test_equal_rows_converge_in_the_adaptive_order():
    X, y = text_like(4, rows=300)
    X, y = np.repeat(X, 3, axis=0), np.repeat(y, 3)
    problem = BinaryProblem(csr(X), y, 1.0, loss="hinge")
    method = DualCoordinateDescent(order="adaptive", parts=2)
    shared = solve(problem, method, tol=1e-7, n_jobs=2, max_iter=100_000)
    assert shared.converged
    assert_certified(problem, shared)


def test_limits_and_callbacks_end_shared_sweeps():
    X, y = text_like(5, rows=4000)
    problem = BinaryProblem(csr(X), y, 100.0, loss="hinge")
    method = DualCoordinateDescent(parts=3)
    short = solve(problem, method, tol=0, time_limit=0.01, n_jobs=3)
    assert short.exit == "time_limit"
    assert_certified(problem, short)
    assert short.certificate.primal <= problem.primal(np.zeros(X.shape[1] + 1))
    stopped = solve(problem, method, tol=0, callback=lambda report, _: report.epoch >= 2, n_jobs=3)
    assert stopped.exit == "stopped"


def test_one_matrix_serves_one_thread_and_several_in_turn():
    X, y = text_like(6)
    matrix = Matrix(csr(X))
    first, shared, again = (
        solve(BinaryProblem(matrix, y, 1.0), DualCoordinateDescent(parts=2), tol=1e-6, n_jobs=n) for n in (1, 2, 1)
    )
    assert np.array_equal(first.weights, again.weights)
    assert shared.certificate.primal == pytest.approx(first.certificate.primal, rel=2e-6)


def test_the_estimator_says_how_it_was_trained():
    rng = np.random.default_rng(0)
    X = sp.random(12_000, 4000, density=0.025, format="csr", random_state=0)
    y = np.where(X @ rng.normal(size=4000) > 0, 1, -1)
    models = [LinearSVC(solver="dcd", n_jobs=n_jobs).fit(X, y) for n_jobs in (2, 3, 1)]
    assert [model.solver_used_ for model in models] == ["dcd in 2 parts", "dcd in 2 parts", "dcd"]
    assert np.array_equal(models[0].coef_, models[1].coef_)


@pytest.mark.parametrize("parts", [0, 17, 2.0, "two"])
def test_parts_that_make_no_sense_are_refused(parts):
    with pytest.raises(ValueError, match="parts must be None or a whole number from 1 to 16"):
        DualCoordinateDescent(parts=parts)
