"""Methods by rounds over blocks in this process: the bounds are true, and those of the problem over all rows."""

from itertools import pairwise

import numpy as np
import pytest

from maxmargin import BinaryProblem, RegressionProblem, solve
from maxmargin.problems.regression import regression_loss
from maxmargin.solvers.block import Block, Learning
from maxmargin.solvers.deadline import Deadline
from maxmargin.solvers.descent_by_rounds import best_in_space, column_scales, descend_by_rounds
from maxmargin.solvers.newton_by_rounds import newton_by_rounds
from maxmargin.solvers.round_watch import Watch
from maxmargin.solvers.rounds import LocalBlocks, Request, run_methods

from ..conftest import LOSS_NAMES, csr, random_problem

REGRESSIONS = [("epsilon_insensitive", 0.2), ("squared_epsilon_insensitive", 0.2), ("least_squares", 0.0)]
METHODS = ["newton", "dcd"]


def split(X, y, cuts, weight=None):
    edges = [0, *cuts, len(y)]
    return [
        Block(X[a:b], y[a:b], None if weight is None else weight[a:b], number=k)
        for k, (a, b) in enumerate(pairwise(edges))
    ]


def fit(blocks, learning, problem, method="newton", tol=1e-4, scaled=False, **limits):
    """What a method by rounds finds, and how it went."""
    features = problem.shape[1]
    primal = problem.primal(np.zeros(features + 1))
    options = {"max_iter": 500, "deadline": Deadline(None), **limits}
    watch = Watch(method, features, primal, tol=tol, **options)
    scales = None
    if scaled:
        dense = [block.X.toarray() if hasattr(block.X, "toarray") else block.X for block in blocks]
        present = sum((np.abs(X).sum(axis=0) > 0).astype(float) for X in dense)
        squares = sum((X.astype(float) ** 2).sum(axis=0) for X in dense)
        scales = column_scales(present, squares, learning.C, learning.bias, problem.shape[0], len(blocks))
    local = LocalBlocks([block.bind(learning, scales) for block in blocks])
    if method == "newton":
        running = newton_by_rounds(learning, features, watch, width=2 * primal / problem.C.sum())
    else:
        running = descend_by_rounds(learning, features, len(blocks), watch)
    return run_methods([running], local)[0]


def assert_true(found, problem, tol=1e-4):
    """The primal value is that of the weights, by numpy, and the optimum lies between the bounds."""
    optimum = solve(problem, tol=1e-9).certificate
    assert found.certificate.primal == pytest.approx(problem.primal(found.watch.weights), rel=1e-12)
    assert found.certificate.dual <= optimum.primal * (1 + 1e-12)
    assert found.certificate.primal >= optimum.dual * (1 - 1e-12)
    assert found.certificate.gap <= tol
    assert found.watch.exit == "converged"


@pytest.mark.parametrize("store", [np.ascontiguousarray, csr], ids=["dense", "csr"])
@pytest.mark.parametrize("bias", [0.0, 2.0])
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("loss", LOSS_NAMES)
def test_bounds_of_blocks_are_those_of_all_rows(loss, method, bias, store):
    X, y = random_problem(rows=90, features=7, seed=1)
    weight = np.linspace(0.0, 3.0, 90)
    learning = Learning.of_classes(np.array([-1, 1]), C=0.7, loss=loss, bias=bias)
    problem = BinaryProblem(X, y, 0.7 * weight, loss=loss, bias=bias)
    found = fit(split(store(X), y, [10, 10, 50], weight), learning, problem, method, scaled=method == "dcd")
    assert_true(found, problem)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(("loss", "epsilon"), REGRESSIONS)
def test_regression_by_rounds_has_true_bounds(loss, epsilon, method):
    rng = np.random.default_rng(2)
    X = rng.normal(size=(80, 5))
    y = 30.0 * (X @ rng.normal(size=5)) + rng.normal(size=80)
    learning = Learning.of_numbers(C=0.3, loss=regression_loss(loss, epsilon), bias=1.0)
    problem = RegressionProblem(X, y, 0.3, loss=loss, epsilon=epsilon, bias=1.0)
    assert_true(fit(split(X, y, [20, 60]), learning, problem, method, tol=1e-3), problem, tol=1e-3)


