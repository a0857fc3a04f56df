"""Checkpoints: a training that is killed at any moment goes on from there, to the same certified solution."""

import json
import os
import pickle
import random
import signal
import subprocess
import sys
import time
import warnings
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

import maxmargin
from maxmargin import (
    BinaryProblem,
    LinearRankSVM,
    LinearSVC,
    LinearSVR,
    MulticlassProblem,
    OneClassProblem,
    OneClassSVM,
    RegressionProblem,
    load_model,
    save_model,
    solve,
)
from maxmargin.io.checkpoint_file import State, from_bytes, read_checkpoint, to_bytes, write_checkpoint
from maxmargin.problems.certificate import Certificate
from maxmargin.training import checkpoint as checkpoints
from maxmargin.training.checkpoint import Checkpoint, fingerprint

from ..conftest import random_problem
from ..problems.test_ranking import ranking
from . import victims

KILLS = 4  # of each of the 25 cases
CASES = {
    "dcd": {"kind": "binary", "solver": "dcd", "loss": "hinge"},
    "avsf": {"kind": "binary", "solver": "avsf", "loss": "hinge"},
    "online": {"kind": "binary", "solver": "online", "loss": "hinge"},
    "newton": {"kind": "binary", "solver": "newton", "loss": "hinge"},
    "pcd": {"kind": "binary", "solver": "pcd"},
    "cutting_plane": {"kind": "binary", "solver": "cutting_plane", "loss": "hinge"},
    "pegasos": {"kind": "binary", "solver": "pegasos", "loss": "hinge", "C": 0.01},
    "auto": {"kind": "binary", "solver": "auto", "loss": "hinge", "C": 100.0},
    "least squares": {"kind": "binary", "solver": "dcd", "loss": "least_squares", "C": 0.1},
    "dcd, free bias": {"kind": "binary", "solver": "dcd", "C": 0.1, "penalize_bias": False},
    "newton, free bias": {"kind": "binary", "solver": "newton", "loss": "hinge", "penalize_bias": False},
    "ovr": {"kind": "ovr", "solver": "dcd", "loss": "hinge"},
    "ovr in threads": {"kind": "ovr", "solver": "avsf", "n_jobs": 2},
    "sdm": {"kind": "classes", "solver": "sdm"},
    "classes, newton": {"kind": "classes", "solver": "newton"},
    "eg": {"kind": "classes", "solver": "eg", "C": 0.01},
    "classes, cutting_plane": {"kind": "classes", "solver": "cutting_plane"},
    "weston_watkins": {"kind": "classes", "solver": "auto", "multi_class": "weston_watkins"},
    "weston_watkins, sdm": {"kind": "classes", "solver": "sdm", "multi_class": "weston_watkins"},
    "ranking": {"kind": "ranking", "solver": "cutting_plane", "C": 1000.0},
    "regression": {"kind": "regression", "solver": "dcd", "epsilon": 0.5, "C": 0.01},
    "regression, newton": {"kind": "regression", "solver": "newton", "epsilon": 0.1},
    "regression, squares": {"kind": "regression", "solver": "avsf", "loss": "squared_epsilon_insensitive", "C": 0.01},
    "one class": {"kind": "one class", "solver": "active_set"},
    "one class, dcd": {"kind": "one class", "solver": "dcd"},
}
#: Tolerances that these methods reach in time.
TOLERANCES = {
    "avsf": 1e-4,
    "online": 1e-4,
    "pegasos": 1e-2,
    "eg": 1e-2,
    "sdm": 1e-3,
    "weston_watkins, sdm": 1e-3,
    "cutting_plane": 1e-4,
    "classes, cutting_plane": 1e-3,
}


