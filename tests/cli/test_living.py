"""What the command tells and asks beside its results: accuracy, mistakes, top features, pictures, checkpoints."""

import json
import os
import signal
import subprocess
import sys
import time

import matplotlib.image
import numpy as np
import onnxruntime
import pytest
from sklearn.metrics import confusion_matrix

from maxmargin import LinearSVC, load_model, load_svmlight, save_svmlight
from maxmargin.io.checkpoint_file import read_checkpoint
from maxmargin.io.data import read_data

from ..conftest import random_problem
from ..problems.test_ranking import ranking


def test_train_tells_the_training_accuracy(folder, command):
    fields = json.loads(command("train", "train.svm", "model.mm", "--json")[1])
    X, y = load_svmlight("train.svm")
    model = load_model("model.mm")
    assert fields["accuracy"] == model.score(X, y)
    assert fields["correct"] == np.count_nonzero(model.predict(X) == y)
    assert f"training accuracy   {100 * fields['accuracy']:.4f} %" in command("train", "train.svm", "model.mm")[1]


def test_a_file_with_queries_and_no_task_gets_a_note(folder, command):
    X, y, qid = ranking(rows=60, seed=1)
    save_svmlight(X, y, "queries.svm", qid=qid)
    save_svmlight(X, y, "queries.svm.gz", qid=qid)
    command("convert", "queries.svm", "queries.npz", "-q")
    for data in ("queries.svm", "queries.svm.gz", "queries.npz"):
        for name in ("train", "cv", "path"):
            words = [name, data, "-C", "0.1", *(["m.mm"] if name == "train" else [])]
            assert f"note: {data} has query numbers (qid)" in command(*words)[2]
            assert "query numbers" not in command(*words, "--task", "classify")[2]
    assert "query numbers" not in command("train", "train.svm", "n.mm")[2]


@pytest.mark.parametrize(
    ("words", "advice"),
    [
        (["train", "train.svm", "-c", "10"], "The weight of the losses is -C"),
        (["cv", "train.svm", "-c10"], "The weight of the losses is -C"),
        (["train", "train.svm", "-s", "3"], "--liblinear '-s ...'"),
        (["train", "train.svm", "-B", "1"], "--liblinear '-B ...'"),
        (["train", "train.svm", "-v", "5"], "maxmargin cv DATA --folds 5"),
        (["train", "train.svm", "-w1", "5"], "--liblinear '-w ...'"),
    ],
)
def test_letters_of_liblinear_get_advice(folder, command, words, advice):
    code, _, err = command(*words)
    assert code == 2
    assert advice in " ".join(err.split())
    code, out, _ = command(*words, "--json")
    assert advice in json.loads(out)["error"]


def test_data_and_model_in_the_wrong_order_are_recognised(folder, command):
    command("train", "train.svm", "model.mm", "-q")
    command("convert", "model.mm", "liblinear.model", "-q")
    before = {name: os.path.getmtime(name) for name in os.listdir()}
    for model in ("model.mm", "liblinear.model"):
        code, _, err = command("predict", model, "test.svm", "out.txt")
        assert code == 2
        assert f"DATA comes first:  maxmargin predict test.svm {model} out.txt" in err
        for name in ("train", "cv"):
            code, _, err = command(name, model, "train.svm")
            assert code == 2
            assert f"DATA comes first:  maxmargin {name} train.svm {model}" in err
    assert "model.mm is a model" in command("train", "model.mm", "new.mm")[2]
    code, _, err = command("train", "train.svm", "test.svm")
    assert (code, "test.svm is there already and is no model" in err) == (2, True)
    assert {name: os.path.getmtime(name) for name in os.listdir()} == before


def test_info_shows_the_features_of_largest_weight(folder, command):
    command("train", "train.svm", "model.mm", "-q")
    weights = load_model("model.mm").coef_[0]
    fields = json.loads(command("info", "model.mm", "--json", "--top", "3")[1])
    high, low = fields["top_features"]
    assert (high["for"], low["for"]) == (1, -1)
    order = np.argsort(weights)
    # features are numbered from 1, as in the file
    assert [each["feature"] for each in high["features"]] == [str(j + 1) for j in order[::-1][:3]]
    assert [each["feature"] for each in low["features"]] == [str(j + 1) for j in order[:3]]
    assert low["features"][0]["weight"] == weights.min()
    out = command("info", "model.mm")[1]
    assert "largest weights for" in out
    assert f"{order[-1] + 1} +" in out
    assert "largest weights" not in command("info", "model.mm", "--top", "0")[1]


