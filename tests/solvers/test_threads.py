"""One problem in several threads: the same bits for any number of them, and nothing left behind."""

from __future__ import annotations

import os
import threading
import time
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from maxmargin import (
    BinaryProblem,
    LinearRankSVM,
    LinearSVC,
    LinearSVR,
    Matrix,
    MulticlassProblem,
    OneClassSVM,
    RankingProblem,
    RegressionProblem,
    solve,
)


def make_rows(kind: str, n: int, d: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(n + d)
    X = rng.standard_normal((n, d)) * np.exp(rng.standard_normal(d))
    y = np.where(X @ rng.standard_normal(d) + rng.standard_normal(n) > 0, 1, -1)
    if kind == "float32":
        return X.astype(np.float32), y
    if kind.startswith("csr"):
        S = sparse.csr_array(np.where(rng.random((n, d)) < 0.4, X, 0.0))
        if kind == "csr with repeats":  # every row has its first index twice, and not in order
            indices, data, starts = [], [], [0]
            for i in range(n):
                own = slice(S.indptr[i], S.indptr[i + 1])
                indices += [*S.indices[own][::-1].tolist(), *S.indices[own][:1].tolist()]
                data += [*S.data[own][::-1].tolist(), *S.data[own][:1].tolist()]
                starts.append(len(indices))
            return sparse.csr_array((np.array(data), np.array(indices), np.array(starts)), shape=(n, d)), y
        return S, y
    return X, y


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "least_squares"])
@pytest.mark.parametrize("shape", [(8000, 60), (700, 500)], ids=str)
@pytest.mark.parametrize("kind", ["dense", "float32", "csr", "csr with repeats"])
def test_newton_gives_the_same_bits_for_any_number_of_threads(kind: str, shape: tuple[int, int], loss: str) -> None:
    X, y = make_rows(kind, *shape)
    weights = np.random.default_rng(3).integers(0, 3, shape[0]).astype(float)
    problem = BinaryProblem(X, y, 0.01 * weights, loss=loss)
    solutions = [solve(problem, "newton", tol=1e-6, n_jobs=n_jobs) for n_jobs in (1, 2, 5)]
    assert solutions[0].converged
    certificate = problem.certificate(solutions[0].weights, solutions[0].alpha)
    assert certificate.gap <= 1.001e-6
    for other in solutions[1:]:
        assert np.array_equal(solutions[0].weights, other.weights)
        assert np.array_equal(solutions[0].alpha, other.alpha)


@pytest.mark.parametrize("formulation", ["crammer_singer", "weston_watkins"])
@pytest.mark.parametrize(
    ("solver", "shape", "classes"),
    [("newton", (6000, 20), 4), ("newton", (1200, 600), 4), ("sdm", (6000, 60), 7)],
    ids=["matrix", "products", "sdm"],
)
@pytest.mark.parametrize("kind", ["dense", "float32", "csr", "csr with repeats"])
def test_several_classes_have_the_same_bits_for_any_number_of_threads(
    kind: str, solver: str, shape: tuple[int, int], classes: int, formulation: str
) -> None:
    X, _ = make_rows(kind, *shape)
    rng = np.random.default_rng(4)
    y = np.argmax(X @ rng.standard_normal((shape[1], classes)) + rng.standard_normal((shape[0], classes)), axis=1)
    C = 0.01 * rng.integers(0, 3, shape[0])
    problem = MulticlassProblem(X, y, C, formulation=formulation)
    solutions = [solve(problem, solver, tol=1e-4, n_jobs=n_jobs) for n_jobs in (1, 2, 5)]
    assert solutions[0].converged
    assert problem.certificate(solutions[0].weights, solutions[0].alpha).gap <= 1.001e-4
    for other in solutions[1:]:
        assert np.array_equal(solutions[0].weights, other.weights)
        assert np.array_equal(solutions[0].alpha.data, other.alpha.data)
        assert np.array_equal(solutions[0].alpha.indices, other.alpha.indices)


def test_limits_and_callbacks_end_newton_for_several_classes_in_threads() -> None:
    X, _ = make_rows("dense", 4000, 600)
    y = np.random.default_rng(5).integers(4, size=4000)
    problem = MulticlassProblem(X, y, 10.0)
    at_zero = problem.primal(np.zeros((4, 601)))
    for seconds in (0.001, 0.05, 0.2):
        cut_short = solve(problem, "newton", tol=0, time_limit=seconds, n_jobs=3)
        assert cut_short.exit == "time_limit"
        assert cut_short.certificate.primal <= at_zero
    stopped = solve(problem, "newton", tol=0, callback=lambda report, _: report.epoch >= 2, n_jobs=3)
    assert stopped.exit == "stopped"


