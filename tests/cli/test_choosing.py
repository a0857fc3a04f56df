"""``cv`` and ``path``: for classes and for ranks, by the same folds and models as in Python."""

import json
import os

import matplotlib.image
import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.metrics import log_loss

from maxmargin import LinearRankSVM, LinearSVC, load_model, load_svmlight, save_svmlight, svm_path
from maxmargin.problems.ranking import count_pairs
from maxmargin.training.cross_validation import fold_numbers, group_fold_numbers

from ..problems.test_ranking import ranking


@pytest.fixture
def queries(folder):
    X, y, _ = ranking(rows=300, seed=7)
    qid = np.random.default_rng(7).integers(0, 20, 300)
    save_svmlight(X, y, "queries.svm", qid=qid)
    return X, y, qid


def test_scores_of_folds_are_those_of_models_without_them(folder, command):
    words = ["cv", "train.svm", "-C", "0.1,1,10", "--folds", "3", "--loss", "hinge", "--tol", "1e-7", "--json"]
    code, out, _ = command(*words)
    assert code == 0
    fields = json.loads(out)
    X, y = load_svmlight("train.svm")
    numbers = fold_numbers((y > 0).astype(np.intp), 3, 0)
    for result in fields["results"]:
        expected = [
            LinearSVC("hinge", C=result["C"], tol=1e-7)
            .fit(X[numbers != fold], y[numbers != fold])
            .score(X[numbers == fold], y[numbers == fold])
            for fold in range(3)
        ]
        np.testing.assert_allclose(result["folds"], expected, atol=1e-12)
        assert result["accuracy"] == pytest.approx(np.mean(expected))
        assert result["gap"] <= 1e-7


def test_scores_of_rankings_are_those_of_whole_queries(queries, command):
    X, y, qid = queries
    words = ["cv", "queries.svm", "--task", "rank", "-C", "10,1000", "--folds", "4", "--tol", "1e-7", "--json"]
    code, out, _ = command(*words)
    assert code == 0
    fields = json.loads(out)
    numbers = group_fold_numbers(qid, 4, 0)
    for result in fields["results"]:
        for fold, score in enumerate(result["folds"]):
            kept = numbers != fold
            model = LinearRankSVM(C=result["C"], tol=1e-7).fit(X[kept], y[kept], qid=qid[kept])
            truth = count_pairs(y[~kept], model.predict(X[~kept]), qid[~kept]).share_in_order
            assert score == pytest.approx(truth, abs=5e-3)
    code, out, _ = command("cv", "queries.svm", "--task", "rank")
    assert code == 0
    assert out.splitlines()[0].split() == ["C", "in", "order", "deviation", "worst", "gap", "seconds"]


@pytest.mark.parametrize("task", ["classify", "rank"])
def test_the_best_model_is_written_if_it_is_asked_for(queries, command, task):
    data = "queries.svm" if task == "rank" else "train.svm"
    options = ["--task", task, "-C", "1,10", "--tol", "1e-6"]
    code, out, _ = command("cv", data, "best.mm", *options)
    assert code == 0
    assert "model of the best C written to best.mm" in out
    best = load_model("best.mm")
    fields = json.loads(command("cv", data, *options, "--json")[1])
    assert fields["best_C"] == best.C
    assert best.converged_
    command("train", data, "same.mm", "--task", task, "-C", f"{best.C:g}", "--tol", "1e-6", "-q")
    same = load_model("same.mm")
    np.testing.assert_array_equal(same.coef_, best.coef_)
    assert type(same) is type(best)
    assert same.get_params() == {**best.get_params()}


def test_one_standard_error_takes_a_smaller_C(folder, command):
    options = ["cv", "train.svm", "-C", "0.01,0.1,1,10,100", "--json"]
    best = json.loads(command(*options)[1])
    simple = json.loads(command(*options, "--one-standard-error")[1])
    assert simple["best_C"] < best["best_C"]
    scores = {result["C"]: result for result in best["results"]}
    error = np.std(scores[best["best_C"]]["folds"], ddof=1) / np.sqrt(5)
    assert scores[simple["best_C"]]["accuracy"] >= best["accuracy"] - error


