"""Regression and ranking on a cluster have the solutions and bounds of one machine."""

import dask.array as da
import numpy as np
import pytest

import maxmargin
from maxmargin import RankingProblem, RegressionProblem, solve
from maxmargin.dask import LinearRankSVM, LinearSVR

from ..conftest import random_problem
from .conftest import distribute


@pytest.mark.parametrize(
    ("loss", "epsilon"), [("epsilon_insensitive", 0.3), ("squared_epsilon_insensitive", 0.3), ("least_squares", 0.0)]
)
def test_regression_has_the_solution_of_one_machine(client, loss, epsilon):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(90, 4))
    y = 20.0 * (X @ rng.normal(size=4)) + rng.normal(size=90)
    dX, dy, dw = distribute(X, y, 25, np.linspace(0, 2, 90))
    model = LinearSVR(loss, epsilon=epsilon, C=0.5).fit(dX, dy, dw)
    problem = RegressionProblem(X, y, 0.5 * np.linspace(0, 2, 90), loss=loss, epsilon=epsilon, bias=1.0)
    optimum = solve(problem, tol=1e-8).certificate
    weights = np.append(model.coef_, model.intercept_)
    assert model.primal_objective_ == pytest.approx(problem.primal(weights), rel=1e-10)
    assert model.dual_objective_ <= optimum.primal * (1 + 1e-12)
    assert model.duality_gap_ <= 1e-3
    assert np.array_equal(model.predict(dX).compute(), model.predict(X))
    assert model.score(dX, dy) == pytest.approx(model.score(X, y), rel=1e-10)


def test_targets_that_are_no_numbers_are_refused(client):
    X, y = random_problem(rows=20, features=3, seed=2)
    dX, _, _ = distribute(X, y, 10)
    with pytest.raises(ValueError, match="must hold numbers to predict"):
        LinearSVR().fit(dX, da.from_array(np.array(["a", "b"] * 10), chunks=10))


def ranked(rows=90, groups=9):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(rows, 5))
    y = np.rint(X @ rng.normal(size=5) + 0.3 * rng.normal(size=rows))
    return X, y, np.repeat(np.arange(groups), rows // groups)


@pytest.mark.parametrize("weighted", [False, True])
def test_ranking_has_the_solution_of_one_machine(client, weighted):
    X, y, qid = ranked()
    y[-10:] = 1.0  # a group without pairs
    weight = np.linspace(0.1, 3.0, 90) if weighted else None
    dX, dy, dw = distribute(X, y, 30, weight)
    dq = da.from_array(qid, chunks=30)
    model = LinearRankSVM(C=3.0).fit(dX, dy, qid=dq, sample_weight=dw)
    problem = RankingProblem(X, y, 3.0, qid=qid, weights=weight)
    alone = maxmargin.LinearRankSVM(C=3.0, tol=1e-6).fit(X, y, qid=qid, sample_weight=weight)
    assert model.primal_objective_ == pytest.approx(problem.primal(np.append(model.coef_, 0.0)), rel=1e-10)
    assert model.dual_objective_ <= alone.primal_objective_ * (1 + 1e-9)
    assert model.duality_gap_ <= 1e-3
    assert model.n_pairs_ == pytest.approx(alone.n_pairs_, rel=1e-12)
    assert model.score(dX, dy, qid=dq, sample_weight=dw) == pytest.approx(
        model.score(X, y, qid=qid, sample_weight=weight), rel=1e-10
    )


def test_a_group_in_two_blocks_is_named(client):
    X, y, qid = ranked()
    dX, dy, _ = distribute(X, y, 35)
    with pytest.raises(ValueError, match=r"the rows of group .*3.* lie in blocks 0 and 1, but a group must lie in one"):
        LinearRankSVM().fit(dX, dy, qid=da.from_array(qid, chunks=35))
    with pytest.raises(ValueError, match="without qid all rows are one group, which must lie in one block"):
        LinearRankSVM().fit(dX, dy)
    one, labels, _ = distribute(X, y, 90)
    assert LinearRankSVM().fit(one, labels).converged_
    with pytest.raises(ValueError, match="there is nothing to rank"):
        LinearRankSVM().fit(one, da.zeros(90, chunks=90))
