"""``penalty`` and ``dual``, which scikit-learn's users know: what they mean here, and what they refuse."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.feature_selection import SelectFromModel
from sklearn.model_selection import GridSearchCV
from sklearn.svm import LinearSVC as Theirs

from maxmargin import (
    Auto,
    BinaryProblem,
    DualCoordinateDescent,
    LinearSVC,
    LinearSVR,
    SequentialDual,
    load_model,
    save_model,
)
from maxmargin.problems.losses import LOSSES
from maxmargin.solvers.methods import SOLVERS, solvers_for

from ..conftest import LOSS_NAMES, csr, random_problem

#: The names of methods that work on the dual variables.
DUAL = {name for name, method in SOLVERS.items() if method.is_dual}
PRIMAL = {name for name, method in SOLVERS.items() if method.is_dual is False}


def used(model):
    names = [model.solver_used_] if isinstance(model.solver_used_, str) else model.solver_used_
    return {stage for name in names for stage in name.split("+")}


def three_classes(seed=1, rows=90, features=5):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, features))
    return X, np.array(["a", "b", "c"])[
        (X @ rng.normal(size=(features, 3)) + rng.normal(size=(rows, 3))).argmax(axis=1)
    ]


def test_dual_and_primal_methods_are_those_of_the_papers():
    assert sorted(DUAL) == ["active_set", "avsf", "dcd", "eg", "online", "sdm"]
    assert sorted(PRIMAL) == ["cutting_plane", "newton", "pcd", "pegasos", "working_sets"]


@pytest.mark.parametrize("loss", LOSS_NAMES)
def test_the_penalty_l2_is_accepted_and_changes_nothing(loss):
    X, y = random_problem()
    assert np.array_equal(LinearSVC(loss, penalty="l2").fit(X, y).coef_, LinearSVC(loss).fit(X, y).coef_)


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"loss": "hinge"}, "the losses for penalty='l1' are 'squared_hinge' and 'least_squares'"),
        ({"dual": True}, "use dual=False or dual='auto'"),
        ({"multi_class": "crammer_singer"}, "penalty='l1' needs multi_class='ovr'"),
    ],
)
def test_what_the_penalty_l1_does_not_go_with_is_refused(options, reason):
    X, y = random_problem()
    with pytest.raises(ValueError, match=r"Unsupported set of arguments: penalty='l1'") as error:
        LinearSVC(penalty="l1", **options).fit(X, y)
    assert reason in str(error.value)


@pytest.mark.parametrize("penalize_intercept", [True, False])
@pytest.mark.parametrize("loss", ["squared_hinge", "least_squares"])
def test_the_penalty_l1_is_certified_sparse_and_selects_features(loss, penalize_intercept):
    X, y = random_problem(rows=200, features=50, seed=5)
    model = LinearSVC(loss, penalty="l1", C=0.02, tol=1e-6, penalize_intercept=penalize_intercept).fit(X, y)
    assert model.converged_
    assert 0 < np.count_nonzero(model.coef_) < 50
    problem = BinaryProblem(X, y, 0.02, loss=loss, bias=1.0, penalize_bias=penalize_intercept, penalty="l1")
    weights = np.append(model.coef_[0], model.intercept_)
    assert model.primal_objective_ == pytest.approx(problem.primal(weights), rel=1e-10)
    alpha = problem.alpha_of(model.dual_coef_.toarray()[0])
    assert model.dual_objective_ == pytest.approx(problem.dual(alpha), rel=1e-8)
    selected = SelectFromModel(model, prefit=True).transform(X)
    assert selected.shape[1] == np.count_nonzero(np.abs(model.coef_) > 1e-5)


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_the_penalty_l1_has_the_objective_of_scikit_learn(fit_intercept):
    X, y = random_problem(rows=150, features=30, seed=6)
    options = {"penalty": "l1", "C": 0.3, "dual": False, "fit_intercept": fit_intercept}
    theirs = Theirs(tol=1e-8, max_iter=100_000, **options).fit(X, y)
    ours = LinearSVC(tol=1e-9, **options).fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-4)
    problem = BinaryProblem(X, y, 0.3, bias=float(fit_intercept), penalty="l1")
    value = problem.primal(np.append(theirs.coef_, theirs.intercept_))
    assert ours.primal_objective_ <= value * (1 + 1e-9)


def test_the_penalty_l1_starts_warm_and_knows_classes_and_files(tmp_path):
    X, y = three_classes(rows=150, features=20)
    model = LinearSVC(penalty="l1", C=0.1, warm_start=True, tol=1e-6).fit(X, y)
    coef = model.coef_.copy()
    assert coef.shape == (3, 20)
    assert model.fit(X, y).n_iter_ == 0
    np.testing.assert_allclose(model.coef_, coef, atol=1e-6)
    save_model(model, tmp_path / "a.mm")
    loaded = load_model(tmp_path / "a.mm")
    assert loaded.penalty == "l1"
    assert np.array_equal(loaded.coef_, model.coef_)


@pytest.mark.parametrize("penalty", ["elasticnet", "none", None, 2])
def test_penalties_nobody_knows_are_refused(penalty):
    X, y = random_problem()
    with pytest.raises(
        ValueError, match=r"'penalty' parameter of LinearSVC must be a str among \{('l1', 'l2'|'l2', 'l1')\}"
    ):
        LinearSVC(penalty=penalty).fit(X, y)


@pytest.mark.parametrize("loss", ["l1", "l2"])
def test_a_penalty_in_the_place_of_the_loss_is_explained(loss):
    X, y = random_problem()
    with pytest.raises(ValueError, match=f"loss='{loss}' is a penalty; the first argument is the loss, one of"):
        LinearSVC(loss).fit(X, y)


@pytest.mark.parametrize("features", [6, 1100])
@pytest.mark.parametrize("C", [0.01, 10.0])
@pytest.mark.parametrize("penalize_intercept", [True, False])
@pytest.mark.parametrize("loss", LOSS_NAMES)
def test_dual_decides_which_side_auto_works_on_and_not_what_it_finds(loss, penalize_intercept, C, features):
    X, y = random_problem(rows=90, features=features, seed=2, noise=1.0)
    X = csr(X / np.sqrt(features))
    options = {"C": C, "penalize_intercept": penalize_intercept, "tol": 1e-5, "max_iter": 10**6}
    dual, primal, free = (LinearSVC(loss, dual=side, **options).fit(X, y) for side in (True, False, "auto"))
    assert used(dual) <= DUAL
    assert used(primal) <= PRIMAL
    for model in (dual, primal, free):
        assert model.converged_
        assert model.primal_objective_ == pytest.approx(free.primal_objective_, rel=2e-5)


@pytest.mark.parametrize("C", [0.01, 1.0])
@pytest.mark.parametrize("multi_class", ["ovr", "crammer_singer", "weston_watkins"])
def test_dual_works_for_several_classes(multi_class, C):
    X, y = three_classes()
    options = {"C": C, "multi_class": multi_class, "tol": 1e-6, "max_iter": 10**6}
    dual, primal = (LinearSVC("hinge", dual=side, **options).fit(X, y) for side in (True, False))
    assert used(dual) <= DUAL
    assert used(primal) <= PRIMAL
    np.testing.assert_allclose(dual.primal_objective_, primal.primal_objective_, rtol=2e-6)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_dual_false_on_large_C_uses_primal_methods_only_even_where_newton_stops():
    """Where rounding stops Newton's method, what goes on from there must work on the weights as well."""
    X, y = random_problem(rows=60, features=6, seed=3)
    for loss in LOSS_NAMES:
        for penalize in (True, False):
            model = LinearSVC(loss, C=1e10, dual=False, penalize_intercept=penalize, max_iter=200, tol=1e-12)
            assert used(model.fit(1e4 * X, y)) <= PRIMAL, (loss, penalize)
    for multi_class in ("crammer_singer", "weston_watkins"):
        model = LinearSVC(C=1e10, dual=False, multi_class=multi_class, max_iter=200, tol=1e-12)
        assert used(model.fit(1e4 * X, np.arange(60) % 3)) <= PRIMAL, multi_class


