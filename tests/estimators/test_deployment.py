"""Models outside of this library: scikit-learn's twins, ONNX, and what cannot be saved."""

import warnings

import numpy as np
import onnx
import onnxruntime
import pytest
import scipy.sparse as sp
import skops.io
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC as TheirLinearSVC

from maxmargin import LinearRankSVM, LinearSVC, LinearSVCCV, LinearSVR, OneClassSVM, load_model, save_model

from ..problems.test_ranking import ranking

LABELS = {
    "integers": np.array([7, -2, 40]),
    "small integers": np.array([1, 2, 3], dtype=np.uint8),
    "floats": np.array([0.0, -1.0, 3.0]),
    "texts": np.array(["zebra", "ape", "bärenähnlich"]),
    "objects": np.array(["zebra", "ape", "owl"], dtype=object),
    "booleans": np.array([False, True]),  # two classes whatever is asked for
}


def rows_and_labels(labels, rows=100_000, features=12, seed=0):
    """Many rows, of which the first few are to train on; zero and repeated rows among them."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, features)) * 10.0 ** rng.integers(-3, 4, features)
    X[rng.integers(0, rows, 100)] = 0.0
    X[500:600] = X[600:700]
    y = labels[rng.integers(0, len(labels), rows)]
    return X, y


def run_onnx(model, X):
    session = onnxruntime.InferenceSession(model.to_onnx().SerializeToString(), providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(None, {"X": np.ascontiguousarray(X, dtype=np.float64)}), strict=True))


@pytest.mark.parametrize("method", ["sigmoid", "isotonic", "temperature"])
@pytest.mark.parametrize("classes", [2, 3])
def test_onnx_gives_the_probabilities_of_a_calibrated_model(method, classes):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(100_000, 5)), rng.integers(0, classes, 100_000)
    X[np.arange(300), y[:300]] += 1.0
    model = LinearSVC().calibrated(X[:300], y[:300], method=method)
    X[-200:] *= 1e3  # beyond all scores that were seen
    found = run_onnx(model, X)
    assert found["probabilities"].dtype == np.float64
    np.testing.assert_allclose(found["probabilities"], model.predict_proba(X), rtol=0, atol=1e-12)
    assert np.all(found["label"] == model.predict(X))


@pytest.mark.parametrize("kind", LABELS)
@pytest.mark.parametrize("classes", [2, 3])
def test_onnx_gives_our_labels_and_scores_on_many_rows(kind, classes):
    labels = LABELS[kind][:classes]
    X, y = rows_and_labels(labels)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # such unscaled columns need not converge
        model = LinearSVC(C=0.1, max_iter=50).fit(X[:400], y[:400])
    found = run_onnx(model, X)
    scores = model.decision_function(X)
    size = np.abs(X) @ np.abs(model.coef_).T + np.abs(model.intercept_)
    error = np.abs(found["scores"] - scores) / size.reshape(scores.shape)
    assert error.max() <= 1e-14
    np.testing.assert_array_equal(found["label"], model.predict(X))
    assert found["scores"].dtype == np.float64


def test_onnx_of_a_tie_is_the_first_class_as_ours():
    model = LinearSVC(fit_intercept=False).fit(np.eye(3), [5, 6, 7])
    zero = np.zeros((2, 3))
    np.testing.assert_array_equal(run_onnx(model, zero)["label"], model.predict(zero))
    two = LinearSVC(fit_intercept=False).fit(np.eye(2), [5, 6])
    np.testing.assert_array_equal(run_onnx(two, zero[:, :2])["label"], two.predict(zero[:, :2]))


@pytest.mark.parametrize("multi_class", ["crammer_singer", "weston_watkins"])
def test_onnx_of_joint_formulations_from_a_file_and_after_sparsify(multi_class, tmp_path):
    X, y = load_iris(return_X_y=True)
    model = LinearSVC(multi_class=multi_class).fit(X, y)
    save_model(model, tmp_path / "m.mm")
    for each in (model, load_model(tmp_path / "m.mm"), clone(model).fit(X, y).sparsify()):
        found = run_onnx(each, X)
        np.testing.assert_allclose(found["scores"], model.decision_function(X), rtol=1e-12, atol=1e-12)
        np.testing.assert_array_equal(found["label"], model.predict(X))


def test_onnx_of_a_ranker_has_scores_alone():
    X, y, qid = ranking(seed=3)
    model = LinearRankSVM(C=10.0).fit(X, y, qid=qid)
    found = run_onnx(model, X)
    assert set(found) == {"scores"}
    np.testing.assert_allclose(found["scores"], model.predict(X), rtol=1e-12)


def test_onnx_of_a_regression_predicts_its_numbers():
    X, y = rows_and_labels(np.array([0.5, 2.0, -7.0]), rows=300, features=4)
    model = LinearSVR(C=0.1).fit(X / np.abs(X).max(axis=0), y)
    found = run_onnx(model, X)
    assert list(found) == ["scores"]
    np.testing.assert_allclose(found["scores"], model.predict(X), rtol=1e-12)


def test_onnx_of_one_class_tells_the_same_outliers():
    X = np.random.default_rng(0).normal(3.0, size=(300, 4))
    model = OneClassSVM(nu=0.1).fit(X)
    found = run_onnx(model, X)
    np.testing.assert_array_equal(found["label"], model.predict(X))
    assert set(found["label"]) == {-1, 1}


def test_onnx_keeps_the_names_of_features():
    import pandas as pd

    X, y = load_iris(return_X_y=True)
    model = LinearSVC().fit(pd.DataFrame(X, columns=list("abcd")), y)
    properties = {entry.key: entry.value for entry in model.to_onnx().metadata_props}
    assert properties["feature_names"] == '["a", "b", "c", "d"]'


def test_onnx_without_its_package_says_what_to_install(monkeypatch):
    model = LinearSVC().fit(np.eye(2), [0, 1])
    monkeypatch.setitem(__import__("sys").modules, "onnx", None)
    with pytest.raises(ImportError, match=r"maxmargin\[onnx\]"):
        model.to_onnx()


def test_onnx_files_can_be_checked_and_read_again(tmp_path):
    model = LinearSVC().fit(np.eye(2), [0, 1])
    onnx.save(model.to_onnx(), tmp_path / "m.onnx")
    onnx.checker.check_model(onnx.load(tmp_path / "m.onnx"), full_check=True)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("classes", [2, 3])
def test_the_twin_of_scikit_learn_predicts_the_same_and_can_be_fitted_again(loss, classes):
    X, y = load_iris(return_X_y=True)
    X, y = X[y < classes], y[y < classes]
    model = LinearSVC(loss, C=0.5, tol=1e-8, intercept_scaling=2.0).fit(X, y)
    twin = model.to_sklearn()
    assert type(twin) is TheirLinearSVC
    np.testing.assert_array_equal(twin.predict(X), model.predict(X))
    np.testing.assert_allclose(twin.decision_function(sp.csr_array(X)), model.decision_function(X), rtol=1e-12)
    # the same problem: its own solver, given time, gets there too
    again = clone(twin).set_params(tol=1e-10, max_iter=1_000_000).fit(X, y)
    np.testing.assert_allclose(again.coef_, model.coef_, atol=2e-3)


@pytest.mark.parametrize(
    ("parameters", "named"),
    [
        ({"loss": "least_squares"}, "loss='least_squares'"),
        ({"multi_class": "weston_watkins"}, "multi_class='weston_watkins'"),
        ({"penalize_intercept": False}, "penalize_intercept=False"),
    ],
)
def test_a_twin_that_cannot_be_trained_alike_says_so(parameters, named):
    X, y = load_iris(return_X_y=True)
    model = LinearSVC(**parameters).fit(X, y)
    with pytest.warns(UserWarning, match=named):
        twin = model.to_sklearn()
    np.testing.assert_array_equal(twin.predict(X), model.predict(X))


def test_a_search_over_C_is_deployed_as_the_model_it_chose():
    X, y = load_iris(return_X_y=True)
    search = LinearSVCCV(Cs=[0.001, 1.0, 1000.0], cv=3, rule="one_standard_error").fit(X, y)
    assert search.to_sklearn().C == search.C_
    np.testing.assert_array_equal(search.to_sklearn().predict(X), search.predict(X))
    np.testing.assert_array_equal(run_onnx(search, X)["label"], search.predict(X))
    assert not hasattr(search, "partial_fit")
    assert not hasattr(search, "forget")


def test_the_twin_of_a_ranker_is_a_regression():
    X, y, qid = ranking(seed=4)
    model = LinearRankSVM(C=10.0).fit(X, y, qid=qid)
    twin = model.to_sklearn()
    assert type(twin) is LinearRegression
    np.testing.assert_allclose(twin.predict(X), model.predict(X), rtol=1e-12)


@pytest.mark.parametrize("estimator", [LinearSVC(), LinearRankSVM()])
@pytest.mark.parametrize("method", ["to_sklearn", "to_onnx"])
def test_what_is_not_fitted_cannot_be_deployed(estimator, method):
    with pytest.raises(NotFittedError):
        getattr(estimator, method)()


def test_a_pipeline_with_a_twin_goes_through_skops(tmp_path):
    X, y = load_iris(return_X_y=True)
    pipeline = make_pipeline(StandardScaler(), LinearSVC()).fit(X, y)
    expected = pipeline.predict(X)
    pipeline.steps[-1] = ("linearsvc", pipeline[-1].to_sklearn())
    skops.io.dump(pipeline, tmp_path / "p.skops")
    np.testing.assert_array_equal(skops.io.load(tmp_path / "p.skops").predict(X), expected)


def test_what_is_no_model_of_ours_is_not_saved_but_gets_advice(tmp_path):
    X, y = load_iris(return_X_y=True)
    pipeline = make_pipeline(StandardScaler(), LinearSVC()).fit(X, y)
    search = GridSearchCV(LinearSVC(), {"C": [0.1, 1.0]}).fit(X, y)
    calibrated = CalibratedClassifierCV(LinearSVC()).fit(X, y)
    for model, advice in [
        (pipeline, r"save_model\(pipeline\[-1\], path\).*joblib.*skops"),
        (search, "save its best_estimator_"),
        (calibrated, "holds several models"),
        (3, "not int"),
    ]:
        with pytest.raises(TypeError, match=advice):
            save_model(model, tmp_path / "m.mm")
    assert not list(tmp_path.iterdir())
    save_model(pipeline[-1], tmp_path / "m.mm")
    scaled = pipeline[:-1].transform(X)
    np.testing.assert_array_equal(load_model(tmp_path / "m.mm").predict(scaled), pipeline.predict(X))
