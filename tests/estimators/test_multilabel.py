"""Indicator matrices: each label as a binary problem of its own, stored and predicted as scikit-learn would."""

import numpy as np
import pytest
import scipy.sparse
import sklearn.svm
from sklearn.datasets import make_multilabel_classification
from sklearn.metrics import accuracy_score
from sklearn.multiclass import OneVsRestClassifier

from maxmargin import CuttingPlane, LinearSVC, LinearSVCCV, load_model, load_svmlight, save_model, save_svmlight
from maxmargin.training import multilabel
from maxmargin.training.multilabel import Indicator

from ..conftest import csr


def labelled(rows=120, features=20, labels=11, seed=0):
    X, Y = make_multilabel_classification(rows, features, n_classes=labels, random_state=seed)
    return X / X.max(), Y


@pytest.mark.parametrize("store", [np.ascontiguousarray, csr], ids=["dense", "csr"])
@pytest.mark.parametrize(
    "parameters",
    [{}, {"loss": "hinge"}, {"penalize_intercept": False}, {"class_weight": "balanced"}, {"class_weight": {1: 3.0}}],
    ids=str,
)
def test_every_label_is_the_model_of_its_own_binary_problem(parameters, store):
    X, Y = labelled(features=90)  # enough features for joint sweeps
    weight = np.random.default_rng(1).integers(0, 3, len(X)).astype(float)
    model = LinearSVC(tol=1e-9, **parameters).fit(store(X), Y, sample_weight=weight)
    assert model.coef_.shape == (11, 90)
    for label in range(11):
        alone = LinearSVC(tol=1e-9, **parameters).fit(store(X), Y[:, label], sample_weight=weight)
        assert model.primal_objective_[label] == pytest.approx(alone.primal_objective_, rel=2e-9)
        assert model.decision_function(store(X))[:, label] == pytest.approx(alone.decision_function(store(X)), abs=1e-3)


def test_predictions_are_those_of_one_versus_rest_with_scikit_learns_own():
    X, Y = labelled(rows=300)
    ours = LinearSVC(tol=1e-9).fit(X, Y)
    theirs = OneVsRestClassifier(sklearn.svm.LinearSVC(tol=1e-9, max_iter=100_000)).fit(X, Y)
    assert ours.decision_function(X) == pytest.approx(theirs.decision_function(X), abs=1e-4)
    assert np.array_equal(ours.predict(X), theirs.predict(X))
    assert ours.score(X, Y) == theirs.score(X, Y) == accuracy_score(Y, theirs.predict(X))
    assert ours.multilabel_
    assert ours.classes_.tolist() == theirs.classes_.tolist()


@pytest.mark.parametrize("kind", [scipy.sparse.csr_matrix, scipy.sparse.csc_array, scipy.sparse.coo_matrix])
def test_sparse_matrices_of_labels_give_sparse_predictions(kind):
    X, Y = labelled()
    dense, sparse = LinearSVC().fit(X, Y), LinearSVC().fit(csr(X), kind(Y))
    predicted = sparse.predict(csr(X))
    assert scipy.sparse.issparse(predicted)
    assert not scipy.sparse.issparse(dense.predict(X))
    assert np.array_equal(predicted.toarray(), dense.predict(X))
    assert sparse.score(X, scipy.sparse.csr_matrix(Y)) == dense.score(X, Y)


def test_stored_zeros_and_lists_of_lists_are_labels_like_others():
    X, Y = labelled()
    stored = scipy.sparse.csr_matrix((Y.ravel(), np.tile(np.arange(11), 120), np.arange(0, 1321, 11)), shape=Y.shape)
    assert stored.nnz == Y.size
    expected = LinearSVC().fit(X, Y).coef_
    assert np.array_equal(LinearSVC().fit(X, stored).coef_, expected)
    assert np.array_equal(LinearSVC().fit(X, Y.tolist()).coef_, expected)
    assert np.array_equal(LinearSVC().fit(X, Y.astype(bool)).coef_, expected)


def test_labels_that_never_change_are_predicted_as_they_are_and_named_in_a_warning():
    X, Y = labelled()
    Y[:, 2], Y[:, 7] = 0, 1
    with pytest.warns(UserWarning, match="2 of 11 labels have the same value in all rows.*: label 2, 7"):
        model = LinearSVC(fit_intercept=False).fit(X, Y)
    away = np.random.default_rng(0).normal(size=(50, 20)) * 100
    assert (model.predict(away)[:, 2] == 0).all()
    assert (model.predict(away)[:, 7] == 1).all()
    assert model.solver_used_[2] == "constant"
    assert model.duality_gap_[7] == 0
    with pytest.warns(UserWarning, match="2 of 2 labels"):
        both = LinearSVC().fit(X, Y[:, [2, 7]])
    assert both.predict(X).tolist() == [[0, 1]] * 120


def test_a_label_that_is_constant_where_rows_have_weight_is_constant():
    X, Y = labelled()
    weight = Y[:, 0].astype(float)
    with pytest.warns(UserWarning, match="label 0"):
        model = LinearSVC().fit(X, Y, sample_weight=weight)
    assert (model.predict(X)[:, 0] == 1).all()


def test_threads_give_the_same_bits():
    X, Y = labelled(features=90, labels=20)
    Y[:5] = 1 - Y[:5]  # no label is constant
    one, two = (LinearSVC("hinge", n_jobs=n_jobs).fit(csr(X), Y) for n_jobs in (1, 2))
    assert np.array_equal(one.coef_, two.coef_)
    assert np.array_equal(one.intercept_, two.intercept_)


