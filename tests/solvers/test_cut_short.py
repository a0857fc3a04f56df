"""Fits that are cut short: whatever ends them, their weights are never worse than zero, and their bounds are true."""

import itertools
import json

import numpy as np
import pytest
import scipy.sparse as sp

from maxmargin import (
    BinaryProblem,
    DualCoordinateDescent,
    LinearRankSVM,
    LinearSVC,
    MulticlassProblem,
    RankingProblem,
    load_model,
    load_svmlight,
    save_svmlight,
    solve,
)
from maxmargin.problems.losses import LOSSES
from maxmargin.solvers.methods import solvers_for

from ..conftest import LOSS_NAMES, csr, random_problem

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

STORAGES = {
    "float64": np.ascontiguousarray,
    "float32": lambda X: np.ascontiguousarray(X, dtype=np.float32),
    "csr32": csr,
    "csr64": lambda X: csr(X, np.int64, np.int64),
}
LIMITS = [*({"max_iter": count} for count in range(1, 6)), {"time_limit": 1e-9}, {"time_limit": 1e-4}]
KINDS = ["crammer_singer", "weston_watkins", "ranking"]
BINARY = [
    (solver, loss, penalize_bias)
    for loss in LOSS_NAMES
    for penalize_bias in (True, False)
    for solver in solvers_for("binary", LOSSES[loss], penalize_bias)
]
OTHERS = [(solver, kind) for kind in KINDS for solver in solvers_for(kind)]


def unscaled(X):
    return X * np.logspace(-3, 3, X.shape[1])


def with_twins_and_zeros(X):
    X = X.copy()
    X[1::4] = X[::4]
    X[2::5] = 0
    return X


def holes(size):
    """Weights of rows, every third of them zero."""
    return np.where(np.arange(size) % 3 == 1, 0.0, np.linspace(0.1, 2, size))


#: How the rows are spoilt, C, and the weights of the rows.
HARD = {
    "plain": (lambda X: X, 1.0, np.ones),
    "columns from 1e-3 to 1e3": (unscaled, 1.0, np.ones),
    "C of 1e4": (lambda X: X, 1e4, np.ones),
    "rows twice and rows of zeros": (with_twins_and_zeros, 1.0, np.ones),
    "weights of zero": (lambda X: X, 1.0, holes),
    "all at once": (lambda X: unscaled(with_twins_and_zeros(X)), 1e4, holes),
}


def assert_never_worse_than_zero(problem, solution, what):
    primal, dual = solution.certificate
    assert np.all(np.isfinite(solution.weights)), what
    # numpy may add up the losses at zero in another order
    assert primal <= problem.primal(np.zeros_like(solution.weights)) * (1 + 1e-14), what
    assert dual >= 0, what
    assert 0 <= solution.certificate.gap <= 1, what
    assert primal == pytest.approx(problem.primal(solution.weights), rel=1e-9), what
    if problem.kind != "ranking":
        assert dual == pytest.approx(problem.dual(solution.alpha), rel=1e-9, abs=1e-9 * primal), what
    assert_bounds_only_get_better(solution.history, what)


def assert_bounds_only_get_better(history, what):
    for before, after in itertools.pairwise(history):
        rounding = 1e-12 * before.primal  # bounds within the tolerance are computed once more, exactly
        assert after.primal <= before.primal + rounding, what
        assert after.dual >= before.dual - rounding, what
        assert after.gap <= before.gap + 1e-12, what


def check_all_limits(problem_of, solver, rows, labels, store):
    for name, (spoil, C, weights) in HARD.items():
        problem = problem_of(store(spoil(rows)), labels, C, weights(len(labels)))
        for limit in LIMITS:
            solution = solve(problem, solver, tol=0, **limit)
            assert_never_worse_than_zero(problem, solution, (name, limit))


@pytest.mark.parametrize("store", STORAGES.values(), ids=STORAGES)
@pytest.mark.parametrize(("solver", "loss", "penalize_bias"), BINARY)
def test_a_binary_fit_cut_short_is_never_worse_than_zero(solver, loss, penalize_bias, store):
    def problem_of(X, y, C, weights):
        return BinaryProblem(X, y, C * weights, loss=loss, bias=1.0, penalize_bias=penalize_bias)

    check_all_limits(problem_of, solver, *random_problem(rows=48, features=7, seed=1), store)