class Nursery:
    """Starts trainings in processes of their own."""

    def __init__(self):
        source = str(Path(maxmargin.__file__).parent.parent)
        paths = os.pathsep.join([source, os.environ.get("PYTHONPATH", "")])
        self.process = subprocess.Popen(
            [sys.executable, victims.__file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": paths, "OPENBLAS_NUM_THREADS": "1"},
        )

    def kill_one(self, after, **case):
        """Start a training, kill it after some time, and return its exit code."""
        self.process.stdin.write(json.dumps(case) + "\n")
        self.process.stdin.flush()
        pid = int(self.process.stdout.readline())
        time.sleep(after)
        os.kill(pid, signal.SIGKILL)
        return int(self.process.stdout.readline())

    def close(self):
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait()


@pytest.fixture(scope="module")
def nursery():
    nursery = Nursery()
    yield nursery
    nursery.close()


def gap_of(problem, solution):
    """The gap by the formulas in numpy; for a ranking, whose dual has none, with the value that is claimed."""
    dual = problem.dual(solution.alpha) if hasattr(problem, "dual") else solution.certificate.dual
    return Certificate(problem.primal(solution.weights), dual).gap


@pytest.mark.parametrize("case", CASES)
def test_a_training_that_is_killed_again_and_again_gets_there(case, nursery, tmp_path):
    moments = random.Random(f"moments of {case}")
    options, tol, path = CASES[case], TOLERANCES.get(case, 1e-6), str(tmp_path / "fit.ckpt")
    problems, solutions = victims.train(**options, path=None, tol=tol)
    best = None
    for _ in range(KILLS):
        # hardly anybody reaches a gap of zero, and so the process is killed at work
        assert nursery.kill_one(moments.uniform(0.0, 0.3), **options, path=path, tol=0.0) == -signal.SIGKILL
        if not os.path.exists(path):
            continue  # killed before it began
        state = read_checkpoint(path)  # whole, whenever that was
        gaps = [
            1.0 if snapshot is None else gap_of(problem, snapshot.solution)
            for problem, snapshot in zip(problems, state.problems, strict=True)
        ]
        # progress is never lost; gaps of some 1e-13 are what plain sums of numpy round to
        assert best is None or all(now <= then * (1 + 1e-9) + 1e-12 for now, then in zip(gaps, best, strict=True))
        best = gaps
    _, again = victims.train(**options, path=path, tol=tol)
    for problem, plain, resumed in zip(problems, solutions, again, strict=True):
        assert resumed.converged
        assert gap_of(problem, resumed) <= tol * (1 + 1e-6)
        # both objectives are within the tolerance of the same optimum
        assert resumed.certificate.primal == pytest.approx(plain.certificate.primal, rel=2 * tol)
        assert resumed.certificate.dual <= plain.certificate.primal + 1e-12 * abs(plain.certificate.primal)
    assert read_checkpoint(path).finished
    assert os.listdir(tmp_path) == ["fit.ckpt"]  # what killed processes left is gone


def test_the_moments_are_a_hundred():
    assert KILLS * len(CASES) == 100


@pytest.mark.parametrize("case", ["dcd", "newton", "pcd", "cutting_plane", "pegasos"])
def test_what_is_lost_is_at_most_an_interval_and_an_epoch(case):
    interval = 0.05
    options = {key: value for key, value in CASES[case].items() if key in ("solver", "loss", "C")}
    X, y, _ = victims.data("binary")
    problem = BinaryProblem(X, 2 * y - 1, options.pop("C", 1.0), loss=options.pop("loss", "squared_hinge"), bias=1.0)
    for _ in range(3):  # another process may be in the way once, at any moment
        kept = []
        last = solve(
            problem, **options, tol=0.0, max_iter=10**9, time_limit=0.7, keep=kept.append, keep_seconds=interval
        )
        moments = [0.0, *(report.seconds for report in last.history), last.seconds]
        epoch = max(np.diff(moments))  # the longest time without a report, that of writing included
        ends = [0.0, *(snapshot.solution.seconds for snapshot in kept), last.seconds]
        if max(np.diff(ends)) <= 2 * interval + 4 * epoch:
            break
    assert kept or case == "newton"  # which may be done before the first interval is over
    assert max(np.diff(ends)) <= 2 * interval + 4 * epoch
    for snapshot in kept:
        assert snapshot.solution.history == last.history[: len(snapshot.solution.history)]
        # Cutting planes hand over their bounds by a clock of their own, so that what is kept may be a little older.
        moment = snapshot.solution.seconds - 2 * interval - 2 * epoch
        older = [report.gap for report in snapshot.solution.history if report.seconds <= moment]
        assert gap_of(problem, snapshot.solution) <= min(older, default=1.0) * (1 + 1e-6) + 1e-12


def test_the_history_goes_on():
    X, y, _ = victims.data("binary")
    problem = BinaryProblem(X, 2 * y - 1, loss="hinge", bias=1.0)
    kept = []
    solve(problem, "dcd", tol=0.0, max_iter=40, keep=kept.append, keep_seconds=1e-9)
    middle = kept[len(kept) // 2]
    again = solve(problem, "dcd", tol=1e-6, max_iter=10**6, start=middle)
    assert again.converged
    reports = len(middle.solution.history)
    assert again.history[:reports] == middle.solution.history
    epochs, seconds = [r.epoch for r in again.history], [r.seconds for r in again.history]
    assert epochs == sorted(epochs)
    assert seconds == sorted(seconds)
    assert again.n_iter == epochs[-1]
    assert again.history[reports].gap <= middle.solution.certificate.gap
    assert again.solver == "dcd"


def test_stages_that_have_ended_are_not_repeated():
    X, y, _ = victims.data("classes")
    problem = MulticlassProblem(X, y, bias=1.0)
    kept = []
    whole = solve(problem, "auto", tol=1e-9, max_iter=200, keep=kept.append, keep_seconds=1e-9)
    stages = whole.solver.split("+")
    assert stages == ["sdm", "newton"]
    later = next(snapshot for snapshot in kept if len(snapshot.ended) == 1)
    again = solve(problem, "auto", tol=1e-9, max_iter=200, start=later)
    assert again.solver == "sdm+newton"
    assert again.history[len(later.solution.history)].solver == stages[1]
    # another method begins with its own first stage
    other = solve(problem, "sdm", tol=1e-9, max_iter=3, start=later)
    assert {report.solver for report in other.history[len(later.solution.history) :]} == {"sdm"}


@pytest.mark.parametrize(("multi_class", "solver"), [("ovr", "dcd"), ("crammer_singer", "sdm")])
def test_estimators_go_on_and_tighten(multi_class, solver, tmp_path):
    X, y = random_problem(rows=300, seed=1)
    y = y + 2 * (X[:, 0] > 1)
    path = tmp_path / "fit.ckpt"
    plain = LinearSVC("hinge", multi_class=multi_class, solver=solver, tol=1e-2)
    model = clone(plain).set_params(checkpoint=path).fit(X, y)
    again = clone(plain).set_params(checkpoint=str(path)).fit(X, y)
    np.testing.assert_allclose(again.coef_, model.coef_, rtol=1e-9)  # nothing was left to do
    np.testing.assert_allclose(again.dual_coef_.toarray(), model.dual_coef_.toarray(), rtol=1e-9)
    assert again.n_iter_ == model.n_iter_
    assert again.history_ == model.history_
    tight = clone(plain).set_params(checkpoint=path, tol=1e-6).fit(X, y)
    assert np.max(tight.duality_gap_) <= 1e-6
    assert tight.n_iter_ > model.n_iter_


def test_limits_end_a_fit_that_goes_on_later(tmp_path):
    X, y = random_problem(rows=400, seed=2, noise=2.0)
    path = tmp_path / "fit.ckpt"
    few = {"solver": "dcd", "C": 1.0, "tol": 1e-7, "checkpoint": path}
    with pytest.warns(maxmargin.estimators.base.ConvergenceWarning):
        first = LinearSVC("hinge", max_iter=5, **few).fit(X, y)
    model = LinearSVC("hinge", max_iter=10**6, **few).fit(X, y)
    assert model.converged_
    assert model.history_[: len(first.history_)] == first.history_


def test_a_ranker_goes_on(tmp_path):
    X, y, qid = ranking(rows=400, seed=5)
    path = tmp_path / "rank.ckpt"
    with pytest.warns(maxmargin.estimators.base.ConvergenceWarning):
        LinearRankSVM(C=1e3, tol=1e-8, max_iter=5, checkpoint=path).fit(X, y, qid=qid)
    model = LinearRankSVM(C=1e3, tol=1e-8, checkpoint=path).fit(X, y, qid=qid)
    plain = LinearRankSVM(C=1e3, tol=1e-8).fit(X, y, qid=qid)
    assert model.primal_objective_ == pytest.approx(plain.primal_objective_, rel=2e-8)
    path.write_bytes(to_bytes(State("other", [None])))
    with pytest.raises(ValueError, match="other data or parameters"):
        LinearRankSVM(C=1e3, checkpoint=path).fit(X, y, qid=qid)


@pytest.mark.parametrize("make", [partial(LinearSVR, epsilon=0.1), partial(OneClassSVM, nu=0.2)])
def test_regressors_and_one_class_go_on(make, tmp_path):
    X, y = random_problem(rows=400, features=10, seed=1)
    X, path = X + 2.0, tmp_path / "fit.ckpt"
    with pytest.warns(ConvergenceWarning):
        begun = make(solver="dcd", tol=1e-8, max_iter=3, checkpoint=path).fit(X, y)
    model = make(tol=1e-8, checkpoint=path).fit(X, y)
    plain = make(tol=1e-8).fit(X, y)
    assert model.history_[: len(begun.history_)] == begun.history_
    assert model.converged_
    assert model.primal_objective_ == pytest.approx(plain.primal_objective_, rel=1e-7)
    save_model(model, tmp_path / "m.mm")
    assert load_model(tmp_path / "m.mm").checkpoint is None
    with pytest.warns(ConvergenceWarning):
        make(tol=1e-12, max_iter=1, solver="dcd", checkpoint=path).fit(2.0 * X, y)  # the first fit had ended
    with pytest.raises(ValueError, match="other data or parameters that has not ended"):
        make(checkpoint=path).fit(X, y)


@pytest.mark.parametrize(
    "changed",
    [
        RegressionProblem(np.eye(3), [1.0, 2.0, 4.0]),
        RegressionProblem(np.eye(3), [1.0, 2.0, 3.0], C=2.0),
        RegressionProblem(np.eye(3), [1.0, 2.0, 3.0], epsilon=0.1),
        RegressionProblem(np.eye(3), [1.0, 2.0, 3.0], loss="least_squares"),
        RegressionProblem(np.eye(3), [1.0, 2.0, 3.0], bias=1.0),
        RegressionProblem(np.eye(3), [1.0, 2.0, 3.0], bias=1.0, penalize_bias=False),
        OneClassProblem(np.eye(3)),
        OneClassProblem(np.eye(3), nu=0.25),
        OneClassProblem(np.eye(3), C=[1.0, 1.0, 2.0]),
    ],
    ids=range(9),
)
def test_identities_tell_problems_apart(changed):
    names = {
        fingerprint(np.eye(3), *problem.identity())
        for problem in (RegressionProblem(np.eye(3), [1.0, 2.0, 3.0]), OneClassProblem(np.eye(3), nu=0.3), changed)
    }
    assert len(names) == 3


def test_a_checkpoint_of_another_fit_is_replaced_only_when_that_one_has_ended(tmp_path):
    X, y = random_problem(rows=400, seed=3, noise=2.0)
    path = tmp_path / "fit.ckpt"
    LinearSVC(checkpoint=path).fit(X, y)
    LinearSVC(C=2.0, checkpoint=path).fit(X, y)  # the first one has ended
    with pytest.warns(maxmargin.estimators.base.ConvergenceWarning):
        LinearSVC("hinge", solver="dcd", tol=1e-9, max_iter=2, checkpoint=path).fit(X, y)
    before = path.read_bytes()
    others = [
        (LinearSVC(C=3.0), X, y, None),
        (LinearSVC(), X, y, None),
        (LinearSVC("hinge"), X + 1.0, y, None),
        (LinearSVC("hinge"), X.astype(np.float32), y, None),
        (LinearSVC("hinge"), X, -y, None),
        (LinearSVC("hinge"), X, y, np.arange(400.0)),
        (LinearSVC("hinge", fit_intercept=False), X, y, None),
        (LinearSVC("hinge", penalize_intercept=False), X, y, None),
        (LinearSVC("hinge", class_weight={1: 2.0}), X, y, None),
    ]
    for model, rows, labels, weight in others:
        with pytest.raises(ValueError, match="belongs to a fit of other data or parameters that has not ended"):
            model.set_params(checkpoint=path).fit(rows, labels, sample_weight=weight)
    assert path.read_bytes() == before


def test_paths_that_cannot_be_written_are_told_at_once(tmp_path):
    X, y = random_problem()
    with pytest.raises(FileNotFoundError, match="does not exist"):
        LinearSVC(checkpoint=tmp_path / "nowhere" / "fit.ckpt").fit(X, y)
    with pytest.raises(IsADirectoryError):
        LinearSVC(checkpoint=tmp_path).fit(X, y)
    (tmp_path / "no.ckpt").write_bytes(b"this is no checkpoint")
    with pytest.raises(ValueError, match=r"no\.ckpt: this is not a checkpoint file"):
        LinearSVC(checkpoint=tmp_path / "no.ckpt").fit(X, y)
    assert (tmp_path / "no.ckpt").read_bytes() == b"this is no checkpoint"
    with pytest.raises(ValueError, match="checkpoint_interval"):
        LinearSVC(checkpoint=tmp_path / "a.ckpt", checkpoint_interval=0.0).fit(X, y)


def test_a_full_disk_on_the_way_is_a_warning(tmp_path, monkeypatch):
    X, y, _ = victims.data("binary")
    written = []

    def write(state, path):
        written.append(path)
        if len(written) > 1:
            raise OSError(28, "No space left on device")
        write_checkpoint(state, path)

    monkeypatch.setattr(checkpoints, "write_checkpoint", write)
    with pytest.warns(UserWarning, match="could not be written, and the fit goes on"):
        model = LinearSVC("hinge", solver="dcd", checkpoint=tmp_path / "a.ckpt", checkpoint_interval=1e-3).fit(X, y)
    assert model.converged_


def test_model_files_know_nothing_of_checkpoints(tmp_path):
    X, y = random_problem()
    model = LinearSVC(checkpoint=tmp_path / "a.ckpt", checkpoint_interval=5.0).fit(X, y)
    save_model(model, tmp_path / "m.mm")
    assert b"a.ckpt" not in (tmp_path / "m.mm").read_bytes()
    assert load_model(tmp_path / "m.mm").checkpoint is None
    with pytest.raises(ValueError, match="not a model file"):
        load_model(tmp_path / "a.ckpt")


def test_damaged_checkpoints_are_refused(tmp_path):
    X, y = random_problem(rows=40)
    path = tmp_path / "fit.ckpt"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        LinearSVC("hinge", solver="dcd", tol=1e-12, max_iter=2, checkpoint=path).fit(X, y)
    whole = path.read_bytes()
    rng = np.random.default_rng(0)
    for _ in range(200):
        broken = bytearray(whole)
        if rng.random() < 0.3:
            broken = broken[: rng.integers(len(broken))]
        else:
            broken[rng.integers(len(broken))] ^= 1 << rng.integers(8)
        try:
            state = from_bytes(bytes(broken))
        except ValueError:
            continue
        # only a name in the header of safetensors can differ without harm
        assert state.fingerprint == from_bytes(whole).fingerprint
    for junk in (b"", b"\x80\x04K\x01.", pickle.dumps({"a": 1})):
        path.write_bytes(junk)
        with pytest.raises(ValueError, match=r"fit\.ckpt: this is not a checkpoint file"):
            read_checkpoint(path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda h: h.update(format=2), "format version 2"),
        (lambda h: h.update(problems=[]), "no proper 'problems'"),
        (lambda h: h.update(problems=[3]), "no proper 'problems'"),
        (lambda h: h["problems"][0].update(ended=["quit()"]), "no proper 'ended'"),
        (lambda h: h["problems"][0].update(exit="never"), "no proper 'ended'"),
        (lambda h: h["problems"][0].update(alpha=[1, -2]), "no proper 'alpha'"),
        (lambda h: h["problems"][0].update(n_iter=-1), "no proper 'n_iter'"),
        (lambda h: h["problems"][0].update(points=True), "points' is missing"),
    ],
)
def test_forged_fields_are_refused(change, message, tmp_path):
    from maxmargin.io.checkpoint_file import ENTRY
    from maxmargin.io.sealed import seal, unseal

    X, y = random_problem(rows=40)
    LinearSVC(checkpoint=tmp_path / "a.ckpt").fit(X, y)
    header, tensors = unseal((tmp_path / "a.ckpt").read_bytes(), ENTRY, "checkpoint")
    change(header)
    with pytest.raises(ValueError, match=message):
        from_bytes(seal(ENTRY, header, tensors))


