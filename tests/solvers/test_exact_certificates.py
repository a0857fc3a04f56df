"""Certificates against exact rational arithmetic, on tiny problems whose numbers differ by many orders of magnitude."""

from fractions import Fraction

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer

from maxmargin import BinaryProblem, LinearSVC, MulticlassProblem, OneClassSVM, RankingProblem, RegressionProblem, solve
from maxmargin.problems.losses import LOSSES
from maxmargin.solvers.methods import solvers_for

from ..conftest import LOSS_NAMES, csr

SHARDS = 10
PER_SHARD = 30


def exact_bounds(X, y, C, loss, bias, free, w, alpha):
    """P(w) and D(alpha) as fractions: no digit is lost."""
    X = np.asarray(X.toarray() if hasattr(X, "toarray") else X, dtype=float)
    rows = [[Fraction(float(x)) for x in row] + [Fraction(float(bias))] for row in X]
    C, w, alpha = ([Fraction(float(value)) for value in values] for values in (np.broadcast_to(C, len(y)), w, alpha))
    counted = len(w) - 1 if free else len(w)
    primal = sum(value * value for value in w[:counted]) / 2
    dual = (
        -sum(
            sum(int(sign) * a * row[j] for sign, a, row in zip(y, alpha, rows, strict=True)) ** 2
            for j in range(counted)
        )
        / 2
    )
    for sign, c, a, row in zip(y, C, alpha, rows, strict=True):
        if c == 0:
            continue
        slack = 1 - int(sign) * sum(x * value for x, value in zip(row, w, strict=True))
        slack = slack if loss == "least_squares" else max(slack, Fraction(0))
        primal += c * slack if loss == "hinge" else c * slack * slack
        dual += a if loss == "hinge" else a - a * a / (4 * c)
    return primal, dual


def assert_honest(X, y, C, loss, bias, free, solver, **options):
    """The returned pair is feasible, and its gap by exact arithmetic is not larger than the one reported."""
    problem = BinaryProblem(X, y, C, loss=loss, bias=bias, penalize_bias=not free)
    solution = solve(problem, solver, **options)
    what = (np.asarray(X.toarray() if hasattr(X, "toarray") else X).tolist(), list(y), np.asarray(C).tolist())
    what = (*what, loss, bias, free, solver, options)
    weight = np.broadcast_to(C, len(y))
    alpha = solution.alpha
    assert np.all(np.isfinite(solution.weights)), what
    assert np.all(alpha[weight == 0] == 0), what
    if loss != "least_squares":
        assert np.all(alpha >= 0), what
    if loss == "hinge":
        assert np.all(alpha <= weight), what
    if free:
        balance = sum(int(sign) * Fraction(float(a)) for sign, a in zip(y, alpha, strict=True))
        assert abs(balance) <= Fraction(1e-12) * sum(Fraction(abs(float(a))) for a in alpha), what
    primal, dual = exact_bounds(X, y, C, loss, bias, free, solution.weights, alpha)
    at_zero = sum(Fraction(float(value)) for value in weight)
    assert primal <= at_zero * (1 + Fraction(1e-12)), what
    assert dual >= -Fraction(1e-12) * at_zero, what
    if primal > Fraction(1e-28) * at_zero:
        gap = float((primal - dual) / primal)
        # Sums are only made exact where their rounding errors might be a hundredth of the gap.
        error = 1e-12 + 1e-2 * gap
        assert solution.certificate.gap >= gap - error, (solution.certificate, gap, what)
        assert solution.certificate.primal == pytest.approx(float(primal), rel=error), what
    return solution


def many_orders(rng, shape, low, high, zeros):
    values = rng.choice([-1.0, 1.0], size=shape) * 10.0 ** rng.uniform(low, high, size=shape)
    return np.where(rng.random(shape) < zeros, 0.0, np.round(values, int(rng.integers(0, 9))))