@pytest.mark.parametrize("loss", ["squared_hinge", "least_squares"])
def test_many_features_are_solved_by_products_with_the_hessian(loss):
    X, y = random_problem(rows=200, features=1500, seed=3, density=0.02)
    learning = Learning.of_classes(np.array([-1, 1]), C=1.0, loss=loss, bias=1.0)
    problem = BinaryProblem(csr(X), y, 1.0, loss=loss, bias=1.0)
    found = fit(split(csr(X), y, [50, 120]), learning, problem, tol=1e-6)
    assert_true(found, problem, tol=1e-6)
    dense = fit(split(X, y, [50, 120]), learning, problem, tol=1e-6)
    assert dense.certificate.primal == pytest.approx(found.certificate.primal, rel=1e-6)


@pytest.mark.parametrize("scaled", [False, True])
@pytest.mark.parametrize("loss", LOSS_NAMES)
def test_duplicate_rows_zero_rows_and_blocks_of_one_class_are_no_obstacle(loss, scaled):
    """The worst case for shards: every block has the same rows and wants the same."""
    X = np.vstack([np.tile([[1.0, 0.0], [0.0, 0.0], [1.0, 1e-3]], (10, 1)), np.tile([[-1.0, 0.2]], (10, 1))])
    y = np.array([1] * 30 + [-1] * 10)
    learning = Learning.of_classes(np.array([-1, 1]), C=10.0, loss=loss, bias=1.0)
    problem = BinaryProblem(X, y, 10.0, loss=loss, bias=1.0)
    for method in METHODS:
        found = fit(split(X, y, [8, 16, 24, 32]), learning, problem, method, tol=1e-3, scaled=scaled)
        assert_true(found, problem, tol=1e-3)


def test_scales_are_powers_of_two_and_change_no_bit_of_a_score():
    scales = column_scales(np.array([1.0, 8.0, 32.0]), np.array([100.0, 1e-6, 1e4]), 1.0, 1.0, 1000.0, 32)
    assert np.array_equal(scales, 2.0 ** np.rint(np.log2(scales)))
    assert scales.tolist() == [1.0, 1.0, 4.0, 4.0]
    X, y = random_problem(rows=20, features=3, seed=4)
    w = np.random.default_rng(4).normal(size=4)
    learning = Learning.of_classes(np.array([-1, 1]), C=1.0, loss="hinge", bias=1.0)
    for data in (X, csr(X), X.astype(np.float32)):
        plain, scaled = (Block(data, y).bind(learning, given).part(0) for given in (None, scales))
        assert np.array_equal(plain.weights(np.ones(20)), scaled.weights(np.ones(20)))
        assert np.array_equal(plain.scores(w), scaled.scores(w))


def test_sums_are_taken_along_a_tree_that_depends_on_the_number_of_blocks_alone():
    learning = Learning.of_classes(np.array([-1, 1]), C=1.0, loss="hinge", bias=0.0)
    numbers = np.random.default_rng(5).normal(size=20) * 10.0 ** np.arange(20)

    def tell(part, state, message):
        return state, {"sum": numbers[part.block.number], "numbers": [part.block.number]}

    blocks = [Block(np.eye(2), np.array([-1, 1]), number=k).bind(learning) for k in range(20)]
    told = LocalBlocks(blocks).ask({0: Request(tell, None)})[0]
    assert told["numbers"] == list(range(20))
    groups = [sum(numbers[k + 1 : k + 8], start=numbers[k]) for k in (0, 8)] + [sum(numbers[17:20], start=numbers[16])]
    assert told["sum"] == groups[0] + groups[1] + groups[2]


