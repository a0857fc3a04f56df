"""LinearSVR by scikit-learn's conventions, and beside scikit-learn's own."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import load_diabetes
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.svm import LinearSVR as ScikitLearnSVR

from maxmargin import LinearSVR, RegressionProblem, load_model, save_model

X, Y = load_diabetes(return_X_y=True)
X = np.ascontiguousarray(X * 10)


def objective(model, problem):
    return problem.primal(np.append(model.coef_, model.intercept_))


@pytest.mark.parametrize(("loss", "epsilon"), [("epsilon_insensitive", 2.0), ("squared_epsilon_insensitive", 2.0)])
@pytest.mark.parametrize("C", [0.01, 1.0])
def test_the_objective_is_that_of_scikit_learn_or_lower(loss, epsilon, C):
    problem = RegressionProblem(X, Y, C, loss=loss, epsilon=epsilon, bias=1.0)
    ours = LinearSVR(loss, epsilon=epsilon, C=C, tol=1e-6).fit(X, Y)
    theirs = ScikitLearnSVR(loss=loss, epsilon=epsilon, C=C, tol=1e-8, max_iter=10**6, dual=True).fit(X, Y)
    assert ours.primal_objective_ == pytest.approx(objective(ours, problem), rel=1e-10)
    assert ours.primal_objective_ <= objective(theirs, problem) * (1 + 1e-6)
    assert ours.predict(X) == pytest.approx(theirs.predict(X), abs=0.05 * Y.std())
    assert ours.coef_.shape == theirs.coef_.shape
    assert ours.intercept_.shape == np.shape(theirs.intercept_)


def test_least_squares_is_scikit_learns_ridge():
    ours = LinearSVR("least_squares", C=0.5, penalize_intercept=False, tol=1e-10).fit(X, Y)
    ridge = Ridge(alpha=1.0, tol=1e-12).fit(X, Y)
    assert ours.predict(X) == pytest.approx(ridge.predict(X), rel=1e-6)
    assert ours.score(X, Y) == pytest.approx(ridge.score(X, Y), rel=1e-6)


def test_attributes_tell_the_certificate_of_the_users_own_targets():
    model = LinearSVR(epsilon=5.0, penalize_intercept=False).fit(X, Y)
    problem = RegressionProblem(X, Y, 1.0, epsilon=5.0, bias=1.0, penalize_bias=False)
    alpha = model.dual_coef_.toarray().ravel()
    assert model.primal_objective_ == pytest.approx(objective(model, problem), rel=1e-10)
    assert model.dual_objective_ == pytest.approx(problem.dual(alpha), rel=1e-10)
    assert model.converged_
    assert 0 <= model.duality_gap_ <= 1e-3
    assert model.support_.tolist() == np.flatnonzero(alpha).tolist()
    assert model.n_support_.tolist() == [len(model.support_)]
    assert model.history_[-1].gap == model.duality_gap_
    assert not hasattr(model, "decision_function")
    assert not hasattr(model, "classes_")


@pytest.mark.parametrize("solver", ["auto", "dcd", "avsf", "online", "newton"])
def test_sparse_and_dense_rows_give_the_same_predictions(solver):
    dense, sparse = (LinearSVR(solver=solver, tol=1e-6).fit(x, Y).predict(X) for x in (X, sp.csr_array(X)))
    assert sparse == pytest.approx(dense, rel=1e-3)


def test_a_warm_start_continues_and_refuses_other_rows():
    model = LinearSVR(solver="dcd", tol=1e-5, warm_start=True).fit(X, Y)
    before, first = model.primal_objective_, model.n_iter_
    model.fit(X, Y)
    assert model.primal_objective_ <= before
    assert model.n_iter_ <= first
    with pytest.raises(ValueError, match="continues from 442 rows, but this fit has 400"):
        model.fit(X[:400], Y[:400])


def test_a_fit_that_falls_short_warns_and_keeps_the_best():
    with pytest.warns(ConvergenceWarning, match="max_iter was reached"):
        model = LinearSVR(solver="dcd", C=10.0, tol=1e-9, max_iter=2).fit(X, Y)
    assert not model.converged_
    assert model.primal_objective_ <= 10.0 * np.abs(Y).sum()


def test_grid_search_and_clones_work():
    search = GridSearchCV(LinearSVR(penalize_intercept=False), {"C": [0.1, 1.0], "epsilon": [0.0, 10.0]}, cv=3)
    assert search.fit(X, Y).best_score_ > 0.4
    assert clone(search.best_estimator_).get_params() == search.best_estimator_.get_params()


def test_reports_are_printed_and_a_callback_may_stop(capsys):
    LinearSVR(verbose=1, solver="dcd", tol=1e-8).fit(X, Y)
    assert "dual" in capsys.readouterr().out


@pytest.mark.parametrize("dual", [True, False])
def test_dual_narrows_the_choice_and_not_the_problem(dual):
    model = LinearSVR("squared_epsilon_insensitive", dual=dual, tol=1e-6).fit(X, Y)
    assert model.primal_objective_ == pytest.approx(
        LinearSVR("squared_epsilon_insensitive", tol=1e-6).fit(X, Y).primal_objective_, rel=2e-6
    )
    assert ("newton" not in model.solver_used_) is dual


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"loss": "hinge"}, "loss"),
        ({"epsilon": -1.0}, "epsilon"),
        ({"loss": "least_squares", "epsilon": 1.0}, "has no meaning with loss='least_squares'"),
        ({"solver": "pcd"}, "it works with loss='least_squares' or loss='squared_epsilon_insensitive' only"),
        ({"solver": "pegasos"}, "it solves binary problems"),
        ({"solver": "newton", "dual": True}, "dual=True contradicts"),
        ({"fit_intercept": False, "penalize_intercept": False}, "has no meaning with fit_intercept=False"),
        ({"intercept_scaling": 2.0, "penalize_intercept": False}, "intercept_scaling has no meaning"),
    ],
)
def test_bad_parameters_are_refused_with_a_message(parameters, message):
    with pytest.raises(ValueError, match=message):
        LinearSVR(**parameters).fit(X, Y)


def test_models_come_back_from_files_with_all_they_know(tmp_path):
    model = LinearSVR("squared_epsilon_insensitive", epsilon=3.0, C=0.3, solver="dcd").fit(X, Y)
    save_model(model, tmp_path / "a.mm")
    again = load_model(tmp_path / "a.mm")
    assert isinstance(again, LinearSVR)
    assert again.get_params() == model.get_params()
    assert np.array_equal(again.predict(X), model.predict(X))
    assert again.coef_.shape == model.coef_.shape
    assert again.duality_gap_ == model.duality_gap_
    assert again.history_ == model.history_
    assert np.array_equal(again.support_, model.support_)
    warm = again.set_params(warm_start=True).fit(X, Y)
    assert warm.primal_objective_ <= model.primal_objective_


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("loss", ["epsilon_insensitive", "squared_epsilon_insensitive", "least_squares"])
def test_liblinears_own_predictions_from_our_file_are_ours_and_back(tmp_path, loss, fit_intercept):
    from liblinear.liblinearutil import load_model as load_theirs
    from liblinear.liblinearutil import predict, train
    from liblinear.liblinearutil import save_model as save_theirs

    model = LinearSVR(loss, C=0.1, fit_intercept=fit_intercept).fit(X, Y)
    save_model(model, tmp_path / "ours", format="liblinear")
    labels, _, _ = predict(Y, X, load_theirs(str(tmp_path / "ours")), "-q")
    assert labels == pytest.approx(model.predict(X), rel=1e-10)
    for number in (11, 12, 13):
        theirs = train(Y, X, f"-s {number} -c 0.1 -B {1 if fit_intercept else -1} -q")
        save_theirs(str(tmp_path / "theirs"), theirs)
        again = load_model(tmp_path / "theirs")
        assert isinstance(again, LinearSVR)
        labels, _, _ = predict(Y, X, theirs, "-q")
        assert again.predict(X) == pytest.approx(labels, rel=1e-10)


@pytest.mark.parametrize(
    "convert", [np.asfortranarray, np.ndarray.tolist, lambda X: X.astype(np.float16), sp.csc_matrix, sp.coo_array]
)
def test_other_input_is_converted(convert):
    X, y = load_diabetes(return_X_y=True)
    expected = LinearSVR(tol=1e-6).fit(X.astype(np.float16).astype(float), y.astype(float)).coef_
    rounded = X.astype(np.float16).astype(float)
    for targets in (y, y.tolist(), y.astype(int), y.astype(np.float32)):
        np.testing.assert_allclose(LinearSVR(tol=1e-6).fit(convert(rounded), targets).coef_, expected, atol=1e-3)


@pytest.mark.parametrize("wrong", [np.nan, np.inf])
@pytest.mark.parametrize("storage", [np.asarray, sp.csr_matrix])
def test_what_is_not_finite_is_refused_in_scikit_learns_words(wrong, storage):
    X, y = load_diabetes(return_X_y=True)
    with pytest.raises(ValueError, match="Input y contains"):
        LinearSVR().fit(storage(X), np.append(y[:-1], wrong))
    X[3, 2] = wrong
    with pytest.raises(ValueError, match="Input X contains"):
        LinearSVR().fit(storage(X), y)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        LinearSVR().fit(storage(np.ones((5, 2))), np.ones(4))
