"""Paths over C, against solving each C by itself and against closed forms."""

import numpy as np
import pytest
import scipy.sparse as sp

from maxmargin import BinaryProblem, Matrix, MulticlassProblem, RankingProblem, solve, svm_path
from maxmargin.training.first_C import first_C
from maxmargin.training.path import follow, scaled, seeds
from maxmargin.training.tasks import Classification, Ranking
from tests.conftest import random_problem
from tests.truth import multiclass_optimum, optimum

RNG = np.random.default_rng(0)
X3, Y3 = RNG.normal(size=(60, 5)), RNG.integers(3, size=60)
QID = RNG.integers(5, size=60)


def tasks():
    """Every kind of problem, by name."""
    made = {}
    for loss in ("hinge", "squared_hinge", "least_squares"):
        for bias, penalized in ((0.0, True), (1.0, True), (1.0, False)):
            name = f"{loss} {'no' if bias == 0 else 'regularised' if penalized else 'free'} bias"
            made[name] = Classification(X3, (Y3 > 0).astype(np.intp), 2, loss=loss, bias=bias, penalize_bias=penalized)
    for kind in ("ovr", "crammer_singer", "weston_watkins"):
        made[kind] = Classification(X3, Y3, 3, multi_class=kind, weights=RNG.integers(3, size=60).astype(float))
    made["ranking"] = Ranking(Matrix(X3), Y3)
    made["ranking in groups"] = Ranking(Matrix(X3), Y3, QID, RNG.integers(3, size=60).astype(float))
    return made


TASKS = tasks()


@pytest.mark.parametrize("name", TASKS)
def test_each_C_of_a_path_has_the_solution_of_a_cold_start(name):
    task = TASKS[name]
    for solved in follow(task, np.logspace(-3, 2, 6), tol=1e-8):
        cold = task.solve(solved.C, task.method("auto"), None, tol=1e-8)
        for seeded, unseeded in zip(solved.solutions, cold.solutions, strict=True):
            assert seeded.converged
            assert seeded.certificate.primal == pytest.approx(unseeded.certificate.primal, rel=2e-8)
            assert seeded.certificate.dual == pytest.approx(unseeded.certificate.dual, rel=2e-8)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "least_squares"])
def test_a_path_ends_at_the_optimum_that_scipy_finds(loss):
    X, y = random_problem(rows=40)
    path = svm_path(X, y, [0.01, 1.0, 30.0], loss=loss, tol=1e-9, fit_intercept=False)
    for C, primal in zip(path.Cs, path.primal[:, 0], strict=True):
        assert primal == pytest.approx(optimum(X, y, C, loss), rel=1e-7)


@pytest.mark.parametrize("formulation", ["crammer_singer", "weston_watkins"])
def test_a_path_over_all_classes_ends_at_the_optimum_that_scipy_finds(formulation):
    path = svm_path(X3[:20], Y3[:20], [0.01, 1.0, 10.0], multi_class=formulation, tol=1e-9)
    for C, primal in zip(path.Cs, path.primal[:, 0], strict=True):
        assert primal == pytest.approx(multiclass_optimum(X3[:20], Y3[:20], C, formulation, bias=1.0), rel=1e-6)


@pytest.mark.parametrize("ratio", [0.2, 1.0, 3.0, 100.0])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "least_squares"])
def test_seeds_are_variables_scaled_to_the_best_dual_value_or_by_the_ratio(loss, ratio):
    X, y = random_problem(rows=50)
    for C in (1e-3, 1.0, 100.0):
        problem = BinaryProblem(X, y, C, loss=loss, bias=1.0)
        solution = solve(problem, tol=1e-10)
        target = BinaryProblem(X, y, ratio * C, loss=loss, bias=1.0)
        alpha = scaled(problem, solution, ratio).alpha
        used = np.abs(solution.alpha) > 1e-9
        factor = np.median(alpha[used] / solution.alpha[used])
        np.testing.assert_allclose(alpha, factor * solution.alpha, rtol=1e-9)
        trials = np.linspace(0.01, 1.0, 300) * ratio
        best = max(target.dual(trial * solution.alpha) for trial in trials)
        assert np.isclose(factor, ratio) or target.dual(alpha) >= best - 1e-6 * abs(best)
        assert target.dual(alpha) > -np.inf  # feasible