@pytest.mark.parametrize("penalize_bias", [True, False])
def test_regression_gives_the_same_bits_for_any_number_of_threads(penalize_bias: bool) -> None:
    X, _ = make_rows("dense", 6000, 50)
    y = X @ np.arange(50.0) + np.random.default_rng(0).standard_normal(6000)
    options = {"loss": "epsilon_insensitive", "epsilon": 0.1, "bias": 1.0, "penalize_bias": penalize_bias}
    problem = RegressionProblem(X, y, 0.1, **options)
    one, three = (solve(problem, "newton", tol=1e-5, n_jobs=n_jobs) for n_jobs in (1, 3))
    assert one.converged
    assert np.array_equal(one.weights, three.weights)
    assert np.array_equal(one.alpha, three.alpha)


def test_the_estimator_gives_the_same_model_for_any_number_of_threads() -> None:
    X, y = make_rows("csr", 8000, 60)
    three = np.where(X[:, [0]].toarray().ravel() > 1, 2, y)
    for labels in (y, three):
        one, five = (LinearSVC(C=0.01, n_jobs=n_jobs).fit(X, labels) for n_jobs in (1, 5))
        assert np.array_equal(one.coef_, five.coef_)
        assert one.duality_gap_.tolist() == five.duality_gap_.tolist() if len(one.coef_) > 1 else True


@pytest.mark.parametrize("make", [LinearSVR, LinearRankSVM, OneClassSVM])
def test_other_estimators_give_the_same_model_for_any_number_of_threads(make: Any) -> None:
    X, y = make_rows("csr", 8000, 60)
    X = abs(X)  # on one side of the origin, for the one class
    targets = (X.sum(axis=1),) if make is LinearSVR else (y,) if make is LinearRankSVM else ()
    one, five = (make(tol=1e-2, n_jobs=n_jobs).fit(X, *targets) for n_jobs in (None, 5))
    assert one.converged_
    assert np.array_equal(one.coef_, five.coef_)
    assert np.array_equal(one.predict(X), five.predict(X))
    with pytest.raises(ValueError, match="n_jobs=0 has no meaning"):
        make(n_jobs=0).fit(X, *targets)


def count_threads_of_process() -> int:
    return len(os.listdir("/proc/self/task"))


@pytest.mark.skipif(not os.path.isdir("/proc/self/task"), reason="threads of a process are counted on Linux only")
def test_no_thread_is_left_behind() -> None:
    X, y = make_rows("dense", 8000, 60)
    solve(BinaryProblem(X, y, 0.01), "newton", n_jobs=1)
    before = count_threads_of_process()
    solve(BinaryProblem(X, y, 0.01), "newton", n_jobs=4)
    assert count_threads_of_process() == before


def test_a_limit_and_a_callback_end_a_fit_in_threads() -> None:
    X, y = make_rows("dense", 8000, 60)
    problem = BinaryProblem(X, y, 10.0, loss="hinge")
    cut_short = solve(problem, "newton", tol=0, time_limit=0.001, n_jobs=3)
    assert cut_short.exit == "time_limit"
    assert cut_short.certificate.primal <= problem.primal(np.zeros(61))
    stopped = solve(problem, "newton", tol=0, callback=lambda report, _: report.epoch >= 2, n_jobs=3)
    assert stopped.exit == "stopped"

    def fail(report: Any, weights: Any) -> bool:
        raise RuntimeError("no more")

    with pytest.raises(RuntimeError, match="no more"):
        solve(problem, "newton", tol=0, callback=fail, n_jobs=3)


def test_fits_in_threads_of_their_own_may_have_several_each() -> None:
    X, y = make_rows("dense", 4000, 80)
    problem = BinaryProblem(X, y, 0.01)
    expected = solve(problem, "newton").weights
    found: list[Any] = [None] * 4

    def work(k: int) -> None:
        found[k] = solve(BinaryProblem(X, y, 0.01), "newton", n_jobs=2).weights

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(np.array_equal(expected, weights) for weights in found)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_process_may_fork_after_a_fit_in_threads() -> None:
    X, y = make_rows("dense", 8000, 60)
    problem = BinaryProblem(X, y, 0.01)
    expected = solve(problem, "newton", n_jobs=2).weights
    child = os.fork()
    if child == 0:
        same = np.array_equal(solve(problem, "newton", n_jobs=2).weights, expected)
        os._exit(0 if same else 1)
    end = time.monotonic() + 60
    while (waited := os.waitpid(child, os.WNOHANG))[0] == 0 and time.monotonic() < end:
        time.sleep(0.01)
    if waited[0] == 0:
        os.kill(child, 9)
        os.waitpid(child, 0)
    assert waited == (child, 0)


@pytest.mark.parametrize("bias", [{"bias": 0.0}, {"bias": 1.0}, {"bias": 1.0, "penalize_bias": False}], ids=str)
@pytest.mark.parametrize("kind", ["dense", "csr"])
def test_certificates_of_dual_descent_are_the_same_for_any_number_of_threads(kind: str, bias: dict[str, Any]) -> None:
    X, y = make_rows(kind, 9000, 80)
    problem = BinaryProblem(X, y, 0.01, loss="hinge", **bias)
    solutions = [solve(problem, "dcd", tol=1e-3, n_jobs=n_jobs) for n_jobs in (1, 2, 5)]
    assert solutions[0].converged
    assert problem.certificate(solutions[0].weights, solutions[0].alpha).gap <= 1.001e-3
    for other in solutions[1:]:
        assert np.array_equal(solutions[0].weights, other.weights)
        assert solutions[0].certificate == other.certificate


