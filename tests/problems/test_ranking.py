"""Ranking problems against all pairs written down."""

from importlib import import_module
from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_breast_cancer
from sklearn.metrics import ndcg_score, roc_auc_score

from maxmargin import BinaryProblem, CuttingPlane, RankingProblem, count_pairs, ndcg, solve
from maxmargin._core import Pairs
from maxmargin.problems.ranking import Ranks

from ..conftest import csr


def ranking(rows=60, features=5, levels=4, groups=3, seed=0):
    """Noisy ranks in groups, in no order."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, features))
    score = X @ rng.normal(size=features) + rng.normal(size=rows)
    y = np.digitize(score, np.quantile(score, np.arange(1, levels) / levels))
    return X, y, rng.integers(0, groups, rows)


def all_pairs(y, qid=None):
    """Which row has the higher rank in which pair: rows x rows."""
    y = np.asarray(y)
    pairs = y[:, None] > y[None, :]
    return pairs if qid is None else pairs & (np.asarray(qid)[:, None] == np.asarray(qid)[None, :])


def explicit(X, y, C, qid=None, weights=None, solvers=("dcd", "newton")):
    """OP4 as a binary hinge problem over all pairs, solved by coordinate descent and by Newton's method."""
    X = X.toarray() if sp.issparse(X) else np.asarray(X, dtype=float)
    high, low = np.nonzero(all_pairs(y, qid))
    weight = np.ones(len(high)) if weights is None else (weights[high] * weights[low]).astype(float)
    problem = BinaryProblem(X[high] - X[low], np.ones(len(high)), C * weight / weight.sum(), loss="hinge")
    solutions = [solve(problem, solver=solver, tol=1e-9) for solver in solvers]
    for solution in solutions:
        assert solution.converged
        assert solution.certificate.primal == pytest.approx(solutions[0].certificate.primal, rel=2e-9)
    return solutions[-1].certificate.primal


@pytest.mark.parametrize("acceleration", [True, False])
@pytest.mark.parametrize(("levels", "groups"), [(2, 1), (2, 5), (5, 1), (12, 3)])
@pytest.mark.parametrize("C", [0.1, 10.0, 1000.0])
def test_the_optimum_is_that_of_all_pairs(acceleration, levels, groups, C):
    X, y, qid = ranking(levels=levels, groups=groups, seed=levels + groups)
    problem = RankingProblem(X, y, C, qid=qid)
    solution = solve(problem, CuttingPlane(acceleration=acceleration), tol=1e-8)
    assert solution.converged
    assert solution.certificate.primal == pytest.approx(explicit(X, y, C, qid), rel=2e-8)
    assert problem.primal(solution.weights) == pytest.approx(solution.certificate.primal, rel=1e-12)
    distance = np.sum((problem.weights(solution.alpha) - solution.weights) ** 2)
    assert distance <= 4 * (solution.certificate.primal - solution.certificate.dual) + 1e-14
    assert solution.certificate.gap <= 1e-8


def test_real_valued_labels_mean_their_order():
    X, _, qid = ranking(seed=1)
    y = np.random.default_rng(1).normal(size=len(X)).round(1)
    ranks = np.unique(y, return_inverse=True)[1]
    values = [solve(RankingProblem(X, labels, 5.0, qid=qid), tol=1e-9).certificate.primal for labels in (y, ranks)]
    assert values[0] == values[1]
    assert values[0] == pytest.approx(explicit(X, y, 5.0, qid), rel=2e-9)


def brute_force(y, scores, qid, weights):
    product = weights[:, None] * weights[None, :] * all_pairs(y, qid)
    difference = scores[:, None] - scores[None, :]
    violated = product * (difference < 1)
    return {
        "sum": violated.sum(),
        "coefficients": violated.sum(axis=1) - violated.sum(axis=0),
        "all": product.sum(),
        "swapped": product[difference < 0].sum(),
        "tied": product[difference == 0].sum(),
    }


