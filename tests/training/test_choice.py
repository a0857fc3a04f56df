"""Bounds of the optimum's scores and certified choices of C, against solutions that are as good as exact."""

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from scipy.sparse import diags, hstack
from scipy.sparse import random as sparse_random
from sklearn.datasets import load_digits, load_iris

from maxmargin import BinaryProblem, LinearRankSVM, LinearSVC, LinearSVCCV, solve
from maxmargin.training import curvature, range_choice
from maxmargin.training.balls import Pair, Seen, score_together
from maxmargin.training.choice import choose_on_grid
from maxmargin.training.cross_validation import cross_validate, fold_numbers, folds_of
from maxmargin.training.curvature import Scatter, largest_eigenvalue
from maxmargin.training.proofs import Proofs
from maxmargin.training.range_choice import choose_in_range
from maxmargin.training.tasks import Classification
from tests.conftest import random_problem

KINDS = [
    ("ovr", "hinge", 2),
    ("ovr", "squared_hinge", 2),
    ("ovr", "least_squares", 2),
    ("ovr", "squared_hinge", 3),
    ("ovr", "hinge", 3),
    ("crammer_singer", "hinge", 3),
    ("crammer_singer", "hinge", 2),
    ("weston_watkins", "hinge", 3),
]


def noisy(classes, rows=90, features=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, features))
    labels = (X[:, :classes] + 0.8 * rng.normal(size=(rows, classes))).argmax(axis=1)
    labels[:classes] = np.arange(classes)
    return X, labels


def exact_scores(task, C):
    solved = task.solve(C, task.method("auto"), None, tol=1e-12)
    return task.scores(solved)


@pytest.mark.parametrize("tol", [0.3, 1e-2, 1e-5])
@pytest.mark.parametrize(("multi_class", "loss", "classes"), KINDS)
def test_decision_bounds_hold_the_scores_of_the_optimum(multi_class, loss, classes, tol):
    X, labels = noisy(classes)
    for C in (0.01, 10.0):
        model = LinearSVC(loss, C=C, multi_class=multi_class, tol=tol, intercept_scaling=2.0).fit(X, labels)
        exact = LinearSVC(loss, C=C, multi_class=multi_class, tol=1e-13, intercept_scaling=2.0).fit(X, labels)
        scores, low, high = model.decision_bounds(X)
        truth = exact.decision_function(X)
        np.testing.assert_allclose(scores, model.decision_function(X), rtol=1e-12)
        assert np.all(low <= truth)
        assert np.all(truth <= high)
        width = np.sqrt(2 * np.max(np.atleast_1d(model.primal_objective_ - model.dual_objective_)))
        assert np.max(high - low) <= 2 * np.sqrt(2) * width * np.sqrt((X**2).sum(axis=1).max() + 4.0) + 1e-3


def test_decision_bounds_of_a_ranking_hold_the_scores_of_the_optimum():
    X, labels = noisy(3)
    scores, low, high = LinearRankSVM(C=5.0, tol=0.05).fit(X, labels).decision_bounds(X)
    truth = LinearRankSVM(C=5.0, tol=1e-12).fit(X, labels).decision_function(X)
    assert np.all((low <= truth) & (truth <= high))
    assert np.all((low < scores) & (scores < high))


def test_decision_bounds_have_no_proof_for_a_free_intercept():
    X, labels = noisy(2)
    model = LinearSVC(penalize_intercept=False).fit(X, labels)
    with pytest.raises(ValueError, match="no proof for an intercept outside the regulariser"):
        model.decision_bounds(X)