def nasty_problem(rng):
    rows, features = int(rng.integers(2, 6)), int(rng.integers(1, 5))
    spread = rng.choice([0.5, 3.0, 6.0])
    X = many_orders(rng, (rows, features), -spread, spread, zeros=0.2)
    if rng.random() < 0.3:
        X[-1] = X[0]
    y = rng.choice([-1, 1], size=rows)
    spread = rng.choice([0.0, 3.0, 12.0])
    C = 10.0 ** rng.uniform(-spread, spread, size=rows) * 10.0 ** rng.integers(-4, 5)
    if rng.random() < 0.3:
        C[rng.integers(rows)] = 0.0
    if rng.random() < 0.3:
        X = X.astype(np.float32)
    return (csr(X) if rng.random() < 0.5 else X), y, C


@pytest.mark.parametrize("shard", range(SHARDS))
@pytest.mark.parametrize("loss", LOSS_NAMES)
def test_no_gap_of_a_nasty_problem_is_understated(loss, shard):
    rng = np.random.default_rng([7, LOSS_NAMES.index(loss), shard])
    for _ in range(PER_SHARD):
        X, y, C = nasty_problem(rng)
        bias, free = [(0.0, False), (1.0, False), (1.0, True)][int(rng.integers(3))]
        for solver in solvers_for("binary", LOSSES[loss], not free):
            options = {"max_iter": int(rng.integers(1, 31)), "tol": float(rng.choice([0.0, 1e-9, 1e-3]))}
            assert_honest(X, y, C, loss, bias, free, solver, **options)


FOUND = {
    "a row that hardly counts against a free bias": (
        np.array([[4.25], [-0.5]]),
        [1, -1],
        np.array([30, 3e-12]),
        1.0,
        True,
        "dcd",
        {"max_iter": 10},
    ),
    "weights of rows that differ by 1e14": (
        csr(np.array([[0, 2.8, 1.5], [0.3, 0.9, 2.2], [0, -2.6, 1.3]])),
        [1, -1, -1],
        1.3e-4 * np.array([2.22305793926255e-08, 400621.3159753567, 4205533.519256422]),
        1.0,
        True,
        "dcd",
        {"max_iter": 10},
    ),
    "one long row": (np.array([[3e6]]), [1], np.array([1000.0]), 0.0, False, "newton", {"max_iter": 2}),
    "long rows that nearly cancel": (
        np.array([[-8e4, 8e4], [8e4, 1e4]]),
        [1, -1],
        np.array([100.0, 100.0]),
        0.0,
        False,
        "dcd",
        {"max_iter": 10, "tol": 1e-6},
    ),
}


@pytest.mark.parametrize("name", list(FOUND))
def test_gaps_that_once_were_understated_are_true(name):
    X, y, C, bias, free, solver, options = FOUND[name]
    assert_honest(X, np.array(y), C, "hinge", bias, free, solver, **options)
    for other in solvers_for("binary", LOSSES["hinge"], not free):
        for max_iter in (1, 2, 10, 30):
            assert_honest(X, np.array(y), C, "hinge", bias, free, other, max_iter=max_iter)


@pytest.mark.parametrize("scale", [1e4, 1e5, 1e6])
@pytest.mark.parametrize("loss", LOSS_NAMES)
def test_no_gap_is_understated_after_many_epochs_over_long_rows(loss, scale):
    for seed in range(40, 60):
        rng = np.random.default_rng(seed)
        X = scale * rng.normal(size=(20, 3))
        y = np.where(rng.random(20) < 0.5, 1, -1)
        for solver in ("dcd", "avsf", "online"):
            assert_honest(X, y, 1e3 if seed % 2 else 1.0, loss, 0.0, False, solver, max_iter=1000)


def exact_losses_of_classes(X, y, C, formulation, bias, w):
    """P(W) of several classes as a fraction."""
    W = [[Fraction(float(value)) for value in row] for row in w]
    primal = sum(value * value for row in W for value in row) / 2
    for x, label, c in zip(X, y, np.broadcast_to(C, len(y)), strict=True):
        row = [Fraction(float(value)) for value in x] + [Fraction(float(bias))]
        scores = [sum(a * b for a, b in zip(row, weights, strict=True)) for weights in W]
        slacks = [max(1 + score - scores[label], Fraction(0)) for m, score in enumerate(scores) if m != label]
        primal += Fraction(float(c)) * (max(slacks) if formulation == "crammer_singer" else sum(slacks))
    return primal


