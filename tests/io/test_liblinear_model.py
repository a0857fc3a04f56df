"""LIBLINEAR's model files, against LIBLINEAR itself: its models predict the same here, ours the same there."""

import ctypes

import numpy as np
import pytest
import scipy.sparse as sp
from liblinear import liblinearutil
from sklearn.datasets import load_breast_cancer, load_digits

from maxmargin import LinearSVC, load_model, save_model
from maxmargin.io.liblinear_model import SOLVER_TYPES
from maxmargin.io.models import read_any_model
from maxmargin.models.model import Model


def digits():
    X, y = load_digits(return_X_y=True)
    return sp.csr_matrix(X / 16.0), y.astype(int)


def tumours(first=1):
    X, y = load_breast_cancer(return_X_y=True)
    y = np.where(y == 1, 1, -1)
    order = np.argsort(y != first, kind="stable")  # LIBLINEAR orders classes by first appearance
    return sp.csr_matrix(X / np.abs(X).max(axis=0))[order], y[order]


def train(X, y, options, path):
    """LIBLINEAR's own training and model file."""
    model = liblinearutil.train(y.astype(np.float64), X.astype(np.float64), options + " -q")
    liblinearutil.save_model(str(path), model)


def predict(path, X):
    """LIBLINEAR's own predictions from a model file."""
    model = liblinearutil.load_model(str(path))
    assert model is not None
    return np.array(liblinearutil.predict([], X.astype(np.float64), model, "-q")[0]), model


DATA = {"digits": digits, "tumours": tumours, "tumours, other label first": lambda: tumours(-1)}


def with_zero_rows(X):
    return sp.vstack([X, sp.csr_matrix((3, X.shape[1]))]).tocsr()


@pytest.mark.parametrize("bias", [-1, 0, 1, 2.5])
@pytest.mark.parametrize("solver", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("data", list(DATA))
def test_models_of_liblinear_predict_the_same_here(tmp_path, data, solver, bias):
    X, y = DATA[data]()
    X, y = X[::3], y[::3]
    path = tmp_path / "liblinear.model"
    train(X, y, f"-s {solver} -c 0.5 -e 0.1 -B {bias}", path)
    both = with_zero_rows(X)
    expected, _ = predict(path, both)
    model = load_model(path)
    np.testing.assert_array_equal(model.predict(both), expected)
    loss, multi_class, penalty = list(SOLVER_TYPES.values())[[1, 2, 3, 4, 5].index(solver)]
    assert (model.loss, model.multi_class, model.penalty, model.fit_intercept) == (
        loss,
        multi_class,
        penalty,
        bias > 0,
    )
    assert model.n_features_in_ == X.shape[1]


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize(("loss", "penalty"), [("hinge", "l2"), ("squared_hinge", "l2"), ("squared_hinge", "l1")])
@pytest.mark.parametrize("data", list(DATA))
def test_our_models_predict_the_same_there(tmp_path, data, loss, penalty, fit_intercept):
    X, y = DATA[data]()
    X, y = X[::3], y[::3]
    model = LinearSVC(loss, penalty=penalty, fit_intercept=fit_intercept, tol=1e-2).fit(X, y)
    path = tmp_path / "ours.model"
    save_model(model, path, format="liblinear")
    both = with_zero_rows(X)
    expected, theirs = predict(path, both)
    np.testing.assert_array_equal(expected, model.predict(both))
    weights = np.ctypeslib.as_array(
        ctypes.cast(theirs.w, ctypes.POINTER(ctypes.c_double)),
        (X.shape[1] + fit_intercept, model.coef_.shape[0]),
    )
    np.testing.assert_array_equal(weights[: X.shape[1]].T, model.coef_)
    again = load_model(path)
    assert again.penalty == penalty
    np.testing.assert_array_equal(again.decision_function(both), model.decision_function(both))
    np.testing.assert_array_equal(again.predict(both), model.predict(both))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"classes": np.array(["a", "b"])}, "whole numbers as labels"),
        ({"classes": np.array([0.5, 1.0])}, "whole numbers as labels"),
        ({"classes": np.array([1, 2**40])}, "whole numbers as labels"),
        ({"parameters": {"loss": "least_squares"}}, "no model for loss='least_squares'"),
        ({"parameters": {"loss": "hinge", "multi_class": "weston_watkins"}}, "no model for loss='hinge'"),
    ],
)
def test_what_liblinear_cannot_express(tmp_path, changes, message):
    fields = {"classes": np.array([0, 1]), "parameters": {"loss": "hinge"}, **changes}
    model = Model("LinearSVC", coef=np.ones((1, 2)), intercept=np.zeros(1), **fields)
    with pytest.raises(ValueError, match=message):
        save_model(model, tmp_path / "a.model", format="liblinear")
    assert list(tmp_path.iterdir()) == []


