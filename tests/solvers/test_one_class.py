"""The one-class problem by every method, against optima of a general-purpose solver."""

import numpy as np
import pytest
import scipy.sparse as sp

from maxmargin import OneClassProblem, solve
from tests.truth import one_class_optimum

SOLVERS = ["auto", "dcd", "avsf", "online", "newton", "active_set"]


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


@pytest.mark.parametrize("solver", ["dcd", "newton", "active_set"])
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
    assert solution.converged == (solution.certificate.gap <= 1e-6)
    assert np.isfinite(solution.certificate.gap) or solver != "auto"


@pytest.mark.parametrize("solver", ["pcd", "pegasos", "cutting_plane", "sdm"])
def test_methods_that_do_not_apply_say_which_do(solver):
    with pytest.raises(ValueError, match=r"choose from .'auto', 'dcd', 'avsf', 'online', 'newton', 'active_set'"):
        solve(OneClassProblem(cloud()), solver)


def many_rows(rows=20_000, seed=0):
    """Enough rows for samples, sparse, with many that are equal."""
    rng = np.random.default_rng(seed)
    X = (rng.random((rows, 30)) < rng.random(30)) * rng.integers(1, 3, (rows, 30))
    return sp.csr_matrix(X.astype(np.float64))


@pytest.mark.parametrize("nu", [0.002, 0.1, 0.5, 0.98])
def test_the_active_set_of_many_rows_is_that_of_newtons_method(nu):
    X = many_rows()
    problem = OneClassProblem(X, nu)
    found = solve(problem, "active_set", tol=1e-10)
    expected = solve(problem, "newton", tol=1e-8)
    assert found.converged
    assert found.certificate.primal <= expected.certificate.primal + 1e-10 * abs(expected.certificate.primal)
    assert found.certificate.primal >= expected.certificate.dual - 1e-10 * abs(expected.certificate.dual)
    recomputed = problem.certificate(found.weights, found.alpha)
    assert recomputed.primal == pytest.approx(found.certificate.primal, rel=1e-12)
    assert recomputed.dual == pytest.approx(found.certificate.dual, rel=1e-12)


@pytest.mark.parametrize("pointers", [np.int32, np.int64])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("weighted", [False, True])
def test_many_rows_are_proved_whatever_holds_them(dtype, pointers, weighted):
    X = many_rows(18_000, seed=3).astype(dtype)
    C = np.where(np.arange(18_000) % 7 == 0, 0.0, 1.5) if weighted else 1.0
    expected = solve(OneClassProblem(X.astype(np.float64).toarray(), 0.05, C), "newton", tol=1e-8).certificate
    X.indices, X.indptr = X.indices.astype(pointers), X.indptr.astype(pointers)
    problem = OneClassProblem(X, 0.05, C)
    found = solve(problem, "active_set", tol=1e-8)
    assert found.converged
    assert expected.dual * (1 + 1e-12) <= found.certificate.primal <= expected.primal * (1 - 2e-8)
    recomputed = problem.certificate(found.weights, found.alpha)
    assert recomputed.gap <= 1.1e-8


@pytest.mark.parametrize("tol", [0.3, 1e-2, 1e-4, 1e-8])
def test_the_bounds_of_the_active_set_are_those_of_numpy_at_every_tolerance(tol):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(17_000, 6)) + np.array([2.0, 1.0, 0.5, 0.0, 0.0, 1.0])
    C = rng.integers(0, 3, len(X)).astype(np.float64)
    problem = OneClassProblem(X, 0.07, C)
    seen = []
    found = solve(problem, "active_set", tol=tol, callback=lambda report, weights: seen.append((report, weights)))
    assert found.converged
    assert found.certificate.gap <= tol
    recomputed = problem.certificate(found.weights, found.alpha)
    assert recomputed.primal == pytest.approx(found.certificate.primal, rel=1e-11)
    assert recomputed.dual == pytest.approx(found.certificate.dual, rel=1e-11)
    for report, weights in seen:
        assert problem.primal(weights) == pytest.approx(report.primal, rel=1e-9)
        assert report.dual <= found.certificate.primal


