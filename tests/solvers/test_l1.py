"""The penalty "l1": bounds against a smooth solver, warm starts, paths, and hard data."""

import numpy as np
import pytest
from scipy.optimize import minimize

from maxmargin import BinaryProblem, Certificate, Matrix, WorkingSets, solve, svm_path

from ..conftest import STORAGES, random_problem

LOSSES = ["squared_hinge", "least_squares"]
BIASES = [(0.0, True), (1.0, True), (3.0, True), (1.0, False)]


def optimum(problem):
    """The problem with w as the difference of two parts that are not negative, by L-BFGS-B."""
    X = np.asarray(problem.X.toarray() if hasattr(problem.X, "toarray") else problem.X, dtype=np.float64)
    A = problem.y[:, np.newaxis] * np.column_stack([X, np.full(len(X), problem.bias)])
    penalties = np.ones(A.shape[1])
    penalties[-1] = float(problem.penalize_bias)

    def value(parts):
        plus, minus = np.split(parts, 2)
        slack = 1 - A @ (plus - minus)
        slack = np.maximum(slack, 0) if problem.loss.name == "squared_hinge" else slack
        slope = -2 * A.T @ (problem.C * slack)
        return (
            penalties @ (plus + minus) + problem.C @ slack**2,
            np.concatenate([slope + penalties, penalties - slope]),
        )

    options = {"maxiter": 50_000, "maxfun": 100_000, "ftol": 1e-15, "gtol": 1e-10, "maxcor": 50}
    zero = np.zeros(2 * A.shape[1])
    return minimize(value, zero, jac=True, bounds=[(0, None)] * len(zero), method="L-BFGS-B", options=options).fun


def check(problem, solution, rel=1e-9):
    """The bounds are those of the weights and variables, in plain numpy."""
    truth = problem.certificate(solution.weights, solution.alpha)
    assert solution.certificate.primal == pytest.approx(truth.primal, rel=rel)
    assert solution.certificate.dual == pytest.approx(truth.dual, rel=rel, abs=rel * truth.primal)


def assert_between(problem, solution):
    """Nobody finds a lower value than the dual one, and L-BFGS-B none that is lower by more than the tolerance."""
    value = optimum(problem)
    assert solution.certificate.primal <= value * (1 + 1e-6) + 1e-9
    assert solution.certificate.dual <= value * (1 + 1e-9) + 1e-12


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize(("bias", "penalize_bias"), BIASES)
@pytest.mark.parametrize("seed", range(6))
def test_the_optimum_is_that_of_a_smooth_solver(seed, bias, penalize_bias, loss):
    rng = np.random.default_rng(seed)
    X, y = random_problem(rows=int(rng.integers(4, 70)), features=int(rng.integers(1, 50)), seed=seed, density=0.6)
    C = rng.random(len(y)) * 10 ** rng.uniform(-2, 2)
    C[rng.random(len(y)) < 0.2] = 0.0
    C[0] = 1.0
    problem = BinaryProblem(X, y, C, loss=loss, bias=bias, penalize_bias=penalize_bias, penalty="l1")
    solution = solve(problem, tol=1e-7)
    assert solution.converged
    assert solution.solver == "working_sets"
    check(problem, solution)
    assert_between(problem, solution)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize(("bias", "penalize_bias"), [(0.0, True), (1.0, False)])
@pytest.mark.parametrize("case", ["ordinary", "weights", "repeated", "one class in the sample"])
def test_a_start_from_a_sample_of_the_rows_leads_to_the_same_optimum(case, bias, penalize_bias, loss):
    # So many rows for each feature that the first steps look at a part of them only.
    X, y = random_problem(rows=6000, features=4, seed=21)
    C = np.full(len(y), 0.3)
    if case == "weights":
        C *= np.random.default_rng(0).random(len(y)) < 0.01
        C[:2] = 50.0
    if case == "repeated":
        X, y = np.repeat(X[:3], 2000, axis=0), np.repeat([1, -1, 1], 2000)
    if case == "one class in the sample":
        y = np.ones(len(y))
        y[17] = -1
    problem = BinaryProblem(X, y, C, loss=loss, bias=bias, penalize_bias=penalize_bias, penalty="l1")
    solution = solve(problem, tol=1e-7)
    assert solution.converged
    check(problem, solution)
    assert_between(problem, solution)