@pytest.mark.parametrize("task", ["classify", "rank"])
def test_paths_are_those_of_python(queries, command, task):
    data = "queries.svm" if task == "rank" else "train.svm"
    options = ["--task", task, "-C", "1,0.1", "-C", "10"]
    code, out, _ = command("path", data, *options, "--json")
    assert code == 0
    fields = json.loads(out)
    X, y, qid = load_svmlight("queries.svm", qid=True) if task == "rank" else (*load_svmlight("train.svm"), None)
    found = svm_path(X, y, [0.1, 1, 10], task=task, qid=qid)
    assert [result["C"] for result in fields["results"]] == [0.1, 1.0, 10.0]
    for k, result in enumerate(fields["results"]):
        assert result["objective"] == pytest.approx(found.primal[k].sum(), rel=1e-12)
        assert result["support_vectors"] == found.n_support[k]
        assert result["norm"] == pytest.approx(np.linalg.norm(found.coefs[k]))
    name = "in_order" if task == "rank" else "accuracy"
    estimator = LinearRankSVM(C=10.0) if task == "rank" else LinearSVC(C=10.0)
    extra = {"qid": qid} if task == "rank" else {}
    assert fields["results"][-1][name] == pytest.approx(estimator.fit(X, y, **extra).score(X, y, **extra), abs=0.02)
    code, out, _ = command("path", data, "--task", task)
    assert code == 0
    assert out.splitlines()[-1].endswith(("the model no longer changes", "as many values of C as allowed"))


@pytest.mark.parametrize("picture", ["scores.png", "scores.svg"])
def test_pictures_of_cv_and_path(queries, command, picture):
    for words in (["cv", "train.svm", "-C", "0.1,1"], ["path", "train.svm", "-C", "0.1,1,10"]):
        for task in ("classify", "rank"):
            data = "queries.svm" if task == "rank" else "train.svm"
            code, _, err = command(words[0], data, *words[2:], "--task", task, "--plot", picture)
            assert code == 0, err
            if picture.endswith("png"):
                assert matplotlib.image.imread(picture).std() > 0.01  # not blank
            else:
                with open(picture) as file:
                    assert "<svg" in file.read()
            os.unlink(picture)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["cv", "train.svm", "-C", "0.1,x"], "'0.1,x' is not a number or several with commas"),
        (["cv", "train.svm", "-C", "0.1,-1"], "must hold positive finite numbers"),
        (["path", "train.svm", "-C", "0"], "must hold positive finite numbers"),
        (["cv", "train.svm", "--plot", "a.jpeg"], "pictures are written to .png, .svg, .pdf files"),
        (["cv", "train.svm", "--plot", "no/such/a.png"], "does not exist"),
        (["cv", "train.svm", "train.svm"], "would overwrite the data"),
        (["cv", "train.svm", "test.svm"], "test.svm is there already and is no model"),
        (["cv", "queries.svm", "--task", "rank", "--loss", "hinge"], "--loss does not apply to --task rank"),
        (["path", "queries.svm", "--task", "rank", "--seed", "3"], "--seed does not apply to --task rank"),
        (["cv", "queries.svm", "--task", "rank", "--folds", "1000"], "number of groups"),
        (["cv", "train.svm", "--liblinear", "-c 1", "-C", "2"], "--liblinear sets C too"),
        (["cv", "train.svm", "--liblinear", "-v 4", "--folds", "3"], "--liblinear sets folds too"),
    ],
)
def test_what_cannot_be_honoured_is_refused(queries, command, words, message):
    before = sorted(os.listdir())
    code, _, err = command(*words)
    assert code == 2
    assert message in err
    assert sorted(os.listdir()) == before


