"""The command in its own process: pipes, signals, terminals, closed streams, what it imports."""

import gzip
import io
import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from maxmargin import load_model, save_svmlight


def in_its_own_process(*words, **options):
    return subprocess.run([sys.executable, "-m", "maxmargin", *words], capture_output=True, check=False, **options)


def bash(line, **options):
    line = line.replace("maxmargin", f"{sys.executable} -m maxmargin")
    return subprocess.run(["bash", "-c", line], capture_output=True, text=True, check=False, timeout=120, **options)


def test_neither_scikit_learn_nor_scipy_is_imported(folder):
    code = (
        "import sys\nfrom maxmargin.cli.app import run\n"
        "codes = [run(words.split()) for words in ('--version', 'train train.svm m.mm -q', 'predict test.svm m.mm -q', "
        "'info m.mm -q', 'convert m.mm m.liblinear -q')]\n"
        "print(codes, [name for name in ('sklearn', 'scipy', 'rich', 'polars', 'pandas') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[0, 0, 0, 0, 0] []"


def test_a_reader_that_goes_away_is_no_error(folder, command):
    command("train", "train.svm", "model.mm")
    with open("test.svm") as file:
        line = file.readline()
    with open("long.svm", "w") as file:
        file.write(line * 100_000)
    shell = f"{sys.executable} -m maxmargin predict long.svm model.mm - -q | head -n 1"
    done = subprocess.run(["bash", "-o", "pipefail", "-c", shell], capture_output=True, text=True, check=False)
    assert done.stdout in ("1\n", "-1\n")
    assert (done.returncode, done.stderr) == (0, "")


def test_progress_is_plain_lines_when_piped_and_a_bar_on_a_terminal(folder):
    import pty

    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 600)) * 10.0 ** rng.integers(-3, 3, size=600)
    save_svmlight(X, np.where(rng.random(3000) < 0.5, 1, -1), "hard.svm")
    words = ["train", "hard.svm", "--solver", "dcd", "--tol", "1e-12", "--time-limit", "2.5", "-C", "1e6"]
    done = in_its_own_process(*words, "hard.mm", text=True)
    assert done.returncode == 1
    assert "training" in done.stderr
    assert "gap" in done.stderr
    assert "\x1b" not in done.stderr

    primary, secondary = pty.openpty()
    child = subprocess.Popen(
        [sys.executable, "-m", "maxmargin", *words, "hard.mm"], stdout=subprocess.DEVNULL, stderr=secondary
    )
    os.close(secondary)
    shown = io.BytesIO()
    try:
        while chunk := os.read(primary, 4096):
            shown.write(chunk)
    except OSError:
        pass  # the terminal is gone when the child is
    os.close(primary)
    assert child.wait() == 1
    assert b"\x1b[" in shown.getvalue()
    assert b"objective" in shown.getvalue()


def test_interrupted_training_writes_nothing(folder):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 600)) * 10.0 ** rng.integers(-3, 3, size=600)
    save_svmlight(X, np.where(rng.random(3000) < 0.5, 1, -1), "hard.svm")
    words = ["train", "hard.svm", "hard.mm", "--solver", "dcd", "--tol", "1e-12", "-C", "1e6"]
    whole = [sys.executable, "-m", "maxmargin", *words, "--max-iter", "100000000"]
    with subprocess.Popen(whole, stderr=subprocess.PIPE, text=True) as child:
        lines = iter(child.stderr.readline, "")
        assert any(line.startswith("training") for line in lines)  # where reading takes its time, it has a line too
        child.send_signal(signal.SIGINT)
        _, err = child.communicate(timeout=60)
    assert child.returncode == 130
    assert err.endswith("maxmargin: interrupted; no file was written\n")
    assert sorted(os.listdir()) == ["hard.svm", "test.svm", "train.svm"]