@pytest.mark.parametrize("C", [0.1, 1.0])
def test_rows_left_out_of_a_descent_are_counted_where_they_get_a_loss(C):
    # Short rows are soon far on the right side; the long ones then move the weights they share across them.
    rng = np.random.default_rng(5)
    X = rng.normal(size=(300, 800)) * (rng.random((300, 800)) < 0.05)
    X[:200] *= 0.3
    X[200:] *= 10
    y = np.where(X @ rng.normal(size=800) > 0, 1, -1)
    problem = BinaryProblem(X, y, C, loss="squared_hinge", penalty="l1")
    solution = solve(problem, tol=1e-7, max_iter=10**5)
    assert solution.converged
    check(problem, solution)
    assert_between(problem, solution)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize(("bias", "penalize_bias"), BIASES)
@pytest.mark.parametrize("C", [0.05, 30.0])
def test_many_features_have_the_optimum_of_a_smooth_solver(C, bias, penalize_bias, loss):
    # More features than a Newton step takes as a matrix: steps of C, and proximal steps.
    X, y = random_problem(rows=120, features=700, seed=13, density=0.1)
    X[:, :5] = np.abs(X[:, :5]) * 20  # heavy columns
    problem = BinaryProblem(X, y, C, loss=loss, bias=bias, penalize_bias=penalize_bias, penalty="l1")
    solution = solve(problem, tol=1e-6)
    assert solution.converged
    check(problem, solution)
    assert_between(problem, solution)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize(("bias", "penalize_bias"), BIASES)
@pytest.mark.parametrize("copies", [1, 3])
def test_equal_rows_with_both_labels_share_a_margin(copies, bias, penalize_bias, loss):
    # Their losses are most of the objective: without the variables that they share, the dual bound stays far off.
    X, y = random_problem(rows=80, features=700, seed=16, density=0.1)
    X[60], X[61] = X[40], 0.0  # rows without entries are equal as well
    X = np.concatenate([X, np.repeat(X[40:], copies, axis=0)])
    y = np.concatenate([y, np.repeat(-y[40:], copies)])
    C = 50.0 * np.random.default_rng(1).random(len(y))
    C[::7] = 0.0
    problem = BinaryProblem(X, y, C, loss=loss, bias=bias, penalize_bias=penalize_bias, penalty="l1")
    for tol in (0.3, 1e-6):
        solution = solve(problem, tol=tol)
        assert solution.converged
        check(problem, solution)
    assert_between(problem, solution)


def test_rows_with_both_labels_are_certified_at_once():
    # Only the rows of the first half have a label that their words tell; each row of the second half is there twice.
    X, y = random_problem(rows=100, features=800, seed=17, density=0.05)
    X, y = np.concatenate([X, X[50:]]), np.concatenate([y, -y[50:]])
    y[:50] = np.where(X[:50].sum(axis=1) > 0, 1, -1)
    problem = BinaryProblem(X, y, 1e4, penalty="l1")
    solution = solve(problem, tol=0.1, max_iter=100)
    assert solution.converged
    check(problem, solution)
    assert solution.certificate.dual >= 0.9 * 1e4 * 100


@pytest.mark.parametrize("max_iter", [1, 5, 30, 33, 60])
def test_many_features_keep_to_max_iter(max_iter):
    X, y = random_problem(rows=120, features=700, seed=14, density=0.1)
    problem = BinaryProblem(X, y, 1000.0, bias=1.0, penalty="l1")
    solution = solve(problem, tol=0.0, max_iter=max_iter)
    assert solution.n_iter <= max_iter
    check(problem, solution)
    assert solution.certificate.primal <= problem.primal(np.zeros(701))


def test_liblinear_finds_nothing_lower():
    liblinear = pytest.importorskip("liblinear.liblinearutil")
    X, y = random_problem(rows=200, features=800, seed=15, density=0.05)
    for C in (0.1, 1.0, 10.0):
        problem = BinaryProblem(X, y, C, bias=1.0, penalty="l1")
        model = liblinear.train(y.astype(float), X, f"-s 5 -c {C} -B 1 -e 1e-4 -q")
        weights = np.array(model.w[:801]) * model.label[0]
        solution = solve(problem, tol=1e-5)
        assert solution.converged
        assert solution.certificate.primal <= problem.primal(weights) * (1 + 1e-5)
        assert solution.certificate.dual <= problem.primal(weights) * (1 + 1e-12)