def test_claims_of_a_file_are_not_believed(tmp_path):
    """A file that says it has converged, with weights that have not, is computed again."""
    X, y = random_problem(rows=100, seed=4)
    path = tmp_path / "a.ckpt"
    model = LinearSVC(tol=1e-6, checkpoint=path).fit(X, y)
    state = read_checkpoint(path)
    state.problems[0].solution.weights[:] = 3.0
    state.problems[0].solution.alpha[:] *= 0.5
    write_checkpoint(state, path)
    again = LinearSVC(tol=1e-6, checkpoint=path).fit(X, y)
    assert again.converged_
    np.testing.assert_allclose(again.coef_, model.coef_, atol=1e-2)
    assert BinaryProblem(X, y, bias=1.0).primal(np.append(again.coef_, again.intercept_)) == pytest.approx(
        again.primal_objective_, rel=1e-10
    )


def test_fingerprints_tell_trainings_apart():
    X = np.eye(3)
    names = {
        fingerprint(X, "a"),
        fingerprint(X, "b"),
        fingerprint(X.astype(np.float32), "a"),
        fingerprint(X[:2], "a"),
        fingerprint(X, "a", None),
        fingerprint(X, np.array(["a", "b"])),
        fingerprint(X, np.array(["a", "b"], dtype=object)),
        fingerprint(X, np.zeros(0)),
    }
    assert len(names) == 8
    assert fingerprint(X, "a") == fingerprint(np.eye(3), "a")


def test_two_threads_keep_their_states_in_one_file(tmp_path):
    problems = [BinaryProblem(*random_problem(rows=200, seed=k), bias=1.0) for k in range(2)]
    saved = Checkpoint(tmp_path / "a.ckpt", "two", 2, interval=1e-9)
    for task, problem in enumerate(problems):
        saved.solve(task, problem, "dcd", tol=1e-6)
    state = read_checkpoint(tmp_path / "a.ckpt")
    for problem, snapshot in zip(problems, state.problems, strict=True):
        assert gap_of(problem, snapshot.solution) <= 1e-6
