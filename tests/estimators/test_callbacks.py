import os
import signal
import subprocess
import sys
import textwrap
import threading
from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse import issparse
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


def models_of(recorder):
    """The models that callbacks saw at the steps of each class, in their order."""
    return [event[2] for event in recorder.events if event[:2] == ("end", "step to tol")]


def changes_of(models):
    """The classes whose weights changed from each model to the next."""
    return [np.flatnonzero(np.any(b.coef_ != a.coef_, axis=1)) for a, b in pairwise(models)]


@pytest.mark.parametrize("solver", ["auto", "dcd"])
def test_callbacks_see_the_weights_of_the_class_under_way(solver):
    X, y = load_digits(return_X_y=True)
    recorder = Recorder()
    model = LinearSVC("hinge", C=0.01, tol=1e-5, solver=solver).set_callbacks(recorder).fit(X / 16, y)
    models = models_of(recorder)
    assert all(seen.coef_.shape == model.coef_.shape for seen in models)
    # One class after the other changes, from zero, to the weights that the fit ends with.
    assert np.count_nonzero(np.any(models[0].coef_ != 0, axis=1)) == 1
    changes = changes_of(models)
    assert {len(change) for change in changes} == {0, 1}
    order = np.concatenate(changes).tolist()
    assert order == sorted(order)
    assert set(order) >= set(range(1, 10))
    np.testing.assert_allclose(models[-1].coef_, model.coef_)
    np.testing.assert_allclose(models[-1].intercept_, model.intercept_)
    assert models[-1].score(X / 16, y) == model.score(X / 16, y)


def test_callbacks_see_the_weights_of_classes_in_threads():
    X, y = load_digits(return_X_y=True)
    recorder = Recorder()
    model = LinearSVC("hinge", C=0.01, tol=1e-5, n_jobs=2).set_callbacks(recorder).fit(X / 16, y)
    models = models_of(recorder)
    for k, own in enumerate(model.coef_):  # threads may tell of their steps in any order
        assert any(np.allclose(seen.coef_[k], own) for seen in models)
    # The last step of all knows the last steps of all classes, but of the one that may come at the same moment.
    assert np.count_nonzero(np.all(np.isclose(models[-1].coef_, model.coef_), axis=1)) >= 9


def test_callbacks_see_the_weights_of_classes_that_are_swept_together():
    rng = np.random.default_rng(0)
    X = sp.random_array((400, 3000), density=0.01, rng=rng, format="csr")
    y = rng.integers(0, 5, 400)
    recorder = Recorder()
    model = LinearSVC("hinge", C=10.0, tol=1e-8).set_callbacks(recorder).fit(X, y)
    assert all(solver.startswith("joint") for solver in model.solver_used_)
    models = models_of(recorder)
    order = np.concatenate(changes_of(models)).tolist()
    assert order != sorted(order)  # no class waits for the end of another
    np.testing.assert_allclose(models[-1].coef_, model.coef_)
    assert models[-1].score(X, y) == model.score(X, y)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("large", [False, True])
def test_callbacks_see_the_labels_of_an_indicator_matrix(form, large, monkeypatch):
    monkeypatch.setattr("maxmargin.estimators.progress.LARGE_WEIGHTS", 0 if large else 1 << 28)
    X, y = load_digits(return_X_y=True)
    Y = np.column_stack([y % 2, y > 4, np.ones_like(y), np.zeros_like(y)])
    recorder = Recorder()
    with pytest.warns(UserWarning, match="have the same value in all rows"):
        model = LinearSVC("hinge", C=0.01, tol=1e-5).set_callbacks(recorder).fit(X / 16, form(Y))
    models = models_of(recorder)
    assert issparse(models[-1].coef_) == large
    assert issparse(models[-1].predict(X)) == (form is sp.csr_array)
    np.testing.assert_allclose(models[-1].decision_function(X), model.decision_function(X))
    first = models[0].predict(X)
    assert np.all((first.toarray() if issparse(first) else first)[:, 1:] == [0, 1, 0])


def test_callbacks_see_classes_again_after_a_fit_of_labels():
    X, y = load_digits(return_X_y=True)
    model = LinearSVC("hinge", C=0.01)
    model.fit(X / 16, np.column_stack([y % 2, y > 4]))
    recorder = Recorder()
    model.set_callbacks(recorder).fit(X / 16, y)
    assert models_of(recorder)[-1].predict(X).ndim == 1


def test_no_model_is_made_for_callbacks_that_do_not_ask_for_one(monkeypatch):
    class Counter:
        steps = 0

        def setup(self, estimator, context): ...
        def teardown(self, estimator, context): ...
        def on_fit_task_begin(self, estimator, context): ...

        def on_fit_task_end(self, estimator, context):
            self.steps += 1

    made = []
    monkeypatch.setattr("maxmargin.estimators.progress.UnderWay.attributes", lambda *_: made.append(1))
    X, y = load_digits(return_X_y=True)
    counter = Counter()
    LinearSVC("hinge", C=0.01).set_callbacks(counter).fit(X / 16, y)
    assert counter.steps > 20
    assert made == []


def test_scoring_monitor_follows_every_class():
    X, y = load_digits(return_X_y=True)
    monitor = ScoringMonitor(scoring="accuracy")
    model = LinearSVC("hinge", C=0.01, tol=1e-5).set_callbacks(monitor).fit(X / 16, y)
    scores = [entry["accuracy"] for entry in monitor.get_logs().data]
    assert len(scores) > 100
    assert scores[0] < 0.5
    assert scores[-1] == pytest.approx(model.score(X / 16, y), abs=1e-3)


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


def test_verbose_prints_readable_lines(capsys):
    X, y = random_problem()
    model = LinearSVC("hinge", verbose=1).fit(X, y)
    lines = capsys.readouterr().out.splitlines()
    assert 1 <= len(lines) <= len(model.history_)
    assert lines[-1] == str(model.history_[-1])
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
