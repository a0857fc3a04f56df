"""``--task regression`` in the command."""

import json

import numpy as np
import pytest
from sklearn.datasets import load_diabetes
from sklearn.metrics import mean_squared_error, r2_score

from maxmargin import LinearSVR, load_model, save_svmlight


@pytest.fixture
def data(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    X, y = load_diabetes(return_X_y=True)
    save_svmlight(X[:300], y[:300], "train.svm")
    save_svmlight(X[300:], y[300:], "test.svm")
    with open("houses.csv", "w") as file:
        file.write("size,rooms,price\n" + "".join(f"{k},{k % 4},{1000.5 * k + 300 * (k % 4)}\n" for k in range(1, 40)))
    return X, y


def test_training_and_predicting_report_what_scikit_learn_reports(data, command):
    X, y = data
    code, out, _ = command("train", "train.svm", "m.mm", "--task", "regression", "-C", "5", "--epsilon", "10", "--json")
    trained = json.loads(out)
    model = load_model("m.mm")
    assert code == 0
    assert isinstance(model, LinearSVR)
    assert (model.epsilon, model.C, model.loss) == (10.0, 5.0, "epsilon_insensitive")
    assert trained["mean_squared_error"] == pytest.approx(mean_squared_error(y[:300], model.predict(X[:300])))
    assert trained["converged"]
    code, out, _ = command("predict", "test.svm", "m.mm", "out.txt", "--json")
    found = json.loads(out)
    predicted = np.loadtxt("out.txt")
    assert code == 0
    assert predicted == pytest.approx(model.predict(X[300:]))
    assert found["mean_squared_error"] == pytest.approx(mean_squared_error(y[300:], predicted))
    assert found["r2"] == pytest.approx(r2_score(y[300:], predicted))
    assert found["squared_correlation"] == pytest.approx(np.corrcoef(y[300:], predicted)[0, 1] ** 2)
    code, out, _ = command("predict", "test.svm", "m.mm")
    assert code == 0
    assert "mean squared error" in out
    assert "R2" in out
    code, out, _ = command("info", "m.mm")
    assert "LinearSVR" in out
    assert "epsilon" in out


@pytest.mark.parametrize(
    ("number", "loss"),
    [(11, "squared_epsilon_insensitive"), (12, "squared_epsilon_insensitive"), (13, "epsilon_insensitive")],
)
def test_liblinears_options_mean_the_same(data, command, number, loss):
    from liblinear.liblinearutil import train

    X, y = data
    code, _, _ = command("train", "train.svm", "m.mm", "--liblinear", f"-s {number} -c 2 -p 0.3 -B 1", "--tol", "1e-6")
    model = load_model("m.mm")
    assert code == 0
    assert (model.loss, model.epsilon, model.C, model.fit_intercept) == (loss, 0.3, 2.0, True)
    theirs = train(y[:300], X[:300], f"-s {number} -c 2 -p 0.3 -B 1 -e 1e-8 -q")
    weights = theirs.get_decfun()
    own = X[:300] @ np.array(weights[0]) + weights[1]
    assert model.predict(X[:300]) == pytest.approx(own, abs=0.02 * np.abs(own).max())
    command("train", "train.svm", "m.mm", "--liblinear", f"-s {number}")
    assert load_model("m.mm").epsilon == 0.1  # LIBLINEAR's own value


def test_models_are_converted_to_liblinear_and_back(data, command):
    X, _ = data
    command("train", "train.svm", "m.mm", "--task", "regression")
    assert command("convert", "m.mm", "m.model")[0] == 0
    assert command("convert", "m.model", "again.mm")[0] == 0
    assert load_model("again.mm").predict(X) == pytest.approx(load_model("m.mm").predict(X))
    assert command("predict", "test.svm", "m.model")[0] == 0


def test_tables_of_numbers_are_predicted_by_their_columns(data, command):
    words = [
        "--task",
        "regression",
        "--label",
        "price",
        "--no-penalize-intercept",
        "--loss",
        "least_squares",
        "-C",
        "9",
    ]
    code, out, _ = command("train", "houses.csv", "h.mm", *words)
    assert code == 0
    assert "R2" in out
    code, out, _ = command("predict", "houses.csv", "h.mm", "--json")
    assert json.loads(out)["r2"] > 0.99


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--task", "regression", "--loss", "hinge"], "--loss hinge is one of margins"),
        (["--task", "regression", "--class-weight", "1=2"], "--class-weight does not apply"),
        (["--task", "regression", "--multi-class", "ovr"], "--multi-class does not apply"),
        (["--task", "regression", "--solver", "sdm"], "is solved by auto, dcd, avsf, online, newton, pcd"),
        (["--task", "regression", "--loss", "least_squares", "--epsilon", "1"], "has no meaning with"),
        (["--task", "regression", "--no-intercept", "--intercept-scaling", "2"], "has no meaning"),
        (["--loss", "epsilon_insensitive"], "needs --task regression"),
        (["--epsilon", "1"], "--epsilon needs --task regression"),
        (["--task", "rank", "--epsilon", "1"], "--epsilon does not apply to --task rank"),
        (["--task", "regression", "--liblinear", "-s 11"], "--liblinear sets task too"),
        (["--liblinear", "-s 13 -w1 2"], "--class-weight does not apply"),
        (["--liblinear", "-s 11 -C"], "-C goes with -s 2 only"),
        (["--liblinear", "-s 21 -v 5"], "a one-class model has no labels to be cross-validated by"),
        (["--task", "one_class", "--resume"], "--resume needs --checkpoint FILE"),
    ],
)
def test_options_that_do_not_apply_are_errors(data, command, words, message):
    code, _, err = command("train", "train.svm", "m.mm", *words)
    assert code != 0
    assert message in err


def test_texts_cannot_be_predicted_as_numbers(data, command):
    with open("words.csv", "w") as file:
        file.write("a,label\n1,x\n2,y\n")
    code, _, err = command("train", "words.csv", "--task", "regression")
    assert code != 0
    assert "must be numbers" in err


def test_a_classifier_of_numbers_points_to_regression(data, command):
    with open("many.csv", "w") as file:
        file.write("a,price\n" + "".join(f"{k},{k + 0.5}\n" for k in range(200)))
    code, _, err = command("train", "many.csv", "--label", "price")
    assert code != 0
    assert "--task regression" in err


def test_a_regression_has_neither_probabilities_nor_confusions(data, command):
    assert command("train", "train.svm", "m.mm", "--task", "regression", "-q")[0] == 0
    for words, message in (
        (["out.txt", "--proba"], "is a regression, and only classifiers have probabilities"),
        (["--plot", "p.svg"], "but m.mm predicts numbers"),
    ):
        code, _, err = command("predict", "test.svm", "m.mm", *words)
        assert code != 0
        assert message in err


def test_info_tells_what_raises_and_lowers_the_number(data, command):
    assert command("train", "train.svm", "m.mm", "--task", "regression", "-C", "5", "-q")[0] == 0
    tops = json.loads(command("info", "m.mm", "--json")[1])
    coef = load_model("m.mm").coef_
    assert str(tops).count("higher number") == str(tops).count("lower number") == 1
    code, out, _ = command("info", "m.mm", "--top", "1")
    assert code == 0
    assert f"{coef.max():+.4g}" in out
    assert f"{coef.min():+.4g}" in out