@pytest.mark.parametrize(("features", "atol"), [(20, 1e-7), (700, 1e-5)])
@pytest.mark.parametrize("storage_name", list(STORAGES))
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_every_storage_gives_the_same_solution(storage_name, dtype, features, atol, tmp_path):
    X, y = random_problem(rows=80, features=features, seed=3, density=0.4)
    X = X.astype(dtype)
    problem = BinaryProblem(STORAGES[storage_name](X, tmp_path), y, 0.5, bias=1.0, penalty="l1")
    solution = solve(problem, tol=1e-9)
    assert solution.converged
    reference = solve(BinaryProblem(X.astype(np.float64), y, 0.5, bias=1.0, penalty="l1"), tol=1e-9)
    np.testing.assert_allclose(solution.weights, reference.weights, atol=atol)


@pytest.mark.parametrize(("features", "atol"), [(6, 1e-8), (700, 1e-5)])
def test_repeated_indices_add_up(features, atol):
    import scipy.sparse as sp

    X, y = random_problem(rows=40, features=features, seed=5)
    places = np.repeat(np.tile(np.arange(features), 40), 2)
    doubled = sp.csr_array(
        (np.repeat(X, 2, axis=1).ravel() / 2, places, np.arange(0, 80 * features + 1, 2 * features)),
        shape=X.shape,
    )
    a, b = (solve(BinaryProblem(M, y, 1.0, penalty="l1"), tol=1e-9) for M in (np.ascontiguousarray(X), doubled))
    np.testing.assert_allclose(a.weights, b.weights, atol=atol)


def test_weight_two_equals_repeating_the_row():
    X, y = random_problem(rows=50, features=12, seed=1)
    weight = np.arange(50) % 3
    weighted = solve(BinaryProblem(X, y, weight.astype(float), bias=1.0, penalty="l1"), tol=1e-10)
    repeated = solve(
        BinaryProblem(np.repeat(X, weight, axis=0), np.repeat(y, weight), 1.0, bias=1.0, penalty="l1"), tol=1e-10
    )
    np.testing.assert_allclose(weighted.weights, repeated.weights, atol=1e-7)


@pytest.mark.parametrize("loss", LOSSES)
def test_small_C_gives_no_weights_and_the_next_larger_one_does(loss):
    X, y = random_problem(rows=60, features=10, seed=2)
    largest = np.abs(2 * X.T @ y).max()
    below, above = (solve(BinaryProblem(X, y, f / largest, loss=loss, penalty="l1"), tol=1e-9) for f in (0.999, 1.01))
    assert not np.any(below.weights)
    assert below.converged
    assert np.count_nonzero(above.weights) == 1


@pytest.mark.parametrize("penalize_bias", [True, False])
def test_duplicate_columns_zero_rows_and_constant_columns(penalize_bias):
    X, y = random_problem(rows=60, features=8, seed=4)
    X[5:9] = 0.0
    X = np.column_stack([X, X, np.ones(60), np.zeros(60), X[:, :1] + X[:, 1:2]])
    problem = BinaryProblem(X, y, 10.0, bias=1.0, penalize_bias=penalize_bias, penalty="l1")
    solution = solve(problem, tol=1e-7)
    assert solution.converged
    check(problem, solution)
    assert_between(problem, solution)


def test_one_class_with_a_free_bias_costs_nothing():
    X, _ = random_problem(rows=20, features=3)
    solution = solve(BinaryProblem(X, np.ones(20), 1.0, bias=1.0, penalize_bias=False, penalty="l1"))
    assert solution.certificate == Certificate(0.0, 0.0)
    assert not np.any(solution.weights[:-1])


@pytest.mark.parametrize("C", [1e-6, 1e6])
def test_extreme_C_is_certified_or_says_that_rounding_is_the_limit(C):
    X, y = random_problem(rows=80, features=12, seed=6, noise=2.0)
    problem = BinaryProblem(X * 10.0 ** np.arange(-3, 3).repeat(2), y, C, bias=1.0, penalty="l1")
    solution = solve(problem, tol=1e-3)
    check(problem, solution, rel=1e-7)
    assert solution.exit in ("converged", "rounding")
    assert solution.certificate.primal <= problem.primal(np.zeros(13))


