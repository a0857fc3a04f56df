"""Two doors of the core that ``solve`` does not use: single sweeps, for shards, and targets, for regression."""

import numpy as np
import pytest

from maxmargin import BinaryProblem, Matrix, _core, solve
from maxmargin.problems.losses import LOSSES

from ..conftest import LOSS_NAMES, csr, random_problem
from ..truth import optimum

FOREVER = float("inf")


def rows_of(*rows):
    return np.array(rows, dtype=np.uint32)


def sweep(problem, alpha, weights, schedule, scale=1.0):
    return _core.dual_sweep(problem.start(), alpha, weights, np.asarray(schedule, dtype=np.uint32), scale)


def feasible(problem, rng):
    """Some dual variables within their bounds."""
    upper = np.minimum(problem.loss.upper(problem.C), 3.0 * (problem.C > 0))
    return upper * np.clip(rng.uniform(-0.3, 1.3, len(upper)), max(problem.loss.lower_per_C, -0.3), 1.0)


@pytest.mark.parametrize("store", [np.ascontiguousarray, csr], ids=["dense", "csr"])
@pytest.mark.parametrize("bias", [0.0, 1.0, 5.0])
@pytest.mark.parametrize("loss", LOSS_NAMES)
def test_a_sweep_gains_what_the_dual_grows_and_keeps_the_weights_in_step(loss, bias, store):
    rng = np.random.default_rng(1)
    X, y = random_problem(rows=40, features=5, seed=1)
    problem = BinaryProblem(store(X), y, np.linspace(0.2, 3, 40), loss=loss, bias=bias)
    alpha = np.zeros(40)
    for start in (alpha, feasible(problem, rng)):
        weights, alpha = problem.weights(start), start
        for schedule in (np.arange(40), rng.permutation(40), rng.integers(0, 40, 100), [7]):
            before = problem.dual(alpha)
            alpha, weights, gain, gap, work = sweep(problem, alpha, weights, schedule)
            assert gain == pytest.approx(problem.dual(alpha) - before, rel=1e-9, abs=1e-12 * abs(before))
            assert gain >= 0
            np.testing.assert_allclose(weights, problem.weights(alpha), rtol=1e-12, atol=1e-12)
            assert gap >= -1e-12
            assert work > 0


@pytest.mark.parametrize("loss", LOSS_NAMES)
def test_a_sweep_takes_the_best_step_for_each_row_in_turn(loss):
    """One step maximises the dual over one variable: no other value of it has a higher dual value."""
    X, y = random_problem(rows=12, features=3, seed=2)
    problem = BinaryProblem(X, y, 0.7, loss=loss, bias=1.0)
    alpha = feasible(problem, np.random.default_rng(2))
    for i in range(12):
        after, _, _, _, _ = sweep(problem, alpha, problem.weights(alpha), [i])
        assert np.array_equal(np.delete(after, i), np.delete(alpha, i))
        others = np.tile(after, (200, 1))
        low, high = max(problem.loss.lower_per_C, -5.0), min(0.7 * problem.loss.upper_per_C, 5.0)
        others[:, i] = np.linspace(low, high, 200)
        assert max(map(problem.dual, others)) <= problem.dual(after) + 1e-12


@pytest.mark.parametrize("loss", LOSS_NAMES)
def test_the_gap_of_a_sweep_is_the_sum_of_the_shares_its_rows_have_when_visited(loss):
    X, y = random_problem(rows=30, features=4, seed=3)
    problem = BinaryProblem(X, y, np.linspace(0.5, 2, 30), loss=loss, bias=1.0)
    start = feasible(problem, np.random.default_rng(3))
    schedule = np.random.default_rng(4).permutation(30)
    diagonal = problem.loss.diagonal_times_C / problem.C
    total, alpha = 0.0, start
    for i in schedule:
        z = (1 - problem.margins(problem.weights(alpha)))[i]
        paid = problem.loss.primal(np.array([z]), problem.C[i : i + 1])[0]
        total += paid + diagonal[i] * alpha[i] ** 2 / 2 - alpha[i] * z
        alpha = sweep(problem, alpha, problem.weights(alpha), [i])[0]
    together = sweep(problem, start, problem.weights(start), schedule)
    np.testing.assert_allclose(together[0], alpha, rtol=1e-9, atol=1e-12)
    assert together[3] == pytest.approx(total, rel=1e-9)


