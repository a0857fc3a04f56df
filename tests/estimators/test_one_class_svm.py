"""OneClassSVM by scikit-learn's conventions, and beside scikit-learn's and LIBLINEAR's own."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_breast_cancer
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import OneClassSVM as ScikitLearnOneClass

from maxmargin import OneClassProblem, OneClassSVM, load_model, save_model

X = load_breast_cancer().data
X = np.ascontiguousarray(X / X.max(axis=0))


@pytest.mark.parametrize("nu", [0.05, 0.3, 0.5])
def test_scores_are_those_of_scikit_learn(nu):
    ours = OneClassSVM(nu=nu, tol=1e-9).fit(X)
    theirs = ScikitLearnOneClass(kernel="linear", nu=nu, tol=1e-8).fit(X)
    scale = np.abs(theirs.score_samples(X)).max()
    assert ours.score_samples(X) == pytest.approx(theirs.score_samples(X), abs=1e-5 * scale)
    assert ours.decision_function(X) == pytest.approx(theirs.decision_function(X), abs=1e-5 * scale)
    assert ours.offset_ == pytest.approx(theirs.offset_[0], rel=1e-5)
    assert ours.coef_ == pytest.approx(theirs.coef_, abs=1e-4 * np.abs(theirs.coef_).max())
    assert (ours.predict(X) == theirs.predict(X)).mean() > 0.98


@pytest.mark.parametrize("nu", [0.1, 0.5])
def test_the_model_is_that_of_liblinear_and_files_go_both_ways(nu, tmp_path):
    from liblinear.liblinearutil import load_model as load_theirs
    from liblinear.liblinearutil import predict, train
    from liblinear.liblinearutil import save_model as save_theirs

    labels = np.ones(len(X))
    theirs = train(labels, X, f"-s 21 -n {nu} -e 1e-6 -q")
    ours = OneClassSVM(nu=nu, tol=1e-9).fit(X)
    problem = OneClassProblem(X, nu)
    weights = np.append(theirs.w[: X.shape[1]], -theirs.rho)
    assert ours.primal_objective_ == pytest.approx(problem.primal(weights), rel=1e-5)
    assert ours.primal_objective_ <= problem.primal(weights) + 1e-8 * abs(ours.primal_objective_)
    save_theirs(str(tmp_path / "theirs"), theirs)
    again = load_model(tmp_path / "theirs")
    found, _, values = predict(labels, X, theirs, "-q")
    assert isinstance(again, OneClassSVM)
    assert again.decision_function(X) == pytest.approx(np.ravel(values), rel=1e-9, abs=1e-9)
    assert np.array_equal(
        again.predict(X)[np.abs(np.ravel(values)) > 1e-9], np.array(found)[np.abs(np.ravel(values)) > 1e-9]
    )
    save_model(ours, tmp_path / "ours", format="liblinear")
    _, _, values = predict(labels, X, load_theirs(str(tmp_path / "ours")), "-q")
    assert np.ravel(values) == pytest.approx(ours.decision_function(X), rel=1e-9, abs=1e-9)


def test_attributes_tell_the_certificate_and_the_share_of_outliers():
    model = OneClassSVM(nu=0.2).fit(X)
    problem = OneClassProblem(X, 0.2)
    alpha = model.dual_coef_.toarray().ravel()
    weights = np.append(model.coef_, model.intercept_)
    assert model.primal_objective_ == pytest.approx(problem.primal(weights), rel=1e-8)
    assert model.dual_objective_ == pytest.approx(problem.dual(alpha), rel=1e-8)
    assert 0 <= model.duality_gap_ <= 1e-3
    assert model.offset_ == -model.intercept_[0]
    assert alpha.sum() == pytest.approx(0.2 * len(X))
    assert model.n_support_.tolist() == [len(model.support_)]
    assert (model.predict(X) == -1).mean() == pytest.approx(0.2, abs=0.02)
    assert np.array_equal(model.fit_predict(X), model.predict(X))
    assert not hasattr(model, "classes_")


def test_sparse_rows_and_sample_weights():
    weight = np.random.default_rng(0).integers(0, 3, len(X))
    dense = OneClassSVM(nu=0.1, tol=1e-8).fit(X, sample_weight=weight)
    sparse = OneClassSVM(nu=0.1, tol=1e-8, solver="dcd").fit(sp.csr_matrix(X), sample_weight=weight)
    repeated = OneClassSVM(nu=0.1, tol=1e-8).fit(np.repeat(X, weight, axis=0))
    assert sparse.primal_objective_ == pytest.approx(dense.primal_objective_, rel=1e-7)
    assert repeated.primal_objective_ == pytest.approx(dense.primal_objective_, rel=1e-7)


def test_models_come_back_from_files_with_all_they_know(tmp_path):
    model = OneClassSVM(nu=0.1, solver="dcd").fit(X)
    save_model(model, tmp_path / "a.mm")
    again = load_model(tmp_path / "a.mm")
    assert isinstance(again, OneClassSVM)
    assert again.get_params() == model.get_params()
    assert np.array_equal(again.decision_function(X), model.decision_function(X))
    assert (again.offset_, again.duality_gap_) == (model.offset_, model.duality_gap_)
    assert again.n_support_.tolist() == model.n_support_.tolist()
    warm = again.set_params(warm_start=True).fit(X)
    assert warm.primal_objective_ <= model.primal_objective_
    with pytest.raises(ValueError, match="continues from 569 rows"):
        warm.fit(X[:100])


def test_centred_columns_get_a_warning_that_says_so():
    with pytest.warns(ConvergenceWarning, match="Columns must not be centred"):
        OneClassSVM(nu=0.5).fit(X - X.mean(axis=0))


@pytest.mark.parametrize(
    ("parameters", "message"), [({"nu": 0.0}, "nu"), ({"nu": 1.1}, "nu"), ({"solver": "pcd"}, "solver")]
)
def test_bad_parameters_are_refused(parameters, message):
    with pytest.raises(ValueError, match=message):
        OneClassSVM(**parameters).fit(X)
