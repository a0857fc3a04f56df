"""partial_fit and forget: after each call the model is that of all rows it knows."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from maxmargin import BinaryProblem, LinearSVC, MulticlassProblem, load_model, save_model

from ..conftest import LOSS_NAMES, csr, random_problem

TOL = 1e-8


def three_classes(rows=150, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, 6))
    y = np.argmax(X[:, :3] + 0.7 * rng.normal(size=(rows, 3)), axis=1)
    X[7] = 0.0
    X[20:30] = X[30:40]  # repeated rows, some with other labels
    return X, np.array(["a", "b", "c"])[y]


def in_batches(model, X, y, sizes=(1, 40, 3), weight=None):
    """Rows handed over in batches of growing and shrinking size, in one buffer that is written over."""
    classes, begin, call = np.unique(y), 0, 0
    while begin < len(y):
        end = min(begin + sizes[call % len(sizes)], len(y))
        batch = X[begin:end].copy()
        part = {} if weight is None else {"sample_weight": weight[begin:end]}
        model.partial_fit(batch, y[begin:end], classes=classes if begin == 0 else None, **part)
        if isinstance(batch, np.ndarray):
            batch[:] = np.nan  # nobody may look at it any more
        begin, call = end, call + 1
    return model


def assert_same_solution(model, batch, X, y):
    """Both have the objective of the batch problem by the formulas in numpy, and so nearly the same weights."""
    assert model.converged_
    np.testing.assert_allclose(model.primal_objective_, batch.primal_objective_, rtol=2 * TOL)
    np.testing.assert_allclose(model.coef_, batch.coef_, atol=2 * np.sqrt(4 * TOL * np.max(batch.primal_objective_)))
    assert model.dual_coef_.shape == batch.dual_coef_.shape
    np.testing.assert_array_equal(model.classes_, batch.classes_)
    if len(model.classes_) == 2 and model.multi_class == "ovr":
        signs = np.where(y == model.classes_[1], 1, -1)
        problem = BinaryProblem(X, signs, model.C, loss=model.loss, bias=1.0, penalize_bias=model.penalize_intercept)
        weights = np.append(model.coef_[0], model.intercept_)
        assert problem.primal(weights) == pytest.approx(model.primal_objective_, rel=1e-10)
        alpha = signs * model.dual_coef_.toarray()[0]
        assert problem.dual(alpha) == pytest.approx(model.dual_objective_, rel=1e-10)


@pytest.mark.parametrize("loss", LOSS_NAMES)
@pytest.mark.parametrize("penalize_intercept", [True, False])
def test_batches_give_the_solution_of_all_rows(loss, penalize_intercept):
    X, y = random_problem(rows=120, seed=1)
    model = LinearSVC(loss, tol=TOL, penalize_intercept=penalize_intercept)
    batch = clone(model).fit(X, y)
    assert_same_solution(in_batches(model, X, y), batch, X, y)


@pytest.mark.parametrize("solver", ["dcd", "avsf", "online", "newton", "pcd"])
def test_every_solver_goes_on_from_the_rows_it_knows(solver):
    X, y = random_problem(rows=90, seed=2)
    model = LinearSVC(tol=TOL, solver=solver)
    assert_same_solution(in_batches(model, X, y), clone(model).set_params(solver="newton").fit(X, y), X, y)


@pytest.mark.parametrize("multi_class", ["ovr", "crammer_singer", "weston_watkins"])
@pytest.mark.parametrize("storage", ["dense", "sparse"])
def test_several_classes_of_which_the_first_batch_has_one(multi_class, storage):
    X, y = three_classes()
    rows = X if storage == "dense" else sp.csr_array(X)
    model = LinearSVC("hinge", tol=TOL, multi_class=multi_class, C=0.3)
    batch = clone(model).fit(rows, y)
    in_batches(model, rows, y)
    assert_same_solution(model, batch, X, y)
    if multi_class == "crammer_singer":
        labels = np.searchsorted(model.classes_, y)
        problem = MulticlassProblem(X, labels, model.C, bias=1.0)
        weights = np.column_stack([model.coef_, model.intercept_])
        assert problem.primal(weights) == pytest.approx(model.primal_objective_, rel=1e-10)


def test_weights_of_rows_and_of_classes_are_those_of_all_rows():
    X, y = random_problem(rows=100, seed=3)
    weight = np.random.default_rng(3).choice([0.0, 1.0, 2.0], 100)
    weight[:2] = 1.0
    model = LinearSVC(tol=TOL, class_weight="balanced")
    batch = clone(model).fit(X, y, sample_weight=weight)
    in_batches(model, X, y, weight=weight)
    np.testing.assert_allclose(model.primal_objective_, batch.primal_objective_, rtol=2 * TOL)


@pytest.mark.parametrize("as_mask", [True, False])
@pytest.mark.parametrize("penalize_intercept", [True, False])
@pytest.mark.parametrize("make", [np.asarray, sp.csr_array, sp.csr_matrix])
def test_forgotten_rows_might_never_have_been_there(as_mask, penalize_intercept, make):
    X, y = random_problem(rows=100, seed=4)
    model = LinearSVC("hinge", tol=TOL, penalize_intercept=penalize_intercept).partial_fit(make(X), y, classes=[-1, 1])
    gone = np.random.default_rng(0).permutation(100)[:40]
    mask = np.isin(np.arange(100), gone)
    model.forget(mask if as_mask else gone)
    batch = clone(model).fit(X[~mask], y[~mask])
    assert_same_solution(model, batch, X[~mask], y[~mask])
    # and what is left can grow again
    model.partial_fit(make(X[mask]), y[mask])
    together = np.concatenate([np.flatnonzero(~mask), np.flatnonzero(mask)])
    assert_same_solution(model, clone(model).fit(X, y), X[together], y[together])


def test_all_rows_of_a_class_can_be_forgotten():
    X, y = three_classes()
    model = LinearSVC(tol=TOL).partial_fit(X, y, classes=["a", "b", "c"])
    model.forget(y == "b")
    assert model.coef_.shape == (3, 6)
    assert model.converged_
    assert model.predict(X[y != "b"]).tolist().count("b") == 0


def test_going_on_takes_fewer_epochs_than_starting_anew():
    X, y = random_problem(rows=2000, features=30, seed=5, noise=1.0)
    model = LinearSVC(C=0.1, solver="dcd", tol=1e-6).partial_fit(X[:1990], y[:1990], classes=[-1, 1])
    model.partial_fit(X[1990:], y[1990:])
    assert model.n_iter_ < clone(model).fit(X, y).n_iter_


def test_storage_is_that_of_the_first_rows():
    X, y = random_problem(rows=60, seed=6)
    batch = LinearSVC(tol=TOL).fit(X, y)
    for first, second in [(X[:30], csr(X[30:])), (csr(X[:30]), X[30:])]:
        model = LinearSVC(tol=TOL).partial_fit(first, y[:30], classes=[-1, 1]).partial_fit(second, y[30:])
        assert_same_solution(model, batch, X, y)
    single = LinearSVC(tol=TOL).partial_fit(X[:30].astype(np.float32), y[:30], classes=[-1, 1])
    single.partial_fit(X[30:], y[30:])
    mixed = np.concatenate([X[:30].astype(np.float32).astype(np.float64), X[30:]])
    assert_same_solution(single, LinearSVC(tol=TOL).fit(mixed, y), mixed, y)


def test_rows_survive_pickle_but_not_model_files(tmp_path):
    X, y = random_problem(rows=80, seed=7)
    model = LinearSVC(tol=TOL).partial_fit(X[:50], y[:50], classes=[-1, 1])
    save_model(model, tmp_path / "m.mm")
    again = pickle.loads(pickle.dumps(model)).partial_fit(X[50:], y[50:])
    assert_same_solution(again, clone(model).fit(X, y), X, y)
    for stranger in (load_model(tmp_path / "m.mm"), clone(model).fit(X, y)):
        with pytest.raises(ValueError, match="comes from fit or from a file, which keep none"):
            stranger.forget([0])
        with pytest.warns(UserWarning, match="begins a new problem with these rows alone"):
            stranger.partial_fit(X[:30], y[:30])
        assert_same_solution(stranger, clone(model).fit(X[:30], y[:30]), X[:30], y[:30])
    model.fit(X[:20], y[:20])  # begins anew
    assert model.dual_coef_.shape == (1, 20)


def test_a_call_that_fails_leaves_the_model_as_it_was():
    X, y = random_problem(rows=60, seed=8)
    model = LinearSVC(tol=TOL).partial_fit(X, y, classes=[-1, 1])
    before = model.coef_.copy()
    with pytest.raises(ValueError, match="NaN"):
        model.partial_fit(np.full((2, 8), np.nan), [1, -1])
    with pytest.raises(ValueError, match="8 features"):
        model.partial_fit(X[:, :5], y)
    np.testing.assert_array_equal(model.coef_, before)
    model.partial_fit(X[:1], y[:1])
    assert model.dual_coef_.shape == (1, 61)


@pytest.mark.parametrize(
    ("y", "later", "classes", "message"),
    [
        ([0, 1], None, None, "classes must be passed on the first call to partial_fit"),
        ([0, 1], None, [0], "at least two classes"),
        ([0, 2], None, [0, 1], r"y holds 2, which is not among the classes \[0, 1\].*name all classes there"),
        ([0, 1], [0, 5], [0, 1], r"y holds 5, which is not among .*partial_fit\(X, y, classes=\[\.\.\.\]\)"),
        (["0", "1"], None, [0, 1], "y holds '0', which is not among the classes"),
    ],
)
def test_labels_that_were_not_named_are_refused(y, later, classes, message):
    model = LinearSVC()
    with pytest.raises(ValueError, match=message):
        model.partial_fit(np.eye(2), y, classes=classes).partial_fit(np.eye(2), later)


def test_classes_may_be_repeated_but_not_changed():
    model = LinearSVC().partial_fit(np.eye(2), [3, 4], classes=[4, 3, 4])
    model.partial_fit(np.eye(2), [3, 4], classes=[3, 4])
    with pytest.raises(ValueError, match="not the same as on the first call"):
        model.partial_fit(np.eye(2), [3, 4], classes=[3, 4, 5])


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([60], "names row 60, but there are 60 rows"),
        ([-61], "names row -61"),
        (np.ones(59, dtype=bool), "a mask of shape"),
        ([0.5], "numbers of rows or be a mask"),
        (range(60), "would leave no row"),
    ],
)
def test_rows_that_are_not_there_cannot_be_forgotten(rows, message):
    X, y = random_problem(rows=60, seed=9)
    model = LinearSVC().partial_fit(X, y, classes=[-1, 1])
    with pytest.raises(ValueError, match=message):
        model.forget(rows)
    assert model.forget([]).dual_coef_.shape == (1, 60)


def test_forget_needs_a_fit():
    with pytest.raises(NotFittedError):
        LinearSVC().forget([0])


def test_few_sweeps_warn_and_more_of_them_get_there():
    X, y = random_problem(rows=300, seed=10, noise=2.0)
    model = LinearSVC(C=1.0, solver="dcd", max_iter=1, tol=1e-6)
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        model.partial_fit(X, y, classes=[-1, 1])
    first = model.duality_gap_
    with pytest.warns(ConvergenceWarning):
        model.partial_fit(X[:1], y[:1])
    assert model.duality_gap_ < first  # from where it was
    model.set_params(max_iter=100_000).partial_fit(X[:1], y[:1])
    assert model.converged_
