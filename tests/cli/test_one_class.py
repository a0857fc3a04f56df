"""``--task one_class`` in the command."""

import json

import numpy as np
import pytest

from maxmargin import OneClassSVM, load_model, load_svmlight


def test_training_and_predicting_tell_outliers(folder, command):
    X, y = load_svmlight("train.svm")[:2]
    code, out, _ = command("train", "train.svm", "m.mm", "--task", "one_class", "--nu", "0.1", "--json")
    model = load_model("m.mm")
    trained = json.loads(out)
    assert code == 0
    assert isinstance(model, OneClassSVM)
    assert model.nu == 0.1
    assert trained["outliers"] == int((model.predict(X) == -1).sum())
    assert trained["converged"]
    code, out, _ = command("predict", "train.svm", "m.mm", "out.txt", "--json")
    assert code == 0
    assert np.array_equal(np.loadtxt("out.txt"), model.predict(X))
    assert json.loads(out)["accuracy"] == pytest.approx((model.predict(X) == y).mean())
    code, out, _ = command("train", "train.svm", "m.mm", "--task", "one_class")
    assert "outliers" in out
    assert "OneClassSVM" in command("info", "m.mm")[1]


def test_liblinears_options_and_files_mean_the_same(folder, command):
    assert command("train", "train.svm", "m.mm", "--liblinear", "-s 21 -n 0.2")[0] == 0
    model = load_model("m.mm")
    assert (type(model), model.nu) == (OneClassSVM, 0.2)
    assert command("convert", "m.mm", "m.model")[0] == 0
    with open("m.model") as file:
        assert file.readline() == "solver_type ONECLASS_SVM\n"
    X, _ = load_svmlight("train.svm")[:2]
    assert load_model("m.model").decision_function(X) == pytest.approx(model.decision_function(X))


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--task", "one_class", "-C", "2"], "-C does not apply to --task one_class"),
        (["--task", "one_class", "--loss", "hinge"], "--loss does not apply"),
        (["--task", "one_class", "--nu", "1.5"], "at most 1"),
        (["--task", "one_class", "--solver", "pcd"], "is solved by auto, dcd"),
        (["--nu", "0.2"], "--nu needs --task one_class"),
        (["--task", "regression", "--nu", "0.2"], "--nu does not apply"),
        (["--liblinear", "-s 1 -n 0.2"], "-n belongs to the one-class problem"),
        (["--liblinear", "-s 21 -n 2"], "-n needs a number above 0"),
    ],
)
def test_options_that_do_not_apply_are_errors(folder, command, words, message):
    code, _, err = command("train", "train.svm", "m.mm", *words)
    assert code != 0
    assert message in err


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [("rho ", "label ", "unexpected 'rho'|do not make"), ("bias -1", "bias 1", "do not make a one-class model")],
)
def test_damaged_files_of_liblinear_are_refused(folder, command, old, new, message):
    command("train", "train.svm", "m.mm", "--task", "one_class")
    command("convert", "m.mm", "m.model")
    with open("m.model") as file:
        text = file.read()
    with open("m.model", "w") as file:
        file.write(text.replace(old, new, 1))
    with pytest.raises(ValueError, match=message):
        load_model("m.model")
