"""Probabilities from scores of rows left out, against scikit-learn's CalibratedClassifierCV and IsotonicRegression."""

import numpy as np
import pytest
from scipy.optimize import minimize, minimize_scalar
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.isotonic import IsotonicRegression
from sklearn.metrics import log_loss
from sklearn.preprocessing import scale

from maxmargin import LinearSVC, LinearSVCCV, load_model, save_model
from maxmargin.io.fields import ModelFileError
from maxmargin.models.calibration import CALIBRATIONS, Calibration, calibration_of, fit_calibration
from maxmargin.models.model import Model

pytestmark = pytest.mark.filterwarnings("ignore:the best C")


@pytest.fixture(scope="module", params=["two classes", "three classes"])
def data(request):
    if request.param == "two classes":
        X, y = load_breast_cancer(return_X_y=True)
        return scale(X), np.array(["bad", "good"])[y]
    return load_iris(return_X_y=True)


def noisy_scores(rows=400, seed=0):
    rng = np.random.default_rng(seed)
    scores = np.round(rng.normal(size=rows), 1)  # with ties
    return scores, (rng.random(rows) < 1 / (1 + np.exp(-2 * scores - 0.3))).astype(np.intp)


@pytest.mark.parametrize("method", CALIBRATIONS)
def test_log_loss_is_that_of_scikit_learns_calibration(data, method):
    X, y = data
    ours = LinearSVCCV(Cs=[0.1], calibrate=method, tol=1e-6).fit(X, y)
    theirs = CalibratedClassifierCV(LinearSVC(C=0.1, tol=1e-6), method=method, ensemble=False).fit(X, y)
    probabilities = ours.predict_proba(X)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)
    expected = log_loss(y, theirs.predict_proba(X))
    assert log_loss(y, probabilities) == pytest.approx(expected, rel=0.01)
    np.testing.assert_allclose(probabilities, np.exp(ours.predict_log_proba(X)), atol=1e-12)


@pytest.mark.parametrize("method", CALIBRATIONS)
@pytest.mark.parametrize("multi_class", ["ovr", "crammer_singer"])
def test_a_plain_model_is_calibrated_by_folds_that_start_from_it(data, method, multi_class):
    X, y = data
    ours = LinearSVC(C=0.1, multi_class=multi_class, tol=1e-6).calibrated(X, y, method=method, cv=5)
    theirs = CalibratedClassifierCV(
        LinearSVC(C=0.1, multi_class=multi_class, tol=1e-6), method=method, ensemble=False
    ).fit(X, y)
    assert log_loss(y, ours.predict_proba(X)) == pytest.approx(log_loss(y, theirs.predict_proba(X)), rel=0.01)
    plain = LinearSVC(C=0.1, multi_class=multi_class, tol=1e-6).fit(X, y)
    np.testing.assert_array_equal(ours.coef_, plain.coef_)


@pytest.mark.parametrize("rows", [400, 9_000])
@pytest.mark.parametrize("sort", [False, True])
def test_the_sigmoid_is_that_of_highest_likelihood(rows, sort):
    scores, labels = noisy_scores(rows)
    if sort:  # so that a sample of rows taken in order has few of one class at each end
        order = np.lexsort((scores, labels))
        scores, labels = scores[order], labels[order]
    weights = np.random.default_rng(1).integers(3, size=len(labels)).astype(float)
    fitted = fit_calibration("sigmoid", scores[:, None] * 1e6, labels, 2, weights)
    above, below = weights[labels == 1].sum(), weights[labels == 0].sum()
    target = np.where(labels == 1, (above + 1) / (above + 2), 1 / (below + 2))

    def negative(parameters):
        z = parameters[0] * scores + parameters[1]
        return weights @ (np.logaddexp(0, z) - target * z)

    a, b = minimize(negative, [0.0, 0.0], tol=1e-12).x
    assert fitted.x[0][0] * 1e6 == pytest.approx(a, rel=1e-4)
    assert fitted.y[0][0] == pytest.approx(b, rel=1e-3, abs=1e-4)


def test_isotonic_is_scikit_learns_isotonic_regression():
    scores, labels = noisy_scores()
    weights = np.random.default_rng(1).uniform(0.1, 2.0, size=len(labels))
    fitted = fit_calibration("isotonic", scores[:, None], labels, 2, weights)
    truth = IsotonicRegression(out_of_bounds="clip").fit(scores, labels, weights)
    places = np.linspace(-5, 5, 301)
    np.testing.assert_allclose(fitted.probabilities(places[:, None])[:, 1], truth.predict(places), atol=1e-9)


def test_the_temperature_is_that_of_highest_likelihood():
    rng = np.random.default_rng(0)
    scores = 5 * rng.normal(size=(300, 4))
    labels = (scores + 4 * rng.normal(size=scores.shape)).argmax(axis=1)
    fitted = fit_calibration("temperature", scores, labels, 4)
    best = minimize_scalar(
        lambda beta: log_loss(labels, np.exp(beta * scores) / np.exp(beta * scores).sum(axis=1, keepdims=True)),
        bounds=(1e-3, 5),
        method="bounded",
        options={"xatol": 1e-9},
    ).x
    assert fitted.x[0][0] == pytest.approx(best, rel=1e-4)


