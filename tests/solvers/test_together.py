"""Several problems swept side by side have the optima, certificates and limits that each has by itself."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

from maxmargin import Auto, BinaryProblem, LinearSVC, LinearSVCCV, Matrix, solve
from maxmargin.solvers.together import WIDTH, goes_together, groups_of, solve_together
from maxmargin.training.cross_validation import cross_validate, fold_numbers, folds_of
from maxmargin.training.folds import FoldsBySweeps, fold_groups, fold_tasks, group_of
from maxmargin.training.path import scaled
from maxmargin.training.tasks import Classification

LOSSES = ("hinge", "squared_hinge", "least_squares")


def labelled_rows(seed, rows=60, features=25, classes=5):
    """Sparse rows with an empty one, repeated ones, columns of one row and a column without entries."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(rows, features)) * (random.random((rows, features)) < 0.3)
    X[3] = 0.0
    X[10:14] = X[9]
    X[:, 5] = 0.0
    X[:, 6] = 0.0
    X[2, 6] = 1.5
    return X, random.integers(0, classes, rows)


def problems_of(X, labels, C, loss, bias, classes=5):
    matrix = Matrix(X)
    return [
        BinaryProblem(matrix, np.where(labels == label, 1, -1), C, loss=loss, bias=bias) for label in range(classes)
    ]


def together(problems, **limits):
    return solve_together(problems, Auto(), starts=[None] * len(problems), callbacks=[None] * len(problems), **limits)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("bias", [0.0, 1.0, 30.0])
@pytest.mark.parametrize("C", [0.01, 1.0, 50.0])
def test_the_optima_are_those_of_each_problem_alone(loss, bias, C):
    X, labels = labelled_rows(1)
    weights = C * np.random.default_rng(2).choice([0.0, 0.5, 1.0, 3.0], len(labels))
    problems = problems_of(sp.csr_matrix(X), labels, weights, loss, bias)
    for problem, found in zip(problems, together(problems, tol=1e-10), strict=True):
        alone = solve(problem, tol=1e-10)
        assert found.converged
        assert found.certificate.primal == pytest.approx(alone.certificate.primal, rel=1e-8)
        np.testing.assert_allclose(found.weights, alone.weights, atol=1e-4)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("tol", [0.1, 1e-3, 1e-6])
def test_certificates_are_exact(loss, tol):
    X, labels = labelled_rows(3)
    problems = problems_of(sp.csr_matrix(X), labels, 2.0, loss, 1.0)
    for problem, found in zip(problems, together(problems, tol=tol), strict=True):
        primal, dual = problem.certificate(found.weights, found.alpha)
        assert found.certificate.primal == pytest.approx(primal, rel=1e-9)
        assert found.certificate.dual == pytest.approx(dual, rel=1e-9, abs=1e-9 * primal)
        assert found.certificate.gap <= tol


def test_every_storage_type_has_the_same_optimum(storage):
    X, labels = labelled_rows(4)
    for dtype in (np.float64, np.float32):
        X = X.astype(dtype)
        found = together(problems_of(storage(X), labels, 1.0, "hinge", 1.0), tol=1e-9)
        alone = [solve(problem, tol=1e-9) for problem in problems_of(X, labels, 1.0, "hinge", 1.0)]
        np.testing.assert_allclose(
            [one.certificate.primal for one in found], [one.certificate.primal for one in alone], rtol=1e-8
        )


@pytest.mark.parametrize("max_iter", [1, 2, 5])
@pytest.mark.parametrize("loss", LOSSES)
def test_a_cut_short_fit_is_never_worse_than_zero(loss, max_iter):
    X, labels = labelled_rows(5)
    problems = problems_of(sp.csr_matrix(1e3 * X), labels, 1e4, loss, 1.0)
    for problem, found in zip(problems, together(problems, tol=1e-12, max_iter=max_iter), strict=True):
        assert found.certificate.primal <= problem.primal(np.zeros(X.shape[1] + 1))
        assert found.certificate.dual >= 0.0
        assert found.certificate.gap >= 0.0


def test_a_warm_start_is_used():
    X, labels = labelled_rows(6)
    problems = problems_of(sp.csr_matrix(X), labels, 1.0, "squared_hinge", 1.0)
    first = together(problems, tol=1e-8)
    again = solve_together(problems, Auto(), starts=first, callbacks=[None] * 5, tol=1e-8)
    assert all(found.n_iter <= 1 for found in again)


def wide_rows(classes=11, rows=400, features=1500):
    random = np.random.default_rng(7)
    X = sp.random(rows, features, 0.02, format="lil", random_state=7)
    labels = random.integers(0, classes, rows)
    X[np.arange(rows), labels] = 1.0
    return X.tocsr(), labels


def test_the_bits_do_not_depend_on_the_number_of_threads():
    X, labels = wide_rows()
    models = [LinearSVC("hinge", n_jobs=n_jobs, random_state=3).fit(X, labels) for n_jobs in (1, 2, 5)]
    assert set(models[0].solver_used_) == {"joint"}
    for model in models[1:]:
        np.testing.assert_array_equal(models[0].coef_, model.coef_)
        np.testing.assert_array_equal(models[0].dual_coef_.toarray(), model.dual_coef_.toarray())


