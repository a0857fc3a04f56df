"""The classifier on a cluster has the solution, the bounds and the manners of the one on a single machine."""

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning

import maxmargin
from maxmargin import BinaryProblem, load_model, open_blocks, save_model, solve, write_blocks
from maxmargin.dask import LinearSVC

from ..conftest import LOSS_NAMES, random_problem
from .conftest import distribute


def assert_solved(model, X, y, weight=1.0):
    """Both bounds are those of the gathered data: the primal value is that of the weights, the optimum in between."""
    signs = np.where(y == model.classes_[1], 1, -1)
    problem = BinaryProblem(X, signs, model.C * weight * np.ones(len(y)), loss=model.loss, bias=1.0)
    weights = np.append(model.coef_, model.intercept_)
    optimum = solve(problem, tol=1e-8).certificate
    assert model.primal_objective_ == pytest.approx(problem.primal(weights), rel=1e-10)
    assert model.dual_objective_ <= optimum.primal * (1 + 1e-12)
    assert model.primal_objective_ <= optimum.primal * (1 + model.tol)
    assert model.duality_gap_ <= model.tol
    assert model.converged_


@pytest.mark.parametrize("loss", LOSS_NAMES)
def test_few_features_have_the_solution_of_one_machine(client, loss):
    X, y = random_problem(rows=150, features=6, seed=1)
    weight = np.linspace(0, 2, 150)
    dX, dy, dw = distribute(X, y, 40, weight)
    model = LinearSVC(loss, C=0.5).fit(dX, dy, sample_weight=dw)
    assert_solved(model, X, y, weight)
    assert model.solver_used_ == "newton by rounds"
    assert len(model.history_) == model.n_iter_


@pytest.mark.parametrize("loss", LOSS_NAMES)
def test_many_features_have_the_solution_of_one_machine(client, text, loss):
    X, y = text
    dX, dy, _ = distribute(X, y, 60)
    model = LinearSVC(loss).fit(dX, dy)
    assert_solved(model, X, y)
    assert model.solver_used_ == ("dcd by rounds" if loss == "hinge" else "newton by rounds")


def test_several_classes_share_rounds_and_may_be_missing_in_most_blocks(client):
    X, y = load_iris(return_X_y=True)
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    dX, dy, _ = distribute(X, names, 30)  # sorted by class: a block has one or two of three
    model = LinearSVC(class_weight="balanced").fit(dX, dy)
    alone = maxmargin.LinearSVC(class_weight="balanced", tol=1e-6).fit(X, names)
    assert model.classes_.tolist() == alone.classes_.tolist()
    np.testing.assert_allclose(model.primal_objective_, alone.primal_objective_, rtol=2e-3)
    assert np.all(model.duality_gap_ <= 1e-3)
    assert np.all(model.dual_objective_ <= alone.primal_objective_ * (1 + 1e-9))
    assert model.decision_function(dX).compute().shape == (150, 3)
    assert model.n_support_.shape == (3,)


def test_support_vectors_are_counted_by_class(client):
    X, y = random_problem(rows=100, features=5, seed=2)
    dX, dy, _ = distribute(X, y, 30)
    model = LinearSVC(tol=1e-9).fit(dX, dy)
    alone = maxmargin.LinearSVC(tol=1e-9).fit(X, y)
    assert model.n_support_.tolist() == alone.n_support_.tolist()


def test_predictions_are_lazy_on_blocks_and_the_same_as_on_arrays(client):
    X, y = random_problem(rows=90, features=5, seed=3)
    dX, dy, dw = distribute(X, y, 25, np.linspace(0, 1, 90))
    model = LinearSVC().fit(dX, dy)
    lazy = model.predict(dX), model.decision_function(dX)
    assert all(isinstance(each, da.Array) for each in lazy)
    assert np.array_equal(lazy[0].compute(), model.predict(X))
    assert np.array_equal(lazy[1].compute(), model.decision_function(X))
    assert model.score(dX, dy, dw) == pytest.approx(model.score(X, y, np.linspace(0, 1, 90)), rel=1e-12)
    halves = dX.rechunk((25, 2))  # columns in several blocks
    assert np.array_equal(model.predict(halves).compute(), model.predict(X))


