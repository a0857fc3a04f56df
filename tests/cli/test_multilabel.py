"""Files with several labels for each row in the command."""

import json

import numpy as np
import pytest
from sklearn.datasets import make_multilabel_classification
from sklearn.metrics import f1_score

from maxmargin import load_model, save_svmlight


@pytest.fixture
def topics(folder):
    X, Y = make_multilabel_classification(150, 15, n_classes=6, random_state=3)
    save_svmlight(X[:100], [np.flatnonzero(row) + 1 for row in Y[:100]], "topics.svm", multilabel=True)
    save_svmlight(X[100:], [np.flatnonzero(row) + 1 for row in Y[100:]], "more.svm", multilabel=True)
    return X, Y


@pytest.mark.parametrize("words", [[], ["--multilabel"]])
def test_training_and_predicting_several_labels(topics, command, words):
    X, Y = topics
    code, out, _ = command("train", "topics.svm", "m.mm", "--json", *words)
    assert code == 0
    assert ("several labels" in "".join(json.loads(out)["notes"])) == (not words)
    model = load_model("m.mm")
    assert model.classes_.tolist() == [1, 2, 3, 4, 5, 6]
    predicted = model.predict(X).toarray()
    trained = json.loads(out)
    assert trained["labels"] == 6
    assert trained["accuracy"] == (predicted[:100] == Y[:100]).all(axis=1).mean()
    code, out, _ = command("predict", "more.svm", "m.mm", "out.txt", "--json")
    assert code == 0
    found = json.loads(out)
    assert found["accuracy"] == (predicted[100:] == Y[100:]).all(axis=1).mean()
    assert found["micro_f1"] == pytest.approx(f1_score(Y[100:], predicted[100:], average="micro"))
    assert found["macro_f1"] == pytest.approx(f1_score(Y[100:], predicted[100:], average="macro", zero_division=0.0))
    with open("out.txt") as file:
        lines = [[int(word) for word in line.strip().split(",") if word] for line in file]
    assert lines == [(np.flatnonzero(row) + 1).tolist() for row in predicted[100:]]
    assert command("predict", "more.svm", "m.mm", "scores.txt", "--scores")[0] == 0
    assert np.loadtxt("scores.txt") == pytest.approx(model.decision_function(X[100:]))
    assert "all labels right" in command("predict", "more.svm", "m.mm")[1]
    assert "any number" in command("info", "m.mm")[1]
    assert "labels per row" in command("info", "topics.svm")[1]


def test_labels_that_the_model_does_not_know_count_as_not_found(topics, command):
    assert command("train", "topics.svm", "m.mm")[0] == 0
    with open("new.svm", "w") as file:
        file.write("77,1 1:3\n 2:1\n")
    code, out, _ = command("predict", "new.svm", "m.mm", "--json")
    assert code == 0
    found = json.loads(out)
    assert "does not know 1 labels" in found["notes"][0]
    assert found["rows"] == 2


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--multi-class", "weston_watkins"], "leave out --multi-class"),
        (["--multilabel", "--task", "rank"], "--multilabel does not apply to --task rank"),
        (["--liblinear", "-v 5"], "cross-validation knows rows with one label only"),
    ],
)
def test_what_does_not_go_together_is_an_error(topics, command, words, message):
    code, _, err = command("train", "topics.svm", "m.mm", *words)
    assert code != 0
    assert message in err


def test_files_without_any_label_and_other_formats_are_errors(folder, command):
    with open("bare.svm", "w") as file:
        file.write(" 1:3\n 2:1\n")
    assert "no row has a label" in command("train", "bare.svm", "m.mm", "--multilabel")[2]
    np.savez("a.npz", X=np.eye(3), y=np.array([0, 1, 0]))
    assert "--multilabel does not apply to npz" in command("train", "a.npz", "m.mm", "--multilabel")[2]


def test_words_with_commas_are_no_labels(folder, command):
    with open("prose.svm", "w") as file:
        file.write("one,two three\n")
    code, _, error = command("train", "prose.svm", "m.mm")
    assert code != 0
    assert "expected a label, a number" in error
    assert "several labels" not in error
