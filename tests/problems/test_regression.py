"""The formulas of regression in plain numpy, and the messages for what is no regression."""

import numpy as np
import pytest

from maxmargin import RegressionProblem
from tests.conftest import csr

LOSSES = [("epsilon_insensitive", 0.0), ("epsilon_insensitive", 0.4), ("squared_epsilon_insensitive", 0.0)]
LOSSES += [("squared_epsilon_insensitive", 0.4), ("least_squares", 0.0)]


def made(loss, epsilon, free_bias=False, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(12, 3))
    y = 2.0 * X[:, 0] + rng.normal(size=12) + 1.0
    C = rng.uniform(0.2, 2.0, 12)
    C[3] = 0.0
    return RegressionProblem(X, y, C, loss=loss, epsilon=epsilon, bias=1.5, penalize_bias=not free_bias)


def written_out(loss, epsilon, residual):
    if loss == "least_squares":
        return residual**2
    beyond = np.maximum(np.abs(residual) - epsilon, 0)
    return beyond if loss == "epsilon_insensitive" else beyond**2


@pytest.mark.parametrize("free_bias", [False, True])
@pytest.mark.parametrize(("loss", "epsilon"), LOSSES)
def test_the_primal_is_the_formula_of_the_docs(loss, epsilon, free_bias):
    problem = made(loss, epsilon, free_bias)
    w = np.array([1.0, -0.5, 2.0, 0.7])
    residual = problem.y - problem.X @ w[:-1] - 1.5 * w[-1]
    norm = w[:-1] @ w[:-1] if free_bias else w @ w
    assert problem.primal(w) == pytest.approx(norm / 2 + problem.C @ written_out(loss, epsilon, residual))


@pytest.mark.parametrize("free_bias", [False, True])
@pytest.mark.parametrize(("loss", "epsilon"), LOSSES)
def test_no_dual_value_is_above_a_primal_value(loss, epsilon, free_bias):
    rng = np.random.default_rng(1)
    problem = made(loss, epsilon, free_bias)
    for _ in range(50):
        alpha = rng.uniform(-1, 1, 12) * problem.C
        if free_bias:
            alpha[np.argmax(problem.C)] = 0.0
            alpha *= 0.1
            alpha[np.argmax(problem.C)] = -alpha.sum()
        dual = problem.dual(alpha)
        assert dual > -np.inf
        assert dual <= problem.primal(rng.normal(size=4))
        assert dual <= problem.primal(problem.weights(alpha))


def test_variables_outside_their_bounds_or_off_their_condition_have_no_dual_value():
    problem = made("epsilon_insensitive", 0.1)
    for value in (1.01, -1.01):
        alpha = np.zeros(12)
        alpha[0] = value * problem.C[0]
        assert problem.dual(alpha) == -np.inf
    off = made("least_squares", 0.0, free_bias=True)
    assert off.dual(np.eye(12)[0]) == -np.inf
    assert off.dual(np.eye(12)[3]) == -np.inf  # its row has weight zero


@pytest.mark.parametrize(("loss", "epsilon"), LOSSES)
def test_no_other_bias_is_better_than_the_best(loss, epsilon):
    for seed in range(5):
        problem = made(loss, epsilon, free_bias=True, seed=seed)
        w = np.random.default_rng(seed).normal(size=3)
        best = problem.best_bias(w)
        value = problem.primal(np.append(w, best))
        for b in best + np.concatenate([np.linspace(-3, 3, 101), [1e-6, -1e-6]]):
            assert value <= problem.primal(np.append(w, b)) * (1 + 1e-12)


def test_signed_variables_are_the_variables():
    problem = made("epsilon_insensitive", 0.1)
    alpha = np.linspace(-1, 1, 12)
    assert np.array_equal(problem.dual_coef(alpha), alpha)
    assert np.array_equal(problem.alpha_of(alpha), alpha)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"y": np.zeros(3)}, r"y must have shape \(4,\)"),
        ({"y": np.array(list("abcd"))}, "y must hold numbers"),
        ({"y": [0.0, 1.0, np.nan, 2.0]}, "y must hold finite numbers"),
        ({"y": [0.0, 1.0, 1e60, 2.0]}, "y must hold finite numbers of at most"),
        ({"loss": "hinge"}, "loss='hinge' is unknown; choose from .'epsilon_insensitive'"),
        ({"epsilon": -0.1}, "epsilon must be a number from 0"),
        ({"epsilon": np.nan}, "epsilon must be a number from 0"),
        ({"loss": "least_squares", "epsilon": 0.1}, "epsilon=0.1 has no meaning with loss='least_squares'"),
        ({"penalize_bias": False}, "penalize_bias=False needs a bias"),
        ({"C": -1.0}, "C must be finite, not negative"),
    ],
)
def test_bad_input_is_refused_with_a_message(arguments, message):
    given = {"y": np.arange(4.0), **arguments}
    with pytest.raises(ValueError, match=message):
        RegressionProblem(csr(np.eye(4)), given.pop("y"), **given)
