"""Parts of the streamed methods by themselves: the master problem, kept rows, the anchored bias of a sweep."""

import numpy as np
import pytest
from scipy.optimize import LinearConstraint, minimize

from maxmargin import LOSSES, BinaryProblem, Matrix, _core
from maxmargin.problems.csr import Csr
from maxmargin.solvers.streamed.kept_rows import KeptRows, join_rows, take_rows
from maxmargin.solvers.streamed.master import Master
from maxmargin.solvers.streamed.plane import Plane
from maxmargin.solvers.streamed.stream import Piece

from ..conftest import csr, random_problem


@pytest.mark.parametrize("C", [0.1, 1.0, 100.0])
@pytest.mark.parametrize("seed", range(3))
def test_the_master_problem_is_that_of_a_general_solver(seed, C):
    rng = np.random.default_rng(seed)
    G, b = rng.normal(size=(6, 4)), rng.normal(size=6)
    master = Master(4, C)
    for offset, slope in zip(b, G, strict=True):
        master.add(offset, slope)
    w = master.solve(1e-10)
    found = minimize(
        lambda m: 0.5 * (m @ G) @ (m @ G) - b @ m,
        np.full(6, C / 12),
        jac=lambda m: G @ (m @ G) - b,
        bounds=[(0, C)] * 6,
        constraints=LinearConstraint(np.ones((1, 6)), -np.inf, C),
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 500},
    )
    assert master.dual == pytest.approx(-found.fun, rel=1e-6, abs=1e-9)
    primal = 0.5 * w @ w + C * max(0.0, np.max(b - G @ w))
    assert primal == pytest.approx(master.dual, rel=1e-6, abs=1e-8)
    assert np.all(master.multipliers >= 0)
    assert master.multipliers.sum() <= C * (1 + 1e-12)


def test_the_dual_value_of_the_master_problem_never_falls():
    rng = np.random.default_rng(5)
    master, duals = Master(3, 10.0), [0.0]
    for _ in range(30):
        master.add(rng.uniform(0, 1), rng.normal(size=3))
        master.solve(1e-2)
        duals.append(master.dual)
    assert duals == sorted(duals)


@pytest.mark.parametrize("store", [csr, np.ascontiguousarray], ids=["csr", "dense"])
def test_kept_rows_are_those_that_move_up_to_the_budget(store):
    X, _ = random_problem(rows=60, features=5, seed=0)
    for budget in (0, 2000, 10**6):
        kept = KeptRows(budget, 60)
        moving = np.arange(60) % 2 == 0
        for begin in (0, 20, 40):
            rows = slice(begin, begin + 20)
            piece = Piece(
                Matrix(store(X[rows])), begin, np.arange(rows.start, rows.stop) + 1.0, None, X[rows, 0].copy()
            )
            kept.offer(piece, moving[rows])
        assert kept.used <= budget
        piece = kept.piece()
        if budget == 0:
            assert piece is None
            continue
        assert set(piece.numbers.tolist()) <= set(np.flatnonzero(moving).tolist())
        assert budget < 10**6 or len(piece.numbers) == 30
        found = piece.matrix.X.to_scipy().toarray() if store is csr else piece.matrix.X
        assert np.array_equal(found, X[piece.numbers])
        assert np.array_equal(piece.C, piece.numbers + 1.0)
        assert np.array_equal(piece.targets, X[piece.numbers, 0])
        assert kept.piece() is None


def test_rows_are_taken_and_joined_as_by_numpy():
    X, _ = random_problem(rows=20, features=4, seed=1)
    X[3] = 0.0
    sparse = csr(X)
    rows = np.array([3, 0, 19, 3])
    taken = take_rows(sparse, rows)
    assert np.array_equal(taken.to_scipy().toarray(), X[rows])
    parts = [taken, take_rows(sparse, np.zeros(0, dtype=int)), Csr(sparse.data, sparse.indices, sparse.indptr, (20, 4))]
    assert np.array_equal(join_rows(parts).to_scipy().toarray(), np.vstack([X[rows], X]))


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "least_squares"])
def test_a_sweep_with_an_anchored_bias_gains_what_the_anchored_dual_grows(loss):
    """The bias weight is s / B times the sum of signed variables, plus a constant: a row of squared length s."""
    X, y = random_problem(rows=30, features=4, seed=2)
    B, s = 2.0, 0.3
    problem = BinaryProblem(X, y, 0.7, loss=loss, bias=B)
    same = BinaryProblem(np.hstack([X, np.full((30, 1), np.sqrt(s))]), y, 0.7, loss=loss)
    schedule = np.random.default_rng(0).permutation(30).astype(np.uint32)
    alpha, w, gain, _, _ = _core.dual_sweep(problem.start(), np.zeros(30), np.zeros(5), schedule, 1.0, s)
    other, v, gain_there, _, _ = _core.dual_sweep(same.start(), np.zeros(30), np.zeros(6), schedule, 1.0)
    np.testing.assert_allclose(alpha, other, rtol=1e-9)
    np.testing.assert_allclose(w[:4], v[:4], rtol=1e-9)
    assert B * w[4] == pytest.approx(np.sqrt(s) * v[4], rel=1e-9)
    assert gain == pytest.approx(gain_there, rel=1e-9)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "least_squares"])