def test_info_shows_names_of_features_and_ranks(folder, command):
    with open("t.csv", "w") as file:
        file.write("a,b,label\n1,0,x\n0,1,y\n0.9,0.1,x\n0,0.8,z\n")
    command("train", "t.csv", "t.mm", "-q")
    tops = json.loads(command("info", "t.mm", "--json")[1])["top_features"]
    assert [top["for"] for top in tops] == ["x", "y", "z"]
    assert tops[0]["features"][0]["feature"] == "a"
    X, y, qid = ranking(rows=60, seed=2)
    save_svmlight(X, y, "queries.svm", qid=qid)
    command("train", "queries.svm", "r.mm", "--task", "rank", "-q")
    assert [t["for"] for t in json.loads(command("info", "r.mm", "--json")[1])["top_features"]] == [
        "higher rank",
        "lower rank",
    ]


def test_pictures_of_training_prediction_and_models(folder, command):
    for words in (
        ["train", "train.svm", "model.mm", "--plot", "history.png"],
        ["predict", "test.svm", "model.mm", "--plot", "confusion.png"],
        ["info", "model.mm", "--plot", "features.png"],
    ):
        code, _, err = command(*words)
        assert (code, err) == (0, "")
        assert matplotlib.image.imread(words[-1]).std() > 0.01
    assert command("info", "train.svm", "--plot", "x.png")[0] == 2
    with open("unlabelled.svm", "w") as file:
        file.write("7 1:1\n")
    code, _, err = command("predict", "unlabelled.svm", "model.mm", "o.txt", "--plot", "x.png")
    assert (code, "needs labels to compare with" in err) == (2, True)
    assert not os.path.exists("x.png")


def test_the_counts_of_a_picture_are_those_of_scikit_learn(folder, command, monkeypatch):
    from maxmargin.plots.confusion import ConfusionDisplay

    shown = []
    plot = ConfusionDisplay.plot
    monkeypatch.setattr(ConfusionDisplay, "plot", lambda self, **k: shown.append(self.counts) or plot(self, **k))
    command("train", "train.svm", "model.mm", "-q")
    command("predict", "test.svm", "model.mm", "--plot", "c.svg", "-q")
    X, y = load_svmlight("test.svm")
    np.testing.assert_array_equal(shown[0], confusion_matrix(y, load_model("model.mm").predict(X)))


def test_models_become_onnx(folder, command):
    command("train", "train.svm", "model.mm", "-q")
    assert command("convert", "model.mm", "model.onnx", "-q")[0] == 0
    X, _ = load_svmlight("test.svm")
    session = onnxruntime.InferenceSession("model.onnx", providers=["CPUExecutionProvider"])
    label, scores = session.run(None, {"X": X.toarray()})
    model = load_model("model.mm")
    np.testing.assert_array_equal(label, model.predict(X))
    np.testing.assert_allclose(scores, model.decision_function(X), rtol=1e-12)
    code, _, err = command("convert", "train.svm", "x.onnx")
    assert (code, "cannot become" in err or "convert turns data" in err) == (2, True)


@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_readers_tell_how_far_they_are(tmp_path, suffix):
    rng = np.random.default_rng(0)
    save_svmlight(rng.normal(size=(60_000, 30)), rng.choice([-1, 1], 60_000), tmp_path / f"a.svm{suffix}")
    shares = []
    data = read_data(tmp_path / f"a.svm{suffix}", progress=shares.append)
    assert data.X.shape == (60_000, 30)
    assert len(shares) >= 2
    assert all(0 <= share <= 1 for share in shares)
    assert shares == sorted(shares)
    with pytest.raises(KeyError, match="stop"):
        read_data(tmp_path / f"a.svm{suffix}", progress=lambda share: {}["stop"])


def hard_file():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 300)) * np.linspace(0.2, 5.0, 300)
    y = np.where(X @ rng.normal(size=300) + 20.0 * rng.normal(size=3000) > 0, 1, -1)
    save_svmlight(X, y, "hard.svm")
    return X, y


