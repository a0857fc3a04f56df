"""A bias outside the regulariser: penalize_bias=False of a problem, penalize_intercept=False of LinearSVC."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from maxmargin import BinaryProblem, LinearSVC, solve
from maxmargin.solvers.methods import solvers_for

from ..conftest import FREE_BIAS, LOSS_NAMES, assert_certified, csr, random_problem
from ..truth import free_bias_optimum

REAL = {
    "breast_cancer": lambda: load_breast_cancer(return_X_y=True),
    "iris": lambda: (load_iris().data, load_iris().target == 2),
    "wine": lambda: (load_wine().data, load_wine().target == 1),
}


def problem_of(X, y, C=1.0, *, loss="hinge", bias=1.0):
    return BinaryProblem(X, y, C, loss=loss, bias=bias, penalize_bias=False)


def value(*args, solver="auto", tol=1e-9, **options):
    solution = solve(problem_of(*args, **options), solver=solver, tol=tol, max_iter=100_000)
    assert solution.converged, (solution.exit, solution.certificate.gap)
    return solution.certificate.primal


@pytest.mark.parametrize(("solver", "loss"), FREE_BIAS)
@pytest.mark.parametrize("C", [0.01, 1.0, 30.0])
def test_every_solver_reaches_the_optimum_of_a_quadratic_program(solver, loss, C):
    X, y = random_problem(rows=40, features=5, seed=3)
    X += 0.7
    assert value(X, y, C, loss=loss, solver=solver) == pytest.approx(free_bias_optimum(X, y, C, loss), rel=1e-8)


@pytest.mark.parametrize("C", [0.01, 1.0])
@pytest.mark.parametrize("name", list(REAL))
@pytest.mark.parametrize("solver", ["auto", "dcd", "avsf", "newton"])
def test_the_hinge_equals_libsvm(name, C, solver):
    X, y = REAL[name]()
    X = StandardScaler().fit_transform(X)
    ours = LinearSVC("hinge", C=C, penalize_intercept=False, solver=solver, tol=1e-11, max_iter=10**6).fit(X, y)
    theirs = SVC(kernel="linear", C=C, tol=1e-8).fit(X, y)
    scale = np.abs(theirs.coef_).max()
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-5, atol=1e-5 * scale)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, rtol=1e-5, atol=1e-5 * scale)


@pytest.mark.parametrize(("solver", "loss"), FREE_BIAS)
@pytest.mark.parametrize("bias", [1.0, 0.1, 50.0])
def test_the_certificate_is_that_of_feasible_variables(solver, loss, bias):
    X, y = random_problem(rows=80, features=6, seed=4)
    problem = problem_of(csr(X), y, np.linspace(0.1, 2, 80), loss=loss, bias=bias)
    solution = solve(problem, solver=solver, tol=1e-4)
    signed = y * solution.alpha
    assert abs(signed.sum()) <= 1e-13 * np.abs(signed).sum()
    assert_certified(problem, solution)
    assert solution.certificate.gap <= 1e-4


@pytest.mark.parametrize(("solver", "loss"), FREE_BIAS)
def test_moving_all_rows_changes_nothing_but_the_bias(solver, loss):
    X, y = random_problem(rows=50, features=4, seed=5)
    moved = value(X + np.array([1.0, -2.0, 0.5, 3.0]), y, loss=loss, solver=solver, tol=1e-8)
    assert moved == pytest.approx(value(X, y, loss=loss, solver=solver, tol=1e-8), rel=2e-8)


@pytest.mark.parametrize(("solver", "loss"), FREE_BIAS)
def test_weight_two_equals_repeating_the_row_and_weight_zero_leaving_it_out(solver, loss):
    X, y = random_problem(rows=30, features=4, seed=5)
    weights = np.random.default_rng(5).integers(0, 4, len(y))
    rows = np.repeat(np.arange(len(y)), weights)
    weighted = value(X, y, 0.3 * weights, loss=loss, solver=solver)
    assert weighted == pytest.approx(value(X[rows], y[rows], 0.3, loss=loss, solver=solver), rel=3e-9)


@pytest.mark.parametrize(("solver", "loss"), FREE_BIAS)
def test_all_storage_types_give_the_same_model(solver, loss, storage):
    X, y = random_problem(rows=60, features=7, seed=8, density=0.5)
    plain = value(X, y, loss=loss, solver=solver)
    assert value(storage(X), y, loss=loss, solver=solver) == pytest.approx(plain, rel=2e-9)
    single = X.astype(np.float32)
    exact = value(single.astype(np.float64), y, loss=loss, solver=solver)
    assert value(storage(single), y, loss=loss, solver=solver) == pytest.approx(exact, rel=2e-9)


@pytest.mark.parametrize(("solver", "loss"), FREE_BIAS)
def test_hard_rows(solver, loss):
    X, y = random_problem(rows=30, features=4, seed=10)
    X[::3] = 0  # rows of zeros, and copies with both labels
    X[10:20] = X[1]
    truth = free_bias_optimum(X, y, 0.8, loss)
    assert value(X, y, 0.8, loss=loss, solver=solver) == pytest.approx(truth, rel=1e-8)
    zeros = np.zeros((6, 3))
    labels = np.array([1, -1, 1, -1, 1, 1])
    assert value(zeros, labels, 2.0, loss=loss, solver=solver) == pytest.approx(
        {"hinge": 8.0, "squared_hinge": 2 * (4 * 4 / 9 + 2 * 16 / 9), "least_squares": 2 * (4 * 4 / 9 + 2 * 16 / 9)}[
            loss
        ]
    )


@pytest.mark.parametrize(("solver", "loss"), FREE_BIAS)
@pytest.mark.parametrize("label", [-1, 1])
def test_one_class_only_costs_nothing(solver, loss, label):
    X, _ = random_problem(rows=30, features=4, seed=12)
    solution = solve(problem_of(X, np.full(30, label), loss=loss), solver=solver)
    assert solution.converged
    assert solution.certificate.primal == pytest.approx(0.0, abs=1e-12)
    assert label * solution.weights[-1] >= 1 - 1e-6  # there are no losses from there on


@pytest.mark.parametrize("loss", LOSS_NAMES)
@pytest.mark.parametrize("C", [1e-8, 1e4, 1e6])
def test_extreme_C_still_converges(loss, C):
    X, y = random_problem(rows=100, features=5, seed=13)
    problem = problem_of(X, y, C, loss=loss)
    solution = solve(problem, tol=1e-6)
    assert solution.converged
    assert problem.certificate(solution.weights, solution.alpha).gap <= 1.01e-6


@pytest.mark.parametrize("loss", LOSS_NAMES)
def test_many_features(loss):
    X, y = random_problem(rows=120, features=700, seed=14, density=0.1)
    truth = free_bias_optimum(X, y, 0.5, loss)
    for solver in ("auto", "newton"):
        assert value(X, y, 0.5, loss=loss, solver=solver) == pytest.approx(truth, rel=1e-8)


def test_the_bias_is_the_middle_of_all_best_ones():
    X, y = np.array([[2.0], [4.0], [-1.0], [-3.0]]), np.array([1, 1, -1, -1])
    # C so small that all variables are at their bounds: the losses do not change between two margins.
    problem = problem_of(X, y, 0.01)
    solution = solve(problem, tol=1e-12)
    assert solution.weights[0] == pytest.approx(0.1)
    assert solution.weights[-1] == pytest.approx(problem.best_bias(solution.weights[:-1]))
    inner = SVC(kernel="linear", C=0.01, tol=1e-10).fit(X, y)
    assert solution.weights[-1] == pytest.approx(inner.intercept_[0])


@pytest.mark.parametrize(("solver", "loss"), FREE_BIAS)
def test_a_start_that_is_not_feasible_is_moved_there(solver, loss):
    X, y = random_problem(rows=40, features=4, seed=15)
    problem = problem_of(X, y, loss=loss)
    best = solve(problem, solver=solver, tol=1e-9)
    start = solve(problem, solver=solver, tol=1e-9, start=best.alpha + 0.1)
    assert start.converged
    assert start.certificate.primal == pytest.approx(best.certificate.primal, rel=1e-8)
    stopped = solve(problem, solver=solver, tol=1e-13, start=best.alpha + 0.1, callback=lambda *_: True)
    assert_certified(problem, stopped, rel=1e-9)


def test_several_classes_and_warm_starts():
    X, y = load_iris(return_X_y=True)
    model = LinearSVC("hinge", penalize_intercept=False, warm_start=True, tol=1e-8).fit(X, y)
    assert model.converged_
    for k, positive in enumerate(model.classes_):
        problem = problem_of(X, np.where(y == positive, 1, -1))
        w = np.append(model.coef_[k], model.intercept_[k])
        assert problem.primal(w) == pytest.approx(model.primal_objective_[k], rel=1e-12)
    np.testing.assert_allclose(model.dual_coef_ @ X, model.coef_, atol=1e-10)
    np.testing.assert_allclose(model.dual_coef_.sum(axis=1), 0, atol=1e-10)
    before = model.coef_.copy()
    assert model.fit(X, y).n_iter_ < 20
    np.testing.assert_allclose(model.coef_, before, atol=1e-3)


def test_a_free_bias_needs_a_column_and_a_solver_that_knows_it():
    X, y = random_problem()
    with pytest.raises(ValueError, match="needs a bias"):
        problem_of(X, y, bias=0.0)
    with pytest.raises(ValueError, match="choose from") as error:
        solve(problem_of(X, y), solver="cutting_plane")
    for solver in solvers_for("binary"):
        assert (repr(solver) in str(error.value).split("choose from")[1]) == ((solver, "hinge") in FREE_BIAS)
    problem = problem_of(X, y)
    assert problem.dual(np.eye(len(y))[0]) == -np.inf


def test_the_command_takes_it_too(folder, command):
    assert command("train", "train.svm", "a.mm", "--no-penalize-intercept", "--loss", "hinge", "--tol", "1e-9")[0] == 0
    assert command("train", "train.svm", "b.mm", "--liblinear", "-s 3 -B 1 -R", "--tol", "1e-9")[0] == 0
    assert command("predict", "test.svm", "a.mm", "a.txt")[0] == 0
    assert command("predict", "test.svm", "b.mm", "b.txt")[0] == 0
    assert (folder / "a.txt").read_text() == (folder / "b.txt").read_text()
    code, _, err = command("train", "train.svm", "--no-penalize-intercept", "--no-intercept")
    assert code != 0
    assert "has no meaning with --no-intercept" in err


@pytest.mark.parametrize("penalize_bias", [True, False])
@pytest.mark.parametrize("loss", LOSS_NAMES)
@pytest.mark.parametrize(("scale", "bias"), [(1.0, 1e8), (1e-8, 1.0), (1e-8, 1e4), (1e6, 1e-3)])
def test_a_constant_column_of_any_length_beside_the_rows(scale, bias, loss, penalize_bias):
    X, y = random_problem(rows=30, features=4, seed=16)
    problem = BinaryProblem(scale * X, y, 1.0, loss=loss, bias=bias, penalize_bias=penalize_bias)
    for solver in ("auto", "dcd", "avsf"):
        solution = solve(problem, solver=solver, max_iter=300)
        assert np.all(np.isfinite(solution.weights))
        assert solution.certificate.primal >= solution.certificate.dual * (1 - 1e-12)
    if bias < 1e8:  # C B^2 of 1e16 is beyond any arithmetic
        assert solve(problem).converged