@pytest.mark.parametrize("levels", [2, 3, 8, 9, 40])  # two ways for small groups, two for large ones
@pytest.mark.parametrize("rows", [7, 40, 200, 700])
def test_pairs_are_counted_as_by_brute_force(levels, rows):
    """Thousands of cases with ties in labels and scores, weights of zero, and scores exactly 1 apart."""
    rng = np.random.default_rng(rows * levels)
    for _ in range(150 if rows < 100 else 10):
        y = rng.integers(0, levels, rows) / 2
        qid = rng.integers(0, rng.integers(1, 4), rows)
        weights = rng.integers(0, 4, rows).astype(float) if rng.random() < 0.5 else np.ones(rows)
        if brute_force(y, y, qid, weights)["all"] == 0:
            continue
        pairs = Pairs(y, qid, weights)
        for _ in range(3):  # the same pairs again: they keep the order of the last scores
            scores = rng.integers(-5, 5, rows) / 4 if rng.random() < 0.5 else rng.normal(size=rows)
            truth = brute_force(y, scores, qid, weights)
            total, coefficients = pairs.violated(scores)
            assert total == truth["sum"]
            np.testing.assert_array_equal(coefficients, truth["coefficients"])
            counts = count_pairs(y, scores, qid, weights)
            assert counts.all.sum() == pairs.total() == truth["all"]
            assert counts.swapped.sum() == truth["swapped"]
            assert counts.tied.sum() == truth["tied"]


@pytest.mark.parametrize("scores", ["constant", "outlier", "tiny", "huge", "close"])
def test_scores_that_are_hard_to_sort(scores):
    rng = np.random.default_rng(0)
    rows = 3000
    y, qid, weights = rng.integers(0, 3, rows).astype(float), np.zeros(rows, dtype=np.int64), np.ones(rows)
    values = {
        "constant": np.zeros(rows),
        "outlier": np.append(rng.normal(size=rows - 1), 1e30),
        "tiny": 1e-300 * rng.normal(size=rows),
        "huge": 1e300 * rng.choice([-1.0, 1.0], rows),
        "close": 1e9 + 1e-6 * rng.integers(0, 20, rows),
    }[scores]
    total, coefficients = Pairs(y, qid, None).violated(values)
    with np.errstate(over="ignore"):
        truth = brute_force(y, values, qid, weights)
    assert total == truth["sum"]
    np.testing.assert_array_equal(coefficients, truth["coefficients"])


def test_a_share_in_order_is_the_roc_area_for_two_labels():
    rng = np.random.default_rng(2)
    y, scores, weight = rng.integers(0, 2, 300), rng.integers(0, 20, 300), rng.random(300)
    assert count_pairs(y, scores).share_in_order == pytest.approx(roc_auc_score(y, scores), rel=1e-12)
    weighted = count_pairs(y, scores, sample_weight=weight).share_in_order
    assert weighted == pytest.approx(roc_auc_score(y, scores, sample_weight=weight), rel=1e-12)


@pytest.mark.parametrize("k", [None, 1, 5])
def test_ndcg_is_that_of_scikit_learn(k):
    rng = np.random.default_rng(3)
    gains, scores = rng.integers(0, 4, (6, 12)).astype(float), rng.integers(0, 6, (6, 12)).astype(float)
    gains[:, 0] = 1
    qid = np.repeat(np.arange(6), 12)
    shuffled = rng.permutation(72)
    ours = ndcg(np.log2(gains + 1).ravel()[shuffled], scores.ravel()[shuffled], qid[shuffled], k=k)
    assert ours == pytest.approx(ndcg_score(gains, scores, k=k), rel=1e-12)


@pytest.mark.parametrize("levels", [2, 6])
def test_weight_two_equals_repeating_the_row(levels):
    X, y, qid = ranking(levels=levels, seed=4)
    weights = np.random.default_rng(4).integers(0, 4, len(y))
    repeated = np.repeat(np.arange(len(y)), weights)
    weighted = solve(RankingProblem(X, y, 20.0, qid=qid, weights=weights), tol=1e-9)
    plain = solve(RankingProblem(X[repeated], y[repeated], 20.0, qid=qid[repeated]), tol=1e-9)
    assert weighted.certificate.primal == pytest.approx(plain.certificate.primal, rel=2e-9)
    assert weighted.certificate.primal == pytest.approx(explicit(X, y, 20.0, qid, weights), rel=2e-9)
    assert np.all(weighted.alpha[weights == 0] == 0)