@pytest.mark.parametrize("kind", ["dense", "csr"])
def test_ranking_gives_the_same_bits_for_any_number_of_threads(kind: str) -> None:
    X, y = make_rows(kind, 9000, 80)
    problem = RankingProblem(X, y, 1.0)
    solutions = [solve(problem, "cutting_plane", tol=1e-3, n_jobs=n_jobs) for n_jobs in (1, 2, 5)]
    assert solutions[0].converged
    for other in solutions[1:]:
        assert np.array_equal(solutions[0].weights, other.weights)
        assert solutions[0].certificate == other.certificate


@pytest.mark.parametrize("weighted", [False, True], ids=["all alike", "weighted"])
@pytest.mark.parametrize("ranks", [2, 5, 400])
def test_large_groups_are_ranked_with_the_same_bits_for_any_number_of_threads(ranks: int, weighted: bool) -> None:
    rng = np.random.default_rng(ranks)
    rows = 80_000
    X = rng.integers(-4, 5, (rows, 3)) / 4.0  # so that many scores are equal
    y = np.digitize(X @ [1.0, -2.0, 0.5] + rng.standard_normal(rows), np.linspace(-2.0, 3.0, ranks - 1))
    # one large group, and small ones of 4 to 300 rows, some of which have their pairs listed
    sizes = rng.integers(4, 300, rows)
    group = np.where(np.arange(rows) < 60_000, 0, np.repeat(np.arange(rows), sizes)[:rows] + 1)
    weights = rng.integers(0, 4, rows) / 3.0 if weighted else None
    problem = RankingProblem(X, y, 10.0, qid=group, weights=weights)
    solutions = [solve(problem, tol=1e-3, n_jobs=n_jobs) for n_jobs in (1, 2, 5)]
    assert solutions[0].converged
    assert problem.primal(solutions[0].weights) == pytest.approx(solutions[0].certificate.primal, rel=1e-9)
    for other in solutions[1:]:
        assert np.array_equal(solutions[0].weights, other.weights)
        assert np.array_equal(solutions[0].alpha, other.alpha)
        assert other.certificate == solutions[0].certificate


def test_rows_beyond_the_caches_have_the_same_bits_for_any_number_of_threads() -> None:
    rng = np.random.default_rng(7)
    X = rng.standard_normal((430_000, 10), dtype=np.float32)
    y = np.where(X @ rng.standard_normal(10) + rng.standard_normal(len(X)) > 0, 1, -1)
    problem = BinaryProblem(X, y, 1.0, bias=1.0)
    solutions = [solve(problem, "newton", tol=1e-5, n_jobs=n_jobs) for n_jobs in (1, 2, 5)]
    assert solutions[0].converged
    assert problem.certificate(solutions[0].weights, solutions[0].alpha).gap <= 1.001e-5
    for other in solutions[1:]:
        assert np.array_equal(solutions[0].weights, other.weights)
        assert np.array_equal(solutions[0].alpha, other.alpha)


def test_with_threads_newton_begins_where_one_thread_would_sweep_first() -> None:
    X, y = make_rows("dense", 1000, 220)
    problem = BinaryProblem(X, y, 10.0)
    one, two, five = (solve(problem, n_jobs=n_jobs) for n_jobs in (1, 2, 5))
    assert one.solver.startswith("dcd")
    assert two.solver == five.solver == "newton"
    assert np.array_equal(two.weights, five.weights)
    assert np.array_equal(two.alpha, five.alpha)
    for solution in (one, two):
        assert problem.certificate(solution.weights, solution.alpha).gap <= 1.001e-3


@pytest.mark.parametrize("classes", [1, 3, 20])
@pytest.mark.parametrize("kind", ["dense", "float32", "csr"])
def test_scores_are_the_same_for_any_number_of_threads(kind: str, classes: int) -> None:
    X, _ = make_rows(kind, 9001, 80)
    rng = np.random.default_rng(1)
    coef, intercept = rng.standard_normal((classes, 80)), rng.standard_normal(classes)
    matrix = Matrix(X)
    one, two, five = (matrix.scores(coef, intercept, threads=threads) for threads in (1, 2, 5))
    assert np.array_equal(one, two)
    assert np.array_equal(one, five)
    np.testing.assert_allclose(one, X @ coef.T + intercept, rtol=1e-4 if kind == "float32" else 1e-9, atol=1e-9)


@pytest.mark.parametrize("kind", ["dense", "csr", "csr with repeats"])
def test_norms_are_the_same_for_any_number_of_threads(kind: str) -> None:
    X, _ = make_rows(kind, 9001, 80)
    measured, plain = Matrix(X), Matrix(X)
    measured.rows.measure(3)
    assert np.array_equal(measured.rows.squared_norms(), plain.rows.squared_norms())
    X = X.copy()
    (X.data if hasattr(X, "indptr") else X)[-1] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        Matrix(X).rows.measure(3)