@pytest.mark.parametrize("ratio", [1.0, 1.5, 10.0])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "least_squares"])
def test_the_optimum_between_two_solutions_is_in_the_ball(loss, ratio):
    X, y = random_problem(rows=60)
    for C, tol in ((1e-3, 1e-2), (0.1, 1e-4), (10.0, 1e-1)):
        points = []
        for own in (C, ratio * C):
            problem = BinaryProblem(X, y, own, loss=loss, bias=1.0)
            points.append(Seen([problem], [solve(problem, tol=tol)], own, np.arange(60)).points[0])
        pair = Pair(*points)
        vectors = np.array([*(point.weights for point in points), *(point.sums for point in points)])
        ends = np.geomspace(C, ratio * C, 4)
        cells = pair.cells(ends[:-1], ends[1:])
        for k, (low, high) in enumerate(pairwise(ends)):
            for part in (0.0, 0.3, 0.5, 1.0):
                between = (1 - part) * low + part * high
                exact = solve(BinaryProblem(X, y, between, loss=loss, bias=1.0), tol=1e-13).weights
                bernstein = np.array([(1 - part) ** 2, 2 * part * (1 - part), part**2])
                distance = np.linalg.norm(exact - bernstein @ cells.centre[k] @ vectors)
                assert distance <= cells.radius[k] + 1e-9
                w = np.array([1 - part, part]) @ cells.weights[k] @ vectors
                problem = BinaryProblem(X, y, between, loss=loss, bias=1.0)
                assert 0.5 * np.sum((w - exact) ** 2) <= problem.primal(w) - problem.primal(exact) + 1e-9 * between
                assert problem.primal(w) - problem.primal(exact) <= cells.gap[k] + 1e-9 * between


def test_the_ball_of_an_exact_solution_is_that_of_shibagaki_et_al():
    X, y = random_problem(rows=60)
    problem = BinaryProblem(X, y, 0.5, bias=1.0)
    solution = solve(problem, tol=1e-14)
    seen = Seen([problem], [solution], 0.5, np.arange(60))
    for C in (0.3, 0.5, 0.8):
        cells = Pair(seen.points[0], seen.points[0]).cells(np.array([C]), np.array([C]))
        expected = 0.5 * abs(C / 0.5 - 1) * np.linalg.norm(solution.weights)
        assert cells.radius[0] == pytest.approx(expected, rel=1e-3, abs=1e-4)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "least_squares"])
def test_losses_of_mixtures_are_those_of_their_scores(loss):
    X, y = random_problem(rows=60)
    points = []
    for C in (0.1, 1.0):
        problem = BinaryProblem(X, y, C * np.arange(60) / 30, loss=loss, bias=1.0)
        points.append(Seen([problem], [solve(problem, tol=1e-10)], C, np.arange(60)).points[0])
    pair = Pair(*points)
    for s in (0.0, 0.3, 1.0):
        scores = (1 - s) * pair.left.scores + s * pair.right.scores
        expected = pair.left.problem.loss.primal(1.0 - y * scores, np.arange(60) / 30).sum()
        assert pair.losses(np.array([s]))[0] == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize(("multi_class", "loss", "classes"), KINDS)
def test_what_is_proved_about_labels_is_true_for_every_C_between(multi_class, loss, classes):
    X, labels = noisy(classes)
    task = Classification(X, labels, classes, multi_class=multi_class, loss=loss)
    rows = np.arange(len(labels))
    for ends, tol in (((0.05, 0.08), 1e-6), ((0.5, 2.0), 1e-3), ((3.0, 3.0), 1e-1)):
        seen = []
        for C in ends:
            solved = task.solve(C, task.method("auto"), None, tol=tol)
            seen.append(Seen(solved.problems, solved.solutions, C, rows))
        proofs = Proofs(*seen, rows, task.known_labels(rows))
        wrong, right = proofs.wrong(*ends), proofs.right(*ends)
        assert not np.any(wrong & right)
        for C in np.geomspace(*ends, 5):
            truth = task.is_right(exact_scores(task, C), rows)
            assert not np.any(truth[wrong])
            assert np.all(truth[right])
        if tol == 1e-6:
            at_end = proofs.wrong(ends[0], ends[0]) | proofs.right(ends[0], ends[0])
            assert at_end.mean() > 0.9  # the proofs are not empty