@pytest.mark.parametrize("formulation", ["crammer_singer", "weston_watkins"])
def test_primal_values_of_several_classes_with_huge_C_are_exact(formulation):
    for seed in range(30):
        rng = np.random.default_rng(seed)
        X = 10.0 ** rng.uniform(0, 3) * rng.normal(size=(3, 4))
        y = np.array([0, 1, 2])
        C = 10.0 ** rng.uniform(4, 11, size=3)
        problem = MulticlassProblem(X, y, C, formulation=formulation, n_classes=3, bias=1.0)
        for solver in solvers_for(formulation):
            solution = solve(problem, solver, max_iter=100)
            exact = exact_losses_of_classes(X, y, C, formulation, 1.0, solution.weights)
            assert solution.certificate.primal == pytest.approx(float(exact), rel=1e-7), (seed, solver)


def test_primal_values_beside_a_tube_are_exact():
    for seed in range(60):
        rng = np.random.default_rng(seed)
        X = 10.0 ** rng.uniform(0, 4) * rng.normal(size=(4, 2))
        y = 10.0 ** rng.uniform(-6, 0) * rng.normal(size=4)
        C, epsilon = 10.0 ** rng.uniform(2, 8), 0.2 * abs(y).mean()
        for loss in ("epsilon_insensitive", "squared_epsilon_insensitive"):
            problem = RegressionProblem(X, y, C, loss=loss, epsilon=epsilon, bias=1.0)
            for solver in solvers_for("regression", problem.loss):
                solution = solve(problem, solver, max_iter=100)
                w = [Fraction(float(value)) for value in solution.weights]
                exact = sum(value * value for value in w) / 2
                for x, target in zip(X, y, strict=True):
                    score = sum(Fraction(float(a)) * b for a, b in zip([*x, 1.0], w, strict=True))
                    outside = max(abs(Fraction(float(target)) - score) - Fraction(float(epsilon)), Fraction(0))
                    exact += Fraction(float(C)) * (outside if loss[0] == "e" else outside * outside)
                assert solution.certificate.primal == pytest.approx(float(exact), rel=1e-7), (seed, loss, solver)


def exact_losses_of_pairs(X, y, C, weights, w):
    """P(w) of a ranking as a fraction."""
    w = [Fraction(float(value)) for value in w[: X.shape[1]]]  # there is no bias
    scores = [sum(Fraction(float(x)) * value for x, value in zip(row, w, strict=True)) for row in X]
    pairs = [(i, j) for i in range(len(y)) for j in range(len(y)) if y[i] > y[j]]
    counts = [Fraction(float(weights[i])) * Fraction(float(weights[j])) for i, j in pairs]
    losses = [max(1 - scores[i] + scores[j], Fraction(0)) for i, j in pairs]
    loss = sum(count * own for count, own in zip(counts, losses, strict=True)) / sum(counts)
    return sum(value * value for value in w) / 2 + Fraction(float(C)) * loss


@pytest.mark.parametrize("rows", [3, 6, 130])  # the pairs of more than 128 rows are not listed
@pytest.mark.parametrize("scale", [1.0, 1e2, 1e4, 1e6])
def test_primal_values_of_rankings_are_not_understated(rows, scale):
    for seed in range(6 if rows < 100 else 2):
        rng = np.random.default_rng([seed, rows])
        X = np.round(scale * rng.normal(size=(rows, 3)), 3)
        y = (X @ [1.0, 2.0, -1.0] > 0).astype(int) if rows > 100 else np.append(rng.integers(0, 3, rows - 2), [0, 1])
        weights = np.ones(rows) if seed % 2 else 10.0 ** rng.uniform(-3, 3, rows)
        for C in (1.0, 1e3, 1e6):
            problem = RankingProblem(X, y, C, weights=weights)
            solution = solve(problem, "cutting_plane", tol=1e-6, max_iter=60)
            exact = exact_losses_of_pairs(X, y, C, weights, solution.weights)
            primal, dual = solution.certificate
            assert float(exact) <= primal * (1 + 1e-9) + 1e-2 * (primal - dual), (seed, C, solution.exit)
            if rows < 100:
                assert primal == pytest.approx(float(exact), rel=1e-9, abs=1e-2 * (primal - dual)), (seed, C)