def test_weights_that_are_no_whole_numbers():
    X, y, qid = ranking(seed=5, levels=10, groups=1)
    weights = np.random.default_rng(5).random(len(y)) * np.logspace(-3, 3, len(y))
    solution = solve(RankingProblem(X, y, 20.0, qid=qid, weights=weights), tol=1e-9)
    assert solution.certificate.primal == pytest.approx(explicit(X, y, 20.0, qid, weights), rel=2e-9)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_all_storage_types_give_the_same_value(storage, dtype):
    X, y, qid = ranking(seed=6)
    X = (X * (np.abs(X) > 0.4)).astype(dtype)
    stored = solve(RankingProblem(storage(X), y, 10.0, qid=qid), tol=1e-9)
    plain = solve(RankingProblem(X.astype(np.float64), y, 10.0, qid=qid), tol=1e-9)
    assert stored.certificate.primal == pytest.approx(plain.certificate.primal, rel=2e-9)


def test_zero_rows_duplicate_rows_and_unscaled_columns():
    X, y, qid = ranking(seed=7)
    X[:5] = 0
    X[5:10] = X[10:15]
    value = solve(RankingProblem(X, y, 10.0, qid=qid), tol=1e-9).certificate.primal
    assert value == pytest.approx(explicit(X, y, 10.0, qid), rel=2e-9)
    scaled = X * np.logspace(-3, 3, X.shape[1])
    value = solve(RankingProblem(scaled, y, 10.0, qid=qid), tol=1e-6).certificate.primal
    assert value == pytest.approx(explicit(scaled, y, 10.0, qid, solvers=["newton"]), rel=2e-6)


def test_a_matrix_of_zeros_has_a_solution():
    solution = solve(RankingProblem(np.zeros((4, 2)), [0, 1, 2, 2], 3.0), tol=1e-9)
    assert solution.converged
    assert solution.certificate.primal == pytest.approx(3.0)


@pytest.mark.parametrize("C", [1e-49, 1e-16, 1e6, 1e10])
def test_extreme_C_on_unscaled_data(C):
    X, y = load_breast_cancer(return_X_y=True)
    solution = solve(RankingProblem(X, y, C))
    assert solution.converged
    assert solution.certificate.gap >= 0
    if C == 1e6:  # what a Newton method on all pairs gives
        assert solution.certificate.primal == pytest.approx(4673.3, rel=1.1e-3)


@pytest.mark.parametrize("acceleration", [True, False])
def test_a_C_beyond_all_precision_is_no_worse_than_no_weights(acceleration):
    X, y = load_breast_cancer(return_X_y=True)
    solution = solve(RankingProblem(X, y, 1e40), solver=CuttingPlane(acceleration=acceleration), max_iter=50)
    assert solution.exit == "max_iter"
    assert solution.certificate.primal <= 1e40 * (1 + 1e-12)
    assert 0 <= solution.certificate.gap <= 1


@pytest.mark.parametrize("scale", [1e-40, 3e-8, 1.0])
def test_features_that_say_nothing(scale):
    """Cuts that cancel but for rounding: constant features, those of a query, rows with all labels."""
    rng = np.random.default_rng(0)
    qid = rng.integers(0, 10, 200)
    rows = rng.normal(size=(50, 3))
    for X, y, groups in [
        (np.full((100, 1), 0.1), np.arange(100) % 3, None),
        (rng.normal(size=(10, 3))[qid], rng.integers(0, 3, 200), qid),
        (np.vstack([rows, rows]), np.repeat([0, 1], 50), None),
    ]:
        solution = solve(RankingProblem(scale * X, y, 7.0, qid=groups))
        assert solution.converged
        assert solution.certificate == pytest.approx((7.0, 7.0))


def test_groups_of_one_rank_and_their_labels_do_not_matter():
    X, y, qid = ranking(seed=9)
    more = np.vstack([X, np.random.default_rng(9).normal(size=(20, X.shape[1]))])
    labels, groups = np.append(y, np.full(20, 3)), np.append(qid, np.arange(100, 120))
    base = solve(RankingProblem(X, y, 10.0, qid=qid), tol=1e-9)
    other = solve(RankingProblem(more, labels, 10.0, qid=groups), tol=1e-9)
    assert other.certificate == base.certificate
    named = np.array([f"query {k}" for k in qid])
    assert solve(RankingProblem(X, y, 10.0, qid=named), tol=1e-9).certificate == base.certificate