def test_screening_does_not_change_the_optimum():
    X, y = random_problem(rows=100, features=300, seed=7)
    problem = BinaryProblem(X, y, 0.05, penalty="l1")
    a, b = (solve(problem, WorkingSets(screening=screening), tol=1e-9) for screening in (True, False))
    np.testing.assert_allclose(a.weights, b.weights, atol=1e-7)


@pytest.mark.parametrize("penalize_bias", [True, False])
def test_a_solution_is_where_it_ends_when_it_starts_there(penalize_bias):
    X, y = random_problem(rows=100, features=60, seed=8)
    problem = BinaryProblem(X, y, 1.0, bias=1.0, penalize_bias=penalize_bias, penalty="l1")
    first = solve(problem, tol=1e-6)
    again = solve(problem, tol=1e-6, start=first)
    assert again.n_iter == 0
    assert again.certificate.primal <= first.certificate.primal * (1 + 1e-12)


def test_a_path_has_the_solutions_of_its_problems():
    X, y = random_problem(rows=100, features=60, seed=9)
    path = svm_path(Matrix(X), y, [0.01, 0.1, 1.0], penalty="l1", tol=1e-8, penalize_intercept=False)
    assert path.converged.all()
    for C, primal in zip(path.Cs, path.primal, strict=True):
        alone = solve(BinaryProblem(X, y, C, bias=1.0, penalize_bias=False, penalty="l1"), tol=1e-8)
        assert primal[0] == pytest.approx(alone.certificate.primal, rel=1e-7)
    used = [np.count_nonzero(coef) for coef in path.coefs]
    assert used[0] < used[-1]


@pytest.mark.parametrize("penalize_intercept", [True, False])
@pytest.mark.parametrize("loss", ["squared_hinge", "least_squares"])
def test_an_automatic_path_begins_at_the_largest_C_without_weights(loss, penalize_intercept):
    X, y = random_problem(rows=60, features=8, seed=12)
    y[:40] = 1  # the intercept matters
    path = svm_path(X, y, penalty="l1", loss=loss, penalize_intercept=penalize_intercept, tol=1e-9)
    assert path.converged.all()
    assert np.count_nonzero(path.coefs[0]) == 0
    assert np.count_nonzero(np.append(path.coefs[1], path.intercepts[1] if penalize_intercept else 0.0)) > 0
    if not penalize_intercept:
        assert path.intercepts[0] == pytest.approx(y.mean(), rel=1e-9)


def test_cut_short_it_is_never_worse_than_zero_and_its_gap_is_exact():
    X, y = random_problem(rows=200, features=400, seed=10)
    problem = BinaryProblem(X, y, 100.0, bias=1.0, penalty="l1")
    for limits in ({"max_iter": 1}, {"max_iter": 4}, {"time_limit": 1e-6}):
        solution = solve(problem, tol=0.0, **limits)
        check(problem, solution)
        assert solution.certificate.primal <= problem.primal(np.zeros(401))
        assert solution.exit in ("max_iter", "time_limit", "rounding")


def test_the_same_seed_gives_the_same_bits():
    X, y = random_problem(rows=100, features=60, seed=11)
    a, b = (solve(BinaryProblem(X, y, 1.0, penalty="l1"), seed=3) for _ in range(2))
    assert np.array_equal(a.weights, b.weights)


def test_what_does_not_work_is_named():
    X, y = random_problem()
    with pytest.raises(ValueError, match=r"penalty='l3' is unknown; choose from \['l2', 'l1'\]"):
        BinaryProblem(X, y, penalty="l3")
    with pytest.raises(ValueError, match="loss='squared_hinge' or loss='least_squares' only, not with 'hinge'"):
        solve(BinaryProblem(X, y, loss="hinge", penalty="l1"))
    with pytest.raises(ValueError, match=r"penalty='l2' .*; choose from \['auto', 'working_sets'\]"):
        solve(BinaryProblem(X, y, penalty="l1"), "dcd")
    with pytest.raises(ValueError, match="penalty='l1'; choose from"):
        solve(BinaryProblem(X, y), "working_sets")