def test_without_a_solution_there_are_no_seeds_and_zero_variables_stay():
    assert seeds(None, 1.0) is None
    problem = BinaryProblem(np.ones((2, 1)), [1, -1], 1.0, loss="hinge")
    solution = solve(problem)
    assert scaled(problem, solution, 3.0).alpha.tolist() == [0.0, 0.0] or solution.certificate.dual > 0


def exact_hinge_limit(margins_at, low=1e-9, high=1e9):
    """The C up to which no margin of the closed form is above 1, by bisection."""
    for _ in range(200):
        middle = np.sqrt(low * high)
        low, high = (middle, high) if margins_at(middle) <= 1 else (low, middle)
    return low


@pytest.mark.parametrize("bias", [0.0, 2.0])
def test_the_hinge_is_known_up_to_the_C_of_the_closed_form(bias):
    X, y = random_problem(rows=40)
    c = np.random.default_rng(1).uniform(0.1, 2.0, size=40)
    first = first_C(BinaryProblem(X, y, c, loss="hinge", bias=bias), tol=1e-3)
    A = np.hstack([X, np.full((40, 1), bias)]) * y[:, None]
    assert first == pytest.approx(exact_hinge_limit(lambda C: (A @ (A.T @ (C * c))).max()), rel=1e-9)
    for C, known in ((0.999 * first, True), (1.05 * first, False)):
        problem = BinaryProblem(X, y, C * c, loss="hinge", bias=bias)
        assert (problem.certificate(problem.weights(C * c), C * c).gap < 1e-12) is known


@pytest.mark.parametrize("penalized", [True, False])
@pytest.mark.parametrize("loss", ["squared_hinge", "least_squares"])
@pytest.mark.parametrize("tol", [1e-2, 1e-5])
def test_curved_losses_are_known_within_the_tolerance(loss, penalized, tol):
    X, y = random_problem(rows=40)
    c = np.random.default_rng(1).uniform(0.1, 2.0, size=40)
    first = first_C(BinaryProblem(X, y, c, loss=loss, bias=1.0, penalize_bias=penalized), tol)
    center = 0.0 if penalized else c @ y / c.sum()
    for C, inside in ((first, True), (3 * first, False)):
        problem = BinaryProblem(X, y, C * c, loss=loss, bias=1.0, penalize_bias=penalized)
        alpha = 2 * C * c * (1 - y * center)
        w = problem.weights(alpha)
        if not penalized:
            w[-1] = center
        certificate = problem.certificate(w, alpha)
        assert (certificate.gap <= tol) is inside


def test_a_free_bias_of_balanced_classes_is_known_up_to_the_C_of_the_closed_form():
    X, y = random_problem(rows=40)
    y = np.where(np.arange(40) % 2 == 0, 1, -1)
    problem = BinaryProblem(X, y, 1.0, loss="hinge", bias=1.0, penalize_bias=False)
    first = first_C(problem, tol=1e-3)
    for C, known in ((0.999 * first, True), (1.05 * first, False)):
        problem = BinaryProblem(X, y, C, loss="hinge", bias=1.0, penalize_bias=False)
        alpha = np.full(40, C)
        assert (problem.certificate(problem.weights(alpha), alpha).gap < 1e-12) is known


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("formulation", ["crammer_singer", "weston_watkins"])
def test_weights_over_all_classes_are_proportional_to_C_up_to_the_first_one(formulation, classes):
    X = X3 + 2.0 * np.eye(3, 5)[np.minimum(Y3, classes - 1)]
    y = np.minimum(Y3, classes - 1)
    first = first_C(MulticlassProblem(X, y, formulation=formulation, bias=1.0), tol=1e-3)
    slopes = [
        solve(MulticlassProblem(X, y, C, formulation=formulation, bias=1.0), tol=1e-11).weights / C
        for C in (0.1 * first, 0.99 * first, 1.3 * first)
    ]
    size = np.abs(slopes[0]).max()
    assert np.abs(slopes[1] - slopes[0]).max() <= 1e-3 * size
    assert np.abs(slopes[2] - slopes[0]).max() > 5e-3 * size