def test_progress_is_monotone_and_reports_are_exact():
    X, y, qid = ranking(rows=300, seed=10)
    problem = RankingProblem(csr(X), y, 1000.0, qid=qid)
    seen = []
    solution = solve(problem, tol=1e-7, callback=lambda report, weights: seen.append((report, weights)) and None)
    on_the_way = [report for report, _ in seen]
    assert len(on_the_way) == solution.n_iter > 10
    for before, after in pairwise(on_the_way):
        assert after.primal <= before.primal * (1 + 1e-12)
        assert after.dual >= before.dual - 1e-10 * abs(before.dual)
    for report, weights in seen:
        assert problem.primal(weights) == pytest.approx(report.primal, rel=1e-10)
    assert on_the_way[-1].gap == pytest.approx(solution.certificate.gap, abs=1e-12)


def test_acceleration_takes_fewer_cuts():
    X, y, qid = ranking(rows=400, features=10, seed=11)
    cuts = [solve(RankingProblem(X, y, 1e4, qid=qid), CuttingPlane(acceleration=fast)).n_iter for fast in (True, False)]
    assert cuts[0] * 2 < cuts[1]


def test_starting_from_the_points_of_a_solution():
    X, y, qid = ranking(rows=300, features=8, seed=12)
    first = solve(RankingProblem(X, y, 1000.0, qid=qid), tol=1e-6)
    again = solve(RankingProblem(X, y, 1000.0, qid=qid), tol=1e-6, start=first)
    assert again.converged
    assert again.n_iter < first.n_iter / 3
    other = solve(RankingProblem(X, y, 1200.0, qid=qid), tol=1e-6, start=first)
    assert other.certificate.primal == pytest.approx(explicit(X, y, 1200.0, qid, solvers=["newton"]), rel=2e-6)


@pytest.mark.parametrize(("groups", "weighted"), [(1, False), (3, True), (300, False)])
def test_large_data_start_from_a_sample(monkeypatch, groups, weighted):
    X, y, qid = ranking(rows=3000, groups=groups, seed=17)
    weights = np.random.default_rng(17).integers(0, 3, 3000) if weighted else None
    problem = RankingProblem(X, y, 100.0, qid=qid, weights=weights)
    plain = solve(problem, tol=1e-6)
    solver = import_module("maxmargin.solvers.cutting_plane")
    monkeypatch.setattr(solver, "LARGE", 1000)
    monkeypatch.setattr(solver, "MANY_GROUPS", 100)
    sample = solver._sample(problem)
    assert 0 < sample.total() < problem.ranks.n_pairs / 4
    sampled = solve(problem, tol=1e-6)
    assert sampled.converged
    assert sampled.certificate != plain.certificate
    assert sampled.certificate.primal == pytest.approx(plain.certificate.primal, rel=2e-6)
    assert solve(problem, tol=1e-6).certificate == sampled.certificate
    assert solve(problem, CuttingPlane(acceleration=False), tol=1e-6).converged
    assert solve(problem, tol=1e-6, time_limit=1e-9).exit == "time_limit"


def test_limits_and_stops_return_certified_bounds():
    X, y, qid = ranking(rows=2000, features=20, seed=13)
    problem = RankingProblem(X, y, 1e5, qid=qid)
    for options, exit_ in [
        ({"max_iter": 5}, "max_iter"),
        ({"time_limit": 1e-9}, "time_limit"),
        ({"callback": lambda report, _: report.epoch >= 3}, "stopped"),
    ]:
        solution = solve(problem, tol=1e-9, **options)
        assert solution.exit == exit_
        assert problem.primal(solution.weights) == pytest.approx(solution.certificate.primal, rel=1e-10)
        assert solution.certificate.dual <= solution.certificate.primal
        assert solution.certificate.primal <= 1e5  # what w = 0 has


def test_an_early_stop_returns_nearly_the_best_iterate():
    rng = np.random.default_rng(14)
    problem = RankingProblem(rng.normal(size=(300, 5)), rng.integers(0, 2, 300), 1e4)
    for cuts in (3, 6, 12):
        solution = solve(problem, tol=1e-9, max_iter=cuts)
        best = min(report.primal for report in solution.history)
        assert solution.certificate.primal <= 1.1 * best


def test_weights_of_any_size_and_labels_beyond_doubles():
    X, y, qid = ranking(seed=15)
    base = solve(RankingProblem(X, y, 10.0, qid=qid), tol=1e-6).certificate
    for weight in (1e-170, 1e40):
        problem = RankingProblem(X, y, 10.0, qid=qid, weights=np.full(len(y), weight))
        assert solve(problem, tol=1e-6).certificate == pytest.approx(base)
    assert solve(RankingProblem(X, y + 2**60, 10.0, qid=qid), tol=1e-6).certificate == base
    assert solve(RankingProblem(X, y.astype(object), 10.0, qid=qid), tol=1e-6).certificate == base