def test_hard_cases_have_finite_probabilities():
    separated = np.array([[-1.0], [-2.0], [1.0], [2.0]])
    labels = np.array([0, 0, 1, 1])
    for method in CALIBRATIONS:
        for scores in (separated, np.zeros((4, 1)), -separated, np.vstack([separated[:3], [[np.nan]]])):
            found = fit_calibration(method, scores, labels, 2).probabilities(np.array([[-1e9], [0.0], [1e9]]))
            assert np.all(np.isfinite(found))
            np.testing.assert_allclose(found.sum(axis=1), 1.0)
    unknown = np.array([[0.0, 1.0, -np.inf], [1.0, 0.0, 0.5], [0.2, 0.1, 2.0], [0.0, 0.3, -np.inf]])
    for method in CALIBRATIONS:
        fit_calibration(method, unknown, np.array([1, 0, 2, 2]), 3)  # the last row's class was not known
    with pytest.raises(ValueError, match="no rows with scores"):
        fit_calibration("sigmoid", np.full((2, 1), np.nan), np.array([0, 1]), 2)
    with pytest.raises(ValueError, match="calibrate='platt' is unknown"):
        fit_calibration("platt", separated, labels, 2)


@pytest.mark.parametrize("method", CALIBRATIONS)
def test_files_keep_probabilities_to_the_bit(data, method, tmp_path):
    X, y = data
    model = LinearSVCCV(Cs=[0.1, 1.0], calibrate=method).fit(X, y)
    save_model(model, tmp_path / "model.mm")
    again = load_model(tmp_path / "model.mm")
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))


def test_without_a_calibration_there_are_no_probabilities(data):
    X, y = data
    model = LinearSVC().fit(X, y)
    assert not hasattr(model, "predict_proba")
    with pytest.raises(AttributeError, match="predict_proba"):
        model.predict_proba(X)
    calibrated = LinearSVC().calibrated(X, y)
    assert hasattr(calibrated, "predict_proba")
    assert not hasattr(calibrated.fit(X, y), "predict_proba")  # another fit has other scores
    with pytest.raises(ValueError, match="method='platt' is unknown"):
        LinearSVC().calibrated(X, y, method="platt")
    with pytest.raises(ValueError, match="this model has no probabilities"):
        Model("LinearSVC", {}, np.array([0, 1]), np.ones((1, 2)), np.zeros(1)).probabilities(np.ones((1, 2)))


def test_a_calibration_with_a_proof_beside_the_grid_uses_the_chosen_C():
    X, y = load_breast_cancer(return_X_y=True)
    X = scale(X)
    model = LinearSVCCV(Cs=[0.01, 0.1], cv_tol=0.01, calibrate="sigmoid").fit(X, y)
    again = LinearSVCCV(Cs=[model.C_], calibrate="sigmoid").fit(X, y)
    np.testing.assert_allclose(model.held_out_scores_, again.held_out_scores_, atol=0.05)


@pytest.mark.parametrize(
    ("kind", "x", "y"),
    [
        ("pickle", [np.ones(1)], [np.ones(1)]),
        ("sigmoid", [np.ones(2)], [np.ones(1)]),
        ("sigmoid", [np.ones(1)] * 2, [np.ones(1)] * 2),
        ("isotonic", [np.array([1.0, 0.0])], [np.array([0.0, 1.0])]),
        ("isotonic", [np.array([0.0, 1.0])], [np.array([0.0, 2.0])]),
        ("temperature", [np.array([-1.0])], [np.zeros(0)]),
        ("sigmoid", [np.array([np.nan])], [np.zeros(1)]),
    ],
)
def test_numbers_that_are_no_calibration_are_refused(kind, x, y):
    with pytest.raises(ValueError, match="calibration"):
        calibration_of(kind, x, y, columns=1)


@pytest.mark.parametrize(
    "change", [{"sizes": [[1, 2]]}, {"sizes": "x"}, {"sizes": [[1, True]]}, {"kind": "x"}, {"sizes": []}]
)
def test_a_file_with_a_strange_calibration_is_refused(change):
    from maxmargin.io import model_file
    from maxmargin.io.sealed import unseal

    model = Model(
        "LinearSVC",
        {},
        np.array([0, 1]),
        np.ones((1, 2)),
        np.zeros(1),
        calibration=Calibration("sigmoid", [np.ones(1)], [np.zeros(1)]),
    )
    assert model_file.from_bytes(model_file.to_bytes(model)).calibration.kind == "sigmoid"
    header, tensors = unseal(model_file.to_bytes(model), model_file.ENTRY, "model")
    header["calibration"] |= change
    with pytest.raises(ModelFileError):
        model_file.ModelFields(header, tensors).model()
