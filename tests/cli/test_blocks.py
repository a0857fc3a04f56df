"""The command on folders of blocks: convert, train within a memory limit, predict."""

import json
import os
from pathlib import Path

import numpy as np
import pytest

from maxmargin import load_model, open_blocks, save_svmlight, write_blocks


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def little_memory(monkeypatch):
    """Nothing fits within memory, and training works with as much as it needs for small data."""
    from maxmargin.io import blocks

    monkeypatch.setattr(blocks, "LEAST_MEMORY", 8 << 20)
    monkeypatch.setattr(blocks, "LOADED_SHARE", 0.0)


def rows(classes=2, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, classes, 300)
    X = rng.normal(size=(300, 6))
    X[np.arange(300), y] += 2
    return X, y


@pytest.fixture
def run(command):
    def run(*words):
        code, out, _ = command(*words, "--json")
        return code, json.loads(out)

    return run


def test_files_are_converted_trained_on_and_predicted(run, little_memory):
    X, y = rows()
    save_svmlight(X[:100], y[:100], "a.svm")
    save_svmlight(X[100:], y[100:], "b.svm.gz")
    code, found = run("convert", "a.svm", "b.svm.gz", "all.blocks", "--block-size", "4KB")
    assert code == 0
    assert (found["rows"], found["features"], found["format"]) == (300, 6, "blocks")
    assert found["blocks"] == open_blocks("all.blocks").n_blocks > 3
    code, trained = run("train", "all.blocks", "--memory", "1GB")
    assert code == 0
    assert trained["model"] == "all.mm"
    assert trained["solver"] == "newton over blocks"
    assert trained["classes"] == [0, 1]
    code, predicted = run("predict", "all.blocks", "all.mm", "labels.txt")
    assert code == 0
    assert predicted["correct"] == trained["correct"] > 250
    model = load_model("all.mm")
    assert np.loadtxt("labels.txt").tolist() == model.predict(X).tolist()
    assert model.primal_objective_ == pytest.approx(trained["objective"])


def test_blocks_that_fit_are_trained_on_like_any_file(run, command):
    X, y = rows(classes=3)
    np.savez("a.npz", X=X, y=y)
    write_blocks("a.npz", "a.blocks", block_bytes="4KB")
    _, one = run("train", "a.npz", "one.mm")
    _, two = run("train", "a.blocks", "two.mm")
    assert one["objective"] == pytest.approx(two["objective"], rel=1e-9)
    assert one["solver"] == two["solver"]
    assert command("cv", "a.blocks", "-C", "1", "--quiet")[0] == 0


@pytest.mark.parametrize("words", [["--multi-class", "crammer_singer"], ["--class-weight", "1=3"], ["--solver", "dcd"]])
def test_options_of_a_classifier_are_honoured_over_blocks(run, little_memory, words):
    X, y = rows(classes=3)
    save_svmlight(X, y, "a.svm")
    write_blocks("a.svm", "a.blocks", block_bytes="4KB")
    code, streamed = run("train", "a.blocks", "one.mm", *words)
    assert code == 0
    _, same = run("train", "a.svm", "two.mm", *words)
    assert streamed["objective"] == pytest.approx(same["objective"], rel=2e-3)
    assert "over blocks" in str(streamed["solver"])


def test_regression_and_ranking_over_blocks(run, little_memory):
    X, _ = rows()
    y = X[:, 0] + 0.1 * np.random.default_rng(1).normal(size=300) + 10
    save_svmlight(X, y, "a.svm")
    write_blocks("a.svm", "a.blocks", block_bytes="4KB")
    _, streamed = run("train", "a.blocks", "one.mm", "--task", "regression")
    _, same = run("train", "a.svm", "two.mm", "--task", "regression")
    assert streamed["objective"] == pytest.approx(same["objective"], rel=2e-3)
    for name in ("mean_squared_error", "r2", "squared_correlation", "mean_absolute_error"):
        assert streamed[name] == pytest.approx(same[name], rel=0.05)
    qid = np.arange(300) // 20
    save_svmlight(X, np.round(y), "q.svm", qid=qid)
    write_blocks("q.svm", "q.blocks", block_bytes="4KB")
    _, streamed = run("train", "q.blocks", "one.mm", "--task", "rank")
    _, same = run("train", "q.svm", "two.mm", "--task", "rank")
    assert streamed["objective"] == pytest.approx(same["objective"], rel=2e-3)
    assert (streamed["pairs"], streamed["groups"]) == (same["pairs"], same["groups"])


def test_weights_of_rows_count(run):
    X, y = rows()
    weight = 1.0 + np.arange(300) % 3
    write_blocks((X, y, weight), "a.blocks", block_bytes="4KB")
    again = np.repeat(np.arange(300), weight.astype(int))
    np.savez("b.npz", X=X[again], y=y[again])
    _, weighted = run("train", "a.blocks", "a.mm")
    _, repeated = run("train", "b.npz", "b.mm")
    assert weighted["objective"] == pytest.approx(repeated["objective"], rel=2e-3)


def test_what_cannot_be_is_said(command, little_memory):
    X, y = rows()
    save_svmlight(X, y, "a.svm")
    write_blocks("a.svm", "a.blocks", block_bytes="4KB")
    for words, message in (
        (["train", "a.svm", "--memory", "1GB"], "--memory applies to folders of blocks"),
        (["train", "a.blocks", "--memory", "much"], "memory='much' must be"),
        (["train", "a.blocks", "--label", "x"], "--label does not apply to blocks data"),
        (["train", "a.blocks", "--dtype", "float32"], "--dtype does not apply to blocks data"),
        (["train", "a.blocks", "--task", "one_class"], "--task one_class over blocks needs rows that fit"),
        (["train", "a.blocks", "--checkpoint", "c"], "--checkpoint does not go with blocks"),
        (["train", "a.blocks", "--solver", "pcd"], "solver='pcd' does not stream"),
        (["cv", "a.blocks"], "do not fit within the memory limit"),
        (["convert", "a.svm", "a.blocks"], "finished folder of blocks"),
        (["convert", "a.svm", "a.svm", "b.npz"], "several files become one folder of blocks only"),
        (["convert", "a.svm", "b.npz", "--block-size", "1MB"], "--block-size applies to folders of blocks only"),
        (["convert", "-", "b.blocks"], "blocks are made of files"),
        (["train", "nowhere.blocks"], "nowhere.blocks"),
    ):
        code, _, err = command(*words)
        assert code == 2, words
        assert message in err


def test_a_damaged_block_is_named_by_the_command(command):
    X, y = rows()
    write_blocks((X, y), "a.blocks", block_bytes="4KB")
    name = Path("a.blocks", "block-000001.safetensors")
    contents = bytearray(name.read_bytes())
    contents[-1] ^= 1
    name.write_bytes(contents)
    code, _, err = command("train", "a.blocks", "a.mm")
    assert code == 2
    assert "block-000001.safetensors: its checksum is wrong" in err
    assert not os.path.exists("a.mm")