@pytest.mark.parametrize("method", METHODS)
def test_a_fit_cut_short_keeps_true_bounds_and_says_why(method):
    X, y = random_problem(rows=90, features=7, seed=6)
    learning = Learning.of_classes(np.array([-1, 1]), C=10.0, loss="hinge", bias=1.0)
    problem = BinaryProblem(X, y, 10.0, loss="hinge", bias=1.0)
    for limits, exit_ in [
        ({"max_iter": 3}, "max_iter"),
        ({"deadline": Deadline(1e-9)}, "time_limit"),
        ({"callback": lambda report, weights: report.epoch == 2}, "stopped"),
        ({"stopped": lambda: True}, "stopped"),
    ]:
        found = fit(split(X, y, [30, 60]), learning, problem, method, tol=1e-9, **limits)
        assert found.watch.exit == exit_
        assert found.certificate.primal == pytest.approx(problem.primal(found.watch.weights), rel=1e-12)
        assert found.certificate.primal <= problem.primal(np.zeros(8))
        assert 0 <= found.certificate.dual <= solve(problem, tol=1e-9).certificate.primal


@pytest.mark.parametrize("store", [np.ascontiguousarray, csr], ids=["dense", "csr"])
def test_rows_out_of_a_message_give_the_same_bits_wherever_their_bytes_begin(store):
    def moved(array):
        raw = np.zeros(array.nbytes + 8, dtype=np.uint8)
        copy = np.frombuffer(raw, dtype=array.dtype, count=array.size, offset=1).reshape(array.shape)
        copy[...] = array
        assert not copy.flags.aligned
        return copy

    X, y = random_problem(rows=33, features=7, seed=8)
    learning = Learning.of_classes(np.array([-1, 1]), C=1.0, loss="squared_hinge", bias=1.0)
    block, other = (Block(store(X), y).bind(learning) for _ in range(2))
    state = other.__getstate__()
    if isinstance(state["X"], np.ndarray):
        state["X"] = moved(state["X"])
    else:
        state["X"].data = moved(state["X"].data)
    other.__setstate__(state)
    a, w = np.random.default_rng(8).normal(size=33), np.random.default_rng(9).normal(size=8)
    assert np.array_equal(block.part(0).weights(a), other.part(0).weights(a))
    assert np.array_equal(block.part(0).scores(w), other.part(0).scores(moved(w)))


def test_a_narrower_width_takes_no_round_of_its_own(monkeypatch):
    """Blocks answer for the next width as well, so that no weights are evaluated twice."""
    X, y = random_problem(rows=300, features=6, seed=4)
    learning = Learning.of_classes(np.array([-1, 1]), C=1.0, loss="hinge", bias=1.0)
    seen, widths, ask = [], set(), LocalBlocks.ask

    def listen(self, requests):
        point = requests[0].message
        if hasattr(point, "origin"):
            seen.append(point.weights)
            widths.add(point.loss.diagonal_times_C)
        return ask(self, requests)

    monkeypatch.setattr(LocalBlocks, "ask", listen)
    problem = BinaryProblem(X, y, 1.0, loss="hinge", bias=1.0)
    assert_true(fit(split(X, y, [100, 200]), learning, problem), problem)
    assert len(widths) > 2
    assert not any(np.array_equal(before, after) for before, after in pairwise(seen))


def test_the_best_step_in_a_space_is_a_stationary_point():
    rng = np.random.default_rng(5)
    directions = rng.normal(size=(4, 9))
    curvatures, slopes = directions @ directions.T, rng.normal(size=4)
    step = best_in_space(slopes, curvatures)
    shares = np.array([step.along_change, *step.along_last])
    assert curvatures @ shares == pytest.approx(slopes, rel=1e-9)
    # Steps that have not been made yet are zero, and so is their part of the system.
    empty = best_in_space(np.array([2.0, 0.0]), np.diag([4.0, 0.0]))
    assert (empty.along_change, empty.along_last) == (0.5, (0.0,))
