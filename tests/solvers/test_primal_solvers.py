"""The rivals in the primal: what is special about them; "pcd" takes part in the tests of all solvers, too."""

import itertools

import numpy as np
import pytest

from maxmargin import BinaryProblem, DualCoordinateDescent, LinearSVC, Pegasos, PrimalCoordinateDescent, solve

from ..conftest import assert_certified, csr, random_problem
from ..truth import optimum

VARIANTS = [Pegasos(averaging, projection) for averaging, projection in itertools.product([True, False], repeat=2)]


@pytest.mark.parametrize("pegasos", VARIANTS)
@pytest.mark.parametrize(("C", "tol"), [(1e-4, 1e-8), (0.01, 1e-6), (1.0, 1e-4)])
def test_pegasos_comes_as_close_as_asked(pegasos, C, tol):
    X, y = random_problem(rows=40, features=5, seed=3)
    problem = BinaryProblem(X, y, C, loss="hinge", bias=1.0)
    solution = solve(problem, pegasos, tol=tol, max_iter=10**6)
    assert solution.converged
    if C >= 0.01:  # scipy's own accuracy ends there; the other truth is the certificate in numpy
        assert solution.certificate.primal == pytest.approx(optimum(X, y, C, "hinge", 1.0), rel=1.1 * tol)
    assert_certified(problem, solution)


def test_the_options_of_pegasos_change_its_path():
    X, y = random_problem(rows=60, features=5, seed=4)
    problem = BinaryProblem(3 * X, y, 2.0, loss="hinge", bias=1.0)
    ends = [solve(problem, pegasos, tol=0, max_iter=64).weights for pegasos in VARIANTS]
    for one, other in itertools.combinations(ends, 2):
        assert np.abs(one - other).max() > 1e-6


@pytest.mark.parametrize("averaging", [True, False])
def test_pegasos_weighs_rows_and_starts_where_it_is_told(averaging):
    X, y = random_problem(rows=40, features=4, seed=5)
    weights = np.random.default_rng(5).integers(0, 4, len(y)) * 0.02
    problem = BinaryProblem(csr(X), y, weights, loss="hinge", bias=1.0)
    options = {"solver": Pegasos(averaging=averaging), "tol": 1e-5, "max_iter": 10**6}
    cold = solve(problem, **options)
    assert cold.certificate.primal == pytest.approx(optimum(X, y, weights, "hinge", 1.0), rel=1.1e-5)
    assert np.all(cold.alpha[weights == 0] == 0)
    best = solve(problem, tol=1e-12)
    warm = solve(problem, start=best.alpha, **options)
    assert warm.converged
    assert warm.n_iter < cold.n_iter


def test_pegasos_survives_rows_of_zeros_and_huge_numbers():
    X, y = random_problem(rows=30, features=3, seed=6)
    X[::3] = 0
    for scale, C in ((1e6, 1e6), (1e-6, 1e-6)):
        solution = solve(BinaryProblem(scale * X, y, C, loss="hinge", bias=1.0), solver="pegasos", max_iter=50)
        assert np.all(np.isfinite(solution.weights))
        assert solution.certificate.primal >= solution.certificate.dual


@pytest.mark.parametrize("solver", [PrimalCoordinateDescent(plane=False), Pegasos()])
def test_the_same_seed_gives_the_same_bits(solver):
    X, y = random_problem(rows=50, features=6, seed=7)
    problem = BinaryProblem(X, y, loss="hinge" if isinstance(solver, Pegasos) else "squared_hinge", bias=1.0)
    first, same, other = (solve(problem, solver, tol=0, max_iter=5, seed=seed).weights for seed in (1, 1, 2))
    np.testing.assert_array_equal(first, same)
    assert np.any(first != other)


@pytest.mark.parametrize("penalize_bias", [True, False])
def test_pcd_on_columns_of_all_kinds(penalize_bias):
    X, y = random_problem(rows=60, features=6, seed=8)
    X[:, 1] = 0  # no entry at all
    X[:, 2] *= 1e4
    X[:, 3] = X[:, 4]
    problem = BinaryProblem(X, y, 1.0, bias=1.0, penalize_bias=penalize_bias)
    solution = solve(problem, solver="pcd", tol=1e-8)
    assert solution.certificate.primal == pytest.approx(solve(problem, tol=1e-10).certificate.primal, rel=1e-8)


@pytest.mark.parametrize(
    ("solver", "loss", "message"),
    [
        ("pcd", "hinge", "loss='squared_hinge' or loss='least_squares' only, not with 'hinge'"),
        ("pegasos", "squared_hinge", "works with loss='hinge' only"),
    ],
)
def test_losses_they_do_not_know_are_refused(solver, loss, message):
    X, y = random_problem()
    with pytest.raises(ValueError, match=message):
        solve(BinaryProblem(X, y, loss=loss), solver=solver)
    with pytest.raises(ValueError, match=message):
        LinearSVC(loss, solver=solver).fit(X, y)


def test_options_of_a_method_are_its_own():
    with pytest.raises(TypeError, match="averaging"):
        solve(BinaryProblem(*random_problem()), solver="dcd", averaging=True)
    with pytest.raises(TypeError, match="projection"):
        DualCoordinateDescent(projection=False)
    with pytest.raises(ValueError, match="averaging must be True or False"):
        Pegasos(averaging="yes")


@pytest.mark.parametrize(("solver", "loss"), [("pcd", "squared_hinge"), ("pegasos", "hinge")])
def test_limits_give_the_best_bounds_so_far(solver, loss):
    X, y = random_problem(rows=200, features=10, seed=9)
    problem = BinaryProblem(X, y, 100.0, loss=loss, bias=1.0)
    solution = solve(problem, solver=solver, tol=0, max_iter=20)
    assert solution.exit == "max_iter"
    assert solution.certificate.gap == pytest.approx(min(report.gap for report in solution.history))
    assert solve(problem, solver=solver, tol=0, callback=lambda *_: True).exit == "stopped"
    assert solve(problem, solver=solver, tol=0, time_limit=1e-6).exit == "time_limit"