@pytest.mark.parametrize("few", [True, False])
@pytest.mark.parametrize("C", [0.05, 1.0, 50.0])
def test_the_curvature_of_rows_is_a_lower_bound_of_what_is_above_the_optimum(C, few, monkeypatch):
    monkeypatch.setattr(curvature, "MOST_FEATURES", 512 if few else 0)
    X, labels = noisy(2, rows=200, features=6)
    problem = BinaryProblem(4.0 * X, 2 * labels - 1, C=C, loss="squared_hinge", bias=1.0)
    exact, optimum = (lambda found: (found.weights.ravel(), found.certificate.dual))(solve(problem, tol=1e-13))
    rows = np.hstack([problem.X, np.ones((len(labels), 1))])
    rng = np.random.default_rng(0)
    counted, by_distance = [], []
    for size in np.geomspace(1e-4, 0.3, 30):
        w = exact + size * rng.normal(size=exact.shape)
        slack = 1.0 - problem.y * (rows @ w)
        above = problem.primal(w) - optimum
        gap = above * rng.uniform(1.0, 1.5)  # with any dual value below the optimum
        far = float(np.sqrt(2.0 * gap))
        unit = curvature.curved_rows(problem, problem.C / C, slack, far, gap, C)
        d = w - exact
        assert 0.5 * d @ d + C * unit @ (rows @ d) ** 2 <= above * (1 + 1e-6) + 1e-9
        counted.append(np.count_nonzero(unit == 1.0))
        by_distance.append(np.count_nonzero(slack > far * np.sqrt((rows**2).sum(axis=1))))
    assert all(one >= other for one, other in zip(counted, by_distance, strict=True))
    assert C < 1.0 or sum(counted) > 1.3 * sum(by_distance)  # rows whose own loss is above the gap


@pytest.mark.parametrize("count", [5, 40])
def test_whitened_rows_have_the_products_of_the_metric(count):
    X, labels = noisy(2, rows=60, features=9)
    problem = BinaryProblem(X, 2 * labels - 1, loss="squared_hinge", bias=2.0)
    rows = np.hstack([X, np.full((60, 1), 2.0)])
    scatter = Scatter()
    for seed, C in ((0, 0.3), (1, 2.0)):
        unit = np.random.default_rng(seed).uniform(size=60)
        metric = np.eye(10) + 2.0 * C * rows.T @ (unit[:, np.newaxis] * rows)
        parts = curvature.whitened(problem, np.arange(count), scatter.metric(problem, unit, C))
        expected = rows[:count] @ np.linalg.solve(metric, rows[:count].T)
        np.testing.assert_allclose(parts @ parts.T, expected, rtol=1e-9, atol=1e-12)


def exact_square(metric, row):
    """``x' M^-1 x`` in rational numbers, by elimination."""
    size = len(row)
    rows = [[Fraction(value) for value in line] + [Fraction(x)] for line, x in zip(metric, row, strict=True)]
    for k in range(size):
        for line in rows[k + 1 :]:
            share = line[k] / rows[k][k]
            line[:] = [a - share * b for a, b in zip(line, rows[k], strict=True)]
    found = [Fraction(0)] * size
    for k in reversed(range(size)):
        found[k] = (rows[k][-1] - sum(rows[k][j] * found[j] for j in range(k + 1, size))) / rows[k][k]
    return sum(x * y for x, y in zip(map(Fraction, row), found, strict=True))