def test_pairs_at_the_margin_count_where_C_is_huge():
    X = np.array([[36363.361, 1838.421], [-21277.721, 769.877], [23523.625, -752.244]])
    y, C = np.array([0, 1, 0]), 1e6
    solution = solve(RankingProblem(X, y, C), "cutting_plane", max_iter=10)
    exact = exact_losses_of_pairs(X, y, C, np.ones(3), solution.weights)
    assert solution.certificate.primal == pytest.approx(float(exact), rel=1e-12)
    assert not solution.converged


def test_a_ranking_that_rounding_ends_says_so():
    X = 1e4 * np.random.default_rng(0).normal(size=(200, 3))
    solution = solve(RankingProblem(X, (X @ [1.0, 2.0, -1.0] > 0).astype(int), 1e6), "cutting_plane", tol=1e-9)
    assert solution.exit == "rounding"
    assert solution.n_iter < 1000


@pytest.mark.parametrize("scale", [1e-30, 1.0, 1e30])
def test_a_one_class_problem_whose_best_weights_are_zero_has_no_gap(scale):
    X = scale * np.random.default_rng(0).normal(size=(200, 3))
    with pytest.warns(UserWarning, match="the origin lies among them"):
        model = OneClassSVM(nu=0.2).fit(X)
    assert (model.primal_objective_, model.dual_objective_, model.duality_gap_) == (0.0, 0.0, 0.0)


@pytest.mark.parametrize("penalize", [True, False])
@pytest.mark.parametrize("scale", [1e7, 1e8, 1.7e9, 1e12])
@pytest.mark.parametrize("loss", LOSS_NAMES)
def test_a_column_of_timestamps_does_not_spoil_a_fit(loss, scale, penalize):
    rng = np.random.default_rng(8)
    X = rng.normal(size=(300, 5))
    y = np.where(X @ [2.0, -1.0, 1.0, 0.5, 0.0] + 0.5 * rng.normal(size=300) > 0, 1, -1)
    without = LinearSVC(loss, penalize_intercept=penalize).fit(X, y)
    stamped = np.hstack([X, scale * (1 + 0.01 * rng.random((300, 1)))])
    model = LinearSVC(loss, penalize_intercept=penalize).fit(stamped, y)
    assert model.converged_
    assert model.score(stamped, y) >= 0.8
    # weights of zero for that column are allowed, and so the optimum cannot be higher
    assert model.primal_objective_ <= 1.01 * without.primal_objective_
    weights = np.append(model.coef_, model.intercept_)
    alpha = y * model.dual_coef_.toarray().ravel()
    primal, dual = exact_bounds(stamped, y, 1.0, loss, 1.0, not penalize, weights, alpha)
    assert model.duality_gap_ >= float((primal - dual) / primal) - 1e-9


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("C", [1e6, 1e8, 1e10])
def test_more_iterations_on_raw_data_never_raise_the_objective(C):
    X, y = load_breast_cancer(return_X_y=True)
    found = [LinearSVC("hinge", C=C, max_iter=count).fit(X, y).primal_objective_ for count in (50, 500, 5000)]
    assert found[1] <= found[0] * (1 + 1e-9)
    assert found[2] <= found[1] * (1 + 1e-9)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("solver", ["dcd", "avsf", "online", "pegasos"])
def test_not_a_single_epoch_more_raises_the_objective_of_small_data(solver):
    X, y = load_breast_cancer(return_X_y=True)
    counts = [*range(1, 25), 50, 100, 1000]
    found = [LinearSVC("hinge", C=1e10, solver=solver, max_iter=count).fit(X, y).primal_objective_ for count in counts]
    assert np.all(np.diff(found) <= 1e-9 * np.array(found[:-1]))
