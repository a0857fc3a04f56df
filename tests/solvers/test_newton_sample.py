"""Newton's method with many rows starts from a sample: solution and certificate are those of all rows."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from maxmargin import BinaryProblem, RegressionProblem, solve

ROWS, FEATURES = 4_000, 7


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(ROWS, FEATURES)) * np.geomspace(0.1, 10, FEATURES)
    X[rng.random(X.shape) < 0.4] = 0.0
    y = np.where(X @ rng.normal(size=FEATURES) + rng.normal(size=ROWS) > 1, 1, -1)
    return X, y


def certified(problem, solution):
    """The gap, by the problem's own formulas in numpy."""
    primal, dual = problem.primal(solution.weights), problem.dual(solution.alpha)
    assert dual <= primal + 1e-9 * abs(primal)
    return (primal - dual) / abs(primal)


@pytest.mark.parametrize("storage", [np.asarray, sp.csr_matrix])
@pytest.mark.parametrize("bias", [{"bias": 0.0}, {"bias": 1.0}, {"bias": 1.0, "penalize_bias": False}])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "least_squares"])
def test_the_optimum_is_that_of_dual_coordinate_descent(data, loss, bias, storage):
    X, y = data
    problem = BinaryProblem(storage(X), y, 0.01, loss=loss, **bias)
    newton = solve(problem, "newton", tol=1e-9)
    assert newton.converged
    assert certified(problem, newton) <= 1.1e-9
    other = solve(problem, "avsf", tol=1e-6)
    assert other.certificate.dual <= newton.certificate.primal * (1 + 1e-9)
    assert newton.certificate.dual <= other.certificate.primal * (1 + 1e-9)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("order", ["sorted by class", "one row of a class", "rows that repeat in periods"])
def test_a_sample_may_mislead_but_not_the_answer(data, loss, order):
    X, y = data
    if order == "sorted by class":
        X, y = X[np.argsort(y)], np.sort(y)
    elif order == "one row of a class":
        y = -np.ones(ROWS, dtype=int)
        y[17] = 1
    else:
        X, y = np.tile(X[:16], (ROWS // 16, 1)), np.tile(y[:16], ROWS // 16)
    problem = BinaryProblem(X, y, 1.0, loss=loss, bias=1.0)
    solution = solve(problem, "newton", tol=1e-7)
    assert certified(problem, solution) <= 1.1e-7


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_rows_of_weight_zero_are_not_sampled(data, loss):
    X, y = data
    rng = np.random.default_rng(0)
    weight = rng.integers(0, 2, ROWS).astype(float)
    whole = solve(BinaryProblem(X, y, weight, loss=loss), "newton", tol=1e-10)
    kept = weight > 0
    part = solve(BinaryProblem(X[kept], y[kept], 1.0, loss=loss), "newton", tol=1e-10)
    assert whole.certificate.primal == pytest.approx(part.certificate.primal, rel=1e-9)


@pytest.mark.parametrize("max_iter", [1, 2, 3])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "least_squares"])
def test_a_fit_cut_short_is_no_worse_than_zero(data, loss, max_iter):
    X, y = data
    problem = BinaryProblem(1e3 * X, y, 1.0, loss=loss)
    solution = solve(problem, "newton", tol=0.0, max_iter=max_iter)
    assert problem.primal(solution.weights) <= problem.primal(np.zeros(FEATURES + 1))
    assert problem.primal(solution.weights) == pytest.approx(solution.certificate.primal, rel=1e-9)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_the_number_of_threads_does_not_matter(data, loss):
    X, y = data
    problem = BinaryProblem(np.tile(X, (20, 1)), np.tile(y, 20), 0.1, loss=loss, bias=1.0)
    one, two = (solve(problem, "newton", tol=1e-6, n_jobs=jobs) for jobs in (1, 2))
    np.testing.assert_array_equal(one.weights, two.weights)
    np.testing.assert_array_equal(one.alpha, two.alpha)


@pytest.mark.parametrize("loss", ["squared_epsilon_insensitive", "epsilon_insensitive", "least_squares"])
def test_regression_starts_from_a_sample_too(data, loss):
    X, _ = data
    target = 1e5 * (X @ np.arange(1.0, FEATURES + 1) + 3)
    problem = RegressionProblem(X, target, 0.1, loss=loss, epsilon=10.0 if loss != "least_squares" else 0.0)
    solution = solve(problem, "newton", tol=1e-8)
    assert certified(problem, solution) <= 1.1e-8


@pytest.mark.parametrize("targets", ["plain", "dollars", "heavy tails", "sorted", "mostly in the tube"])
@pytest.mark.parametrize("bias", [{"bias": 0.0}, {"bias": 1.0}, {"bias": 1.0, "penalize_bias": False}])
@pytest.mark.parametrize("loss", ["epsilon_insensitive", "squared_epsilon_insensitive"])
def test_regressions_start_from_a_sample_as_well(data, loss, bias, targets):
    X, _ = data
    rng = np.random.default_rng(7)
    noise = rng.standard_t(1.3, ROWS) if targets == "heavy tails" else rng.normal(size=ROWS)
    y = X @ rng.normal(size=FEATURES) + noise + 3.0
    epsilon = 4.0 if targets == "mostly in the tube" else 0.1
    if targets == "dollars":
        y, epsilon = 1e5 * y, 1e4
    if targets == "sorted":
        X, y = X[np.argsort(y)], np.sort(y)
    problem = RegressionProblem(X, y, 1.0, loss=loss, epsilon=epsilon, **bias)
    solution = solve(problem, "newton", tol=1e-9)
    assert solution.converged
    assert certified(problem, solution) <= 1.1e-9
    other = solve(problem, "dcd", tol=1e-3)
    assert other.certificate.dual <= solution.certificate.primal * (1 + 1e-9)
    assert solution.certificate.dual <= other.certificate.primal * (1 + 1e-9)


@pytest.mark.parametrize("solver", ["newton", "dcd"])
@pytest.mark.parametrize("tol", [0.5, 1e-1, 1e-3, 1e-6])
@pytest.mark.parametrize("loss", ["epsilon_insensitive", "squared_epsilon_insensitive", "least_squares"])
def test_what_rounding_may_do_is_added_to_the_gap(data, loss, tol, solver):
    # Values that are carried along instead of computed anew are bounds all the same.
    X, _ = data
    rng = np.random.default_rng(8)
    y = 1e4 * (X @ rng.normal(size=FEATURES) + rng.normal(size=ROWS)) + 1e6
    epsilon = 0.0 if loss == "least_squares" else 1e3
    problem = RegressionProblem(1e2 * X, y, 1e-3, loss=loss, epsilon=epsilon, bias=1.0)
    solution = solve(problem, solver, tol=tol)
    assert solution.converged
    primal, dual = problem.primal(solution.weights), problem.dual(solution.alpha)
    assert primal <= solution.certificate.primal * (1 + 1e-13)
    assert solution.certificate.dual <= dual + 1e-13 * primal
    assert solution.certificate.gap == pytest.approx((primal - dual) / primal, rel=1e-3, abs=1e-6 * tol)