@pytest.mark.parametrize("scale", [1.0, 1e4, 1e7, 1e10])
def test_lengths_are_never_understated_where_rows_are_long(scale):
    rng = np.random.default_rng(7)
    X = scale * rng.normal(size=(12, 3))
    X[:, 2] = X[:, 1]  # a direction without curvature
    problem = BinaryProblem(X, np.where(rng.random(12) > 0.5, 1, -1), loss="squared_hinge", bias=1.0)
    unit, C = rng.uniform(size=12), 10.0
    rows = [[Fraction(value) for value in (*row, 1.0)] for row in X]
    pairs = list(zip(map(Fraction, unit), rows, strict=True))
    own = [[sum(c * x[i] * x[j] for c, x in pairs) for j in range(4)] for i in range(4)]
    exact = [[int(i == j) + 20 * own[i][j] for j in range(4)] for i in range(4)]
    scatter = Scatter()
    scatter.metric(problem, 100.0 * unit, C)  # leaves its rounding errors behind
    some = np.arange(3)
    parts = curvature.whitened(problem, some, scatter.metric(problem, unit, C))
    squares = (parts**2).sum(axis=1) * (1.0 + curvature.FACTOR_ERROR) ** 2
    for k in some:
        assert squares[k] >= exact_square(exact, rows[k])


@pytest.mark.parametrize("options", [{"tol": "auto"}, {"cv_tol": 0.05}])
@pytest.mark.parametrize("seed", [9, 27, 29, 33])
@pytest.mark.filterwarnings("ignore::UserWarning", "ignore::sklearn.exceptions.ConvergenceWarning")
def test_long_rows_and_a_large_C_end_without_an_error(options, seed):
    rng = np.random.default_rng(seed)
    features = 2 + seed % 8
    X = 1e6 * rng.normal(size=(60, features)) * 10.0 ** rng.uniform(-2, 0, size=features)
    X[:, -1] = X[:, 0]
    y = np.where(X[:, 0] + 1e6 * rng.normal(size=60) > 0, 1, -1)
    model = LinearSVCCV(Cs=[1e4, 1e5, 1e6], cv=3, time_limit=3.0, **options).fit(X, y)
    assert 1e4 <= model.C_ <= 1e6


def test_products_of_rows_are_kept_only_for_those_that_are_still_open(monkeypatch):
    monkeypatch.setattr(curvature, "MOST_OPEN", 12)
    X, y = random_problem(seed=3)
    problem = BinaryProblem(X, y, loss="squared_hinge")
    products, rng = curvature.Products(), np.random.default_rng(0)
    for _ in range(30):
        rows = np.sort(rng.choice(60, size=rng.integers(1, 13), replace=False))
        np.testing.assert_allclose(products.of(problem, rows), X[rows] @ X[rows].T, rtol=1e-5, atol=1e-5)
        assert len(products._rows) <= 12


def test_no_eigenvalue_is_above_the_bound_of_them():
    rng = np.random.default_rng(0)
    for rows in (1, 5, 60):
        X = rng.normal(size=(rows, 20)) + 1.0
        for products in (X @ X.T, np.zeros((rows, rows)), np.diag(np.arange(rows)) * 1e-9):
            largest = np.linalg.eigvalsh(products)[-1]
            assert largest <= largest_eigenvalue(products) <= 2.0 * largest + 1e-300
    assert largest_eigenvalue(np.zeros((0, 0))) == 0.0


