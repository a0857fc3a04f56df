"""`cv` and `path` of regressions, against the library."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_diabetes

from maxmargin import LinearSVR, load_model, save_svmlight, svm_path
from maxmargin.training.cross_validation import fold_numbers, folds_of


@pytest.fixture(scope="module")
def houses(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Any, Any]:
    X, y = load_diabetes(return_X_y=True)
    X = 20 * X
    path = tmp_path_factory.mktemp("data") / "diabetes.svm"
    save_svmlight(X, y, path)
    return path, X, y


def test_cv_chooses_by_r2_as_the_library_does(houses: tuple[Path, Any, Any], tmp_path: Path, command: Any) -> None:
    path, X, y = houses
    target = tmp_path / "model.mm"
    code, out, err = command(
        "cv",
        str(path),
        str(target),
        "--task",
        "regression",
        "-C",
        "0.1,10",
        "--epsilon",
        "2",
        "--json",
        "--tol",
        "1e-6",
    )
    assert code == 0, err
    told = json.loads(out)
    for result in told["results"]:
        scores = []
        for train, test in folds_of(fold_numbers(np.zeros(len(y), dtype=np.intp), 5, 0)):
            fitted = LinearSVR(epsilon=2.0, C=result["C"], tol=1e-6).fit(X[train], y[train])
            scores.append(fitted.score(X[test], y[test]))
        assert result["R2"] == pytest.approx(np.mean(scores), abs=1e-4)
    assert told["best_C"] == max(told["results"], key=lambda result: result["R2"])["C"]
    model = load_model(target)
    assert isinstance(model, LinearSVR)
    assert (model.C, model.epsilon) == (told["best_C"], 2.0)
    np.testing.assert_allclose(
        model.coef_, LinearSVR(epsilon=2.0, C=model.C, tol=1e-6).fit(X, y).coef_, rtol=1e-2, atol=0.2
    )


def test_path_is_that_of_the_library(houses: tuple[Path, Any, Any], command: Any) -> None:
    path, X, y = houses
    code, out, err = command(
        "path", str(path), "--task", "regression", "-C", "0.1,1,10", "--loss", "squared_epsilon_insensitive", "--json"
    )
    assert code == 0, err
    told = json.loads(out)["results"]
    found = svm_path(X, y, [0.1, 1.0, 10.0], task="regression", loss="squared_epsilon_insensitive")
    np.testing.assert_allclose([result["objective"] for result in told], found.primal.ravel(), rtol=1e-3)
    assert told[0]["R2"] < told[-1]["R2"] <= 1.0


@pytest.mark.parametrize("loss", ["epsilon_insensitive", "squared_epsilon_insensitive", "least_squares"])
def test_a_path_of_numbers_begins_where_the_model_is_known(
    houses: tuple[Path, Any, Any], command: Any, loss: str
) -> None:
    path, X, y = houses
    code, out, err = command("path", str(path), "--task", "regression", "--loss", loss, "--json")
    assert code == 0, err
    told = [result["C"] for result in json.loads(out)["results"]]
    assert told == pytest.approx(svm_path(X, y, task="regression", loss=loss).Cs.tolist(), rel=1e-9)
    assert len(told) > 2


def test_tables_show_r2_and_no_percents(houses: tuple[Path, Any, Any], command: Any) -> None:
    path, _, _ = houses
    for name in ("cv", "path"):
        code, out, err = command(name, str(path), "--task", "regression", "-C", "1")
        assert code == 0, err
        assert "R2" in out
        assert "%" not in out


def test_liblinear_words_cross_validate_a_regression(houses: tuple[Path, Any, Any], command: Any) -> None:
    code, out, err = command("train", str(houses[0]), "--liblinear", "-s 13 -v 3 -c 5 -p 1 -B 1", "--json")
    assert code == 0, err
    told = json.loads(out)
    assert (told["best_C"], len(told["results"][0]["folds"])) == (5.0, 3)
    assert 0.3 < told["R2"] < 0.6


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["cv", "--task", "regression", "--calibrate", "sigmoid"], "--calibrate does not apply to --task regression"),
        (["cv", "--task", "regression", "--loss", "hinge"], "one of margins"),
        (["cv", "--task", "regression", "--penalty", "l1"], "--penalty does not apply to --task regression"),
        (["cv", "--epsilon", "1"], "--epsilon needs --task regression"),
        (["path", "--loss", "epsilon_insensitive"], "needs --task regression"),
        (["cv", "--task", "rank", "--epsilon", "1"], "--epsilon does not apply to --task rank"),
    ],
)
def test_options_that_do_not_go_together(
    houses: tuple[Path, Any, Any], words: list[str], message: str, command: Any
) -> None:
    code, _, err = command(words[0], str(houses[0]), *words[1:])
    assert code == 2
    assert message in " ".join(err.split())