def test_repeated_and_unsorted_indices_of_a_row_add_up():
    X = many_rows(3000)
    rng = np.random.default_rng(0)
    order = np.concatenate([X.indptr[i] + rng.permutation(X.indptr[i + 1] - X.indptr[i]) for i in range(3000)])
    halves = sp.csr_matrix(
        (np.repeat(X.data[order] / 2, 2), np.repeat(X.indices[order], 2), 2 * X.indptr), shape=X.shape
    )
    expected = solve(OneClassProblem(X, 0.2), "active_set", tol=1e-9)
    found = solve(OneClassProblem(halves, 0.2), "active_set", tol=1e-9)
    assert found.certificate.primal == pytest.approx(expected.certificate.primal, rel=1e-9)


@pytest.mark.parametrize("scale", [1e-45, 1e-20, 1e20, 1e45])
def test_the_scale_of_the_rows_does_not_matter_to_the_active_set(scale):
    X = cloud(rows=300)
    expected = solve(OneClassProblem(X, 0.2), "active_set", tol=1e-9).certificate.primal
    assert solve(OneClassProblem(scale * X, 0.2), "active_set", tol=1e-9).certificate.primal == pytest.approx(
        scale**2 * expected, rel=1e-8
    )


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_rows_that_are_no_numbers_are_refused(bad):
    X = many_rows(18_000)
    X.data[-3] = bad
    with pytest.raises(ValueError, match="NaN, infinity"):
        solve(OneClassProblem(X, 0.2), "active_set")


def test_the_active_set_goes_on_from_a_snapshot_and_from_variables():
    problem = OneClassProblem(many_rows(), 0.1)
    kept = []
    whole = solve(problem, "active_set", tol=1e-9, keep=kept.append, keep_seconds=1e-9)
    again = solve(problem, "active_set", tol=1e-9, start=kept[0])
    assert again.converged
    assert again.certificate.primal == pytest.approx(whole.certificate.primal, rel=1e-9)
    near = solve(problem, "active_set", tol=1e-9, start=whole.alpha * 0.9)
    assert near.converged
    assert near.certificate.primal == pytest.approx(whole.certificate.primal, rel=1e-9)


def test_an_active_set_that_is_stopped_says_what_it_has():
    problem = OneClassProblem(many_rows(), 0.1)
    one = solve(problem, "active_set", tol=1e-12, max_iter=1)
    assert one.exit == "max_iter"
    recomputed = problem.certificate(one.weights, one.alpha)
    assert recomputed.primal == pytest.approx(one.certificate.primal, rel=1e-11)
    assert recomputed.dual == pytest.approx(one.certificate.dual, rel=1e-11)
    at_once = solve(problem, "active_set", tol=1e-9, time_limit=1e-9)
    assert at_once.exit == "time_limit"
    assert at_once.certificate.primal <= 0
    assert problem.dual(at_once.alpha) == pytest.approx(at_once.certificate.dual, rel=1e-9)


@pytest.mark.parametrize("nu", [1e-6, 0.25, 0.5, 1.0])
def test_equal_rows_and_rows_of_zeros_are_no_trouble(nu):
    X = np.repeat(np.array([[1.0, 2.0], [2.0, 1.0], [3.0, 3.0]]), 7, axis=0)
    found = solve(OneClassProblem(X, nu), "active_set", tol=1e-9)
    expected = solve(OneClassProblem(np.ascontiguousarray(X[::7]), nu, 7.0), "newton", tol=1e-9)
    assert found.converged
    assert found.certificate.primal == pytest.approx(expected.certificate.primal, rel=1e-8)
    nothing = solve(OneClassProblem(np.zeros((30, 2)), nu), "active_set", tol=1e-3)
    assert nothing.certificate == (0.0, 0.0)