def test_local_sweeps_take_variables_back_within_their_bounds_and_keep_their_weights(loss):
    X, y = random_problem(rows=200, features=6, seed=4)
    C = np.random.default_rng(0).integers(0, 3, 200) * 0.5
    problem = BinaryProblem(X, y, C, loss=loss, bias=1.0)
    signs = np.where(y > 0, 1.0, -1.0)
    wide = np.hstack([X, np.ones((200, 1))])
    alpha = np.random.default_rng(1).normal(size=200) * (C > 0)
    w = wide.T @ (signs * alpha)
    start, moving = problem.loss.dual_terms(alpha, C, 1.0).sum() - 0.5 * w @ w, np.zeros(200, dtype=bool)
    before = alpha.copy()
    gain, _, steps = _core.local_sweeps(problem.start(), alpha, w, moving, 2, 0.0, 7)
    assert np.all(alpha >= problem.loss.lower(C))
    assert np.all(alpha <= problem.loss.upper(C))
    assert steps >= np.count_nonzero(alpha != before)
    np.testing.assert_allclose(w, wide.T @ (signs * alpha), atol=1e-10)
    end = problem.loss.dual_terms(alpha, C, 1.0).sum() - 0.5 * w @ w
    assert gain == pytest.approx(end - start, rel=1e-9)
    assert not np.any(moving[C == 0])


def test_local_sweeps_refuse_arrays_that_do_not_fit():
    X, y = random_problem(rows=20, features=3, seed=4)
    state = BinaryProblem(X, y, 1.0).start()
    for sizes in ((19, 4, 20), (20, 3, 20), (20, 4, 21)):
        alpha, w, moving = np.zeros(sizes[0]), np.zeros(sizes[1]), np.zeros(sizes[2], dtype=bool)
        with pytest.raises(ValueError, match="must fit X"):
            _core.local_sweeps(state, alpha, w, moving, 0, 0.0, 0)
    read_only = np.zeros(20)
    read_only.flags.writeable = False
    with pytest.raises(TypeError):
        _core.local_sweeps(state, read_only, np.zeros(4), np.zeros(20, dtype=bool), 0, 0.0, 0)


@pytest.mark.parametrize("loss", ["squared_hinge", "least_squares"])
def test_a_step_in_the_plane_is_the_maximum_over_it(loss):
    """Compared with a general minimiser over the two lengths."""
    X, y = random_problem(rows=50, features=4, seed=6)
    signs, C, bias = np.where(y > 0, 1.0, -1.0), np.full(50, 0.7), 2.0
    C[3] = 0.0
    wide = signs[:, np.newaxis] * np.hstack([X, np.full((50, 1), bias)])
    term = LOSSES[loss]
    used = C > 0

    def dual(alpha):
        w = wide.T @ alpha
        return float((alpha - 0.5 * term.diagonal_times_C * alpha**2 / 0.7)[used].sum() - 0.5 * w @ w)

    rng = np.random.default_rng(1)
    base, s = rng.uniform(size=50) * used, rng.normal(size=50) * used
    plane = Plane(base, wide.T @ base)
    for _ in range(2):  # a line first, then a plane
        end = base + s
        weights = wide.T @ end
        for rows in (slice(0, 20), slice(20, 50)):
            plane.add(rows, end[rows], signs[rows], 1.0, C[rows], term)
        before = plane.before if len(plane.before) else np.zeros(50)
        moved = plane.step(end, weights, bias**2, bias)
        np.testing.assert_allclose(weights, wide.T @ moved, atol=1e-10)
        found = minimize(lambda t, a=base, s=s, p=before: -dual(a + t[0] * s + t[1] * p), [0.5, 0.5], tol=1e-12)
        assert dual(moved) == pytest.approx(-found.fun, rel=1e-8)
        base, s = moved, rng.normal(size=50) * used
        plane.begin(base, weights)