@pytest.mark.parametrize("loss", LOSS_NAMES)
def test_dual_that_contradicts_the_solver_is_refused(loss):
    X, y = random_problem(rows=30, features=3)
    for name in solvers_for("binary", LOSSES[loss]):
        for solver in (name, SOLVERS[name]):
            if name == "auto":
                continue
            right = name in DUAL
            LinearSVC(loss, solver=solver, dual=right, tol=0.1).fit(X, y)
            with pytest.raises(ValueError, match=f"dual={not right} contradicts solver=.*use dual='auto'") as error:
                LinearSVC(loss, solver=solver, dual=not right).fit(X, y)
            assert ("dual variables" if right else "weights") in str(error.value)


@pytest.mark.parametrize("estimator", [LinearSVC, LinearSVR])
@pytest.mark.parametrize("dual", [True, False])
def test_dual_never_overrides_an_object(estimator, dual):
    X, y = random_problem(rows=30)
    with pytest.raises(ValueError, match=f"dual={dual} contradicts solver=Auto.dual={not dual}.*use dual='auto'"):
        estimator(solver=Auto(dual=not dual), dual=dual).fit(X, y)
    side = DUAL if dual else PRIMAL
    for solver in (Auto(dual=dual, shrinking=False), Auto(shrinking=False)):
        assert used(estimator(solver=solver, dual=dual).fit(X, y)) <= side
    assert used(estimator(solver=Auto(dual=dual), dual="auto").fit(X, y)) <= side


