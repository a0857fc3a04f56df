"""The one-class problem by every method, against optima of a general-purpose solver."""

import numpy as np
import pytest

from maxmargin import OneClassProblem, solve
from tests.truth import one_class_optimum

SOLVERS = ["auto", "dcd", "avsf", "online", "newton"]


def cloud(rows=40, seed=0):
    """Rows to one side of the origin, with a repeated row."""
    X = np.random.default_rng(seed).normal(size=(rows, 4)) + np.array([2.0, 1.0, 0.0, 0.5])
    X[5] = X[4]
    return X


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("nu", [0.05, 0.3, 0.9, 1.0])
@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3])
def test_every_method_finds_the_optimum(solver, nu, scale):
    X = scale * cloud()
    problem = OneClassProblem(X, nu)
    solution = solve(problem, solver, tol=1e-7, max_iter=10**5)
    truth = one_class_optimum(X, nu, 1.0) if nu < 1 else problem.dual(np.ones(len(X)))
    assert solution.converged
    assert solution.certificate.primal == pytest.approx(truth, rel=1e-6)
    certificate = problem.certificate(solution.weights, solution.alpha)
    assert solution.certificate.primal == pytest.approx(certificate.primal, rel=1e-9)
    assert solution.certificate.dual == pytest.approx(certificate.dual, rel=1e-9)
    assert np.sum((solution.weights - problem.weights(solution.alpha))[:-1] ** 2) <= 4.1e-7 * abs(truth)


@pytest.mark.parametrize("solver", SOLVERS)
def test_weight_two_equals_repeating_the_row_and_zero_leaving_it_out(solver):
    X = cloud()
    count = np.random.default_rng(1).integers(0, 3, len(X))
    weighted = solve(OneClassProblem(X, 0.3, count), solver, tol=1e-8, max_iter=10**5)
    repeated = solve(OneClassProblem(np.repeat(X, count, axis=0), 0.3), solver, tol=1e-8, max_iter=10**5)
    assert weighted.certificate.primal == pytest.approx(repeated.certificate.primal, rel=3e-8)
    assert np.all(weighted.alpha[count == 0] == 0)


@pytest.mark.parametrize("solver", ["dcd", "newton"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_every_storage_gives_the_same_solution(storage, solver, dtype):
    X = cloud().astype(dtype)
    expected = solve(OneClassProblem(X, 0.2), "newton", tol=1e-8)
    found = solve(OneClassProblem(storage(X), 0.2), solver, tol=1e-8, max_iter=10**5)
    assert found.certificate.primal == pytest.approx(expected.certificate.primal, rel=2e-8)


@pytest.mark.parametrize("solver", SOLVERS)
def test_about_a_share_nu_of_the_rows_is_outside(solver):
    X = cloud(rows=200)
    for nu in (0.1, 0.5):
        problem = OneClassProblem(X, nu)
        solution = solve(problem, solver, tol=1e-6, max_iter=10**5)
        scores = problem.scores(solution.weights)
        scale = np.abs(scores).max()
        assert (scores < -1e-2 * scale).mean() <= nu <= (scores <= 1e-2 * scale).mean()


def test_a_warm_start_is_never_worse():
    problem = OneClassProblem(cloud(rows=100), 0.2)
    first = solve(problem, "dcd", tol=1e-4)
    again = solve(problem, "dcd", tol=1e-4, start=first)
    assert again.converged
    assert again.certificate.primal <= first.certificate.primal


@pytest.mark.parametrize("solver", ["auto", "newton", "dcd"])
def test_rows_around_the_origin_have_the_optimum_zero(solver):
    X = np.random.default_rng(0).normal(size=(60, 3))
    problem = OneClassProblem(np.vstack([X, -X]), 0.5)
    solution = solve(problem, solver, tol=1e-6, max_iter=500)
    assert problem.vanishes(solution.certificate.dual)
    assert abs(solution.certificate.primal) <= 1e-9
    assert not solution.converged


@pytest.mark.parametrize("solver", ["pcd", "pegasos", "cutting_plane", "sdm"])
def test_methods_that_do_not_apply_say_which_do(solver):
    with pytest.raises(ValueError, match=r"choose from .'auto', 'dcd', 'avsf', 'online', 'newton'"):
        solve(OneClassProblem(cloud()), solver)
