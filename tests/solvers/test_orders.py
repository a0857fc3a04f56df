"""Rows are visited in shuffled pages, for memory's sake; this must not cost epochs on data that arrive in an order."""

import numpy as np
import pytest
import scipy.sparse as sp

from maxmargin import BinaryProblem, DualCoordinateDescent, solve


def text_like(rows=4000, features=2000, seed=0):
    rng = np.random.default_rng(seed)
    X = sp.random_array((rows, features), density=0.01, rng=rng, format="csr", dtype=np.float32)
    y = np.where(X @ rng.normal(size=features) > 0, 1, -1)
    return X, y


def epochs(X, y, solver, loss):
    problem = BinaryProblem(X, y, 1.0, loss=loss, bias=1.0)
    return np.median([solve(problem, solver=solver, tol=1e-4, seed=seed).n_iter for seed in range(5)])


@pytest.mark.parametrize("solver", ["dcd", "avsf"])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_data_sorted_by_class_converge_as_fast_as_shuffled(solver, loss):
    X, y = text_like()
    order = np.argsort(y, kind="stable")
    assert epochs(X[order], y[order], solver, loss) <= 1.5 * epochs(X, y, solver, loss)


@pytest.mark.parametrize("solver", ["dcd", "avsf"])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_runs_of_equal_rows_converge_as_fast_as_shuffled(solver, loss):
    X, y = text_like(rows=1000)
    repeated = np.repeat(np.arange(1000), 8)
    shuffled = np.random.default_rng(1).permutation(repeated)
    assert epochs(X[repeated], y[repeated], solver, loss) <= 1.5 * epochs(X[shuffled], y[shuffled], solver, loss)


def test_shrinking_changes_the_work_and_not_the_answer():
    X, y = text_like()
    problem = BinaryProblem(X, y, 1.0, loss="hinge", bias=1.0)
    shrunk, plain = (solve(problem, DualCoordinateDescent(shrinking=flag), tol=1e-6) for flag in (True, False))
    assert shrunk.certificate.primal == pytest.approx(plain.certificate.primal, rel=2e-6)
    assert min(report.active for report in shrunk.history) < 4000
    assert all(report.active == 4000 for report in plain.history)


def test_adaptive_frequencies_leave_most_rows_behind():
    X, y = text_like()
    solution = solve(BinaryProblem(X, y, 100.0, loss="hinge", bias=1.0), solver="avsf", tol=1e-6)
    assert solution.history[-1].active < 3000


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "least_squares"])
@pytest.mark.parametrize("bias", [0.0, 1.0])
def test_adaptive_frequencies_find_the_same_optimum_with_rows_set_aside(loss, bias):
    X, y = text_like(rows=400, features=1500, seed=3)
    X = X.multiply(np.random.default_rng(4).lognormal(0, 2, size=(400, 1))).tocsr()  # a few rows are very long
    problem = BinaryProblem(X, y, 10.0, loss=loss, bias=bias)
    shrunk, plain = (
        solve(problem, DualCoordinateDescent(order="adaptive", shrinking=flag), tol=1e-9, max_iter=10**5)
        for flag in (True, False)
    )
    assert shrunk.converged
    assert plain.converged
    assert shrunk.certificate.primal == pytest.approx(plain.certificate.primal, rel=2e-9)


def test_rows_set_aside_by_adaptive_frequencies_come_back():
    # From the optimum of another C the rows that are at a bound are not those that will stay there.
    X, y = text_like(rows=600)
    start = solve(BinaryProblem(X, y, 1e-4, loss="hinge"), "avsf", tol=1e-6)
    solution = solve(BinaryProblem(X, y, 1.0, loss="hinge"), "avsf", tol=1e-8, start=start, max_iter=10**4)
    assert solution.converged
    truth = solve(BinaryProblem(X, y, 1.0, loss="hinge"), "dcd", tol=1e-8, max_iter=10**4)
    assert solution.certificate.primal == pytest.approx(truth.certificate.primal, rel=2e-8)


@pytest.mark.parametrize("order", ["adaptive", "permuted"])
def test_steps_in_a_plane_take_variables_to_far_bounds(order):
    # Rows that are there with both labels want C, and visits one by one take them there by small equal steps.
    rng = np.random.default_rng(0)
    X, y = 3.0 * rng.normal(size=(60, 30)), rng.choice([-1, 1], 60)
    problem = BinaryProblem(np.vstack([X, X[:20]]), np.concatenate([y, -y[:20]]), 10.0, loss="hinge", bias=1.0)
    with_plane = solve(problem, DualCoordinateDescent(order=order), tol=1e-3, max_iter=20_000)
    without = solve(problem, DualCoordinateDescent(order=order, plane=False), tol=1e-3, max_iter=20_000)
    optimum = solve(problem, "newton", tol=1e-9).certificate.primal
    assert with_plane.converged
    assert with_plane.certificate.primal == pytest.approx(optimum, rel=1e-3)
    assert problem.certificate(with_plane.weights, with_plane.alpha).gap <= 1e-3 * (1 + 1e-9)
    assert with_plane.n_iter < 0.5 * without.n_iter


class OfThirtyPasses(DualCoordinateDescent):
    """Ends when visits have cost as much as thirty epochs over all rows."""

    def run(self, problem, state, run):
        return super().run(problem, state, run, max_passes=30.0)


@pytest.mark.parametrize("order", ["permuted", "shuffled", "cyclic"])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_rows_that_do_not_change_rest_and_the_optimum_is_the_same(order, loss):
    X, y = text_like(rows=1500, features=300)
    X = sp.vstack([X, X[:40], sp.csr_array((20, X.shape[1]))]).tocsr()
    y = np.concatenate([y, -y[:40], y[:20]])  # also rows of other labels than their like, and rows without values
    problem = BinaryProblem(X, y, 0.5, loss=loss, bias=1.0)
    options = {"order": order, "shrinking": False}
    epochs_of_some, epochs_of_all = (
        solve(problem, OfThirtyPasses(**options, resting=flag), tol=0).n_iter for flag in (True, False)
    )
    assert epochs_of_some >= 1.1 * epochs_of_all
    resting, awake = (DualCoordinateDescent(**options, resting=flag) for flag in (True, False))
    found, truth = (solve(problem, method, tol=1e-9, max_iter=10**5) for method in (resting, awake))
    assert found.converged
    assert found.certificate.primal == pytest.approx(truth.certificate.primal, rel=2e-9)


def test_rows_that_rest_wake_when_the_others_are_solved():
    # From the optimum of a tiny C all rows rest at their bounds, and nearly all have to leave them.
    X, y = text_like(rows=600)
    start = solve(BinaryProblem(X, y, 1e-4, loss="hinge"), "dcd", tol=1e-6)
    solution = solve(BinaryProblem(X, y, 1.0, loss="hinge"), "dcd", tol=1e-8, start=start, max_iter=10**4)
    assert solution.converged
    truth = solve(
        BinaryProblem(X, y, 1.0, loss="hinge"), DualCoordinateDescent(resting=False), tol=1e-8, max_iter=10**4
    )
    assert solution.certificate.primal == pytest.approx(truth.certificate.primal, rel=2e-8)