@pytest.mark.parametrize("few", [True, False])
@pytest.mark.parametrize("bias", [0.0, 1.0])
@pytest.mark.parametrize("loss", ["squared_hinge", "least_squares"])
def test_what_the_curvature_of_losses_proves_is_true(loss, bias, few, monkeypatch):
    if not few:
        monkeypatch.setattr(curvature, "MOST_FEATURES", 0)
    rng = np.random.default_rng(3)
    X = np.hstack([rng.normal(size=(400, 6)), 1.0 + 0.1 * rng.normal(size=(400, 1))])
    labels = (X[:, 0] + 1.5 * rng.normal(size=400) > 0).astype(int)
    rows = np.arange(300, 400)
    task = Classification(X, labels, 2, loss=loss, bias=bias).on((np.arange(400) < 300).astype(float))
    more = 0
    for ends in ((0.001, 0.01), (0.01, 0.3), (1.0, 50.0)):
        scatter = Scatter()
        seen = [
            Seen(solved.problems, solved.solutions, C, rows)
            for C in ends
            for solved in [task.solve(C, task.method("auto"), None, tol=1e-7)]
        ]
        proofs = Proofs(*seen, rows, task.known_labels(rows))
        edges = np.geomspace(*ends, 5)
        low, high = edges[:-1], edges[1:]
        before = proofs.count_wrong(low, high)
        assert proofs.sharpen(low, high, scatter)
        assert not proofs.sharpen(low, high, scatter)
        surely, after = proofs.wrong_by(low, high), proofs.count_wrong(low, high)
        more += int((after - before).sum())
        for k in range(len(low)):
            for C in np.geomspace(low[k], high[k], 4):
                truth = task.is_right(exact_scores(task, C)[rows], rows)
                assert not np.any(truth[surely[k] > 1.0])
                assert np.count_nonzero(~truth) >= after[k]
    assert more > 0


@pytest.mark.parametrize(("multi_class", "loss", "classes"), KINDS)
def test_no_C_of_a_dense_grid_is_better_than_the_certified_one(multi_class, loss, classes):
    X, labels = noisy(classes, rows=60)
    task = Classification(X, labels, classes, multi_class=multi_class, loss=loss)
    folds = folds_of(fold_numbers(labels, 3, seed=0))
    seen = []
    choice = choose_in_range(
        task, [0.01, 1.0], folds, cv_tol=0.05, on_value=lambda C, error: seen.append((C, error)), n_jobs=2
    )
    assert choice.certified
    assert sorted(C for C, _ in seen) == choice.Cs.tolist()
    assert choice.error == min(error for _, error in seen) == choice.errors.min()
    dense = cross_validate(task, np.geomspace(0.01, 1.0, 150).tolist(), folds, tol=1e-9)
    errors = 1.0 - dense.means
    assert errors.min() >= choice.bound - 1e-12
    assert errors.min() >= choice.error - 0.05 - 1e-12


def text_like(rows=600, features=900, seed=0):
    """Sparse rows with a few common features and many rare ones, of unequal lengths, and noisy labels."""
    rng = np.random.default_rng(seed)
    common = sparse_random(rows, 30, density=0.4, random_state=seed, format="csr")
    rare = sparse_random(rows, features - 30, density=0.02, random_state=seed + 1, format="csr")
    X = hstack([common, rare]).tocsr()
    X = diags(rng.lognormal(0.0, 0.3, size=rows)) @ X
    scores = X @ rng.normal(size=features)
    return X.tocsr(), (scores + 0.5 * scores.std() * rng.normal(size=rows) > np.median(scores)).astype(int)


