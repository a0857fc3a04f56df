"""Folds solved side by side by Newton's method have the optima and certificates that each has by itself."""

import numpy as np
import pytest
import scipy.sparse as sp

from maxmargin import Auto, BinaryProblem, DualCoordinateDescent, LinearSVCCV, Matrix, solve
from maxmargin._core import FoldNewton as Core
from maxmargin.solvers.folds import FoldNewton, folds_go_together
from maxmargin.training.cross_validation import cross_validate, fold_numbers, folds_of
from maxmargin.training.folds import fold_groups
from maxmargin.training.tasks import Classification
from tests.solvers.test_together import labelled_rows

CS = (1e-3, 0.03, 1.0, 30.0, 1e3)


def two_classes(seed, rows=90, features=12):
    X, labels = labelled_rows(seed, rows, features)
    X[:40, 0] += np.where(labels[:40] > 2, 2.0, -1.0)
    return X, np.where(labels > 2, 1, -1)


def masks_of(size, count, seed=0):
    numbers = fold_numbers(np.zeros(size, dtype=np.intp), count, seed)
    return [(numbers != fold).astype(np.float64) for fold in range(count)]


@pytest.mark.parametrize("loss", ["squared_hinge", "least_squares"])
@pytest.mark.parametrize("bias", [0.0, 1.0, 30.0])
@pytest.mark.parametrize("storage", [np.asarray, sp.csr_matrix, lambda X: sp.csr_matrix(X, dtype=np.float32)])
def test_each_C_of_a_path_has_the_optima_of_explicit_sub_matrices(loss, bias, storage):
    X, y = two_classes(1)
    rows = storage(X)
    matrix, weights = Matrix(rows), np.random.default_rng(2).choice([0.0, 0.5, 1.0, 3.0], len(y))
    masks = masks_of(len(y), 5)
    together = FoldNewton(BinaryProblem(matrix, y, weights * masks[0]))
    for C in CS:
        problems = [BinaryProblem(matrix, y, C * weights * mask, loss=loss, bias=bias) for mask in masks]
        found = together.solve(problems, Auto(), tol=1e-9)
        for problem, mask, solution in zip(problems, masks, found, strict=True):
            used = np.flatnonzero(mask * weights)
            alone = solve(BinaryProblem(rows[used], y[used], C * weights[used], loss=loss, bias=bias), tol=1e-11)
            assert solution.converged
            assert solution.certificate.primal == pytest.approx(alone.certificate.primal, rel=1e-8)
            np.testing.assert_allclose(solution.weights, alone.weights, atol=2e-4 * np.abs(alone.weights).max())
            primal, dual = problem.certificate(solution.weights, solution.alpha)
            assert solution.certificate.primal == pytest.approx(primal, rel=1e-9)
            assert solution.certificate.dual == pytest.approx(dual, rel=1e-9, abs=1e-9 * primal)


@pytest.mark.parametrize("threads", [2, 3])
def test_threads_do_not_change_a_bit(threads):
    random = np.random.default_rng(5)
    X = random.normal(size=(3000, 100))
    y = np.where(X[:, 0] + random.normal(size=3000) > 0, 1, -1)
    matrix, masks = Matrix(X), masks_of(3000, 5)
    one, many = (FoldNewton(BinaryProblem(matrix, y)) for _ in range(2))
    for C in (0.01, 1.0):
        problems = [BinaryProblem(matrix, y, C * mask, bias=1.0) for mask in masks]
        first = one.solve(problems, Auto(), tol=1e-6)
        second = many.solve(problems, Auto(), tol=1e-6, n_jobs=threads)
        for a, b in zip(first, second, strict=True):
            np.testing.assert_array_equal(a.weights, b.weights)
            np.testing.assert_array_equal(a.alpha, b.alpha)


def test_given_weights_are_where_it_starts():
    X, y = two_classes(3)
    matrix, masks = Matrix(X), masks_of(len(y), 4)
    problems = [BinaryProblem(matrix, y, mask, bias=1.0) for mask in masks]
    known = [solve(problem, tol=1e-12).weights for problem in problems]
    found = FoldNewton(problems[0]).solve(problems, Auto(), weights=known, tol=1e-6)
    assert [solution.n_iter for solution in found] == [0, 0, 0, 0]
    with pytest.raises(ValueError, match="one weight for each feature"):
        Core(matrix.rows).start([[1.0]])


def test_a_fold_that_is_not_done_goes_on_by_itself():
    X, y = two_classes(4)
    matrix, masks = Matrix(X), masks_of(len(y), 3)
    problems = [BinaryProblem(matrix, y, 10.0 * mask, bias=1.0) for mask in masks]
    found = FoldNewton(problems[0]).solve(problems, Auto(), tol=1e-8, max_iter=1)
    assert all("+" in solution.solver for solution in found)
    for problem, solution in zip(problems, found, strict=True):
        assert solution.certificate.primal <= problem.primal(np.zeros(X.shape[1] + 1))


def test_problems_that_do_not_belong_together_are_refused():
    X, y = two_classes(5)
    matrix, masks = Matrix(X), masks_of(len(y), 3)
    problems = [BinaryProblem(matrix, y, mask) for mask in masks]
    together = FoldNewton(problems[0])
    together.solve(problems, Auto())
    with pytest.raises(ValueError, match="must agree"):
        together.solve([problems[1], problems[0], problems[2]], Auto())
    with pytest.raises(ValueError, match="curved loss"):
        FoldNewton(problems[0]).solve([BinaryProblem(matrix, y, mask, loss="hinge") for mask in masks], Auto())
    assert folds_go_together(Auto(), problems)
    assert not folds_go_together(DualCoordinateDescent(), problems)
    assert not folds_go_together(Auto(dual=True), problems)
    assert not folds_go_together(Auto(), problems[:2])
    assert not folds_go_together(Auto(), [problems[0], problems[1], BinaryProblem(matrix, y, 2.0 * masks[2])])


@pytest.mark.parametrize("count", [3, 5, 11])
def test_cross_validation_side_by_side_is_that_of_each_fold_alone(count):
    X, y = two_classes(6, rows=200)
    labels = (y > 0).astype(np.intp)
    folds = folds_of(fold_numbers(labels, count, seed=0))
    task = Classification(X, labels, 2)
    tasks = [task.on(np.bincount(train, minlength=len(y)).astype(np.float64)) for train, _ in folds]
    groups = fold_groups(tasks, task.method("auto"))
    assert len(groups) == -(-count // 8)
    together = cross_validate(task, CS, folds, tol=1e-9, keep_scores=True)
    alone = cross_validate(task, CS, folds, tol=1e-9, keep_scores=True, solver="newton")
    np.testing.assert_allclose(together.held_out, alone.held_out, atol=1e-3)
    assert together.converged.all()
    again = cross_validate(task, CS, folds, tol=1e-9, keep_scores=True, n_jobs=4)
    np.testing.assert_array_equal(together.held_out, again.held_out)


@pytest.mark.filterwarnings("ignore")
def test_time_limits_hold_side_by_side():
    random = np.random.default_rng(0)
    X = random.normal(size=(2000, 50))
    model = LinearSVCCV(time_limit=1e-3).fit(X, random.integers(0, 2, 2000))
    assert np.all(np.isfinite(model.coef_))
