"""The command: what it prints, writes and returns; in this process where possible, in its own where it matters."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_digits, load_iris

from maxmargin import (
    BinaryProblem,
    LinearSVC,
    MulticlassProblem,
    __version__,
    load_model,
    load_svmlight,
    save_model,
    save_svmlight,
)
from maxmargin.cli.liblinear_options import parse_liblinear


def test_train_gives_the_estimators_model_bit_by_bit(folder, command):
    options = ["--loss", "hinge", "-C", "3", "--tol", "1e-5", "--seed", "7", "--class-weight", "1=2"]
    code, out, err = command("train", "train.svm", "model.mm", *options)
    assert (code, err) == (0, "")
    X, y = load_svmlight("train.svm")
    expected = LinearSVC("hinge", C=3.0, tol=1e-5, random_state=7, class_weight={1: 2.0}, n_jobs=-1)
    expected.fit(X, y.astype(int))
    model = load_model("model.mm")
    assert model.get_params() == expected.get_params()
    np.testing.assert_array_equal(model.coef_.view(np.int64), expected.coef_.view(np.int64))
    np.testing.assert_array_equal(model.intercept_, expected.intercept_)
    assert model.duality_gap_ == expected.duality_gap_
    for word in ("rows", "400", "features", "30", "objective", "certified gap", "epochs", "support vectors"):
        assert word in out
    for word in ("reading", "training", "writing"):
        assert word in out
    assert not hasattr(model, "dual_coef_")


def test_the_default_name_of_the_model(folder, command):
    os.mkdir("elsewhere")
    os.rename("train.svm", "elsewhere/train.svm")
    assert command("train", "elsewhere/train.svm", "-q") == (0, "", "")
    assert sorted(os.listdir()) == ["elsewhere", "test.svm", "train.mm"]


def test_json_and_quiet(folder, command):
    code, out, err = command("train", "train.svm", "model.mm", "--json", "--dual")
    assert (code, err) == (0, "")
    fields = json.loads(out)
    assert fields["rows"] == 400
    assert fields["features"] == 30
    assert fields["classes"] == [-1, 1]
    assert fields["converged"] is True
    assert fields["gap"] <= fields["tol"] == 1e-3
    assert set(fields["seconds"]) == {"reading", "training", "writing"}
    model = load_model("model.mm")
    assert fields["objective"] == model.primal_objective_
    assert fields["support_vectors"] == len(model.support_)
    code, out, err = command("predict", "test.svm", "model.mm", "--json")
    fields = json.loads(out)
    X, y = load_svmlight("test.svm")
    assert fields["accuracy"] == model.score(X, y)
    code, out, err = command("train", "missing.svm", "--json")
    assert code == 2
    assert json.loads(out) == {"error": "missing.svm: No such file or directory"}
    code, out, err = command("train", "--json")
    assert code == 2
    assert json.loads(out) == {"error": "Missing argument 'DATA'."}


def test_tolerance_not_reached_is_code_1_and_the_model_is_written(folder, command):
    words = ["train", "train.svm", "model.mm", "--tol", "1e-12", "--solver", "dcd", "--max-iter", "2"]
    code, out, err = command(*words)
    assert code == 1
    assert "not 1e-12" in out
    assert "The model is written, but the fit ended with a certified gap" in err
    assert not load_model("model.mm").converged_
    assert command(*words, "-q") == (1, "", "")
    assert json.loads(command(*words, "--json")[1])["converged"] is False


@pytest.mark.parametrize("scores", [False, True])
@pytest.mark.parametrize("classes", [2, 3])
def test_predictions_are_those_of_the_estimator(tmp_path, monkeypatch, command, classes, scores):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("maxmargin.io.svmlight.BLOCK", 500)  # many blocks
    X, y = load_iris(return_X_y=True)
    X, y = sp.csr_matrix(X[y < classes]), y[y < classes]
    save_svmlight(X, y, "iris.svm")
    command("train", "iris.svm", "iris.mm")
    model = load_model("iris.mm")
    code, out, err = command("predict", "iris.svm", "iris.mm", "out.txt", *(["--scores"] if scores else []))
    assert (code, err) == (0, "")
    found = np.loadtxt("out.txt")
    expected = model.decision_function(X) if scores else model.predict(X)
    np.testing.assert_array_equal(found, expected)
    correct = (model.predict(X) == y).sum()
    assert f"({correct} of {len(y)})" in out
    from sklearn.metrics import classification_report

    report = classification_report(y, model.predict(X), output_dict=True)
    fields = json.loads(command("predict", "iris.svm", "iris.mm", "--json")[1])
    for entry in fields["classes"]:
        expected = report[str(entry["label"])]
        assert entry["precision"] == pytest.approx(expected["precision"])
        assert entry["recall"] == pytest.approx(expected["recall"])
        assert entry["f1"] == pytest.approx(expected["f1-score"])


def test_predictions_to_standard_output_keep_the_report_apart(folder, command):
    command("train", "train.svm", "model.mm")
    code, out, err = command("predict", "test.svm", "model.mm", "-")
    assert set(out.split()) == {"-1", "1"}
    assert len(out.splitlines()) == 169
    assert "accuracy" in err
    assert code == 0


def test_features_the_model_does_not_know_are_left_out_and_counted(folder, command):
    command("train", "train.svm", "model.mm")
    _, expected, _ = command("predict", "test.svm", "model.mm", "-", "--scores")
    with open("test.svm") as file:
        lines = [line.rstrip("\n") + " 31:5 1000:1\n" for line in file]
    with open("more.svm", "w") as file:
        file.writelines(lines)
    code, found, err = command("predict", "more.svm", "model.mm", "-", "--scores")
    assert (code, found) == (0, expected)
    assert "338 values belong to features that the model does not know" in err


def test_zero_based_files_stay_zero_based_when_predicting(tmp_path, monkeypatch, command):
    monkeypatch.chdir(tmp_path)
    with open("train.svm", "w") as file:
        file.write("1 0:1\n-1 1:1\n" * 5)
    with open("test.svm", "w") as file:
        file.write("-1 1:1\n" * 3)  # no index 0 here: alone it would pass for one-based
    command("train", "train.svm", "model.mm")
    _, out, _ = command("predict", "test.svm", "model.mm", "--json")
    assert json.loads(out)["accuracy"] == 1.0
    _, out, _ = command("predict", "test.svm", "model.mm", "--json", "--zero-based", "no")
    assert json.loads(out)["accuracy"] == 0.0


def test_labels_the_model_does_not_know(folder, command):
    command("train", "train.svm", "model.mm")
    with open("odd.svm", "w") as file:
        file.write("5 1:1\n1 1:1\n")
    _, out, err = command("predict", "odd.svm", "model.mm")
    assert "1 rows have labels that the model does not know" in err
    with open("odd.svm", "w") as file:
        file.write("0 1:1\n0 2:1\n")
    code, out, err = command("predict", "odd.svm", "model.mm")
    assert code == 0
    assert "no label of the data is a class of the model" in err
    assert "accuracy" not in out


def test_tables_from_training_to_prediction(tmp_path, monkeypatch, command):
    monkeypatch.chdir(tmp_path)
    with open("t.csv", "w") as file:
        file.write("colour,size,kind\n" + "red,1.0,a b\nblue,-1.0,c\n" * 10)
    code, _, err = command("train", "t.csv", "--label", "kind")
    assert code == 2
    assert "'colour' holds text ('red')" in err
    code, out, _ = command("train", "t.csv", "--label", "kind", "--one-hot")
    assert code == 0
    assert "2 (a b, c)" in out
    code, out, err = command("predict", "t.csv", "t.mm", "out.txt")
    assert code == 0
    assert "accuracy 100.0000 %" in out
    with open("out.txt") as file:
        assert file.read() == "a b\nc\n" * 10
    with open("unlabelled.csv", "w") as file:
        file.write("size,colour\n1.0,red\n")
    assert command("predict", "unlabelled.csv", "t.mm", "-")[1] == "a b\n"
    code, _, err = command("predict", "unlabelled.csv", "t.mm")
    assert code == 2
    assert "no labels to compare with" in err
    model = load_model("t.mm")
    assert model.feature_names_in_.tolist() == ["colour=blue", "colour=red", "size"]


def test_models_of_python_work_on_the_command_line(folder, command):
    X, y = load_svmlight("train.svm")
    save_model(LinearSVC().fit(X, y), "python.mm")
    _, out, _ = command("predict", "test.svm", "python.mm", "--json")
    T, t = load_svmlight("test.svm", n_features=30)
    assert json.loads(out)["accuracy"] == load_model("python.mm").score(T, t)
    _, out, _ = command("info", "python.mm")
    assert "kept" in out


def test_convert_models_there_and_back(folder, command):
    command("train", "train.svm", "model.mm", "--dual")
    assert command("convert", "model.mm", "model.liblinear")[0] == 0
    with open("model.liblinear") as file:
        assert file.readline() == "solver_type L2R_L2LOSS_SVC_DUAL\n"
    assert command("convert", "model.liblinear", "back.mm")[0] == 0
    np.testing.assert_array_equal(load_model("back.mm").coef_, load_model("model.mm").coef_)
    for model in ("model.liblinear", "back.mm"):
        assert command("predict", "test.svm", model, "-")[1] == command("predict", "test.svm", "model.mm", "-")[1]
    assert command("convert", "model.mm", "copy.mm")[0] == 0
    with open("copy.mm", "rb") as copy, open("model.mm", "rb") as model:
        assert copy.read() == model.read()


def test_convert_data(folder, command):
    assert command("convert", "train.svm", "train.npz")[0] == 0
    assert command("convert", "train.npz", "again.svm.gz")[0] == 0
    X, y = load_svmlight("train.svm")
    Z, z = load_svmlight("again.svm.gz")
    assert (X != Z).nnz == 0
    assert y.tolist() == z.tolist()
    command("train", "train.svm", "a.mm")
    command("train", "train.npz", "b.mm")
    np.testing.assert_array_equal(load_model("a.mm").coef_, load_model("b.mm").coef_)
    for words in (["train.svm", "x.mm", "--to", "maxmargin"], ["a.mm", "x.npz", "--to", "npz"], ["a.mm", "a.mm"]):
        code, _, err = command("convert", *words)
        assert code == 2
        assert "cannot become" in err or "the same file" in err


def test_info(folder, command):
    command("train", "train.svm", "model.mm", "-C", "2")
    _, out, _ = command("info", "model.mm")
    for word in ("classes", "-1, 1", "squared_hinge", "certified gap", "newton"):
        assert word in out
    fields = json.loads(command("info", "model.mm", "--json")[1])
    assert fields["C"] == 2
    assert fields["dual_objective"] == pytest.approx(fields["objective"], rel=1e-3)
    fields = json.loads(command("info", "train.svm", "--json")[1])
    assert fields["rows"] == 400
    assert fields["labels"] == {"-1": 173, "1": 227}
    assert fields["first_feature"] == 1


def test_cv(folder, command):
    code, out, err = command("cv", "train.svm", "-C", "1", "-C", "0.001", "--folds", "4", "--tol", "1e-6")
    assert code == 0
    assert err == "note: the best C, 1, is the largest of the grid; larger ones may be better\n"
    assert out.splitlines()[-1].startswith("best C 1: ")
    fields = json.loads(command("cv", "train.svm", "--json")[1])
    assert [result["C"] for result in fields["results"]] == [0.01, 0.1, 1.0, 10.0, 100.0]
    best = max(result["accuracy"] for result in fields["results"])
    assert fields["accuracy"] == best
    assert fields["best_C"] == min(result["C"] for result in fields["results"] if result["accuracy"] == best)
    words = ["cv", "train.svm", "-C", "10", "--solver", "dcd", "--tol", "1e-12", "--max-iter", "2"]
    assert command(*words, "-q") == (1, "", "")
    for words, message in ((["--folds", "1"], "--folds"), (["--folds", "500"], "must lie between 2 and the number")):
        code, _, err = command("cv", "train.svm", *words)
        assert code == 2
        assert message in err


def test_bench(folder, command):
    code, out, _ = command("bench", "train.svm", "--tol", "1e-6", "--json")
    assert code == 0
    results = {result["solver"]: result for result in json.loads(out)["results"]}
    assert set(results) == {"auto", "dcd", "avsf", "online", "newton", "pcd", "scikit-learn"}
    for name, result in results.items():
        assert 0 <= result["error"] <= (1e-3 if name == "scikit-learn" else 1e-6)
    code, out, _ = command("bench", "train.svm", "--loss", "hinge", "--json")
    assert {"auto", "cutting_plane"} < {result["solver"] for result in json.loads(out)["results"]}
    code, out, _ = command("bench", "train.svm", "--solver", "newton", "--no-scikit-learn")
    assert out.splitlines()[1].startswith("newton")
    assert len(out.splitlines()) == 2


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", {}),
        ("-s 3 -c 10 -B 1", {"loss": "hinge", "C": 10.0, "no_intercept": False, "intercept_scaling": 1.0}),
        ("-s3 -c0.5 -B2", {"loss": "hinge", "C": 0.5, "no_intercept": False, "intercept_scaling": 2.0}),
        ("-s 2 -B 0", {"loss": "squared_hinge", "no_intercept": True, "intercept_scaling": 1.0}),
        ("-e 0.1", {"tol": 1e-3}),
        ("-e 1e-6 -q", {"tol": 1e-6, "quiet": True}),
        ("-m 2", {"jobs": 2}),
        ("-w1 5 -w-1 0.5", {"class_weight": ("1=5.0", "-1=0.5")}),
    ],
)
def test_options_of_liblinear(text, expected):
    assert parse_liblinear(text)[0] == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("-s 0", "-s 0 is logistic regression; maxmargin trains -s 1, 2, 3, 4, 5, 11, 12, 13 and 21"),
        ("-s 11 -p -1", "-p needs a number from 0 on"),
        ("-s 99", "unknown to LIBLINEAR too"),
        ("-s x", "needs a whole number"),
        ("-c", "-c needs a number"),
        ("-c x", "needs a number, not 'x'"),
        ("-v 1", "-v needs at least 2 folds"),
        ("-v x", "-v needs a whole number"),
        ("-s 3 -C", "-C goes with -s 2 only"),
        ("-R", "-R needs -B 1"),
        ("-R -B 2", "-R needs -B 1"),
        ("-p 0.1", "belongs to regression"),
        ("-z 1", "unknown option '-z'"),
        ("3", "'3' is not an option"),
        ("-w1", "-w1 needs a number"),
        ("-c '1", "No closing quotation"),
    ],
)
def test_options_of_liblinear_that_mean_nothing_here(folder, command, text, message):
    code, _, err = command("train", "train.svm", "model.mm", f"--liblinear={text}")
    assert code == 2
    assert message in err
    assert not os.path.exists("model.mm")


@pytest.fixture
def digits(tmp_path, monkeypatch):
    """A folder with digits to tell apart."""
    monkeypatch.chdir(tmp_path)
    X, y = load_digits(return_X_y=True)
    save_svmlight(X[:600] / 16, y[:600], "digits.svm")
    save_svmlight(X[600:900] / 16, y[600:900], "digits.t.svm")
    return tmp_path


@pytest.mark.parametrize("multi_class", ["crammer_singer", "weston_watkins"])
def test_one_problem_over_all_classes_from_training_to_prediction(digits, command, multi_class):
    code, out, _ = command("train", "digits.svm", "digits.mm", "--multi-class", multi_class, "--json", "--dual")
    assert code == 0
    facts = json.loads(out)
    assert facts["gap"] <= 1e-3
    assert facts["solver"] == "sdm"
    X, y = load_svmlight("digits.svm")
    model = LinearSVC(multi_class=multi_class, random_state=0).fit(X, y)
    loaded = load_model("digits.mm")
    assert np.array_equal(loaded.coef_, model.coef_)
    assert loaded.primal_objective_ == model.primal_objective_ == facts["objective"]
    assert (loaded.dual_coef_ != model.dual_coef_).nnz == 0
    assert loaded.multi_class == multi_class
    code, out, _ = command("predict", "digits.t.svm", "digits.mm", "--json")
    assert code == 0
    assert json.loads(out)["accuracy"] > 0.85
    code, out, _ = command("info", "digits.mm")
    assert multi_class in out
    warm = loaded.set_params(warm_start=True).fit(X, y)
    assert warm.n_iter_ <= model.n_iter_
    words = ["--multi-class", multi_class, "-C", "0.01", "-C", "1", "--folds", "3", "--json"]
    code, out, _ = command("cv", "digits.svm", *words)
    assert code == 0
    assert min(result["accuracy"] for result in json.loads(out)["results"]) > 0.8


def test_crammer_singer_in_the_words_of_liblinear(digits, command):
    from liblinear import liblinearutil

    assert command("train", "digits.svm", "a.mm", "--liblinear", "-s 4 -c 0.5 -B 1 -w3 2 -e 1e-6")[0] == 0
    y, X = liblinearutil.svm_read_problem("digits.svm", return_scipy=True)
    rival = liblinearutil.train(y, X, "-s 4 -c 0.5 -B 1 -w3 2 -e 1e-6 -q")
    weights = np.zeros((10, 65))
    weights[rival.get_labels()] = np.array([rival.w[k] for k in range(650)]).reshape(65, 10).T
    C = np.where(y == 3, 1.0, 0.5)
    problem = MulticlassProblem(X, y.astype(int), C, bias=1.0)
    assert load_model("a.mm").primal_objective_ == pytest.approx(problem.primal(weights), rel=1e-5)
    assert command("convert", "a.mm", "a.model")[0] == 0
    back = liblinearutil.load_model("a.model")
    predicted = liblinearutil.predict([], X, back, "-q")[0]
    assert np.array_equal(predicted, load_model("a.mm").predict(X))


def test_solvers_side_by_side_on_one_problem_over_all_classes(digits, command):
    code, out, _ = command("bench", "digits.svm", "--multi-class", "crammer_singer", "-C", "0.1", "--json")
    assert code == 0
    results = json.loads(out)["results"]
    assert [result["solver"] for result in results] == ["auto", "newton", "cutting_plane", "sdm", "eg", "scikit-learn"]
    assert max(result["error"] for result in results) < 0.05
    code, out, _ = command("bench", "digits.svm", "--multi-class", "weston_watkins", "-C", "0.1", "--json")
    assert [result["solver"] for result in json.loads(out)["results"]] == ["auto", "newton", "sdm"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--multi-class", "crammer_singer", "--loss", "squared_hinge"], "leave out --loss"),
        (["--multi-class", "weston_watkins", "--solver", "eg"], "it solves problems of Crammer & Singer; choose from"),
        (["--solver", "sdm"], "it solves problems of Crammer & Singer and problems of Weston & Watkins"),
        (["--task", "rank", "--multi-class", "crammer_singer"], "--multi-class does not apply"),
    ],
)
def test_what_does_not_combine_with_classes(digits, command, words, message):
    code, _, err = command("train", "digits.svm", "no.mm", *words)
    assert code == 2
    assert message in err
    assert not (digits / "no.mm").exists()


def test_options_of_liblinear_train_the_same_problem(folder, command):
    assert command("train", "train.svm", "a.mm", "--liblinear", "-s 3 -c 2 -B 1 -w1 3 -e 1e-7")[0] == 0
    words = ["--loss", "hinge", "-C", "2", "--class-weight", "1=3", "--tol", "1e-7"]
    assert command("train", "train.svm", "b.mm", *words)[0] == 0
    np.testing.assert_array_equal(load_model("a.mm").coef_, load_model("b.mm").coef_)
    from liblinear import liblinearutil

    X, y = load_svmlight("train.svm")
    model = liblinearutil.train(y, X, "-s 3 -c 2 -B 1 -w1 3 -e 1e-7 -q")
    w = np.array(model.w[:31]) * model.label[0]
    theirs = BinaryProblem(X, y, np.where(y == 1, 6.0, 2.0), loss="hinge", bias=1.0).primal(w)
    ours = load_model("a.mm").primal_objective_
    assert ours * (1 - 1e-6) <= theirs <= ours * 1.01, "LIBLINEAR stops early, but near this optimum"
    code, _, err = command("train", "train.svm", "b.mm", "-C", "2", "--liblinear", "-c 1")
    assert code == 2
    assert "--liblinear sets C too" in err
    assert command("train", "train.svm", "c.mm", "-C", "2", "--liblinear", "-s 3")[0] == 0
    assert load_model("c.mm").get_params()["C"] == 2.0
    assert not load_model("c.mm").fit_intercept


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["train"], "Missing argument 'DATA'"),
        (["train", "missing.svm"], "missing.svm: No such file or directory"),
        (["train", "."], "Is a directory"),
        (["train", "train.svm", "."], "is a folder"),
        (["train", "train.svm", "no/such/model.mm"], "does not exist"),
        (["train", "train.svm", "train.svm"], "would overwrite the data"),
        (["train", "train.svm", "-C", "-1"], "'-C': -1 is not a positive finite number"),
        (["train", "train.svm", "-C", "nan"], "'-C': nan is not a positive finite number"),
        (["train", "train.svm", "-C", "x"], "Invalid value for '-C'"),
        (["train", "train.svm", "--tol", "-1"], "'--tol': -1 is not a finite number from 0 on"),
        (["train", "train.svm", "--tol", "inf"], "'--tol': inf is not a finite number from 0 on"),
        (["train", "train.svm", "--time-limit", "0"], "'--time-limit': 0 is not a positive finite number"),
        (["train", "train.svm", "--liblinear", "-c -1"], "C must be finite, not negative"),
        (["train", "train.svm", "--liblinear", "-e -1"], "-e needs a positive number"),
        (["train", "train.svm", "--liblinear", "-s 3", "--intercept-scaling", "2"], "no intercept without -B"),
        (["train", "train.svm", "--liblinear", "-B nan"], "-B needs a finite number"),
        (["train", "train.svm", "--intercept-scaling", "1e160"], "bias must be finite and at most 1e+50"),
        (["convert", "train.svm", "x.npz.gz"], "only svmlight text is written packed"),
        (["convert", "model.mm", "x.mm.gz"], "only svmlight text is written packed"),
        (["train", "train.svm", "-"], "not to standard output"),
        (["train", "train.svm", "--loss", "logistic"], "Invalid value for '--loss'"),
        (["train", "train.svm", "--class-weight", "7=2"], "there is no class '7'; the classes are -1, 1"),
        (["train", "train.svm", "--class-weight", "1"], "expected LABEL=WEIGHT"),
        (["train", "train.svm", "--class-weight", "1=2", "--class-weight", "1=3"], "twice"),
        (["train", "train.svm", "--class-weight", "1=-2"], "not negative"),
        (["train", "train.svm", "--jobs", "0"], "no work is done by 0 threads"),
        (["train", "-", "m.mm", "--format", "csv"], "standard input is read as svmlight only"),
        (["train", "huge.svm"], "renumber the features"),
        (["train", "train.svm", "--n-features", "3"], "beyond the number of features"),
        (["train", "train.svm", "--label", "y"], "--label does not apply to svmlight data"),
        (["train", "train.svm", "--no-intercept", "--intercept-scaling", "2"], "has no meaning"),
        (["train", "bad.svm"], "bad.svm, line 2, column 3: expected index:value"),
        (["train", "empty.svm"], "there are no rows"),
        (["train", "one.svm"], "one.svm: all labels are 1; a classifier needs at least two classes"),
        (["train", "labels.svm"], "X is empty"),
        (["train", "numbers.svm"], "these look like numbers to predict"),
        (["predict", "test.svm", "test.svm"], "not a model file"),
        (["predict", "test.svm", "missing.mm"], "missing.mm: No such file or directory"),
        (["predict", "test.svm", "model.mm", "model.mm"], "would overwrite model.mm"),
        (["predict", "test.svm", "model.mm", "test.svm"], "would overwrite test.svm"),
        (["predict", "bad.svm", "model.mm", "out.txt"], "line 2, column 3"),
        (["predict", "empty.svm", "model.mm", "out.txt"], "there are no rows"),
        (["predict", "test.svm", "model.mm", "--scores"], "--scores needs OUT"),
        (["info", "missing"], "missing: No such file or directory"),
        (["info", "model.mm", "--label", "x"], "--label does not apply to model.mm, which is a model"),
        (["convert", "model.mm", "x", "--one-hot"], "--one-hot does not apply to model.mm, which is a model"),
        (["convert", "model.mm", "x.npz"], "x.npz: convert turns models to .mm or LIBLINEAR's format"),
        (["convert", "train.svm", "x.csv"], "x.csv: convert turns data to svmlight or .npz"),
        (["convert", "train.svm", "-"], "OUT is a file"),
        (["frobnicate"], "No such command 'frobnicate'"),
    ],
)
def test_bad_input_is_code_2_a_message_and_no_file(folder, command, words, message):
    with open("bad.svm", "w") as file:
        file.write("1 1:1\n1 oops\n")
    with open("empty.svm", "w") as file:
        file.write("# nothing\n")
    with open("one.svm", "w") as file:
        file.write("1 1:1\n1 2:1\n")
    with open("huge.svm", "w") as file:
        file.write("1 1:1\n-1 100000000000000:1\n")
    with open("labels.svm", "w") as file:
        file.write("1\n-1\n")
    with open("numbers.svm", "w") as file:
        file.writelines(f"{k / 7} 1:1\n" for k in range(500))
    command("train", "train.svm", "model.mm", "-q")
    before = {name: os.path.getmtime(name) for name in os.listdir()}
    code, out, err = command(*words)
    assert code == 2
    assert message in err
    assert out == ""
    assert {name: os.path.getmtime(name) for name in os.listdir()} == before


def test_an_unreadable_file_and_a_folder_without_permission(folder, command):
    if os.geteuid() == 0:
        done = subprocess.run(["chmod", "0", "train.svm"], check=True)
        assert done.returncode == 0  # the superuser may read everything: nothing to refuse here
        assert command("info", "train.svm")[0] == 0
        return
    os.chmod("train.svm", 0)
    assert command("train", "train.svm")[0] == 2
    os.mkdir("locked", mode=0o500)
    code, _, err = command("train", "test.svm", "locked/model.mm")
    assert code == 2
    assert "not writable" in err


def test_help_version_and_completion(command):
    for words in ([], ["train"], ["predict"], ["cv"], ["convert"], ["info"], ["bench"]):
        code, out, _ = command(*words, "--help")
        assert code == 0
        assert "Usage: maxmargin" in out
    assert command("--version")[1] == f"maxmargin, version {__version__}\n"
    for shell in ("bash", "zsh", "fish"):
        code, out, _ = command("--completion", shell)
        assert code == 0
        assert "_MAXMARGIN_COMPLETE" in out
    done = subprocess.run(
        [sys.executable, "-m", "maxmargin"],
        env={**os.environ, "_MAXMARGIN_COMPLETE": "bash_complete", "COMP_WORDS": "maxmargin tr", "COMP_CWORD": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "train" in done.stdout


@pytest.mark.parametrize(
    ("data", "model"),
    [
        ("a.svm", "a.mm"),
        ("a.svm.gz", "a.mm"),
        ("a.b.train", "a.b.train.mm"),
        ("a.v1.txt", "a.v1.mm"),
        ("a.csv.zst", "a.mm"),
        ("a", "a.mm"),
    ],
)
def test_names_of_models(data, model):
    from maxmargin.cli.targets import default_name

    assert default_name(f"/some/where/{data}") == model


def test_query_numbers_survive_conversion(tmp_path, monkeypatch, command):
    monkeypatch.chdir(tmp_path)
    with open("rank.svm", "w") as file:
        file.write("# ranking\n3 qid:7 1:1\n1 qid:8 2:1\n")
    assert command("convert", "rank.svm", "rank.npz")[0] == 0
    assert command("convert", "rank.npz", "again.svm")[0] == 0
    with open("again.svm") as file:
        assert file.read() == "3 qid:7 1:1\n1 qid:8 2:1\n"


def test_truth_values_as_labels(tmp_path, monkeypatch, command):
    monkeypatch.chdir(tmp_path)
    with open("t.csv", "w") as file:
        file.write("a,b,label\n" + "1,true,true\n-1,false,false\n" * 5)
    assert command("train", "t.csv", "--class-weight", "true=2")[0] == 0
    assert command("predict", "t.csv", "t.mm", "-", "-q")[1] == "true\nfalse\n" * 5
    assert json.loads(command("predict", "t.csv", "t.mm", "--json")[1])["accuracy"] == 1.0


def test_rows_without_labels_do_not_count(tmp_path, monkeypatch, command):
    monkeypatch.chdir(tmp_path)
    with open("t.csv", "w") as file:
        file.write("a,label\n" + "1,x\n-1,y\n" * 5)
    command("train", "t.csv")
    with open("u.csv", "w") as file:
        file.write("a,label\n1,x\n-1,\n-1,x\n")
    code, out, _ = command("predict", "u.csv", "t.mm", "out.txt")
    assert code == 0
    assert "(1 of 2)" in out
    with open("out.txt") as file:
        assert file.read() == "x\ny\ny\n"


def test_bench_on_a_table_with_categories(tmp_path, monkeypatch, command):
    monkeypatch.chdir(tmp_path)
    with open("t.csv", "w") as file:
        file.write("colour,n,label\n" + "red,1,a\nblue,2,b\ngreen,3,b\n" * 10)
    code, out, err = command("bench", "t.csv", "--one-hot", "--solver", "auto")
    assert (code, err) == (0, "")
    assert "scikit-learn" in out


def test_many_scores_need_little_memory(folder, monkeypatch, command):
    monkeypatch.setattr("maxmargin.cli.predict.MOST_SCORES", 7)
    command("train", "train.svm", "model.mm")
    model = load_model("model.mm")
    _, out, _ = command("predict", "test.svm", "model.mm", "-", "--scores", "-q")
    X, y = load_svmlight("test.svm")
    np.testing.assert_array_equal(np.array(out.split(), dtype=float), model.decision_function(X))
    fields = json.loads(command("predict", "test.svm", "model.mm", "--json")[1])
    assert fields["accuracy"] == model.score(X, y)


def test_the_base_survives_conversion(tmp_path, monkeypatch, command):
    monkeypatch.chdir(tmp_path)
    with open("a.svm", "w") as file:
        file.write("1 0:1 2:1\n-1 1:1\n" * 4)
    command("train", "a.svm", "a.mm")
    command("convert", "a.svm", "b.svm")
    for data in ("a.svm", "b.svm"):
        assert json.loads(command("predict", data, "a.mm", "--json")[1])["accuracy"] == 1.0
    save_model(load_model("a.mm"), "c.mm")
    assert json.loads(command("predict", "a.svm", "c.mm", "--json")[1])["accuracy"] == 1.0


def test_nothing_overwrites_the_labels(folder, command):
    X, y = load_svmlight("train.svm")
    np.save("X.npy", X.toarray())
    np.save("y.npy", y)
    assert command("train", "X.npy", "m.mm", "--labels", "y.npy")[0] == 0
    for words in (["predict", "X.npy", "m.mm", "y.npy"], ["train", "X.npy", "y.npy"]):
        code, _, err = command(*words, "--labels", "y.npy")
        assert code == 2
        assert "would overwrite" in err
    np.testing.assert_array_equal(np.load("y.npy"), y)


def test_an_error_while_writing_to_a_device(folder, command):
    command("train", "train.svm", "model.mm")
    code, _, err = command("predict", "missing.svm", "model.mm", os.devnull)
    assert (code, err) == (2, "maxmargin: missing.svm: No such file or directory\n")


def test_many_classes_of_few_rows(tmp_path, monkeypatch, command):
    monkeypatch.chdir(tmp_path)
    with open("a.svm", "w") as file:
        file.writelines(f"{k % 150} {k % 150 + 1}:1\n" for k in range(300))
    assert command("train", "a.svm", "-q")[0] == 0


def test_a_bug_is_called_one(folder, command, monkeypatch):
    def broken(*_, **__):
        raise AttributeError("oops")

    monkeypatch.setattr("maxmargin.io.data.read_data", broken)
    code, _, err = command("train", "train.svm")
    assert code == 70
    assert "this is a bug of maxmargin" in err
    assert "oops" in err