def test_points_that_overflow_are_left_out():
    X, y, qid = ranking(seed=16)
    assert solve(RankingProblem(X, y, qid=qid), start=np.full((1, 6), 1e300)).converged


def test_an_exception_in_a_callback_comes_out():
    X, y, qid = ranking()

    def fail(report, _):
        raise KeyError("from the callback")

    with pytest.raises(KeyError, match="from the callback"):
        solve(RankingProblem(X, y, qid=qid), callback=fail)


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        ({"y": [1, 1, 1, 1]}, {}, "nothing to rank: no two rows of the data have different labels"),
        ({"qid": [1, 2, 3, 4]}, {}, r"no two rows of one group \(qid\)"),
        ({"weights": [1, 0, 0, 0]}, {}, "and positive weights"),
        ({"y": ["a", "b", "c", "d"]}, {}, "y must hold numbers"),
        ({"y": [1, 2, np.nan, 3]}, {}, "y must be finite"),
        ({"y": [1, 2, 3]}, {}, r"y must have shape \(4,\)"),
        ({"qid": [1, 1, 1]}, {}, "qid must have one entry for each of the 4 rows"),
        ({"qid": [1, 1, np.nan, 1]}, {}, "qid must not be NaN"),
        ({"qid": [1, "a", None, 1]}, {}, "qid must hold numbers or texts"),
        ({"y": [1, None, "x", 2]}, {}, "y must hold numbers"),
        ({"weights": [1, -1, 1, 1]}, {}, "weights must be numbers between 0 and"),
        ({"weights": [1, 1]}, {}, "there must be 4 weights"),
        ({"C": 0.0}, {}, "C must lie between"),
        ({"X": np.zeros((0, 2)), "y": []}, {}, "X is empty"),
        ({"X": np.full((4, 2), np.nan)}, {}, "NaN"),
        ({}, {"solver": "dcd"}, "it solves binary problems .*; choose from .'auto', 'cutting_plane'."),
        ({}, {"start": [0, 0, 0, 0]}, "points must have 3 columns"),
        ({}, {"start": np.zeros((1, 2))}, "points must have 3 columns"),
    ],
)
def test_bad_input_is_refused_with_a_message(arguments, options, message):
    given = {"X": np.eye(4)[:, :2].copy(), "y": [1, 2, 3, 4], **arguments}
    with pytest.raises(ValueError, match=message):
        solve(RankingProblem(given.pop("X"), given.pop("y"), **given), **options)


def test_starts_and_losses_of_other_problems_are_refused():
    problem = BinaryProblem(np.eye(2), [1, -1], loss="hinge")
    with pytest.raises(ValueError, match="alpha must hold 2 finite numbers"):
        solve(problem, start=np.zeros((1, 3)))
    with pytest.raises(ValueError, match="loss='hinge' only"):
        solve(BinaryProblem(np.eye(2), [1, -1]), solver="cutting_plane")
    assert solve(problem, CuttingPlane(acceleration=False), tol=1e-9).converged


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda: count_pairs([1, 2], [1.0]), "scores must be 2 finite numbers"),
        (lambda: count_pairs([1, 2], [1.0, np.inf]), "scores must be 2 finite numbers"),
        (lambda: Ranks([1, 2]).count([1.0, np.nan]), "scores must be 2 finite numbers"),
        (lambda: count_pairs([[1, 2]], [1.0, 2.0]), "y must have one dimension"),
        (lambda: ndcg([0, 0], [1, 2]), "no group has a row of positive relevance"),
        (lambda: ndcg([-1, 0], [1, 2]), "between 0 and 1000"),
        (lambda: ndcg([0, 1], [1, 2], k=0), "k must be at least 1"),
        (lambda: ndcg([0, 1], [1, 2], qid=[1]), "qid must have one entry"),
    ],
)
def test_bad_arguments_of_the_measures(function, message):
    with pytest.raises(ValueError, match=message):
        function()


def test_the_core_checks_sizes():
    ranks = Ranks([1, 2, 3])
    with pytest.raises(ValueError, match="labels for 3 rows, not for 2"):
        ranks.pairs.violated(np.zeros(2))
    with pytest.raises(ValueError, match="one entry per row"):
        Pairs(np.zeros(3), np.zeros(2, dtype=np.int64), None)