@pytest.mark.parametrize("loss", ["squared_hinge", "least_squares", "hinge"])
@pytest.mark.parametrize("kind", ["text", "few features", "unscaled", "digits"])
def test_a_range_has_no_lower_error_than_the_bound_says(loss, kind):
    if kind == "text":
        X, labels = text_like(rows=300, features=600)
    elif kind == "digits":
        X, labels = load_digits(return_X_y=True)
        X, labels = X[::6] / 16.0, (labels[::6] % 2).astype(int)
    else:
        X, labels = noisy(2, rows=240, features=6)
        if kind == "unscaled":  # and with rows of both labels
            X = np.vstack([X, X[:40]]) * np.logspace(-2, 1, 6)
            labels = np.concatenate([labels, 1 - labels[:40]])
    task = Classification(X, labels, 2, loss=loss)
    folds = folds_of(fold_numbers(labels, 4, seed=0))
    Cs, known = np.logspace(-2, 1, 4), {}
    grid = cross_validate(
        task,
        Cs,
        folds,
        on_step=lambda held, _: known.setdefault(held.solved.C, [None] * 4).__setitem__(held.fold, held.solved),
    )
    best = {"best_error": 1.0 - grid.means.max(), "best_C": float(Cs[grid.means.argmax()])}
    choice = choose_in_range(
        task, Cs, folds, cv_tol=0.06, known=known, most_values=20 if loss == "hinge" else 250, **best
    )
    between = np.sqrt(choice.Cs[1:] * choice.Cs[:-1])
    dense = np.sort(np.concatenate([np.geomspace(1e-2, 10.0, 30), between[:: len(between) // 20 + 1]]))
    errors = 1.0 - cross_validate(task, dense.tolist(), folds, tol=1e-8).means
    assert errors.min() >= choice.bound - 1e-12
    if loss != "hinge":
        assert choice.certified
        assert errors.min() >= choice.error - 0.06 - 1e-12


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "least_squares"])
def test_losses_between_two_shares_are_not_above_their_polynomial(loss):
    X, y = random_problem(rows=60)
    points = []
    for C in (0.05, 5.0):
        problem = BinaryProblem(X, y, C, loss=loss, bias=1.0)
        points.append(Seen([problem], [solve(problem, tol=1e-8)], C, np.arange(60)).points[0])
    pair = Pair(*points)
    for ends in ((0.0, 1.0), (0.1, 0.5), (0.7, 0.71)):
        (coefficients,) = pair._losses(*np.array(ends)[:, np.newaxis])
        inside = np.linspace(0.0, 1.0, 11)
        above = np.stack([(1 - inside) ** 2, 2 * inside * (1 - inside), inside**2], axis=1) @ coefficients
        true = pair.losses((1 - inside) * ends[0] + inside * ends[1])
        assert np.all(true <= above * (1 + 1e-12) + 1e-12)
        np.testing.assert_allclose(above[[0, -1]], true[[0, -1]], rtol=1e-9, atol=1e-9)


def test_folds_that_are_scored_together_are_as_those_that_are_not():
    X, labels = text_like(rows=200)
    task = Classification(X, labels, 2)
    tasks = [task.on((np.arange(200) % 4 != fold).astype(float)) for fold in range(4)]
    solved = [own.solve(0.7, own.method("auto"), None, tol=1e-4) for own in tasks]
    rows = np.arange(0, 200, 3)
    together = score_together([own.problems[0] for own in solved], [own.solutions[0] for own in solved])
    for own, scored in zip(solved, together, strict=True):
        one = Seen(own.problems, own.solutions, own.C, rows)
        two = Seen(own.problems, own.solutions, own.C, rows, scored)
        for name in ("by_weights", "by_sums", "lengths"):
            np.testing.assert_allclose(getattr(two, name), getattr(one, name), rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(two.points[0].sums, one.points[0].sums, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(two.points[0].scores, one.points[0].scores, rtol=1e-9, atol=1e-12)


def test_a_known_good_C_is_kept_and_a_single_C_can_be_certified():
    X, labels = noisy(2)
    task = Classification(X, labels, 2)
    folds = folds_of(fold_numbers(labels, 3, seed=0))
    alone = choose_in_range(task, [0.1], folds, cv_tol=0.05)
    assert (alone.C, alone.Cs.tolist(), alone.certified) == (0.1, [0.1], True)
    kept = choose_in_range(task, [0.1, 0.2], folds, cv_tol=0.3, best_error=0.0, best_C=7.0)
    assert (kept.C, kept.error) == (7.0, 0.0)


@pytest.mark.parametrize("loss", ["squared_hinge", "hinge"])
def test_labels_that_no_proof_can_decide_end_the_proof(loss, monkeypatch):
    """Empty rows without an intercept have the score zero, whatever C is and however near nodes are."""
    X, labels = noisy(2)
    X[:9], labels[:9] = 0.0, 1
    tried = []
    prove = range_choice.Between.prove

    def counted(*given):
        tried.append(given)
        assert len(tried) < 1000, "the proof goes on for ever"
        return prove(*given)

    monkeypatch.setattr(range_choice.Between, "prove", counted)
    task = Classification(X, labels, 2, loss=loss, bias=0.0)
    choice = choose_in_range(task, [0.01, 1.0], folds_of(fold_numbers(labels, 3, seed=0)), cv_tol=0.01)
    assert choice.bound <= choice.error == choice.errors.min()
    assert tried


def test_a_proof_without_time_says_what_it_has_proved():
    X, labels = noisy(2)
    task = Classification(X, labels, 2)
    folds = folds_of(fold_numbers(labels, 3, seed=0))
    choice = choose_in_range(task, [1e-3, 1e3], folds, cv_tol=0.001, most_values=3)
    assert not choice.certified
    dense = cross_validate(task, np.geomspace(1e-3, 1e3, 40).tolist(), folds, tol=1e-9)
    assert choice.bound <= (1.0 - dense.means).min() + 1e-12


@pytest.mark.parametrize(("multi_class", "loss", "classes"), KINDS)
def test_the_choice_on_a_grid_is_that_of_exact_solutions(multi_class, loss, classes):
    X, labels = noisy(classes)
    task = Classification(X, labels, classes, multi_class=multi_class, loss=loss)
    folds = folds_of(fold_numbers(labels, 4, seed=0))
    Cs = np.logspace(-3, 1, 7)
    choice = choose_on_grid(task, Cs, folds, keep_scores=True)
    exact = cross_validate(task, Cs, folds, tol=1e-12)
    assert choice.certified
    assert np.all(choice.low <= exact.scores + 1e-12)
    assert np.all(exact.scores <= choice.high + 1e-12)
    best = choice.result.best()
    assert best == exact.best()
    assert choice.result.scores[best] == pytest.approx(exact.scores[best])
    assert choice.result.held_out.shape == (7, 90, 1 if classes == 2 else 3)


def test_folds_without_a_class_are_proved_too():
    X, y = load_iris(return_X_y=True)
    order = np.argsort(y, kind="stable")
    X, y = X[order], y[order]
    test = np.arange(0, 100, 2)
    folds = [(np.arange(50, 150), test), (np.setdiff1d(np.arange(150), test), test), (np.arange(100, 150), test)]
    task = Classification(X, y, 3)
    choice = choose_in_range(task, [0.01, 0.02], folds, cv_tol=0.1)
    exact = cross_validate(task, np.geomspace(0.01, 0.02, 9).tolist(), folds, tol=1e-9)
    assert (1 - exact.means).min() >= choice.bound - 1e-12
    assert choice.bound >= 1 / 3 + 1 / 6  # all wrong in the last fold, the first class in the first


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_choices_over_many_sparse_features_are_those_of_exact_solutions(dtype):
    rng = np.random.default_rng(0)
    X = sparse_random(240, 600, density=0.05, random_state=0, format="csr", dtype=dtype)
    truth = rng.normal(size=600)
    labels = (X @ truth + 0.5 * rng.normal(size=240) > 0).astype(int)
    task = Classification(X, labels, 2)
    folds = folds_of(fold_numbers(labels, 3, seed=0))
    Cs = np.logspace(-1, 1, 4)
    known = {}
    cross_validate(
        task,
        Cs,
        folds,
        on_step=lambda held, _: known.setdefault(held.solved.C, [None] * 3).__setitem__(held.fold, held.solved),
    )
    choice = choose_in_range(task, Cs, folds, cv_tol=0.05, known=known)
    exact = cross_validate(task, np.geomspace(0.1, 10.0, 60), folds, tol=1e-9)
    assert choice.certified
    assert (1 - exact.means).min() >= choice.bound - 1e-12
    on_grid = choose_on_grid(task, Cs, folds)
    exact = cross_validate(task, Cs, folds, tol=1e-12)
    assert on_grid.certified
    assert np.all((on_grid.low <= exact.scores + 1e-12) & (exact.scores <= on_grid.high + 1e-12))
    assert on_grid.result.best() == exact.best()