def test_a_killed_training_resumes(folder, command):
    X, y = hard_file()
    words = ["train", "hard.svm", "m.mm", "--solver", "dcd", "--loss", "hinge", "--checkpoint", "state.ckpt"]
    words += ["--checkpoint-interval", "0.05", "-C", "0.01"]
    process = subprocess.Popen([sys.executable, "-m", "maxmargin", *words, "--tol", "0", "--max-iter", "100000000"])
    while True:  # until it has a state that is worth something
        time.sleep(0.05)
        assert process.poll() is None
        if os.path.exists("state.ckpt") and read_checkpoint("state.ckpt").problems[0] is not None:
            break
    process.send_signal(signal.SIGKILL)
    process.wait()
    epochs = read_checkpoint("state.ckpt").problems[0].solution.n_iter
    assert not os.path.exists("m.mm")
    code, _, err = command(*words)
    assert (code, "state.ckpt is there already; go on from it with --resume, or remove it" in err) == (2, True)
    code, out, _ = command(*words, "--resume", "--json")
    assert code == 0
    fields = json.loads(out)
    assert fields["epochs"] >= epochs > 0  # a state that is within the tolerance already needs none
    assert fields["gap"] <= 1e-3
    best = LinearSVC("hinge", C=0.01, tol=1e-6).fit(X, y)
    assert fields["objective"] <= best.primal_objective_ * (1 + 2e-3)
    assert not os.path.exists("state.ckpt")  # nothing is left to go on with
    assert command(*words, "--resume", "-q") == (0, "", "")  # without a file it begins anew


def test_a_limit_leaves_the_checkpoint(folder, command):
    hard_file()
    words = ["train", "hard.svm", "m.mm", "--solver", "dcd", "--checkpoint", "state.ckpt", "--tol", "1e-6", "-C", "10"]
    assert command(*words, "--max-iter", "3", "-q")[0] == 1
    first = read_checkpoint("state.ckpt").problems[0].solution
    assert command(*words, "--max-iter", "3", "--resume", "-q")[0] == 1
    second = read_checkpoint("state.ckpt").problems[0].solution
    assert second.n_iter > first.n_iter
    assert second.certificate.gap < first.certificate.gap
    code, _, err = command(*words, "--resume", "--loss", "hinge")
    assert (code, "other data or parameters that has not ended" in err) == (2, True)


def test_rankings_have_checkpoints_too(folder, command):
    X, y, qid = ranking(rows=300, seed=3)
    save_svmlight(X, y, "queries.svm", qid=qid)
    words = ["train", "queries.svm", "r.mm", "--task", "rank", "-C", "1000", "--tol", "1e-7", "--checkpoint", "r.ckpt"]
    assert command(*words, "--max-iter", "4", "-q")[0] == 1
    assert read_checkpoint("r.ckpt").problems[0].solution.points is not None
    assert command(*words, "--resume", "-q") == (0, "", "")
    assert not os.path.exists("r.ckpt")


@pytest.mark.parametrize("task", ["regression", "one_class"])
def test_numbers_and_one_class_have_checkpoints_too(folder, command, task):
    X, y = random_problem(rows=300, features=10, seed=3)
    save_svmlight(X + 2.0, X[:, 0] + 0.1 * y, "numbers.svm")
    words = ["train", "numbers.svm", "n.mm", "--task", task, "--tol", "1e-7", "--solver", "dcd"]
    words += ["--checkpoint", "n.ckpt"]
    assert command(*words, "--max-iter", "2", "-q")[0] == 1
    begun = read_checkpoint("n.ckpt").problems[0].solution
    words[words.index("dcd")] = "auto"
    assert command(*words, "--resume", "-q") == (0, "", "")
    assert len(load_model("n.mm").history_) > len(begun.history)
    assert not os.path.exists("n.ckpt")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--resume"], "--resume needs --checkpoint FILE"),
        (["--checkpoint", "train.svm"], "would overwrite another file"),
        (["--checkpoint", "no/such/file"], "does not exist"),
        (["--checkpoint", "a.ckpt", "--checkpoint-interval", "0"], "not a positive finite number"),
        (["--checkpoint", "junk", "--resume"], "junk: this is not a checkpoint file"),
    ],
)
def test_checkpoints_that_cannot_be(folder, command, words, message):
    with open("junk", "w") as file:
        file.write("junk")
    code, _, err = command("train", "train.svm", "m.mm", *words)
    assert code == 2
    assert message in err
    assert not os.path.exists("m.mm")
    with open("junk") as file:
        assert file.read() == "junk"
