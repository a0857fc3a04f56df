"""Regression by every method, against optima of a general-purpose solver and of scikit-learn."""

import numpy as np
import pytest
from sklearn.linear_model import Ridge

from maxmargin import RegressionProblem, Solution, solve
from tests.conftest import assert_certified, csr
from tests.truth import regression_optimum

CASES = [
    (solver, loss, epsilon)
    for solver in ("auto", "dcd", "avsf", "online", "newton", "pcd")
    for loss, epsilon in (
        ("epsilon_insensitive", 0.0),
        ("epsilon_insensitive", 0.5),
        ("squared_epsilon_insensitive", 0.5),
        ("least_squares", 0.0),
    )
    if solver != "pcd" or loss != "epsilon_insensitive"
]
BIASES = [(0.0, True), (1.0, True), (1.0, False)]


def noisy(rows=30, features=4, seed=0):
    """A noisy plane with a zero row, a repeated row and a tie."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, features))
    y = X @ rng.normal(size=features) * 2 + rng.normal(size=rows) + 3
    X[3], X[5], y[5] = 0.0, X[4], y[4]
    y[7] = y[6]
    return X, y


@pytest.mark.parametrize(("bias", "penalize"), BIASES)
@pytest.mark.parametrize(("solver", "loss", "epsilon"), CASES)
def test_every_method_finds_the_optimum(solver, loss, epsilon, bias, penalize):
    X, y = noisy()
    for C in (0.01, 1.0):
        problem = RegressionProblem(X, y, C, loss=loss, epsilon=epsilon, bias=bias, penalize_bias=penalize)
        solution = solve(problem, solver, tol=1e-8, max_iter=10**5)
        truth = regression_optimum(X, y, C, loss, epsilon, bias, not penalize)
        assert solution.converged
        assert solution.certificate.primal == pytest.approx(truth, rel=1e-7)
        assert_certified(problem, solution, rel=1e-9)


@pytest.mark.parametrize("penalize", [True, False])
@pytest.mark.parametrize("solver", ["auto", "dcd", "avsf", "newton"])
@pytest.mark.parametrize("scale", [1e-8, 1e8])
def test_targets_of_another_scale_are_the_same_problem(scale, solver, penalize):
    """Targets, epsilon and weights times s; C over s where the loss is not squared; objectives times s squared."""
    X, y = noisy(rows=60)
    for loss, epsilon in (("epsilon_insensitive", 0.3), ("squared_epsilon_insensitive", 0.3), ("least_squares", 0.0)):
        factor = scale if loss == "epsilon_insensitive" else 1.0
        plain, scaled = (
            solve(
                RegressionProblem(X, s * y, c, loss=loss, epsilon=s * epsilon, bias=1.0, penalize_bias=penalize),
                solver,
                tol=1e-6,
            )
            for s, c in ((1.0, 0.3), (scale, 0.3 * factor))
        )
        assert plain.converged
        assert scaled.converged
        assert scaled.certificate.primal / scale**2 == pytest.approx(plain.certificate.primal, rel=2e-6)
        assert scaled.n_iter <= 2 * plain.n_iter + 4


@pytest.mark.parametrize("solver", ["auto", "dcd", "avsf", "newton"])
def test_a_free_bias_takes_away_what_targets_have_in_common(solver):
    X, y = noisy(rows=80)
    near, far = (
        solve(RegressionProblem(X, y + shift, 0.5, epsilon=0.1, bias=1.0, penalize_bias=False), solver, tol=1e-6)
        for shift in (0.0, 1e6)
    )
    assert near.converged
    assert far.converged
    assert far.certificate.primal == pytest.approx(near.certificate.primal, rel=2e-6)
    assert far.n_iter <= 4 * near.n_iter + 4


@pytest.mark.parametrize("solver", ["auto", "dcd", "avsf", "newton", "pcd"])
def test_least_squares_is_ridge_regression(solver):
    X, y = noisy(rows=50)
    weight = np.random.default_rng(2).uniform(0, 3, 50)
    problem = RegressionProblem(X, y, 2.0 * weight, loss="least_squares", bias=1.0, penalize_bias=False)
    solution = solve(problem, solver, tol=1e-12, max_iter=10**5)
    ridge = Ridge(alpha=1 / 4.0, tol=1e-12).fit(X, y, sample_weight=weight)
    assert solution.weights == pytest.approx(np.append(ridge.coef_, ridge.intercept_), abs=1e-5)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("solver", ["dcd", "avsf", "newton"])
def test_every_storage_gives_the_same_solution(storage, solver, dtype):
    X, y = noisy()
    X = X.astype(dtype)
    for penalize in (True, False):
        options = {"epsilon": 0.2, "bias": 1.0, "penalize_bias": penalize}
        expected = solve(RegressionProblem(X, y, 0.5, **options), "newton", tol=1e-8)
        found = solve(RegressionProblem(storage(X), y, 0.5, **options), solver, tol=1e-8, max_iter=10**5)
        assert found.certificate.primal == pytest.approx(expected.certificate.primal, rel=2e-8)
        assert_certified(RegressionProblem(storage(X.astype(np.float64)), y, 0.5, **options), found, rel=1e-9)


@pytest.mark.parametrize(("solver", "loss", "epsilon"), CASES)
def test_weight_two_equals_repeating_the_row_and_zero_leaving_it_out(solver, loss, epsilon):
    X, y = noisy()
    count = np.random.default_rng(1).integers(0, 3, len(y))
    for bias, penalize in BIASES:
        options = {"loss": loss, "epsilon": epsilon, "bias": bias, "penalize_bias": penalize}
        weighted = solve(RegressionProblem(X, y, 0.3 * count, **options), solver, tol=1e-8, max_iter=10**5)
        again = RegressionProblem(np.repeat(X, count, axis=0), np.repeat(y, count), 0.3, **options)
        repeated = solve(again, solver, tol=1e-8, max_iter=10**5)
        assert weighted.certificate.primal == pytest.approx(repeated.certificate.primal, rel=3e-8)
        assert np.all(weighted.alpha[count == 0] == 0)


@pytest.mark.parametrize("shrinking", [True, False])
@pytest.mark.parametrize("features", [3, 1500])
def test_many_and_few_features_with_and_without_shrinking(features, shrinking):
    from maxmargin import DualCoordinateDescent

    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, features)) * (rng.random((120, features)) < 0.3)
    y = X[:, 0] * 3 + rng.normal(size=120) * 2
    problem = RegressionProblem(csr(X), y, 0.1, epsilon=1.0, bias=1.0)
    solution = solve(problem, DualCoordinateDescent(shrinking=shrinking), tol=1e-8, max_iter=10**5)
    assert solution.converged
    assert_certified(problem, solution, rel=1e-9)
    assert solution.certificate.primal == pytest.approx(solve(problem, "newton", tol=1e-8).certificate.primal, rel=2e-8)
    inside = np.abs(y - problem.scores(solution.weights)) < 0.99
    assert inside.any()
    assert np.abs(solution.alpha[inside]).max() <= 1e-3


@pytest.mark.parametrize("solver", ["auto", "dcd", "avsf", "newton"])
@pytest.mark.parametrize("penalize", [True, False])
def test_targets_within_one_tube_cost_nothing(solver, penalize):
    X, _ = noisy()
    y = np.linspace(-0.5, 0.5, len(X)) + (0.0 if penalize else 40.0)
    problem = RegressionProblem(X, y, 10.0, epsilon=0.5, bias=1.0, penalize_bias=penalize)
    solution = solve(problem, solver, tol=1e-9)
    assert solution.converged
    assert solution.certificate.primal == pytest.approx(0.0, abs=1e-20)
    assert solution.weights == pytest.approx([0.0] * 4 + [0.0 if penalize else 40.0])


@pytest.mark.parametrize("solver", ["auto", "newton"])
@pytest.mark.parametrize(("loss", "epsilon"), [("epsilon_insensitive", 0.5), ("squared_epsilon_insensitive", 0.5)])
def test_huge_and_tiny_C(solver, loss, epsilon):
    X, y = noisy()
    for C in (1e-6, 1e6):
        solution = solve(RegressionProblem(X, y, C, loss=loss, epsilon=epsilon, bias=1.0), solver, tol=1e-7)
        assert solution.converged
        assert solution.certificate.primal == pytest.approx(regression_optimum(X, y, C, loss, epsilon, 1.0), rel=1e-5)


@pytest.mark.parametrize("solver", ["auto", "dcd", "newton"])
def test_columns_on_very_different_scales(solver):
    X, y = noisy()
    X = X * [1.0, 1e-3, 30.0, 1.0]
    for loss, epsilon in (("epsilon_insensitive", 0.2), ("least_squares", 0.0)):
        problem = RegressionProblem(X, y, 0.01, loss=loss, epsilon=epsilon, bias=1.0)
        solution = solve(problem, solver, tol=1e-6, max_iter=10**6)
        truth = regression_optimum(X, y, 0.01, loss, epsilon, 1.0)
        assert solution.certificate.primal == pytest.approx(truth, rel=1e-5)


def test_a_warm_start_is_never_worse_and_takes_no_longer():
    X, y = noisy(rows=100)
    for penalize in (True, False):
        problem = RegressionProblem(X, y, 0.5, epsilon=0.1, bias=1.0, penalize_bias=penalize)
        first = solve(problem, "dcd", tol=1e-6)
        again = solve(problem, "dcd", tol=1e-6, start=first)
        assert isinstance(again, Solution)
        assert again.converged
        assert again.n_iter <= first.n_iter
        assert again.certificate.primal <= first.certificate.primal


def test_the_rule_of_the_paper_ends_a_regression_too():
    from maxmargin import DualCoordinateDescent

    X, y = noisy(rows=60)
    problem = RegressionProblem(X, y, 0.1, epsilon=0.3, bias=1.0)
    truth = regression_optimum(X, y, 0.1, "epsilon_insensitive", 0.3, 1.0)
    for shrinking in (True, False):
        solution = solve(problem, DualCoordinateDescent(epsilon=1e-9, shrinking=shrinking), tol=0, max_iter=10**6)
        assert solution.exit == "epsilon" or solution.certificate.gap == 0
        assert solution.certificate.primal == pytest.approx(truth, rel=1e-8)


@pytest.mark.parametrize(
    ("solver", "message"),
    [
        ("pcd", "it works with loss='least_squares' or loss='squared_epsilon_insensitive' only"),
        ("cutting_plane", "it solves binary problems .* and problems of Crammer"),
        ("pegasos", "it solves binary problems .*; choose from .'auto', 'dcd', 'avsf', 'online', 'newton'"),
        ("sdm", "choose from"),
    ],
)
def test_methods_that_do_not_apply_say_which_do(solver, message):
    X, y = noisy()
    with pytest.raises(ValueError, match=message):
        solve(RegressionProblem(X, y), solver)
