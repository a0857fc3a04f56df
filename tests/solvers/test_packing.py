"""A packed copy of the rows is the same problem: same optimum, same certificate, whatever the columns are like."""

import numpy as np
import pytest
import scipy.sparse as sp

from maxmargin import BinaryProblem, DualCoordinateDescent, LinearSVC, Matrix, solve
from maxmargin.solvers import dual_coordinate_descent, packing
from tests.conftest import LOSS_NAMES, assert_certified, csr

ORDERS = ["permuted", "cyclic", "adaptive", "uniform"]


@pytest.fixture
def always_packed(monkeypatch):
    """Makes a packed copy whatever the size."""
    monkeypatch.setattr(dual_coordinate_descent, "packing_pays", lambda problem, shared: problem.matrix.is_sparse)


def text_like(seed, rows=60, common=30, rare=80):
    """Rows with common columns, columns of one row, columns twice, empty columns, empty rows and equal rows."""
    rng = np.random.default_rng(seed)
    X = np.zeros((rows, common + rare))
    X[:, :common] = rng.normal(size=(rows, common)) * (rng.random((rows, common)) < 0.3)
    for column in range(common, common + rare - 10):  # one row each; several rows have many of them
        X[rng.integers(rows // 3), column] = rng.normal()
    X[:, 5] = X[:, 4]
    X[7] = 0.0
    X[9] = X[8]
    y = np.where(X[:, :common].sum(axis=1) + rng.normal(size=rows) > 0, 1, -1)
    y[:2] = [1, -1]
    return X, y


@pytest.mark.usefixtures("always_packed")
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("bias", "penalize"), [(0.0, True), (1.0, True), (5.0, True), (1.0, False)])
@pytest.mark.parametrize("loss", LOSS_NAMES)
@pytest.mark.parametrize("order", ORDERS)
def test_the_optimum_is_the_same_with_a_packed_copy(order, loss, bias, penalize, seed):
    X, y = text_like(seed)
    C = np.random.default_rng(seed).choice([0.0, 0.1, 1.0, 10.0], size=len(y))
    C[:2] = 1.0
    problem = BinaryProblem(csr(X), y, C, loss=loss, bias=bias, penalize_bias=penalize)
    method = DualCoordinateDescent(order=order)
    tol = 1e-4 if order == "uniform" else 1e-9
    packed, plain = (solve(problem, method, tol=tol, max_iter=200_000, pack=pack) for pack in (True, False))
    assert packed.converged
    assert plain.converged
    assert_certified(problem, packed)
    assert packed.certificate.primal == pytest.approx(plain.certificate.primal, rel=2 * tol)
    assert packed.certificate.dual <= plain.certificate.primal * (1 + 1e-12)


@pytest.mark.usefixtures("always_packed")
@pytest.mark.parametrize("index_type", [np.int32, np.int64])
@pytest.mark.parametrize("value_type", [np.float32, np.float64])
def test_all_storage_types_are_packed(value_type, index_type):
    X, y = text_like(5)
    X = csr(X.astype(value_type), index_type, index_type)
    for tol in (1e-3, 1e-9):  # values may be rounded for the first only
        problem = BinaryProblem(X, y, 10.0, loss="hinge", bias=1.0)
        solution = solve(problem, "dcd", tol=tol)
        assert solution.converged
        assert_certified(problem, solution)


@pytest.mark.usefixtures("always_packed")
def test_rows_that_repeat_an_index_are_packed_as_their_sum():
    X, y = text_like(6)
    twice = sp.csr_array(X)
    rows = [np.repeat(row, 2) for row in np.split(twice.indices, twice.indptr[1:-1])]
    values = [np.repeat(row / 2, 2) for row in np.split(twice.data, twice.indptr[1:-1])]
    split = sp.csr_array((np.concatenate(values), np.concatenate(rows), 2 * twice.indptr), shape=twice.shape)
    found = [solve(BinaryProblem(M, y, 1.0), "dcd", tol=1e-9).certificate.primal for M in (csr(X), split)]
    assert found[0] == pytest.approx(found[1], rel=1e-8)


@pytest.mark.usefixtures("always_packed")
@pytest.mark.parametrize("scale", [1e-24, 1e-20, 1e20, 1e24])
def test_values_out_of_the_range_of_floats_are_not_rounded(scale):
    X, y = text_like(7)
    problem = BinaryProblem(csr(scale * X), y, scale**-2, loss="squared_hinge")
    truth = solve(BinaryProblem(X, y, 1.0, loss="squared_hinge"), "newton", tol=1e-9)
    solution = solve(problem, "dcd", tol=1e-3)
    assert solution.converged
    assert scale**2 * solution.certificate.primal == pytest.approx(truth.certificate.primal, rel=2e-3)


@pytest.mark.usefixtures("always_packed")
def test_callbacks_get_weights_of_the_users_columns():
    X, y = text_like(8)
    problem = BinaryProblem(csr(X), y, 10.0)
    seen = []
    solve(problem, "dcd", tol=1e-6, callback=lambda report, weights: seen.append((report.primal, weights)) and None)
    for primal, weights in seen:
        assert problem.primal(weights) == pytest.approx(primal, rel=1e-6)


@pytest.mark.usefixtures("always_packed")
def test_classes_share_one_copy_and_threads_change_nothing():
    X, y = text_like(9)
    classes = (np.arange(len(y)) + (y > 0)) % 4
    models = [LinearSVC("hinge", solver="dcd", n_jobs=jobs).fit(csr(X), classes) for jobs in (1, 2)]
    assert np.array_equal(models[0].coef_, models[1].coef_)
    assert models[0].converged_


def test_a_copy_is_made_where_it_pays_only(monkeypatch):
    rng = np.random.default_rng(0)
    X = sp.random(2000, 5000, density=0.12, format="csr", random_state=0)  # 1.2 million values, rows of norm 14
    y = rng.choice([-1, 1], size=2000)
    pays = packing.packing_pays
    assert pays(BinaryProblem(X, y, 1.0))
    assert not pays(BinaryProblem(X, y, 1e-4))  # a few epochs will do
    assert not pays(BinaryProblem(X, y, 2e-3))
    assert pays(BinaryProblem(X, y, 2e-3), shared=True)  # several threads gain more
    assert not pays(BinaryProblem(X[:500], y[:500], 1.0))  # too small
    assert not pays(BinaryProblem(X[:, :1000].tocsr(), y, 1.0))  # few features
    assert not pays(BinaryProblem(X[:200].toarray(), y[:200], 1.0))  # dense
    shared = Matrix(X[:500])
    shared.problems = 10
    assert pays(BinaryProblem(shared, y[:500], 1.0))
    monkeypatch.setattr(packing, "free_memory", lambda: 1e6)
    assert not pays(BinaryProblem(X, y, 1.0))


def test_a_copy_can_be_forbidden(monkeypatch):
    def refuse(*_):
        raise AssertionError("not to be asked")

    monkeypatch.setattr(dual_coordinate_descent, "packing_pays", refuse)
    X, y = text_like(10)
    assert solve(BinaryProblem(csr(X), y), "dcd", pack=False).converged
    assert LinearSVC(solver="dcd", pack=False).fit(csr(X), y).converged_