@pytest.mark.parametrize("loss", LOSS_NAMES)
def test_the_shares_of_all_rows_add_up_to_the_gap_of_the_certificate(loss):
    X, y = random_problem(rows=40, features=4, seed=4)
    problem = BinaryProblem(X, y, 0.5, loss=loss, bias=1.0)
    for alpha in (np.zeros(40), feasible(problem, np.random.default_rng(4)), solve(problem, tol=1e-6).alpha):
        weights = problem.weights(alpha)
        shares = [sweep(problem, alpha, weights, [i])[3] for i in range(40)]
        primal = problem.primal(weights)
        assert min(shares) >= -1e-12
        assert sum(shares) == pytest.approx(primal - problem.dual(alpha), rel=1e-9, abs=1e-12 * primal)


def rounds_of_shards(problem, parts, count):
    """Changes of shards added up, round after round, with steps scaled by their number: dual values, gains, alpha."""
    alpha = np.zeros(len(problem.y))
    duals, gains = [0.0], []
    for _ in range(count):
        weights = problem.weights(alpha)
        found = [sweep(problem, alpha, weights, part, scale=len(parts)) for part in parts]
        alpha = alpha + sum(shard[0] - alpha for shard in found)
        duals.append(problem.dual(alpha))
        gains.append(sum(shard[2] for shard in found))
    return np.array(duals), np.array(gains)


@pytest.mark.parametrize("shards", [2, 4])
@pytest.mark.parametrize("loss", LOSS_NAMES)
def test_changes_of_shards_add_up_when_steps_are_scaled_by_their_number(loss, shards):
    """CoCoA+ with sigma' = K: every round raises the dual, and rounds lead to the optimum of all rows."""
    X, y = random_problem(rows=40, features=4, seed=5)
    problem = BinaryProblem(csr(X), y, 0.3, loss=loss, bias=1.0)
    parts = np.array_split(np.random.default_rng(5).permutation(40), shards)
    duals, _ = rounds_of_shards(problem, parts, 400)
    assert np.all(np.diff(duals) >= -1e-12)
    assert duals[-1] == pytest.approx(optimum(X, y, 0.3, loss, 1.0), rel=1e-6)


@pytest.mark.parametrize("shards", [2, 3, 8])
@pytest.mark.parametrize("loss", LOSS_NAMES)
def test_scaled_changes_of_shards_full_of_the_same_row_raise_the_dual(loss, shards):
    """The worst case of CoCoA+, for which sigma' = K is still safe: all shards want the same."""
    problem = BinaryProblem(np.ones((20 * shards, 1)), np.ones(20 * shards, dtype=int), 100.0, loss=loss)
    parts = np.array_split(np.arange(20 * shards), shards)
    duals, _ = rounds_of_shards(problem, parts, 30)
    assert np.all(np.diff(duals) >= -1e-9), duals
    assert duals[-1] == pytest.approx(solve(problem, tol=1e-9).certificate.primal, rel=0.01)


@pytest.mark.parametrize("shards", [2, 4])
@pytest.mark.parametrize("loss", LOSS_NAMES)
def test_the_gains_of_scaled_shards_are_a_lower_bound_of_what_they_gain_together(loss, shards):
    X, y = random_problem(rows=40, features=4, seed=6)
    problem = BinaryProblem(X, y, 0.3, loss=loss, bias=1.0)
    duals, gains = rounds_of_shards(problem, np.array_split(np.arange(40), shards), 20)
    assert np.all(np.diff(duals) >= gains - 1e-12), (np.diff(duals), gains)


