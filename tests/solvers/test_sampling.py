"""Weights of a sample as the start of a regression: fewer steps, the same optimum."""

import numpy as np
import pytest
import scipy.sparse as sp

from maxmargin import RegressionProblem, solve
from maxmargin.solvers import sampling


def many_rows(sparse):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50_000, 25)) * np.linspace(0.1, 2.0, 25)
    y = X @ rng.normal(size=25) + rng.standard_t(3, len(X))
    return sp.csr_matrix(X) if sparse else X, y


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize(("loss", "epsilon"), [("squared_epsilon_insensitive", 1.0), ("least_squares", 0.0)])
@pytest.mark.parametrize("penalize_bias", [True, False])
def test_a_sample_changes_the_way_and_not_the_optimum(sparse, loss, epsilon, penalize_bias):
    X, y = many_rows(sparse)
    C = np.random.default_rng(1).integers(0, 3, len(y)).astype(np.float64)
    problem = RegressionProblem(X, y, C, loss=loss, epsilon=epsilon, bias=1.0, penalize_bias=penalize_bias)
    found = solve(problem, tol=1e-8)
    expected = solve(problem, tol=1e-8, pack=False)
    assert found.converged
    assert expected.converged
    assert found.certificate.primal == pytest.approx(expected.certificate.primal, rel=2e-8)
    assert found.n_iter <= expected.n_iter
    assert problem.certificate(found.weights, found.alpha).gap <= 1e-8


def test_no_sample_is_taken_where_none_is_wanted_or_something_is_known(monkeypatch):
    X, y = many_rows(sparse=False)
    problem = RegressionProblem(X, y, loss="least_squares")
    first = solve(problem)

    def fail(_):
        raise AssertionError

    monkeypatch.setattr(sampling, "_every_row", fail)
    assert solve(problem, pack=False).converged
    assert solve(problem, start=first).converged
    with pytest.raises(AssertionError):
        solve(problem)
