"""The command with the penalty "l1", LIBLINEAR's -s 5, and the break-even point of predictions."""

import json

import numpy as np
import pytest

from maxmargin import load_model, load_svmlight


def test_the_penalty_l1_by_name_and_by_liblinears_options_is_the_same_model(folder, command):
    assert command("train", "train.svm", "a.mm", "--penalty", "l1", "-C", "2", "--no-intercept")[0] == 0
    assert command("train", "train.svm", "b.mm", "--liblinear", "-s 5 -c 2")[0] == 0
    a, b = load_model("a.mm"), load_model("b.mm")
    assert a.penalty == b.penalty == "l1"
    assert np.array_equal(a.coef_, b.coef_)
    assert 0 < np.count_nonzero(a.coef_) < a.coef_.size
    assert a.converged_


def test_what_the_penalty_l1_does_not_go_with_is_said(folder, command):
    code, _, error = command("train", "train.svm", "a.mm", "--penalty", "l1", "--loss", "hinge")
    assert code != 0
    assert "the losses for penalty='l1' are 'squared_hinge' and 'least_squares'" in " ".join(error.split())
    assert not (folder / "a.mm").exists()


def test_predict_reports_the_break_even_point(folder, command):
    command("train", "train.svm", "a.mm")
    code, out, _ = command("predict", "test.svm", "a.mm", "--json")
    assert code == 0
    X, y = load_svmlight("test.svm")
    scores = load_model("a.mm").decision_function(X)
    count = int(np.sum(y > 0))
    taken = np.argsort(-scores, kind="stable")[:count]
    assert json.loads(out)["prbep"] == pytest.approx(np.mean(y[taken] > 0))
    assert "break-even point" in command("predict", "test.svm", "a.mm")[1]
