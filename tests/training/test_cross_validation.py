"""Cross-validation without copies, against training on the rows of each fold alone."""

from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_iris
from sklearn.model_selection import GroupKFold, ShuffleSplit

from maxmargin import LinearRankSVM, LinearSVC, Matrix
from maxmargin.problems.certificate import Certificate
from maxmargin.problems.ranking import NothingToRankError
from maxmargin.training.cross_validation import (
    CrossValidation,
    check_count,
    cross_validate,
    fold_numbers,
    folds_of,
    group_fold_numbers,
)
from maxmargin.training.folds import FoldsBySweeps, fold_tasks, group_of
from maxmargin.training.tasks import Classification, Ranking
from tests.conftest import random_problem


@pytest.mark.parametrize("classes", [2, 5])
@pytest.mark.parametrize("rows", [20, 103])
def test_folds_have_equal_size_and_their_share_of_every_class(rows, classes):
    labels = np.random.default_rng(0).integers(classes, size=rows)
    numbers = fold_numbers(labels, 4, seed=3)
    sizes = np.bincount(numbers, minlength=4)
    assert sizes.max() - sizes.min() <= 1
    for k in range(classes):
        share = np.bincount(numbers[labels == k], minlength=4)
        assert share.max() - share.min() <= 1
    np.testing.assert_array_equal(numbers, fold_numbers(labels, 4, seed=3))
    assert np.any(numbers != fold_numbers(labels, 4, seed=4))


def test_groups_stay_whole_and_folds_come_out_even():
    groups = np.repeat(np.arange(40), np.random.default_rng(0).integers(1, 30, size=40))
    numbers = group_fold_numbers(groups, 5, seed=1)
    for group in np.unique(groups):
        assert len(np.unique(numbers[groups == group])) == 1
    sizes = np.bincount(numbers)
    assert len(sizes) == 5
    assert sizes.max() <= 1.1 * sizes.min()
    with pytest.raises(ValueError, match="between 2 and the number of groups"):
        group_fold_numbers([1, 1, 2, 2], 3, seed=0)


@pytest.mark.parametrize("folds", [1, 11])
def test_a_number_of_folds_that_makes_no_sense_is_refused(folds):
    with pytest.raises(ValueError, match="between 2 and the number of rows"):
        check_count(folds, 10)


@pytest.mark.parametrize("class_weight", [None, "balanced", {0: 3.0}])
@pytest.mark.parametrize("multi_class", ["ovr", "crammer_singer", "weston_watkins"])
@pytest.mark.parametrize("sparse", [False, True])
def test_the_same_as_training_on_the_other_rows_alone(multi_class, class_weight, sparse):
    X, y = load_iris(return_X_y=True)
    X = sp.csr_array(X) if sparse else X
    Cs = [1.0, 0.01]  # any order
    folds = folds_of(fold_numbers(y, 3, seed=1))
    task = Classification(X, y, 3, multi_class=multi_class, class_weight=class_weight, bias=2.0)
    result = cross_validate(task, Cs, folds, keep_scores=True, tol=1e-10)
    for k, C in enumerate(Cs):
        for fold, (train, test) in enumerate(folds):
            model = LinearSVC(C=C, multi_class=multi_class, class_weight=class_weight, tol=1e-10, intercept_scaling=2.0)
            model.fit(X[train], y[train])
            expected = model.decision_function(X[test])
            np.testing.assert_allclose(result.held_out[k, test], expected, atol=2e-3 * np.abs(expected).max())
            assert result.right[k, fold] == result.scores[k, fold] * len(test)
            assert result.scores[k, fold] == pytest.approx(model.score(X[test], y[test]), abs=0.021)  # one row of a tie
            assert result.gaps[k, fold] <= 1e-10


@pytest.mark.parametrize("grouped", [False, True])
def test_a_ranking_is_the_same_as_training_on_the_other_rows_alone(grouped):
    X, y = load_iris(return_X_y=True)
    qid = np.random.default_rng(0).integers(12, size=len(y)) if grouped else None
    numbers = group_fold_numbers(qid, 3, seed=0) if grouped else fold_numbers(y, 3, seed=0)
    result = cross_validate(Ranking(Matrix(X), y, qid), [0.1, 10.0], folds_of(numbers), tol=1e-8)
    for k, C in enumerate([0.1, 10.0]):
        for fold, (train, test) in enumerate(folds_of(numbers)):
            own, other = (None, None) if qid is None else (qid[train], qid[test])
            model = LinearRankSVM(C=C, tol=1e-8).fit(X[train], y[train], qid=own)
            assert result.scores[k, fold] == pytest.approx(model.score(X[test], y[test], qid=other), abs=2e-3)
    assert np.isnan(result.right).all()