def test_two_labels_are_two_problems():
    X, Y = labelled(labels=2)
    model = LinearSVC(solver="newton").fit(X, Y)
    assert model.coef_.shape == (2, 20)
    assert model.decision_function(X).shape == (120, 2)
    assert model.n_support_.shape == (2,)
    assert np.array_equal(model.n_support_, np.diff(model.dual_coef_.indptr))


@pytest.mark.parametrize(
    "parameters", [{"penalty": "l1", "C": 10.0}, {"solver": CuttingPlane(measure="f1"), "tol": 1e-2}], ids=["l1", "f1"]
)
def test_other_penalties_and_measures_work_label_by_label(parameters):
    X, Y = labelled(labels=3)
    model = LinearSVC(**parameters).fit(X, Y)
    assert model.converged_
    alone = LinearSVC(**parameters).fit(X, Y[:, 1])
    assert model.primal_objective_[1] == pytest.approx(alone.primal_objective_, rel=1e-2)


def test_warm_starts_and_checkpoints_go_on_where_they_were(tmp_path):
    X, Y = labelled(features=90)
    model = LinearSVC(tol=1e-6, solver="dcd", warm_start=True).fit(csr(X), Y)
    first = model.n_iter_
    assert model.fit(csr(X), Y).n_iter_ < first
    with pytest.raises(ValueError, match="warm_start=True continues from 120 rows and 11 weight vectors"):
        model.fit(csr(X), Y[:, :5])
    path = tmp_path / "fit.ckpt"
    kept = LinearSVC(tol=1e-6, solver="dcd", checkpoint=path).fit(csr(X), Y)
    again = LinearSVC(tol=1e-6, solver="dcd", checkpoint=path).fit(csr(X), Y)
    assert np.array_equal(kept.coef_, again.coef_)


@pytest.mark.parametrize("sparse", [False, True])
def test_model_files_bring_back_the_same_bits(sparse, tmp_path):
    X, Y = labelled()
    model = LinearSVC().fit(X, scipy.sparse.csr_matrix(Y) if sparse else Y)
    save_model(model, tmp_path / "a.mm")
    again = load_model(tmp_path / "a.mm")
    assert again.multilabel_
    assert scipy.sparse.issparse(again.predict(X)) == sparse
    assert np.array_equal(again.decision_function(X), model.decision_function(X))
    assert np.array_equal(again.dual_coef_.toarray(), model.dual_coef_.toarray())
    assert again.get_params() == model.get_params()
    with pytest.raises(ValueError, match="LIBLINEAR has no multilabel models"):
        save_model(model, tmp_path / "b.model", format="liblinear")


def test_weights_of_many_labels_are_stored_sparsely_where_most_are_zero(monkeypatch, tmp_path):
    X, Y = labelled(features=60)
    Y[:, 4] = 0
    plain = LinearSVC(penalty="l1", C=1.0)
    with pytest.warns(UserWarning, match="label 4"):
        plain.fit(X, Y)
    monkeypatch.setattr(multilabel, "LARGE_WEIGHTS", 1000)
    with pytest.warns(UserWarning, match="label 4"):
        model = LinearSVC(penalty="l1", C=1.0).fit(X, Y)
    assert scipy.sparse.issparse(model.coef_)
    assert np.array_equal(model.coef_.toarray(), plain.coef_)
    assert model.decision_function(csr(X)) == pytest.approx(plain.decision_function(X), abs=1e-12)
    save_model(model, tmp_path / "a.mm")
    again = load_model(tmp_path / "a.mm")
    assert scipy.sparse.issparse(again.coef_)
    assert np.array_equal(again.decision_function(X), model.decision_function(X))
    with pytest.warns(UserWarning, match="label 4"):
        dense = LinearSVC().fit(X, Y)  # most of its weights are not zero
    assert isinstance(dense.coef_, np.ndarray)


def test_files_of_several_labels_become_matrices_and_come_back(tmp_path):
    X, Y = labelled()
    lists = [np.flatnonzero(row) for row in Y]
    save_svmlight(X, lists, tmp_path / "a.svm", multilabel=True)
    _, y = load_svmlight(tmp_path / "a.svm", multilabel=True)
    names, indicator = Indicator.of_lists(y)
    assert names.tolist() == list(range(11))
    again = np.column_stack([indicator.signs(label) > 0 for label in range(11)])
    assert np.array_equal(again, Y > 0)
    assert Indicator.of_lists([(2.0, 2.0), (), (1.0, 2.0)])[1].counts.tolist() == [1, 2]


def test_what_does_not_work_is_named():
    X, Y = labelled()
    with pytest.raises(ValueError, match="trained by multi_class='ovr', not 'crammer_singer'"):
        LinearSVC(multi_class="crammer_singer").fit(X, Y)
    with pytest.raises(ValueError, match="y should be a 1d array"):
        LinearSVC().fit(X, 2 * Y + np.eye(120, 11))  # several outputs of several classes
    with pytest.raises(ValueError, match="calibrated needs one label for each row"):
        LinearSVC().calibrated(X, Y)
    with pytest.raises(ValueError, match="indicator matrix of several labels"):
        LinearSVCCV().fit(X, Y)
    with pytest.raises(ValueError, match="one label for each row; this model has any number"):
        LinearSVC().fit(X, Y).to_sklearn()
