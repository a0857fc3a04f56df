"""Data that are changed during a fit: an error or finite numbers, but never a crash, a hang or senseless bounds."""

import subprocess
import sys
import textwrap

import numpy as np
import pytest

from maxmargin import BinaryProblem, solve

#: What every program below begins with: small data, and the problems of one kind over them.
PROBLEMS = textwrap.dedent(
    """
    import sys
    import threading
    import time

    import numpy as np
    import scipy.sparse as sp

    from maxmargin import (
        Auto,
        BinaryProblem,
        Matrix,
        MeasureProblem,
        MulticlassProblem,
        OneClassProblem,
        RankingProblem,
        RegressionProblem,
        solve,
    )
    from maxmargin.problems.losses import LOSSES, REGRESSION_LOSSES
    from maxmargin.problems.measure import MEASURES
    from maxmargin.solvers.folds import FoldNewton
    from maxmargin.solvers.methods import solvers_for
    from maxmargin.solvers.together import solve_together

    kind, _, many = sys.argv[1].partition(" of ")
    rng = np.random.default_rng(0)
    clean = rng.normal(size=(80, 700 if many else 6))
    if many:
        clean[rng.random(clean.shape) < 0.5] = 0.0  # the number of entries changes as well
    numbers = clean @ rng.normal(size=clean.shape[1]) + rng.normal(size=80)
    y = np.where(numbers > 0, 1, -1)
    labels = np.random.default_rng(1).integers(0, 3, len(y))
    FORMS = ("dense", "float32", "csr")


    def stored(form):
        # Rows in some form, and the array that holds their values.
        if form == "csr":
            X = sp.csr_array(clean)
            return X, X.data
        X = clean.astype(np.float64 if form == "dense" else np.float32)
        return X, X


    def problems(X):
        if kind == "ranking":
            yield RankingProblem(X, labels, 1e3)
        elif kind == "one_class":
            yield OneClassProblem(X, nu=0.3)
        elif kind == "measure":
            for measure in MEASURES:
                yield MeasureProblem(X, y, 1e3, measure=measure, k=10 if measure.endswith("at_k") else None, bias=1.0)
        elif kind in ("crammer_singer", "weston_watkins"):
            yield MulticlassProblem(X, labels, 10.0, formulation=kind, bias=1.0)
        else:
            for penalize in (True, False):
                own = {"bias": 1.0, "penalize_bias": penalize}
                if kind == "regression":
                    for loss in REGRESSION_LOSSES:
                        epsilon = 0.0 if loss == "least_squares" else 0.1
                        yield RegressionProblem(X, numbers, 1e3, loss=loss, epsilon=epsilon, **own)
                elif kind == "l1":
                    for loss in ("squared_hinge", "least_squares"):
                        yield BinaryProblem(X, y, 1e3, loss=loss, penalty="l1", **own)
                else:
                    for loss in LOSSES:
                        yield BinaryProblem(X, y, 1e3, loss=loss, **own)


    def solvers_of(problem):
        return solvers_for(kind, getattr(problem, "loss", None), getattr(problem, "penalize_bias", True))


    def assert_error_or_numbers(what, fit):
        print(what, file=sys.stderr)
        try:
            solutions = fit()
        except ValueError as error:
            assert "X was changed" in str(error) or "NaN or infinity" in str(error), (what, str(error))
            return
        for solution in solutions:
            assert np.all(np.isfinite(solution.weights)), what
            assert np.all(np.isfinite(solution.certificate)), what
            alpha = getattr(solution.alpha, "data", solution.alpha)
            assert np.all(np.isfinite(np.asarray(alpha))), what


    class Spoiler:
        # Changes the data in the second report, or in the first one of a fit that might have no other.
        def __init__(self, values, value, first):
            self.values, self.value, self.reports, self.first = values, value, 0, first

        def __call__(self, report, weights):
            self.reports += 1
            if self.reports == (1 if self.first else 2):
                self.values[...] = self.value

        @property
        def has_changed(self):
            return self.reports >= (1 if self.first else 2)


    def spoiled():
        # Every kind of change of every form of the data: rows, their values, and what to write there.
        for value in (np.nan, np.inf, 0.0, 1e300):
            for form in FORMS:
                X, values = stored(form)
                with np.errstate(over="ignore"):
                    yield (form, value), X, values, values.copy(), values.dtype.type(value)
    """
)
#: Changes by a callback, for every solver, loss and storage of one kind of problem.
BY_CALLBACKS = """
LIMITS = {"tol": 1e-9, "max_iter": 100, "time_limit": 0.3, "report_passes": 1.0}
fits = changed = 0
for what, X, values, original, written in spoiled():
    for problem in list(problems(X)):
        for solver in solvers_of(problem):
            for first in (False, True):
                values[...] = original
                spoiler = Spoiler(values, written, first)
                name = getattr(getattr(problem, "loss", None), "name", getattr(problem, "measure", ""))
                assert_error_or_numbers(
                    (*what, solver, first, name, getattr(problem, "penalize_bias", True)),
                    lambda: [solve(problem, solver, callback=spoiler, **LIMITS)],
                )
                fits += 1
                changed += spoiler.has_changed
assert changed > 0.9 * fits, (changed, fits)
print("done", fits)
"""
#: The same for three classes that are swept together, of which one has the callback.
IN_JOINT_SWEEPS = """
LIMITS = {"tol": 1e-9, "max_iter": 100, "time_limit": 0.3, "report_passes": 1.0}
fits = changed = 0
for what, X, values, original, written in spoiled():
    for loss in LOSSES:
        for first in (False, True):
            for C in (1e-2, 1e3):
                values[...] = original
                matrix = Matrix(X)
                signs = [np.where(labels == k, 1, -1) for k in range(3)]
                classes = [BinaryProblem(matrix, own, C, loss=loss, bias=1.0) for own in signs]
                spoiler = Spoiler(values, written, first)
                assert_error_or_numbers(
                    (*what, loss, first, C),
                    lambda: solve_together(
                        classes, Auto(), starts=[None] * 3, callbacks=[None, spoiler, None], **LIMITS
                    ),
                )
                fits += 1
                changed += spoiler.has_changed
assert changed > 0.7 * fits, (changed, fits)
print("done", fits)
"""
#: The same for folds that share Newton's steps, which keep Hessians from one C to the next: changed between the two.
IN_FOLDS = """
parts = [np.where(np.arange(80) % 4 == k, 0.0, 1.0) for k in range(4)]
for what, X, values, original, written in spoiled():
    for loss in ("squared_hinge", "least_squares"):
        values[...] = original
        matrix = Matrix(X)

        def folds(C):
            return [BinaryProblem(matrix, y, C * part, loss=loss, bias=1.0) for part in parts]

        together = FoldNewton(folds(1.0)[0])
        limits = {"tol": 1e-9, "max_iter": 100, "time_limit": 0.3}
        assert all(solution.converged for solution in together.solve(folds(0.1), Auto(), **limits))
        values[...] = written
        assert_error_or_numbers((*what, loss), lambda: together.solve(folds(10.0), Auto(), **limits))
print("done")
"""
#: Another thread writes into the data all the time, while fits run that would never end by themselves.
BY_A_THREAD = """
LIMITS = {"tol": 0.0, "max_iter": 10**9, "time_limit": 0.1}
for form in FORMS:
    X, values = stored(form)
    original = values.copy()
    over = threading.Event()

    def write():
        flat, clean_flat = values.reshape(-1), original.reshape(-1)
        random = np.random.default_rng(2)
        while not over.is_set():
            place = random.integers(0, len(flat), 5)
            flat[place] = random.choice([np.nan, np.inf, -np.inf, 0.0])
            time.sleep(1e-4)
            if random.random() < 0.5:
                flat[place] = clean_flat[place]

    for problem in list(problems(X)):
        for solver in solvers_of(problem):
            values[...] = original
            problem.matrix.lengths()  # so that the norms are those of clean rows
            over.clear()
            writer = threading.Thread(target=write)
            writer.start()
            begin = time.perf_counter()
            try:
                assert_error_or_numbers((form, solver), lambda: [solve(problem, solver, **LIMITS)])
            finally:
                over.set()
                writer.join()
            assert time.perf_counter() - begin < 5.0, (form, solver)
print("done")
"""
KINDS = [
    "binary",
    "l1",
    "l1 of many features",
    "regression",
    "one_class",
    "crammer_singer",
    "weston_watkins",
    "ranking",
    "measure",
]