GOOD = "solver_type L2R_L2LOSS_SVC_DUAL\nnr_class 2\nlabel 1 -1\nnr_feature 2\nbias 1\nw\n0.5 \n-1e-3 \n2 \n"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("L2R_L2LOSS_SVC_DUAL", "L2R_LR", "type L2R_LR, which is not a support vector machine"),
        ("L2R_L2LOSS_SVC_DUAL", "L2R_L2LOSS_SVR", "do not make a regression"),
        ("nr_class 2", "nr_class 3", "do not make a classifier"),
        ("nr_class 2", "nr_class two", "no proper 'nr_class'"),
        ("label 1 -1", "label 1 1", "do not make a classifier"),
        ("label 1 -1", "label a b", "not whole numbers"),
        ("label 1 -1\n", "", "do not make a classifier"),
        ("nr_feature 2", "nr_feature 99999999999", "cut off or damaged"),
        ("nr_feature 2", "nr_feature 0", "do not make a classifier"),
        ("bias 1", "bias nan", "is not finite"),
        ("bias 1\nw\n0.5 \n-1e-3 \n2", "bias 1e300\nw\n0.5 \n-1e-3 \n1e300", "the bias times its weight is too large"),
        ("bias 1", "bias", "no proper 'bias'"),
        ("\nw\n", "\n", "no line 'w'"),
        ("-1e-3", "oops", "line 8: expected a weight, a finite number, not 'oops'"),
        ("-1e-3", "nan", "line 8: expected a weight"),
        ("2 \n", "", "cut off or damaged"),
        ("bias 1", "bias 1\nexec rm", "unexpected 'exec'"),
        ("bias 1", "bias 1\nbias 1", "unexpected 'bias'"),
    ],
)
def test_broken_files(tmp_path, old, new, message):
    path = tmp_path / "broken.model"
    path.write_text(GOOD.replace(old, new, 1))
    with pytest.raises(ValueError, match=message) as caught:
        load_model(path)
    assert "broken.model" in str(caught.value)


def test_line_ends_of_windows_and_every_cut(tmp_path):
    path = tmp_path / "a.model"
    path.write_bytes(GOOD.replace("\n", "\r\n").encode())
    assert load_model(path).coef_.tolist() == [[0.5, -1e-3]]
    assert load_model(path).intercept_.tolist() == [2.0]
    whole = GOOD.encode().rstrip()
    for cut in range(len(whole)):
        path.write_bytes(whole[:cut])
        with pytest.raises(ValueError, match=r"a\.model"):
            load_model(path)


def test_a_model_without_training_says_so(tmp_path):
    path = tmp_path / "a.model"
    path.write_text(GOOD)
    model = read_any_model(path)
    assert model.training is None
    assert not hasattr(load_model(path), "duality_gap_")
    save_model(load_model(path), tmp_path / "a.mm")
    again = load_model(tmp_path / "a.mm")
    assert again.classes_.tolist() == load_model(path).classes_.tolist() == [-1, 1]
    assert again.coef_.tolist() == [[0.5, -1e-3]]