@pytest.mark.parametrize("scale", [1.0, 2.0, 7.0])
@pytest.mark.parametrize("loss", LOSS_NAMES)
def test_the_weights_of_a_scaled_sweep_are_those_of_its_variables(loss, scale):
    """What a shard sends is the change of its weights, which adds up with that of others."""
    X, y = random_problem(rows=20, features=4, seed=12)
    problem = BinaryProblem(X, y, 0.3, loss=loss, bias=1.0)
    start = feasible(problem, np.random.default_rng(12))
    alpha, weights, _, _, _ = sweep(problem, start, problem.weights(start), np.arange(20), scale)
    np.testing.assert_allclose(weights, problem.weights(alpha), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("loss", LOSS_NAMES)
def test_unscaled_changes_of_shards_with_the_same_rows_overshoot(loss):
    X, y = np.ones((3, 1)), np.array([1, 1, 1])
    problem = BinaryProblem(X, y, 100.0, loss=loss)
    one_by_one = [sweep(problem, np.zeros(3), np.zeros(2), [i], scale=1.0)[0] for i in range(3)]
    assert problem.dual(sum(one_by_one)) < 0
    scaled = [sweep(problem, np.zeros(3), np.zeros(2), [i], scale=3.0)[0] for i in range(3)]
    assert problem.dual(sum(scaled)) == pytest.approx(optimum(X, y, 100.0, loss), rel=0.01)


def test_a_sweep_clips_variables_into_their_bounds_first():
    X, y = random_problem(rows=6, features=2, seed=6)
    problem = BinaryProblem(X, y, 0.5, loss="hinge")
    after, _, _, _, _ = sweep(problem, np.full(6, 9.0), np.zeros(3), np.zeros(0))
    assert np.array_equal(after, np.full(6, 0.5))


def test_a_sweep_refuses_rows_that_take_no_part_and_arrays_that_do_not_fit():
    X, y = random_problem(rows=6, features=2, seed=7)
    state = BinaryProblem(X, y, np.array([1.0, 0, 1, 1, 1, 1]), loss="hinge", bias=1.0).start()
    good = (np.zeros(6), np.zeros(3), rows_of(0, 2))
    _core.dual_sweep(state, *good, 1.0)
    for alpha, weights, schedule in (
        (good[0], good[1], rows_of(0, 1)),
        (good[0], good[1], rows_of(0, 6)),
        (good[0], good[1], rows_of(2**32 - 1)),
        (np.zeros(5), good[1], good[2]),
        (np.zeros(7), good[1], good[2]),
        (np.zeros(7), good[1], rows_of(6)),
        (np.zeros(0), good[1], rows_of()),
        (good[0], np.zeros(2), good[2]),
        (good[0], np.zeros(4), good[2]),
    ):
        with pytest.raises(ValueError, match="the schedule hold rows of positive weight"):
            _core.dual_sweep(state, alpha, weights, schedule, 1.0)
    with pytest.raises(TypeError):
        _core.dual_sweep(state, good[0], good[1], np.zeros((2, 2), dtype=np.uint32), 1.0)


def test_a_sweep_refuses_a_bias_outside_the_regulariser():
    X, y = random_problem(rows=6, features=2, seed=8)
    state = BinaryProblem(X, y, 1.0, loss="hinge", bias=1.0, penalize_bias=False).start()
    with pytest.raises(ValueError, match="knows no bias outside the regulariser"):
        _core.dual_sweep(state, np.zeros(6), np.zeros(3), rows_of(0), 1.0)


# Targets: with them the loss of least squares is ridge regression.

ORDERS = [_core.Order.CYCLIC, _core.Order.PERMUTED, _core.Order.SHUFFLED, _core.Order.UNIFORM, _core.Order.ADAPTIVE]
METHODS = {
    **{
        f"{order}{' in the plane' * plane}{' packed' * pack}": (
            lambda state, limits, run, order=order, plane=plane, pack=pack: _core.dual_coordinate_descent(
                state, _core.DescentOptions(order, True, True, True, True, plane, pack, 0, 0.0), limits, run
            )
        )
        for order in ORDERS
        for plane in (False, True)
        for pack in (False, True)
    },
    "newton": _core.newton,
    "pcd": lambda state, limits, run: _core.primal_coordinate_descent(state, False, limits, run),
    "pcd in the plane": lambda state, limits, run: _core.primal_coordinate_descent(state, True, limits, run),
}


def ridge(X, t, C, bias, free):
    """The optimum of 1/2 |w|^2 + sum_i C_i (t_i - w.x_i)^2, by its normal equations."""
    A = np.hstack([np.asarray(X.toarray() if hasattr(X, "toarray") else X), np.full((len(t), 1), bias)])
    identity = np.eye(A.shape[1])
    if free or bias == 0:
        identity[-1, -1] = 0.0 if free else 1.0
    w = np.linalg.solve(identity + 2 * (A.T * C) @ A, 2 * A.T @ (C * t))
    return w, 0.5 * w @ identity @ w + C @ (t - A @ w) ** 2


def run():
    return _core.Run(FOREVER, None, _core.StopFlag(), 0.0, 0.0, False)


def limits(tol):
    return _core.Limits(tol, 10**6, 0, FOREVER, FOREVER, FOREVER)


def regress(matrix, t, C, bias, free, method, tol=1e-10):
    signs = np.ones(len(t), dtype=np.int8)
    loss = _core.Loss(-np.inf, np.inf, 0.5)
    state = _core.BinaryState(matrix.rows, signs, t, C, loss, bias, free)
    return state, METHODS[method](state, limits(tol), run())


@pytest.mark.parametrize(("bias", "free"), [(0.0, False), (1.0, False), (3.0, False), (1.0, True)])
@pytest.mark.parametrize("method", list(METHODS))
def test_least_squares_with_targets_is_ridge_regression(method, bias, free):
    rng = np.random.default_rng(9)
    X = rng.normal(size=(50, 4))
    t = X @ [1.0, -2.0, 0.5, 0.0] + 0.7 + 0.1 * rng.normal(size=50)
    for store in (np.ascontiguousarray, csr):
        matrix = Matrix(store(X))
        for size in (1.0, 1e5, 1e-5):
            for C in (np.full(50, 0.05), np.where(np.arange(50) % 4 == 0, 0.0, np.linspace(0.1, 2, 50))):
                w, value = ridge(X, size * t, C, bias, free)
                state, exit_ = regress(matrix, size * t, C, bias, free, method)
                assert exit_ is _core.Exit.CONVERGED
                assert state.primal == pytest.approx(value, rel=2e-10)
                assert state.dual == pytest.approx(value, rel=2e-10)
                distance = np.linalg.norm(state.weights()[: None if bias else -1] - w[: None if bias else -1])
                assert distance <= 1e-4 * max(np.linalg.norm(w), size)


@pytest.mark.parametrize("method", ["newton", "pcd in the plane", str(_core.Order.PERMUTED)])
def test_regression_on_targets_equals_scikit_learn(method):
    from sklearn.datasets import load_diabetes
    from sklearn.linear_model import Ridge

    X, t = load_diabetes(return_X_y=True)
    X = np.ascontiguousarray(10 * X)
    state, exit_ = regress(Matrix(X), t, np.full(len(t), 0.5), 1.0, True, method)
    assert exit_ is _core.Exit.CONVERGED
    theirs = Ridge(alpha=1.0).fit(X, t)
    np.testing.assert_allclose(state.weights(), np.append(theirs.coef_, theirs.intercept_), rtol=1e-4, atol=1e-2)


def test_targets_of_one_are_classification():
    X, y = random_problem(rows=40, features=4, seed=10)
    for loss in LOSS_NAMES:
        problem = BinaryProblem(X, y, 0.5, loss=loss, bias=1.0)
        plain = problem.start()
        state = _core.BinaryState(problem.matrix.rows, problem.y, np.ones(40), problem.C, LOSSES[loss].core, 1.0, False)
        for one in (plain, state):
            _core.newton(one, limits(1e-9), run())
        assert np.array_equal(plain.weights(), state.weights())
        assert plain.primal == state.primal


@pytest.mark.parametrize(("loss", "power"), [("hinge", 1), ("squared_hinge", 2), ("least_squares", 2)])
def test_twice_the_target_of_rows_twice_as_long_is_the_same_problem_with_a_larger_loss(loss, power):
    """t - y w.(t x) is t times the slack of the row itself, and the loss is homogeneous."""
    X, y = random_problem(rows=30, features=3, seed=11)
    problem = BinaryProblem(X, y, 0.5, loss=loss)
    long = Matrix(2 * X)
    state = _core.BinaryState(long.rows, problem.y, np.full(30, 2.0), problem.C, problem.loss.core, 0.0, False)
    METHODS["newton"](state, limits(1e-10), run())
    assert state.primal == pytest.approx(optimum(X, y, 0.5 * 2**power, loss), rel=1e-8)


def test_targets_that_do_not_fit_are_refused():
    X, y = random_problem(rows=6, features=2, seed=12)
    problem = BinaryProblem(X, y, 1.0)
    for signs, targets, C in (
        (problem.y, np.ones(5), problem.C),
        (problem.y, np.ones(7), problem.C),
        (problem.y[:5], np.ones(6), problem.C),
        (problem.y, np.ones(6), problem.C[:5]),
    ):
        with pytest.raises(ValueError, match="must have one entry per row"):
            _core.BinaryState(problem.matrix.rows, signs, targets, C, problem.loss.core, 0.0, False)