def test_dataframes_and_lists_of_delayed_blocks_are_taken(client):
    X, y = random_problem(rows=80, features=4, seed=4)
    frame = pd.DataFrame(X, columns=list("abcd"))
    frame["label"] = np.where(y > 0, "yes", "no")
    table = dd.from_pandas(frame, npartitions=3)
    model = LinearSVC().fit(table[list("abcd")], table["label"])
    assert_solved(model, X, frame["label"].to_numpy())
    assert model.feature_names_in_.tolist() == list("abcd")
    found = model.predict(table[list("abcd")]).compute()
    assert found.tolist() == model.predict(frame[list("abcd")]).tolist()
    pieces = [dask.delayed(sp.csr_matrix(X[a : a + 30])) for a in range(0, 80, 30)]
    labels = [dask.delayed(y[a : a + 30]) for a in range(0, 80, 30)]
    listed = LinearSVC().fit(pieces, labels)
    assert_solved(listed, X, y)
    assert np.array_equal(np.concatenate(dask.compute(*listed.predict(pieces))), listed.predict(X))


def test_unknown_chunk_sizes_and_empty_blocks_are_taken(client):
    X, y = random_problem(rows=80, features=4, seed=5)
    dX, dy, _ = distribute(X, y, 20)
    kept = dX[:, 0] > np.sort(X[:40, 0])[20]  # Dask does not know how many
    none_of_second = (da.arange(80, chunks=20) < 20) | (da.arange(80, chunks=20) >= 40)
    chosen = (kept & none_of_second).compute()
    filtered = dX[kept & none_of_second], dy[kept & none_of_second]
    assert np.isnan(filtered[0].shape[0])
    assert_solved(LinearSVC().fit(*filtered), X[chosen], y[chosen])


def test_more_blocks_than_rows_are_no_obstacle(client):
    X, y = random_problem(rows=6, features=2, seed=6)
    pieces = [dask.delayed(X[k : k + 1]) for k in range(6)] + [dask.delayed(X[:0])] * 4
    labels = [dask.delayed(y[k : k + 1]) for k in range(6)] + [dask.delayed(y[:0])] * 4
    assert_solved(LinearSVC().fit(pieces, labels), X, y)
    assert_solved(LinearSVC("hinge", solver="dcd").fit(pieces, labels), X, y)


def test_the_model_is_an_ordinary_one(client, tmp_path):
    X, y = random_problem(rows=60, features=4, seed=8)
    dX, dy, _ = distribute(X, y, 20)
    model = LinearSVC(C=0.3).fit(dX, dy)
    assert clone(model).get_params() == model.get_params()
    save_model(model, tmp_path / "model.mm")
    again = load_model(tmp_path / "model.mm")
    assert type(again) is maxmargin.LinearSVC
    assert np.array_equal(again.decision_function(X), model.decision_function(X))
    assert again.duality_gap_ == model.duality_gap_


def test_limits_callbacks_and_lines_are_those_of_one_machine(client, capsys):
    X, y = random_problem(rows=90, features=5, seed=9)
    dX, dy, _ = distribute(X, y, 30)
    with pytest.warns(ConvergenceWarning, match=r"max_iter was reached.*raise max_iter \(now 2\)"):
        model = LinearSVC("hinge", C=100.0, max_iter=2, verbose=1).fit(dX, dy)
    assert model.n_iter_ == 2
    assert not model.converged_
    assert len(capsys.readouterr().out.splitlines()) == 2
    with pytest.warns(ConvergenceWarning, match="time_limit was reached"):
        model = LinearSVC("hinge", C=100.0, tol=1e-12, time_limit=1e-3).fit(dX, dy)
    assert model.primal_objective_ <= 100.0 * 90