@pytest.mark.parametrize("store", STORAGES.values(), ids=STORAGES)
@pytest.mark.parametrize(("solver", "kind"), OTHERS)
def test_a_fit_of_classes_or_ranks_cut_short_is_never_worse_than_zero(solver, kind, store):
    def problem_of(X, y, C, weights):
        if kind == "ranking":
            return RankingProblem(X, y, C, qid=np.arange(len(y)) % 3, weights=weights)
        return MulticlassProblem(X, y, C * weights, formulation=kind, bias=1.0)

    rng = np.random.default_rng(2)
    X = rng.normal(size=(48, 7))
    y = (X @ rng.normal(size=(7, 3)) + rng.normal(size=(48, 3))).argmax(axis=1)
    check_all_limits(problem_of, solver, X, y, store)


@pytest.mark.parametrize("max_iter", [1, 2, 4])
@pytest.mark.parametrize("C", [0.01, 1e4])
@pytest.mark.parametrize("loss", LOSS_NAMES)
def test_auto_cut_short_on_many_features_is_never_worse_than_zero(loss, C, max_iter):
    X, y = random_problem(rows=60, features=1100, seed=3, density=0.05)
    for bias in (True, False):
        problem = BinaryProblem(csr(30 * X), y, C, loss=loss, bias=1.0, penalize_bias=bias)
        assert_never_worse_than_zero(problem, solve(problem, tol=0, max_iter=max_iter), bias)
    problem = MulticlassProblem(csr(30 * X), np.arange(60) % 4, C, bias=1.0)
    assert_never_worse_than_zero(problem, solve(problem, tol=0, max_iter=max_iter), "classes")


@pytest.mark.parametrize("loss", LOSS_NAMES)
@pytest.mark.parametrize("order", ["cyclic", "shuffled", "permuted", "uniform"])
def test_more_epochs_of_coordinate_ascent_never_have_a_lower_dual_value(order, loss):
    X, y = random_problem(rows=60, features=6, seed=4)
    problem = BinaryProblem(unscaled(X), y, 100.0, loss=loss)
    method = DualCoordinateDescent(order=order, shrinking=False)
    duals = [solve(problem, method, tol=0, max_iter=count).certificate.dual for count in range(1, 15)]
    assert np.all(np.diff(duals) >= -1e-14 * np.abs(duals[-1])), duals


@pytest.mark.parametrize("penalize_intercept", [True, False])
@pytest.mark.parametrize("loss", LOSS_NAMES)
@pytest.mark.parametrize("max_iter", [1, 2, 3])
def test_no_class_of_an_estimator_cut_short_is_worse_than_zero(max_iter, loss, penalize_intercept):
    rng = np.random.default_rng(5)
    X = unscaled(rng.normal(size=(90, 6)))
    y = np.array(["a", "b", "c"])[rng.integers(0, 3, 90)]
    weight = holes(90)
    for solver in solvers_for("binary", LOSSES[loss], penalize_intercept):
        model = LinearSVC(loss, C=1e4, max_iter=max_iter, tol=0, solver=solver, penalize_intercept=penalize_intercept)
        model.fit(X, y, sample_weight=weight)
        at_zero = 1e4 * weight.sum()
        assert np.all(model.primal_objective_ <= at_zero * (1 + 1e-14)), solver
        assert np.all(model.dual_objective_ >= 0), solver
        for k, label in enumerate(model.classes_):
            problem = BinaryProblem(
                X, np.where(y == label, 1, -1), 1e4 * weight, loss=loss, bias=1.0, penalize_bias=penalize_intercept
            )
            weights = np.append(model.coef_[k], model.intercept_[k])
            assert model.primal_objective_[k] == pytest.approx(problem.primal(weights), rel=1e-9), solver


@pytest.mark.parametrize("max_iter", [1, 2, 3])
@pytest.mark.parametrize(("kind", "at_zero"), [("crammer_singer", 1.0), ("weston_watkins", 2.0)])
def test_a_classifier_over_all_classes_cut_short_is_never_worse_than_zero(kind, at_zero, max_iter):
    rng = np.random.default_rng(6)
    X, y = unscaled(rng.normal(size=(90, 6))), rng.integers(0, 3, 90)
    problem = MulticlassProblem(X, y, 1e3, formulation=kind, bias=1.0)
    for solver in solvers_for(kind):
        model = LinearSVC(C=1e3, multi_class=kind, solver=solver, tol=0, max_iter=max_iter).fit(X, y)
        assert 0 <= model.dual_objective_ <= model.primal_objective_ <= 90e3 * at_zero * (1 + 1e-14), solver
        weights = np.hstack([model.coef_, model.intercept_[:, np.newaxis]])
        assert problem.primal(weights) == pytest.approx(model.primal_objective_, rel=1e-9), solver


