"""Choosing C of a regression, and paths over it."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.metrics import r2_score
from sklearn.model_selection import GridSearchCV, KFold

from maxmargin import LinearSVR, LinearSVRCV, RegressionProblem, load_model, save_model, solve, svm_path
from maxmargin.training.first_C import first_C
from maxmargin.training.path import scaled

from ..conftest import csr

pytestmark = pytest.mark.filterwarnings("ignore:the best C, .* is the .* of the grid")

LOSSES = [("epsilon_insensitive", 0.1), ("squared_epsilon_insensitive", 0.1), ("least_squares", 0.0)]
Cs = [0.01, 0.1, 1.0, 10.0]


def numbers(rows=150, features=6, seed=0, offset=3.0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, features))
    return X, X @ rng.normal(size=features) + offset + 0.5 * rng.normal(size=rows)


@pytest.mark.parametrize("store", [np.ascontiguousarray, csr], ids=["dense", "csr"])
@pytest.mark.parametrize(("loss", "epsilon"), LOSSES)
def test_scores_of_folds_are_those_of_a_grid_search(loss, epsilon, store):
    X, y = numbers()
    folds = KFold(4, shuffle=True, random_state=0)
    plain = LinearSVR(loss, epsilon=epsilon, tol=1e-8, penalize_intercept=False)
    theirs = GridSearchCV(plain, {"C": Cs}, cv=folds).fit(store(X), y)
    ours = LinearSVRCV(loss, epsilon=epsilon, Cs=Cs, cv=folds, tol=1e-8, penalize_intercept=False).fit(store(X), y)
    assert ours.cv_results_["mean_test_score"] == pytest.approx(theirs.cv_results_["mean_test_score"], abs=1e-5)
    assert theirs.best_params_["C"] == ours.C_
    assert ours.best_score_ == pytest.approx(theirs.best_score_, abs=1e-5)
    assert ours.predict(store(X)) == pytest.approx(theirs.predict(store(X)), abs=1e-3)


def test_scorers_weights_rules_and_threads():
    X, y = numbers()
    weight = np.random.default_rng(1).integers(0, 3, len(y)).astype(float)
    first = LinearSVRCV(Cs=Cs, n_jobs=1).fit(X, y, sample_weight=weight)
    second = LinearSVRCV(Cs=Cs, n_jobs=2).fit(X, y, sample_weight=weight)
    assert np.array_equal(first.scores_, second.scores_)
    assert np.array_equal(first.coef_, second.coef_)
    named = LinearSVRCV(Cs=Cs, scoring="r2").fit(X, y, sample_weight=weight)
    assert named.scores_ == pytest.approx(first.scores_, abs=1e-12)
    called = LinearSVRCV(Cs=Cs, scoring=lambda model, rows, true: r2_score(true, model.predict(rows)))
    assert called.fit(X, y, sample_weight=weight).scores_ == pytest.approx(first.scores_, abs=1e-12)
    errors = LinearSVRCV(Cs=Cs, scoring="neg_mean_absolute_error").fit(X, y)
    assert (errors.scores_ < 0).all()
    simple = LinearSVRCV(Cs=Cs, rule="one_standard_error").fit(X, y)
    assert simple.C_ <= LinearSVRCV(Cs=Cs).fit(X, y).C_


def test_without_refit_there_is_no_model_and_files_hold_the_one_that_was_chosen(tmp_path):
    X, y = numbers()
    assert not hasattr(LinearSVRCV(Cs=Cs, refit=False).fit(X, y), "coef_")
    model = clone(LinearSVRCV(Cs=Cs)).fit(X, y)
    save_model(model, tmp_path / "a.mm")
    again = load_model(tmp_path / "a.mm")
    assert type(again) is LinearSVR
    assert again.C == model.C_
    assert np.array_equal(again.predict(X), model.predict(X))


@pytest.mark.parametrize("penalize_intercept", [True, False])
@pytest.mark.parametrize(("loss", "epsilon"), LOSSES)
def test_a_path_has_the_solutions_of_its_problems(loss, epsilon, penalize_intercept):
    X, y = numbers()
    what = {"loss": loss, "epsilon": epsilon}
    path = svm_path(X, y, Cs, task="regression", tol=1e-8, penalize_intercept=penalize_intercept, **what)
    assert path.converged.all()
    assert len(path.classes) == 0
    for C, primal, coef in zip(path.Cs, path.primal, path.coefs, strict=True):
        alone = solve(RegressionProblem(X, y, C, bias=1.0, penalize_bias=penalize_intercept, **what), tol=1e-8)
        assert primal[0] == pytest.approx(alone.certificate.primal, rel=1e-7)
        assert coef.ravel() == pytest.approx(alone.weights[:-1], abs=1e-2)


@pytest.mark.parametrize(("loss", "epsilon"), LOSSES)
def test_variables_for_a_larger_C_are_feasible_and_better_than_those_before(loss, epsilon):
    X, y = numbers(offset=0.0)
    solution = solve(RegressionProblem(X, y, 0.001, loss=loss, epsilon=epsilon), tol=1e-9)
    larger = RegressionProblem(X, y, 0.003, loss=loss, epsilon=epsilon)
    moved = scaled(RegressionProblem(X, y, 0.001, loss=loss, epsilon=epsilon), solution, 3.0)
    assert larger.dual(moved.alpha) > larger.dual(solution.alpha)


def test_what_does_not_work_is_named():
    X, y = numbers(rows=20)
    with pytest.raises(ValueError, match="have no meaning with task='regression'"):
        svm_path(X, y, Cs, task="regression", penalty="l1")
    with pytest.raises(ValueError, match="loss='squared_hinge' is unknown"):
        svm_path(X, y, Cs, task="regression", loss="squared_hinge")
    with pytest.raises(ValueError, match=r"epsilon=0\.1 has no meaning with task='classify'"):
        svm_path(X, y > 3, Cs, epsilon=0.1)
    with pytest.raises(ValueError, match="penalty='l1' has no meaning with task='rank'"):
        svm_path(X, y, Cs, task="rank", penalty="l1")


@pytest.mark.parametrize("penalize_intercept", [True, False])
@pytest.mark.parametrize(("loss", "epsilon"), LOSSES)
def test_an_automatic_path_of_a_regression_begins_with_the_closed_form(loss, epsilon, penalize_intercept):
    X, y = numbers(rows=80)
    path = svm_path(X, y, task="regression", loss=loss, epsilon=epsilon, penalize_intercept=penalize_intercept)
    assert path.converged.all()
    assert path.ended == "settled"
    first = RegressionProblem(X, y, path.Cs[0], loss=loss, epsilon=epsilon, bias=1.0, penalize_bias=penalize_intercept)
    # At the first C all residuals are about those of weights zero, so that the model has gained little yet.
    constant = 0.0 if penalize_intercept else first.best_bias(np.zeros(X.shape[1]))
    at_zero = first.primal(np.append(np.zeros(X.shape[1]), constant))
    assert path.primal[0, 0] >= 0.2 * at_zero
    if penalize_intercept:
        outside = y - np.clip(y, -epsilon, epsilon)
        slopes = np.sign(outside) if loss == "epsilon_insensitive" else 2 * outside
        alpha = path.Cs[0] * slopes
        gap = first.certificate(first.weights(alpha), alpha).gap
        assert gap <= 1.001e-3
        assert first_C(RegressionProblem(X, y, loss=loss, epsilon=epsilon, bias=1.0), 1e-3) == path.Cs[0]


def test_targets_within_the_tube_have_a_path_of_zeros():
    X, _ = numbers(rows=20)
    path = svm_path(X, np.full(20, 0.5), task="regression", epsilon=1.0)
    assert path.converged.all()
    assert not path.coefs.any()
