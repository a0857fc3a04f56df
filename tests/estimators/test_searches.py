"""Estimators that choose their C, against scikit-learn's GridSearchCV with the same folds."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.exceptions import NotFittedError
from sklearn.metrics import f1_score, make_scorer
from sklearn.model_selection import GridSearchCV, GroupKFold, StratifiedKFold, cross_val_predict
from sklearn.preprocessing import scale
from sklearn.utils.estimator_checks import check_estimator

from maxmargin import LinearRankSVM, LinearRankSVMCV, LinearSVC, LinearSVCCV, load_model, ndcg, save_model
from maxmargin.training.cross_validation import group_fold_numbers

pytestmark = pytest.mark.filterwarnings("ignore:the best C")

CS = [0.003, 0.03, 0.3, 3.0]


@pytest.fixture(scope="module")
def cancer():
    X, y = load_breast_cancer(return_X_y=True)
    return scale(X), y


@pytest.fixture(scope="module")
def iris():
    return load_iris(return_X_y=True)


def searched(estimator, X, y, **search):
    return GridSearchCV(estimator, {"C": CS}, **search).fit(X, y)


@pytest.mark.parametrize("scoring", [None, "accuracy", "f1", "roc_auc", "balanced_accuracy", make_scorer(f1_score)])
@pytest.mark.parametrize("sparse", [False, True])
def test_the_same_scores_and_choice_as_a_grid_search(cancer, scoring, sparse):
    X, y = cancer
    X = sp.csr_array(X) if sparse else X
    model = LinearSVCCV(Cs=CS, tol=1e-9, scoring=scoring).fit(X, y)
    grid = searched(LinearSVC(tol=1e-9), X, y, scoring=scoring)
    assert grid.best_params_["C"] == model.C_
    assert model.best_params_ == grid.best_params_
    assert model.best_score_ == pytest.approx(grid.best_score_, abs=1e-6)
    assert model.best_index_ == grid.best_index_
    assert model.n_splits_ == grid.n_splits_
    for name in ("mean_test_score", "std_test_score", "split3_test_score"):
        np.testing.assert_allclose(model.cv_results_[name], grid.cv_results_[name], atol=1e-6)
    assert set(grid.cv_results_) <= set(model.cv_results_)
    assert model.cv_results_["params"] == grid.cv_results_["params"]
    np.testing.assert_allclose(model.decision_function(X), grid.decision_function(X), atol=1e-3)
    np.testing.assert_array_equal(model.scores_[3], model.cv_results_["split3_test_score"])
    assert np.all(model.cv_results_["max_gap"] <= 1e-9)


@pytest.mark.parametrize("multi_class", ["ovr", "crammer_singer", "weston_watkins"])
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_several_classes_and_threads(iris, multi_class, n_jobs):
    X, y = iris
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    model = LinearSVCCV(Cs=CS, multi_class=multi_class, tol=1e-8, n_jobs=n_jobs).fit(X, names)
    grid = searched(LinearSVC(multi_class=multi_class, tol=1e-8), X, names)
    np.testing.assert_allclose(model.cv_results_["mean_test_score"], grid.cv_results_["mean_test_score"], atol=0.007)
    assert model.classes_.tolist() == ["setosa", "versicolor", "virginica"]
    assert model.score(X, names) > 0.9


def test_a_function_of_the_user_scores_fitted_models_on_the_rows_left_out(cancer):
    X, y = cancer
    seen = []

    def scorer(model, X, y):
        seen.append((model.C, X.shape[0]))
        return model.score(X, y)

    model = LinearSVCCV(Cs=CS, scoring=scorer).fit(X, y)
    plain = LinearSVCCV(Cs=CS).fit(X, y)
    np.testing.assert_allclose(model.scores_, plain.scores_)
    assert sorted({C for C, _ in seen}) == CS
    assert sum(rows for C, rows in seen if C == 0.3) == len(y)


def test_groups_splitters_and_folds_as_lists(cancer):
    X, y = cancer
    groups = np.arange(len(y)) // 7
    by_groups = LinearSVCCV(Cs=CS, cv=GroupKFold(4)).fit(X, y, groups=groups)
    listed = LinearSVCCV(Cs=CS, cv=list(GroupKFold(4).split(X, y, groups))).fit(X, y)
    np.testing.assert_array_equal(by_groups.scores_, listed.scores_)
    assert by_groups.scores_.shape == (4, 4)
    assert LinearSVCCV(Cs=CS, cv=StratifiedKFold(3, shuffle=True, random_state=0)).fit(X, y).n_splits_ == 3


def test_weights_count_in_training_only(cancer):
    X, y = cancer
    weight = np.random.default_rng(0).integers(3, size=len(y)).astype(float)
    model = LinearSVCCV(Cs=CS, tol=1e-9).fit(X, y, sample_weight=weight)
    for fold, (train, test) in enumerate(StratifiedKFold(5).split(X, y)):
        for k, C in enumerate(CS):
            own = LinearSVC(C=C, tol=1e-9).fit(X[train], y[train], sample_weight=weight[train])
            assert model.scores_[fold, k] == own.score(X[test], y[test])


def test_the_rule_of_one_standard_error_takes_a_smaller_C(cancer):
    X, y = cancer
    best, simple = (LinearSVCCV(Cs=20, rule=rule).fit(X, y) for rule in ("best", "one_standard_error"))
    assert simple.C_ < best.C_
    table = best.cv_results_
    error = best.scores_[:, best.best_index_].std(ddof=1) / np.sqrt(5)
    allowed = table["mean_test_score"] >= best.best_score_ - error
    assert table["param_C"][allowed].min() == simple.C_


def test_a_proof_of_the_choice(cancer):
    X, y = cancer
    on_grid = LinearSVCCV(Cs=CS, tol="auto").fit(X, y)
    exact = LinearSVCCV(Cs=CS, tol=1e-12).fit(X, y)
    assert on_grid.certified_
    assert on_grid.C_ == exact.C_
    assert on_grid.duality_gap_ <= 1e-3
    in_range = LinearSVCCV(Cs=[0.01, 0.1], cv_tol=0.01).fit(X, y)
    assert in_range.certified_
    dense = LinearSVCCV(Cs=np.geomspace(0.01, 0.1, 60), tol=1e-8).fit(X, y)
    assert in_range.best_score_ >= dense.best_score_ - 0.01
    assert 1 - dense.best_score_ >= in_range.error_bound_ - 1e-12
    assert in_range.C_ in in_range.range_Cs_
    assert len(in_range.range_Cs_) == len(in_range.range_errors_)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"tol": "auto", "scoring": "f1"}, "tol='auto' proves labels"),
        ({"cv_tol": 0.1, "scoring": "f1"}, "cv_tol proves labels"),
        ({"cv_tol": 0.1, "penalize_intercept": False}, "cv_tol has no proof for an intercept outside"),
        ({"cv_tol": 0.1, "rule": "one_standard_error"}, "cv_tol proves the best C"),
        ({"Cs": []}, "Cs must be a number of values or hold positive finite numbers"),
        ({"Cs": [1.0, -1.0]}, "Cs must be a number of values or hold positive finite numbers"),
        ({"scoring": "neg_log_loss"}, "needs probabilities"),
    ],
)
def test_what_cannot_be_done_is_refused(cancer, parameters, message):
    with pytest.raises(ValueError, match=message):
        LinearSVCCV(**parameters).fit(*cancer)


def test_a_best_C_at_the_end_of_the_grid_is_told(cancer):
    with pytest.warns(UserWarning, match="is the largest of the grid; larger ones may be better"):
        LinearSVCCV(Cs=[1e-5, 1e-4]).fit(*cancer)


def test_without_refit_there_is_a_choice_but_no_model(cancer):
    model = LinearSVCCV(Cs=CS, refit=False).fit(*cancer)
    assert model.C_ in CS
    with pytest.raises(NotFittedError):
        model.predict(cancer[0])


def test_a_file_holds_the_chosen_model(cancer, tmp_path):
    X, y = cancer
    model = LinearSVCCV(Cs=CS, cv=StratifiedKFold(3)).fit(X, y)
    save_model(model, tmp_path / "chosen.mm")
    again = load_model(tmp_path / "chosen.mm")
    assert type(again) is LinearSVC
    assert again.C == model.C_
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))


def test_a_rare_class_and_a_search_in_a_search(iris):
    X, y = iris
    y = y.copy()
    y[0] = 7  # a class of one row is in no training part of its fold
    with pytest.warns(UserWarning, match="least populated class"):
        model = LinearSVCCV(Cs=CS).fit(X, y)
    assert np.isfinite(model.scores_).all()
    assert cross_val_predict(LinearSVCCV(Cs=[0.1, 1.0, 10.0]), X, iris[1]).shape == (150,)
    assert clone(LinearSVCCV(cv_tol=0.1)).cv_tol == 0.1


@pytest.mark.parametrize("grouped", [False, True])
def test_a_ranking_chooses_its_C_like_a_loop_over_fits(iris, grouped):
    X, y = iris
    qid = np.random.default_rng(0).integers(15, size=len(y)) if grouped else None
    model = LinearRankSVMCV(Cs=CS, cv=3, tol=1e-7).fit(X, y, qid=qid)
    assert model.scores_.shape == (3, 4)
    if grouped:
        numbers = group_fold_numbers(qid, 3, seed=0)
        for fold in range(3):
            train, test = numbers != fold, numbers == fold
            for k, C in enumerate(CS):
                own = LinearRankSVM(C=C, tol=1e-7).fit(X[train], y[train], qid=qid[train])
                expected = own.score(X[test], y[test], qid=qid[test])
                assert model.scores_[fold, k] == pytest.approx(expected, abs=2e-3)
    refitted = LinearRankSVM(C=model.C_, tol=1e-7).fit(X, y, qid=qid)
    np.testing.assert_allclose(model.predict(X), refitted.predict(X), atol=1e-3)


def test_a_ranking_chooses_by_other_measures_and_is_saved(iris, tmp_path):
    X, y = iris
    qid = np.random.default_rng(0).integers(15, size=len(y))
    by_name = LinearRankSVMCV(Cs=CS, scoring="ndcg").fit(X, y, qid=qid)
    by_function = LinearRankSVMCV(Cs=CS, scoring=lambda y, scores, qid: ndcg(y, scores, qid)).fit(X, y, qid=qid)
    np.testing.assert_array_equal(by_name.scores_, by_function.scores_)
    save_model(by_name, tmp_path / "ranker.mm")
    np.testing.assert_array_equal(load_model(tmp_path / "ranker.mm").predict(X), by_name.predict(X))
    assert LinearRankSVMCV(Cs=CS, cv=GroupKFold(3)).fit(X, y, qid=qid).n_splits_ == 3


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("estimator", [LinearSVCCV(Cs=3, cv=2), LinearRankSVMCV(Cs=3, cv=2)])
def test_scikit_learns_own_checks(estimator):
    results = check_estimator(estimator, on_fail=None)
    assert [result["check_name"] for result in results if result["status"] == "failed"] == []