def test_a_callback_that_stops_one_problem_ends_the_sweep_for_all():
    X, labels = labelled_rows(8)
    problems = problems_of(sp.csr_matrix(X), labels, 1.0, "hinge", 1.0)
    callbacks = [None, None, lambda report, weights: True, None, None]
    found = solve_together(problems, Auto(), starts=[None] * 5, callbacks=callbacks, tol=0.0, max_iter=40)
    assert found[2].exit == "stopped"


def test_problems_with_different_weights_are_refused():
    X, labels = labelled_rows(9)
    matrix = Matrix(X)
    problems = [BinaryProblem(matrix, np.where(labels == 0, 1, -1), C) for C in (1.0, 2.0)]
    with pytest.raises(ValueError, match="agree on C"):
        together(problems)


def test_only_problems_for_sweeps_go_together():
    X, labels = wide_rows()
    problem = BinaryProblem(X, np.where(labels == 0, 1, -1))
    assert goes_together(Auto(), problem, 3)
    assert not goes_together(Auto(), problem, 2)
    assert not goes_together(Auto(dual=False), problem, 3)
    assert not goes_together(Auto(), BinaryProblem(X[:, :50], np.where(labels == 0, 1, -1)), 3)
    assert not goes_together(Auto(), BinaryProblem(X, problem.y, bias=1.0, penalize_bias=False), 3)
    assert [len(group) for group in groups_of(2 * WIDTH + 3, together=True)] == [WIDTH, WIDTH, 3]


def many_features(seed, rows=120, features=1100):
    random = np.random.default_rng(seed)
    X = random.normal(size=(rows, features)) * (random.random((rows, features)) < 0.02)
    X[5] = 0.0
    return sp.csr_matrix(X), (random.random(rows) < 0.4).astype(np.intp)


@pytest.mark.parametrize("count", [4, 5, 9])
@pytest.mark.parametrize("loss", LOSSES)
def test_folds_with_many_features_are_swept_once_for_all(loss, count):
    X, labels = many_features(0)
    folds = folds_of(fold_numbers(labels, count, seed=0))
    task = Classification(X, labels, 2, loss=loss)
    tasks = fold_tasks(task, folds)
    assert len(fold_groups(tasks, task.method("auto"))) == -(-count // WIDTH)
    Cs = [0.1, 1.0, 3.0]
    together = cross_validate(task, Cs, folds, tol=1e-9, keep_scores=True)
    alone = cross_validate(task, Cs, folds, tol=1e-9, keep_scores=True, solver="newton")
    assert together.converged.all()
    assert alone.converged.all()
    np.testing.assert_allclose(together.held_out, alone.held_out, atol=1e-3)
    threads = cross_validate(task, Cs, folds, tol=1e-9, keep_scores=True, n_jobs=3)
    np.testing.assert_array_equal(together.held_out, threads.held_out)


def test_folds_that_sweeps_do_not_solve_go_on_by_themselves_from_then_on():
    X, labels = many_features(1)
    X = (X @ sp.diags(np.logspace(-3, 3, X.shape[1]))).tocsr()
    task = Classification(X, labels, 2)
    group = group_of(fold_tasks(task, folds_of(fold_numbers(labels, 4, seed=0))), task.method("auto"))
    assert isinstance(group, FoldsBySweeps)
    last, names = None, []
    for C in (1e-6, 1e-2, 1e2):
        last = group.solve(C, last, tol=1e-6, n_jobs=2)
        names.append({own.solutions[0].solver.split("+")[0] for own in last})
        assert all(own.converged for own in last)
    assert names[0] == {"joint"}
    assert "joint" not in names[2]


def test_folds_with_weights_of_their_own_are_solved_one_by_one():
    X, labels = many_features(2)
    task = Classification(X, labels, 2, class_weight="balanced")
    tasks = fold_tasks(task, [(np.arange(k, 100), np.arange(k)) for k in (20, 30, 40, 50)])
    assert [len(group) for group in fold_groups(tasks, task.method("auto"))] == [1, 1, 1, 1]


@pytest.mark.parametrize("ratio", [0.3, 1.0, 3.0])
@pytest.mark.parametrize("loss", LOSSES)
def test_seeds_know_their_values_at_the_other_C(loss, ratio):
    X, labels = labelled_rows(3)
    y = np.where(labels == 0, 1, -1)
    problem, other = (BinaryProblem(X, y, C, loss=loss, bias=1.0) for C in (0.5, 0.5 * ratio))
    seed = scaled(problem, solve(problem, tol=1e-4), ratio)
    assert seed.values.primal == pytest.approx(other.primal(seed.weights), rel=1e-12)
    assert seed.values.dual == pytest.approx(other.dual(seed.alpha), rel=1e-10)
    state = other.start(seed)
    assert (state.primal, state.dual) == (seed.values.primal, seed.values.dual)
    if loss == "hinge":
        # Variables that are out of bounds have another value than is said.
        beyond = replace(seed, alpha=3.0 * seed.alpha)
        state = other.start(beyond)
        assert state.dual == pytest.approx(max(other.dual(np.clip(beyond.alpha, 0.0, other.C)), 0.0), rel=1e-12)


@pytest.mark.filterwarnings("ignore:the best C")
def test_a_choice_of_C_over_many_features_is_the_same_for_any_number_of_threads():
    X, labels = many_features(4)
    one, two = (LinearSVCCV(Cs=[0.1, 1.0, 10.0], cv_tol=0.2, n_jobs=n).fit(X, labels) for n in (1, 2))
    np.testing.assert_array_equal(one.range_Cs_, two.range_Cs_)
    np.testing.assert_array_equal(one.coef_, two.coef_)