def run(program, kind):
    """Run a program in a process of its own, so that a crash or a hang is a failed test."""
    done = subprocess.run([sys.executable, "-c", PROBLEMS + program, kind], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.startswith("done")


@pytest.mark.parametrize("kind", KINDS)
def test_data_changed_by_a_callback_end_in_an_error_or_in_finite_numbers(kind):
    run(BY_CALLBACKS, kind)


@pytest.mark.parametrize("program", [IN_JOINT_SWEEPS, IN_FOLDS], ids=["joint", "folds"])
def test_data_changed_under_problems_side_by_side_end_in_an_error_or_in_finite_numbers(program):
    run(program, "binary")


@pytest.mark.parametrize("kind", KINDS)
def test_data_changed_by_another_thread_end_in_an_error_or_in_finite_numbers_in_time(kind):
    run(BY_A_THREAD, kind)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("report", [1, 2, 3])
def test_bounds_of_newton_are_not_below_zero_where_a_callback_changes_many_rows(loss, report):
    rng = np.random.default_rng(report)
    X = rng.normal(size=(30_000, 12))
    y = np.where(X[:, 0] + rng.normal(size=30_000) > 0, 1, -1)
    seen = []

    def change(found, _):
        seen.append(found)
        if len(seen) == report:
            X[rng.integers(0, 30_000, 500), rng.integers(0, 12, 500)] = 1e8

    problem = BinaryProblem(X, y, 1.0, loss=loss)
    told, certificate = "", None
    try:
        solution = solve(problem, "newton", tol=1e-9, callback=change, report_passes=0.01, time_limit=5.0)
        certificate = solution.certificate
    except ValueError as error:
        told = str(error)
    assert len(seen) >= report
    if certificate is None:
        assert "X was changed during the fit" in told
    else:
        assert 0.0 <= certificate.dual <= certificate.primal <= 30_000.0