def test_rows_may_be_left_out_of_both_parts_and_count_twice():
    X, y = random_problem(rows=120)
    labels = (y > 0).astype(np.intp)
    train = np.concatenate([np.arange(60), np.arange(20)])  # a bootstrap sample
    test = np.arange(100, 120)
    result = cross_validate(Classification(X, labels, 2), [0.3], [(train, test)], keep_scores=True, tol=1e-10)
    model = LinearSVC(C=0.3, tol=1e-10).fit(X[train], labels[train])
    np.testing.assert_allclose(result.held_out[0, test, 0], model.decision_function(X[test]), atol=1e-4)
    assert np.isnan(result.held_out[0, :100]).all()
    assert result.sizes.tolist() == [20]


@pytest.mark.parametrize("splitter", [ShuffleSplit(3, test_size=0.3, random_state=0), GroupKFold(3)])
def test_any_splitter_of_scikit_learn_can_be_used(splitter):
    X, y = random_problem(rows=90)
    labels = (y > 0).astype(np.intp)
    folds = list(splitter.split(X, y, np.arange(90) // 5 if isinstance(splitter, GroupKFold) else None))
    result = cross_validate(Classification(X, labels, 2), [0.1, 1.0], folds)
    assert result.scores.shape == (2, 3)
    assert result.sizes.tolist() == [len(test) for _, test in folds]


@pytest.mark.parametrize("solver", ["dcd", "auto"])
def test_threads_change_nothing(solver):
    X, y = random_problem(rows=300)
    labels = (y > 0).astype(np.intp)
    folds = folds_of(fold_numbers(labels, 5, 0))
    one, two = (
        cross_validate(Classification(X, labels, 2), [0.1, 1.0], folds, n_jobs=n_jobs, solver=solver)
        for n_jobs in (1, 2)
    )
    np.testing.assert_array_equal(one.scores, two.scores)
    np.testing.assert_array_equal(one.gaps, two.gaps)


@pytest.mark.parametrize("multi_class", ["ovr", "crammer_singer"])
def test_a_fold_without_some_class_trains_the_others(multi_class):
    X, y = load_iris(return_X_y=True)
    order = np.argsort(y, kind="stable")
    X, y = X[order], y[order]
    test = np.arange(50)  # all of the first class
    train = np.arange(50, 150)
    task = Classification(X, y, 3, multi_class=multi_class, class_weight={0: 2.0, 1: 1.5})
    result = cross_validate(task, [1.0], [(train, test)], keep_scores=True, tol=1e-10)
    assert result.right[0, 0] == 0
    scores = result.held_out[0, test]
    assert np.all(np.isneginf(scores[:, 0]))
    model = LinearSVC(multi_class=multi_class, class_weight={1: 1.5}, tol=1e-10).fit(X[train], y[train])
    expected = model.decision_function(X[test])
    np.testing.assert_allclose(
        scores[:, 1:], np.column_stack([-expected, expected]), atol=1e-3 * np.abs(expected).max()
    )


@pytest.mark.parametrize("classes", [2, 3])
def test_a_fold_with_one_class_predicts_that_class(classes):
    X, y = random_problem(rows=50)
    labels = np.where(y > 0, classes - 1, 0)
    train = np.flatnonzero(labels == classes - 1)
    result = cross_validate(Classification(X, labels, classes), [1.0], [(train, np.arange(50))])
    assert result.right[0, 0] == len(train)


def test_a_class_of_one_row():
    X, y = random_problem(rows=50)
    labels = (y > 0).astype(np.intp)
    labels[7] = 2
    result = cross_validate(Classification(X, labels, 3), [1.0], folds_of(fold_numbers(labels, 5, 0)))
    assert np.all((result.scores >= 0) & (result.scores <= 1))
    assert np.all(result.gaps <= 1e-3)


def test_a_fold_with_nothing_to_rank_is_named():
    X = np.arange(6.0)[:, None]
    task = Ranking(Matrix(X), np.array([1, 1, 1, 1, 2, 3]))
    with pytest.raises(NothingToRankError, match="fold 1: there is nothing to rank"):
        cross_validate(task, [1.0], [(np.arange(3, 6), np.arange(4, 6)), (np.arange(3), np.arange(4, 6))])


def result_of(scores, right=None, Cs=None):
    scores = np.asarray(scores, dtype=float)
    right = np.full(scores.shape, np.nan) if right is None else np.asarray(right, dtype=float)
    Cs = np.logspace(0, len(scores) - 1, len(scores)) if Cs is None else np.asarray(Cs, dtype=float)
    zeros = np.zeros(scores.shape)
    return CrossValidation(Cs, scores, right, np.ones(scores.shape[1]), zeros, zeros == 0, zeros, zeros)


def test_ties_go_to_the_most_rows_labelled_right_and_then_to_the_smallest_C():
    thirds = [1 / 3, 2 / 3, 0.1]
    assert result_of([thirds, thirds[::-1]], right=[[1, 2, 1], [1, 2, 1]]).best() == 0  # their means differ by rounding
    assert result_of([thirds, thirds[::-1]], right=[[1, 2, 1], [2, 2, 1]]).best() == 1
    assert result_of([[0.5], [0.5], [0.4]], Cs=[10.0, 1.0, 0.1]).best() == 1
    assert result_of([[np.nan, 1.0], [0.1, 0.1]]).best() == 1


def test_the_rule_of_one_standard_error_takes_the_smallest_C_that_is_as_good():
    scores = [[0.5, 0.5, 0.5], [0.88, 0.9, 0.89], [0.88, 0.91, 0.9], [0.7, 0.7, 0.7]]
    result = result_of(scores)
    assert result.best() == 2
    error = np.std(scores[2], ddof=1) / np.sqrt(3)
    assert np.mean(scores[1]) >= np.mean(scores[2]) - error
    assert result.best("one_standard_error") == 1
    with pytest.raises(ValueError, match="rule='median' is unknown"):
        result.best("median")


def test_a_note_tells_when_the_best_is_at_the_end_of_the_grid():
    result = result_of([[0.5], [0.6], [0.7]])
    assert "is the largest of the grid; larger ones may be better" in result.note(2)
    assert "is the smallest of the grid" in result.note(0)
    assert result.note(1) is None


def test_a_time_limit_ends_every_fold_with_bounds():
    X, y = random_problem(rows=400, features=40)
    labels = (y > 0).astype(np.intp)
    folds = folds_of(fold_numbers(labels, 4, 0))
    task = Classification(X, labels, 2, loss="hinge")
    result = cross_validate(task, [1e6, 1e7], folds, time_limit=1e-3, tol=0.0, solver="dcd")
    assert not result.converged.any()
    assert np.all(np.isfinite(result.scores))
    assert np.all(np.isfinite(result.gaps))


@pytest.mark.parametrize("factor", [1.0, 50.0])
def test_folds_that_start_from_guessed_values_have_true_certificates(factor):
    rng = np.random.default_rng(0)
    X = sp.random(300, 5000, density=0.01, format="csr", random_state=0)
    score = np.asarray(X[:, :2500].sum(axis=1)).ravel()
    labels = (score + rng.normal(size=300) > np.median(score)).astype(np.intp)
    task = Classification(X, labels, 2)
    whole = task.solve(1.0, task.method("auto"), None, tol=1e-3).solutions[0]
    tasks = fold_tasks(task, folds_of(fold_numbers(labels, 3, seed=0)))
    group = group_of(tasks, task.method("auto"))
    assert isinstance(group, FoldsBySweeps)
    certificate = Certificate(whole.certificate.primal / factor, whole.certificate.dual * factor)
    start = SimpleNamespace(alpha=whole.alpha, weights=whole.weights, certificate=certificate)
    for own in group.begin(1.0, [[start]] * 3, ("dcd",), tol=1e-2):
        (problem,), (found,) = own.problems, own.solutions
        assert found.certificate.primal == pytest.approx(problem.primal(found.weights), rel=1e-9)
        assert found.certificate.dual == pytest.approx(problem.dual(found.alpha), rel=1e-9)
        assert found.certificate.gap <= 1e-2