@pytest.mark.parametrize("limit", [{"max_iter": 1}, {"max_iter": 3}, {"time_limit": 1e-9}], ids=str)
@pytest.mark.parametrize("solver", solvers_for("ranking"))
def test_a_ranking_cut_short_is_never_worse_than_zero(solver, limit):
    rng = np.random.default_rng(7)
    X, y, qid = unscaled(rng.normal(size=(90, 6))), rng.integers(0, 4, 90), rng.integers(0, 5, 90)
    model = LinearRankSVM(C=1e4, tol=0, solver=solver, **limit).fit(X, y, qid=qid)
    assert 0 <= model.dual_objective_ <= model.primal_objective_ <= 1e4
    found = RankingProblem(X, y, 1e4, qid=qid).primal(np.append(model.coef_, 0.0))
    assert model.primal_objective_ == pytest.approx(found, rel=1e-9)


@pytest.mark.parametrize("limit", [["--max-iter", "1"], ["--max-iter", "2"], ["--time-limit", "1e-9"]], ids=" ".join)
@pytest.mark.parametrize("solver", solvers_for("binary", LOSSES["hinge"]))
def test_the_command_cut_short_writes_a_model_no_worse_than_zero(folder, command, solver, limit):
    words = ["train", "train.svm", "model.mm", "--loss", "hinge", "-C", "1e4", "--tol", "1e-12", "--json"]
    code, out, err = command(*words, "--solver", solver, *limit)
    assert code == 1, err
    fields = json.loads(out)
    assert fields["objective"] <= 400 * 1e4
    assert 0 <= fields["gap"] <= 1
    X, y = load_svmlight("train.svm")
    model = load_model("model.mm")
    found = BinaryProblem(X, y, 1e4, loss="hinge", bias=1.0).primal(np.append(model.coef_, model.intercept_))
    assert fields["objective"] == pytest.approx(found, rel=1e-9)


@pytest.mark.parametrize("kind", ["ovr", *KINDS])
def test_the_command_cut_short_on_classes_and_ranks_is_no_worse_than_zero(tmp_path, monkeypatch, command, kind):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(8)
    X, y = unscaled(rng.normal(size=(80, 5))), rng.integers(0, 3, 80)
    words = ["--task", "rank"] if kind == "ranking" else ["--multi-class", kind, "--loss", "hinge"]
    save_svmlight(X, y, "data.svm", qid=np.arange(80) // 20 if kind == "ranking" else None)
    code, out, err = command("train", "data.svm", "-C", "1e4", "--max-iter", "1", "--tol", "0", "--json", *words)
    assert code == 1, err
    at_zero = {"ovr": 80e4, "crammer_singer": 80e4, "weston_watkins": 160e4, "ranking": 1e4}[kind]
    objectives = np.atleast_1d(json.loads(out)["objective"])
    assert np.all(objectives <= (3 if kind == "ovr" else 1) * at_zero)  # the command adds up the classes
    assert np.all(np.atleast_1d(load_model("data.mm").primal_objective_) <= at_zero)


@pytest.mark.parametrize("loss", LOSS_NAMES)
@pytest.mark.parametrize("max_iter", [1, 2])
def test_two_epochs_on_sparse_binary_features_are_no_worse_than_zero(loss, max_iter):
    rng = np.random.default_rng(9)
    X = sp.csr_array((rng.random((2000, 100)) < 0.14).astype(float))  # like a9a
    y = np.where(X @ rng.normal(size=100) + rng.normal(size=2000) > 0.8, 1, -1)
    for solver in solvers_for("binary", LOSSES[loss]):
        for C in (1.0, 100.0):
            model = LinearSVC(loss, C=C, max_iter=max_iter, solver=solver, tol=1e-12).fit(X, y)
            assert 0 <= model.dual_objective_ <= model.primal_objective_ <= 2000 * C, (solver, C)