@pytest.mark.parametrize("qid", [None, QID])
@pytest.mark.parametrize("weights", [None, np.random.default_rng(1).integers(3, size=60).astype(float)])
def test_pairs_are_known_up_to_the_C_of_the_closed_form(qid, weights):
    problem = RankingProblem(X3, Y3, 1.0, qid=qid, weights=weights)
    first = first_C(problem, tol=1e-3)
    groups, counts = np.zeros(60) if qid is None else qid, np.ones(60) if weights is None else weights
    pairs = [
        (i, j)
        for i in range(60)
        for j in range(60)
        if Y3[i] > Y3[j] and groups[i] == groups[j] and counts[i] * counts[j] > 0
    ]
    share = np.array([counts[i] * counts[j] for i, j in pairs])
    D = np.array([X3[i] - X3[j] for i, j in pairs])
    v = share @ D / share.sum()
    assert first == pytest.approx(1 / (D @ v).max(), rel=1e-9)
    solution = solve(RankingProblem(X3, Y3, 0.99 * first, qid=qid, weights=weights), tol=1e-10)
    np.testing.assert_allclose(solution.weights[:-1], 0.99 * first * v, atol=1e-8)


def test_rows_that_do_not_matter_have_a_path_all_the_same():
    assert first_C(BinaryProblem(np.zeros((3, 2)), [1, -1, 1], loss="hinge"), 1e-3) == 1.0
    assert first_C(BinaryProblem(np.zeros((3, 2)), [1, -1, 1]), 1e-3) == 1.0
    path = svm_path(np.zeros((4, 2)), [0, 1, 0, 1], fit_intercept=False, time_limit=20.0)
    assert not path.coefs.any()


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("separable", [False, True])
def test_an_automatic_path_goes_from_the_closed_form_to_the_model_that_no_longer_changes(loss, separable):
    X, y = random_problem(rows=80, noise=0.0 if separable else 1.0)
    path = svm_path(X, y, loss=loss)
    assert path.ended == "settled"
    assert path.converged.all()
    assert path.n_support[0] == 80  # every row has a loss
    end = svm_path(X, y, [100 * path.Cs[-1]], loss=loss, tol=1e-4).coefs[0]
    assert np.linalg.norm(path.coefs[-1] - end) <= 0.05 * np.linalg.norm(end)


def test_a_path_of_classes_and_of_ranks_has_the_shape_of_its_scores():
    path = svm_path(sp.csc_array(X3), [("a", "b", "c")[k] for k in Y3], [1.0, 0.1, 1.0])
    assert path.Cs.tolist() == [0.1, 1.0]  # sorted, each once
    assert path.classes.tolist() == ["a", "b", "c"]
    assert path.coefs.shape == (2, 3, 5)
    np.testing.assert_allclose(path.scores(X3)[1], X3 @ path.coefs[1].T + path.intercepts[1], atol=1e-12)
    ranked = svm_path(X3.tolist(), Y3, [1.0], task="rank", qid=QID)
    assert ranked.coefs.shape == (1, 1, 5)
    assert ranked.intercepts.tolist() == [[0.0]]


def test_threads_change_nothing_and_a_callback_can_end_a_path():
    one, two = (svm_path(X3, Y3, np.logspace(-2, 1, 4), n_jobs=n_jobs) for n_jobs in (1, 2))
    np.testing.assert_array_equal(one.coefs, two.coefs)
    ended = svm_path(X3, Y3, np.logspace(-2, 1, 4), callback=lambda solved: solved.C > 0.05)
    assert (len(ended.Cs), ended.ended) == (2, "callback")
    short = svm_path(X3, Y3, [1e7, 1e8], tol=0.0, loss="hinge", solver="dcd", time_limit=0.01)
    assert short.ended == "time_limit"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"Cs": "every"}, "Cs='every' is unknown; use 'auto' or values of C"),
        ({"Cs": [0.0, 1.0]}, "Cs must hold positive finite numbers"),
        ({"Cs": []}, "Cs must hold positive finite numbers"),
        ({"task": "sort"}, "task='sort' is unknown"),
        ({"qid": QID}, "qid has no meaning with task='classify'"),
        ({"task": "rank", "class_weight": "balanced"}, "class_weight has no meaning with task='rank'"),
        ({"sample_weight": -np.ones(60)}, "sample_weight must hold 60 finite numbers that are not negative"),
        ({"y": np.ones(60)}, "y holds one class only"),
        ({"y": Y3[:50]}, "y has 50 entries, but X has 60 rows"),
    ],
)
def test_what_makes_no_sense_is_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        svm_path(**{"X": X3, "y": Y3, **arguments})