def test_pipes_of_the_shell(folder, command):
    command("train", "train.svm", "model.mm")
    _, expected, _ = command("predict", "test.svm", "model.mm", "-", "-q")
    for line in (
        "maxmargin predict <(cat test.svm) <(cat model.mm) - -q",
        "cat test.svm | maxmargin predict - model.mm - -q",
        "gzip -c test.svm | maxmargin predict - model.mm - -q",
        "maxmargin predict <(gzip -c test.svm) model.mm - -q",
        "maxmargin predict test.svm model.mm /dev/stdout -q",
        "maxmargin predict test.svm model.mm >(cat) -q | cat",
        "maxmargin predict test.svm model.mm /dev/stdout -q > out.txt; cat out.txt",
        "cat train.svm | maxmargin train - piped.mm -q; maxmargin predict test.svm piped.mm - -q",
    ):
        done = bash(line)
        assert (done.stdout, done.stderr) == (expected, ""), line
    assert json.loads(bash("maxmargin info <(cat train.svm) --json").stdout)["rows"] == 400
    assert bash("maxmargin convert <(cat train.svm) copy.svm -q").returncode == 0
    with open("copy.svm") as copy, open("train.svm") as original:
        assert copy.read() == original.read()
    assert [name for name in os.listdir() if name.endswith(".part")] == []


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", ">&- 2>&-"])
def test_closed_standard_streams(folder, closed):
    done = bash(f"maxmargin train train.svm model.mm {closed}")
    assert done.returncode == 0
    assert "Traceback" not in done.stderr
    load_model("model.mm")
    assert bash(f"maxmargin info model.mm {closed}").returncode == 0
    assert bash(f"maxmargin predict test.svm model.mm - {closed}").returncode == 0


def test_terminated_while_predicting_leaves_no_file(folder, command):
    command("train", "train.svm", "model.mm")
    os.mkfifo("pipe")
    words = [sys.executable, "-m", "maxmargin", "predict", "pipe", "model.mm", "out.txt"]
    child = subprocess.Popen(words, stderr=subprocess.PIPE, text=True)
    with open("pipe", "w") as pipe, open("test.svm") as test:
        pipe.write(test.read())
        pipe.flush()
        deadline = time.monotonic() + 60
        while not any(name.endswith(".part") for name in os.listdir()):
            assert time.monotonic() < deadline
            time.sleep(0.05)
        # a signal just before a blocking read is noticed after it, so one may not be enough
        while child.poll() is None and time.monotonic() < deadline:
            child.send_signal(signal.SIGTERM)
            time.sleep(0.5)
        _, err = child.communicate(timeout=60)
    assert child.returncode == 143
    assert "terminated" in err
    assert sorted(os.listdir()) == ["model.mm", "pipe", "test.svm", "train.svm"]


def test_query_numbers_survive_a_pipe(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with open("rank.svm", "w") as file:
        file.write("3 qid:7 1:1\n1 qid:8 2:1\n")
    assert bash("cat rank.svm | maxmargin convert - again.svm").returncode == 0
    with open("again.svm") as file:
        assert file.read() == "3 qid:7 1:1\n1 qid:8 2:1\n"


def test_cross_validation_in_threads_ends_with_ctrl_c(folder):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 600)) * 10.0 ** rng.integers(-3, 3, size=600)
    save_svmlight(X, np.where(rng.random(3000) < 0.5, 1, -1), "hard.svm")
    words = ["cv", "hard.svm", "--solver", "dcd", "--tol", "1e-12", "-C", "1e6", "-j", "2", "--max-iter", "100000000"]
    child = subprocess.Popen([sys.executable, "-m", "maxmargin", *words], stderr=subprocess.PIPE, text=True)
    time.sleep(4)  # nothing is said before the first fold is done, which is never
    child.send_signal(signal.SIGINT)
    _, err = child.communicate(timeout=60)
    assert child.returncode == 130, err


def test_compressed_data_and_standard_input(folder, command, monkeypatch):
    with open("train.svm", "rb") as file:
        text = file.read()
    with gzip.open("packed.svm.gz", "wb") as file:
        file.write(text)
    for words in (["train", "packed.svm.gz", "a.mm"], ["train", "train.svm", "b.mm"]):
        assert command(*words)[0] == 0
    done = in_its_own_process("train", "-", "c.mm", input=text)
    assert done.returncode == 0, done.stderr
    np.testing.assert_array_equal(load_model("a.mm").coef_, load_model("b.mm").coef_)
    np.testing.assert_array_equal(load_model("c.mm").coef_, load_model("b.mm").coef_)
    assert command("train", "-")[0] == 2