@pytest.mark.parametrize("dual", ["yes", None, 2])
def test_other_values_of_dual_are_refused(dual):
    X, y = random_problem()
    with pytest.raises(ValueError, match="'dual' parameter of LinearSVC must be"):
        LinearSVC(dual=dual).fit(X, y)


@pytest.mark.parametrize(("dual", "side"), [(np.True_, DUAL), (np.False_, PRIMAL), (1 == 1, DUAL)])
def test_dual_may_be_a_bool_of_numpy(dual, side):
    X, y = random_problem()
    assert used(LinearSVC(dual=dual).fit(X, y)) <= side


def test_the_parameters_are_cloned_searched_and_stored_like_others(tmp_path):
    X, y = random_problem(rows=60)
    model = LinearSVC(penalty="l2", dual=True)
    assert {"penalty", "dual"} <= set(model.get_params())
    assert clone(model).get_params() == model.get_params()
    assert model.set_params(dual=False).dual is False
    search = GridSearchCV(LinearSVC(tol=1e-8), {"dual": [True, False, "auto"], "penalty": ["l2"]}, cv=3).fit(X, y)
    assert np.ptp(search.cv_results_["mean_test_score"]) == 0
    for dual in (True, False, "auto"):
        fitted = LinearSVC(dual=dual).fit(X, y)
        save_model(fitted, tmp_path / "a.mm")
        assert load_model(tmp_path / "a.mm").get_params() == fitted.get_params()


def test_method_objects_have_their_own_option_for_shrinking():
    X, y = random_problem()
    for solver, multi_class in ((DualCoordinateDescent(order="cyclic"), "ovr"), (SequentialDual(), "crammer_singer")):
        LinearSVC(solver=solver, multi_class=multi_class).fit(X, y)
        with pytest.raises(ValueError, match="shrinking=False goes with the name of a solver"):
            LinearSVC(solver=solver, multi_class=multi_class, shrinking=False).fit(X, y)
    for name in ("dcd", "avsf", "newton", "auto"):
        assert LinearSVC(solver=name, shrinking=False).fit(X, y).converged_


@pytest.mark.parametrize("store", [np.ascontiguousarray, csr], ids=["dense", "csr"])
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("multi_class", ["ovr", "crammer_singer"])
def test_sparsify_and_densify_keep_predictions(multi_class, classes, store, tmp_path):
    X, y = three_classes(rows=120)
    X, y = store(X[y != "c"] if classes == 2 else X), y[y != "c"] if classes == 2 else y
    model = LinearSVC(multi_class=multi_class).fit(X, y)
    labels, scores, coef = model.predict(X), model.decision_function(X), model.coef_.copy()
    assert model.sparsify() is model
    assert sp.issparse(model.coef_)
    assert np.array_equal(model.predict(X), labels)
    np.testing.assert_allclose(model.decision_function(X), scores, rtol=1e-12, atol=1e-12)
    assert model.decision_function(X).shape == scores.shape
    assert model.score(X, y) == np.mean(labels == y)
    save_model(model, tmp_path / "a.mm")
    assert np.array_equal(load_model(tmp_path / "a.mm").coef_, coef)
    assert model.densify() is model
    assert np.array_equal(model.coef_, coef)
    assert np.array_equal(model.decision_function(X), scores)
    assert np.array_equal(clone(model).fit(X, y).coef_, coef)