def test_cross_validation_in_the_words_of_liblinear(folder, command):
    ours = json.loads(command("cv", "train.svm", "-C", "2", "--folds", "4", "--no-intercept", "--json")[1])
    for words in (["train", "train.svm"], ["cv", "train.svm"]):
        theirs = json.loads(command(*words, "--liblinear", "-s 2 -c 2 -v 4", "--json")[1])
        assert theirs["results"][0]["folds"] == ours["results"][0]["folds"]
        assert theirs["best_C"] == 2.0
    assert not os.path.exists("train.mm")  # as LIBLINEAR, which writes no model then


def test_the_search_for_C_in_the_words_of_liblinear(folder, command):
    fields = json.loads(command("train", "train.svm", "--liblinear", "-s 2 -C -B 1", "--json")[1])
    Cs = [result["C"] for result in fields["results"]]
    X, _ = load_svmlight("train.svm")
    largest = X.multiply(X).sum(axis=1).max() + 1.0
    assert Cs[0] == 2.0 ** np.floor(np.log2(1 / (2 * X.shape[0] * largest)))
    assert Cs[-1] == 1024.0
    assert set(np.divide(Cs[1:], Cs[:-1])) == {2.0}
    assert fields["accuracy"] > 0.9
    code, _, _ = command("train", "train.svm", "best.mm", "--liblinear", "-s 2 -C -c 64 -B 1", "-q")
    assert code == 0
    assert load_model("best.mm").C in (64.0, 128.0, 256.0, 512.0, 1024.0)


@pytest.mark.parametrize("kind", ["sigmoid", "isotonic", "temperature"])
@pytest.mark.parametrize("classes", [2, 3])
def test_probabilities_are_fitted_kept_and_predicted(folder, command, kind, classes):
    X, y = load_iris(return_X_y=True)
    X, y = X[y < classes], y[y < classes]
    y[::7] = (y[::7] + 1) % classes  # some noise, so that not all is certain
    save_svmlight(X, y, "iris.svm")
    code, _, err = command("cv", "iris.svm", "iris.mm", "-C", "0.1,1,10", "--calibrate", kind, "-q")
    assert (code, err) == (0, "")
    assert command("predict", "iris.svm", "iris.mm", "p.txt", "--proba", "-q")[0] == 0
    written = np.loadtxt("p.txt")
    model = load_model("iris.mm")
    np.testing.assert_allclose(written, model.predict_proba(X), rtol=1e-14)
    np.testing.assert_allclose(written.sum(axis=1), 1.0, atol=1e-12)
    assert written.shape == (len(y), classes)
    assert f"probabilities     {kind}" in command("info", "iris.mm")[1]
    # better than the shares of the classes
    assert log_loss(y, written) < log_loss(y, np.tile(np.bincount(y) / len(y), (len(y), 1)))


def test_probabilities_that_are_not_there(queries, command):
    command("train", "train.svm", "plain.mm", "-q")
    command("train", "queries.svm", "rank.mm", "--task", "rank", "-q")
    for words, message in (
        (["predict", "test.svm", "plain.mm", "p.txt", "--proba"], "maxmargin cv DATA plain.mm --calibrate sigmoid"),
        (["predict", "queries.svm", "rank.mm", "p.txt", "--proba"], "ranks have no probabilities"),
        (["predict", "test.svm", "plain.mm", "--proba"], "--proba needs OUT"),
        (["predict", "test.svm", "plain.mm", "p.txt", "--proba", "--scores"], "either --scores or --proba"),
        (["cv", "train.svm", "--calibrate", "sigmoid"], "--calibrate needs MODEL"),
        (["cv", "queries.svm", "m.mm", "--task", "rank", "--calibrate", "sigmoid"], "does not apply to --task rank"),
    ):
        code, _, err = command(*words)
        assert code == 2
        assert message in " ".join(err.split())
    assert not os.path.exists("p.txt")
