"""The formulas of the one-class problem in plain numpy."""

import numpy as np
import pytest

from maxmargin import OneClassProblem


def made(nu=0.3, seed=0):
    rng = np.random.default_rng(seed)
    C = rng.uniform(0.3, 2.0, 12)
    C[2] = 0.0
    return OneClassProblem(rng.normal(size=(12, 3)) + np.array([2.0, 1.0, 0.0]), nu, C)


def test_the_primal_is_the_formula_of_the_docs():
    problem = made()
    w, rho = np.array([1.0, -0.5, 0.2]), 0.7
    losses = sum(c * max(0.0, rho - x @ w) for c, x in zip(problem.C, problem.X, strict=True))
    expected = w @ w / 2 - 0.3 * problem.C.sum() * rho + losses
    assert problem.primal(np.append(w, -rho)) == pytest.approx(expected)


def test_no_dual_value_is_above_a_primal_value():
    rng = np.random.default_rng(1)
    problem = made()
    for _ in range(50):
        alpha = problem.C * np.clip(0.3 + 0.2 * rng.normal(size=12), 0.05, 0.6)
        alpha *= problem.slope / alpha.sum()
        dual = problem.dual(np.minimum(alpha, problem.C))
        if dual > -np.inf:
            assert dual <= problem.primal(rng.normal(size=4))
            assert dual <= problem.primal(problem.weights(alpha))
    assert problem.dual(0.3 * problem.C) > -np.inf


def test_variables_outside_their_bounds_or_with_another_sum_have_no_dual_value():
    problem = made()
    assert problem.dual(np.zeros(12)) == -np.inf
    assert problem.dual(problem.slope * np.eye(12)[0]) == -np.inf


def test_no_other_offset_is_better_than_the_best():
    for seed in range(5):
        problem = made(seed=seed)
        w = np.random.default_rng(seed).normal(size=3)
        value = problem.primal(np.append(w, -problem.best_offset(w)))
        for rho in np.concatenate([problem.X @ w, np.linspace(-3, 3, 101)]):
            assert value <= problem.primal(np.append(w, -rho)) + 1e-12


@pytest.mark.parametrize("nu", [0.0, -1.0, 1.5, np.nan])
def test_a_share_is_above_zero_and_at_most_one(nu):
    with pytest.raises(ValueError, match="nu must be above 0 and at most 1"):
        OneClassProblem(np.eye(3), nu)