def test_progress_reaches_scikit_learns_callbacks(client):
    from sklearn.callback import ProgressBar

    X, y = random_problem(rows=60, features=4, seed=10)
    dX, dy, _ = distribute(X, y, 20)
    assert LinearSVC().set_callbacks(ProgressBar()).fit(dX, dy).converged_


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        (
            {"multi_class": "crammer_singer"},
            "multi_class='crammer_singer' does not work on a cluster; leave it at 'ovr'",
        ),
        ({"penalize_intercept": False}, "penalize_intercept=False does not work on a cluster"),
        ({"warm_start": True}, "warm_start=True does not work on a cluster"),
        ({"n_jobs": 2}, "n_jobs=2 does not work on a cluster"),
        ({"solver": "pegasos"}, "choose from .'auto', 'newton', 'dcd'."),
        ({"solver": "dcd", "dual": False}, "contradicts dual=False"),
    ],
)
def test_what_a_cluster_cannot_honour_is_refused(client, parameters, message):
    X, y = random_problem(rows=20, features=3, seed=11)
    dX, dy, _ = distribute(X, y, 10)
    with pytest.raises(ValueError, match=message):
        LinearSVC(**parameters).fit(dX, dy)


def test_the_hinge_with_many_features_has_no_newton(client, text):
    dX, dy, _ = distribute(*text, 60)
    with pytest.raises(ValueError, match="up to 1024 features, and X has 1300; use solver='dcd' or a squared loss"):
        LinearSVC("hinge", solver="newton").fit(dX, dy)


def test_bad_blocks_are_named(client):
    X, y = random_problem(rows=40, features=3, seed=12)
    dX, dy, dw = distribute(X, y, 10, np.where(np.arange(40) == 35, -1.0, 1.0))
    holes = X.copy()
    holes[25, 1] = np.nan
    with pytest.raises(ValueError, match="block 2 of 4 of X holds NaN or infinity"):
        LinearSVC().fit(da.from_array(holes, chunks=(10, -1)), dy)
    with pytest.raises(ValueError, match="sample_weight of block 3 of 4 must be finite and not negative"):
        LinearSVC().fit(dX, dy, dw)
    pieces = [dask.delayed(X[:20]), dask.delayed(X[20:, :2])]
    labels = [dask.delayed(y[:20]), dask.delayed(y[20:])]
    with pytest.raises(ValueError, match="block 1 of X has 2 columns, but block 0 has 3"):
        LinearSVC().fit(pieces, labels)
    with pytest.raises(ValueError, match=r"y of block 1 of 2 has shape \(19,\), but X has 20 rows there"):
        LinearSVC().fit([dask.delayed(X[:20]), dask.delayed(X[20:])], [labels[0], dask.delayed(y[21:])])
    with pytest.raises(ValueError, match="y has 3 blocks, but X has 2; make them alike by rechunk or repartition"):
        LinearSVC().fit([dask.delayed(X[:20]), dask.delayed(X[20:])], [*labels, labels[0]])
    with pytest.raises(ValueError, match="y holds one class only, 1"):
        LinearSVC().fit(dX, da.ones(40, chunks=10, dtype=int))
    with pytest.raises(ValueError, match="X is empty: it has 0 rows"):
        LinearSVC().fit([dask.delayed(X[:0])], [dask.delayed(y[:0])])


def test_data_in_memory_are_refused_with_advice(client):
    X, y = random_problem(rows=40, features=3, seed=13)
    with pytest.raises(TypeError, match=r"not ndarray; maxmargin.LinearSVC and its like take arrays in memory"):
        LinearSVC().fit(X, y)
    with pytest.raises(TypeError, match=r"y must lie in the blocks of X.*from_array\(y, chunks=X.chunks\[0\]\)"):
        LinearSVC().fit(da.from_array(X, chunks=(10, -1)), y.tolist())


def test_labels_in_memory_are_cut_like_the_rows(client):
    X, y = random_problem(rows=40, features=3, seed=14)
    assert_solved(LinearSVC().fit(da.from_array(X, chunks=(15, -1)), y), X, y)


def test_workers_read_a_folder_of_blocks_for_themselves(client, tmp_path):
    X, y = random_problem(rows=90, features=4, seed=15)
    folder = tmp_path / "data.blocks"
    write_blocks([(X[a : a + 30], y[a : a + 30]) for a in range(0, 90, 30)], folder)
    blocks = open_blocks(folder)
    assert_solved(LinearSVC().fit(blocks), X, y)
    with pytest.raises(ValueError, match="y comes from the folder of blocks; leave it out"):
        LinearSVC().fit(blocks, y)
    with pytest.raises(ValueError, match="only the whole folder"):
        LinearSVC().fit(blocks[:20])
    with pytest.raises(ValueError, match="y is missing"):
        LinearSVC().fit(da.from_array(X, chunks=(30, -1)))
