import os
import signal
import subprocess
import sys
import textwrap
import threading

import numpy as np
import pytest
from sklearn.callback import ProgressBar, ScoringMonitor
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.model_selection import GridSearchCV

from maxmargin import LinearSVC

from ..conftest import random_problem


class Recorder:
    """A callback that writes down what it is told."""

    def __init__(self, stop_after=None):
        self.events = []
        self.stop_after = stop_after

    def setup(self, estimator, context):
        self.events.append(("setup", context.task_name))

    def on_fit_task_begin(self, estimator, context):
        self.events.append(("begin", context.task_name))

    def on_fit_task_end(self, estimator, context, *, fitted_estimator):
        self.events.append(("end", context.task_name, fitted_estimator))
        return self.stop_after is not None and len(self.events) >= self.stop_after

    def teardown(self, estimator, context):
        self.events.append(("teardown", context.task_name))


def test_a_callback_sees_twenty_steps_and_usable_models():
    X, y = load_breast_cancer(return_X_y=True)
    recorder = Recorder()
    model = LinearSVC("hinge", tol=1e-6).set_callbacks(recorder).fit(X, y)
    assert recorder.events[0] == ("setup", "fit")
    assert recorder.events[1] == ("begin", "fit")
    assert recorder.events[-1] == ("teardown", "fit")
    ends = [event for event in recorder.events if event[0] == "end" and event[1] == "step to tol"]
    assert 1 <= len(ends) <= 20
    assert ends[-1][2].score(X, y) == pytest.approx(model.score(X, y), abs=0.01)


def test_a_callback_sees_usable_models_of_all_classes_at_once():
    X, y = load_digits(return_X_y=True)
    recorder = Recorder()
    model = LinearSVC(multi_class="crammer_singer", tol=1e-4).set_callbacks(recorder).fit(X / 16, y)
    ends = [event for event in recorder.events if event[0] == "end" and event[1] == "step to tol"]
    assert 1 <= len(ends) <= 20
    assert ends[-1][2].score(X / 16, y) == pytest.approx(model.score(X / 16, y), abs=0.01)


def test_a_callback_can_stop_the_fit_without_a_warning():
    X, y = random_problem(rows=300, features=20)
    model = LinearSVC("hinge", solver="dcd", C=10.0, tol=1e-12).set_callbacks(Recorder(stop_after=6)).fit(X, y)
    assert not model.converged_


def test_a_callback_that_stops_one_class_stops_the_fit():
    X, _ = random_problem(rows=3000, features=60)
    y = np.digitize(X[:, 0] + X[:, 1], [-1.0, 0.0, 1.0])
    model = LinearSVC("hinge", solver="dcd", C=0.01, tol=1e-7).set_callbacks(Recorder(stop_after=8))
    model.fit(X, y)
    assert model.duality_gap_[-1] > 1e-7  # by itself the last class would have been trained to tol


def test_callbacks_work_for_one_versus_rest_in_threads():
    X, y = load_digits(return_X_y=True)
    recorder = Recorder()
    LinearSVC("hinge", C=0.01, n_jobs=2).set_callbacks(recorder).fit(X / 16, y)
    names = [event[1] for event in recorder.events if event[0] == "end"]
    assert [names.count(f"class {k}") for k in range(10)] == [1] * 10
    assert names[-1] == "fit"


def test_scoring_monitor_follows_the_fit():
    X, y = load_breast_cancer(return_X_y=True)
    monitor = ScoringMonitor(scoring="accuracy")
    LinearSVC("hinge", C=0.1, tol=1e-6).set_callbacks(monitor).fit(X, y)


def test_progress_bar_shows_and_finishes(capfd):
    X, y = load_digits(return_X_y=True)
    LinearSVC("hinge", C=0.01).set_callbacks(ProgressBar()).fit(X / 16, y)
    shown = capfd.readouterr().out
    assert "LinearSVC - fit" in shown
    assert "100%" in shown


def test_progress_bar_propagates_from_a_search(capfd):
    X, y = load_breast_cancer(return_X_y=True)
    GridSearchCV(LinearSVC(), {"C": [0.01, 0.1]}, cv=2).set_callbacks(ProgressBar()).fit(X, y)
    assert "LinearSVC - fit" in capfd.readouterr().out


def test_verbose_prints_a_readable_line_per_report(capsys):
    X, y = random_problem()
    model = LinearSVC("hinge", verbose=1).fit(X, y)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == len(model.history_)
    for word in ("epoch", "primal", "dual", "gap", "active"):
        assert word in lines[0]


def test_verbose_names_the_class_in_one_versus_rest(capsys):
    X, _ = random_problem()
    LinearSVC("hinge", verbose=1).fit(X, np.array(["red", "green", "blue"])[np.arange(60) % 3])
    assert "class red" in capsys.readouterr().out


ENDLESS = """
import threading, time
import numpy as np
from maxmargin import LinearSVC

rng = np.random.default_rng(0)
X = rng.normal(size=(20000, 500))
y = rng.integers({classes}, size=20000)
LinearSVC("hinge", C=10, tol=1e-5, n_jobs={n_jobs}).fit(X[:200], y[:200])  # everything is imported
print("ready", flush=True)
started = time.perf_counter()
try:
    LinearSVC("hinge", solver={solver!r}, C=1e6, tol=1e-15, max_iter=10**9, n_jobs={n_jobs}).fit(X, y)
except KeyboardInterrupt:
    print("interrupted", threading.active_count(), flush=True)
    LinearSVC("hinge", C=10, tol=1e-3).fit(X[:200], y[:200])
    print("sane", flush=True)
"""


@pytest.mark.parametrize("solver", ["dcd", "avsf", "online", "newton"])
@pytest.mark.parametrize(("classes", "n_jobs"), [(2, 1), (3, 1), (3, 2)])
def test_ctrl_c_ends_a_long_fit_and_leaves_no_thread(solver, classes, n_jobs):
    code = textwrap.dedent(ENDLESS).format(solver=solver, classes=classes, n_jobs=n_jobs)
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "ready\n"
        threading.Event().wait(0.5)
        os.kill(process.pid, signal.SIGINT)
        assert process.stdout.readline() == "interrupted 1\n"
        assert process.stdout.readline() == "sane\n"
        assert process.wait(timeout=30) == 0
