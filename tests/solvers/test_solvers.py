import re

import numpy as np
import pytest

from maxmargin import BinaryProblem, CuttingPlane, solve
from maxmargin.solvers.auto import EXPENSIVE, newton_passes

from ..conftest import HINGE_SOLVERS, LOSS_NAMES, SOLVER_LOSSES, assert_certified, csr, random_problem
from ..truth import optimum


def value(X, y, C=1.0, *, loss="hinge", bias=1.0, solver="auto", tol=1e-9, **options):
    solution = solve(BinaryProblem(X, y, C, loss=loss, bias=bias), solver=solver, tol=tol, **options)
    assert solution.converged, (solution.exit, solution.certificate.gap)
    return solution.certificate.primal


@pytest.mark.parametrize(("solver", "loss"), SOLVER_LOSSES)
@pytest.mark.parametrize(("C", "bias"), [(0.01, 0.0), (1.0, 1.0), (30.0, 1.0)])
def test_every_solver_reaches_the_optimum_of_a_quadratic_program(loss, solver, C, bias):
    X, y = random_problem(rows=40, features=5, seed=3)
    truth = optimum(X, y, C, loss, bias)
    assert value(X, y, C, loss=loss, bias=bias, solver=solver, tol=1e-8) == pytest.approx(truth, rel=2e-8)


@pytest.mark.parametrize(("solver", "loss"), SOLVER_LOSSES)
def test_the_certificate_is_that_of_the_weights_and_the_variables(loss, solver):
    X, y = random_problem(rows=80, features=6, seed=4)
    problem = BinaryProblem(csr(X), y, 0.5, loss=loss, bias=2.0)
    solution = solve(problem, solver=solver, tol=1e-4)
    assert_certified(problem, solution)
    assert solution.certificate.gap <= 1e-4


@pytest.mark.parametrize(("solver", "loss"), SOLVER_LOSSES)
def test_weight_two_equals_repeating_the_row(loss, solver):
    X, y = random_problem(rows=30, features=4, seed=5)
    weights = np.random.default_rng(5).integers(0, 4, len(y))
    repeated = np.repeat(np.arange(len(y)), weights)
    weighted = value(X, y, 0.3 * weights, loss=loss, solver=solver)
    assert weighted == pytest.approx(value(X[repeated], y[repeated], 0.3, loss=loss, solver=solver), rel=3e-9)


@pytest.mark.parametrize("solver", HINGE_SOLVERS)
def test_scaling_C_equals_scaling_the_weights_and_the_rows(solver):
    X, y = random_problem(rows=50, features=4, seed=6)
    base = value(X, y, 2.0, bias=0.0, solver=solver)
    assert value(X, y, np.full(50, 2.0), bias=0.0, solver=solver) == pytest.approx(base, rel=3e-9)
    # min |w|^2/2 + C sum max(0, 1 - y w.x): with x/s and C s^2 the optimum is s^2 times larger.
    assert value(X / 3, y, 18.0, bias=0.0, solver=solver) == pytest.approx(9 * base, rel=3e-9)


@pytest.mark.parametrize("solver", HINGE_SOLVERS)
def test_the_order_of_rows_and_columns_does_not_matter(solver):
    X, y = random_problem(rows=50, features=6, seed=7)
    rng = np.random.default_rng(7)
    rows, columns = rng.permutation(50), rng.permutation(6)
    shuffled = np.ascontiguousarray(X[rows][:, columns])
    assert value(shuffled, y[rows], solver=solver) == pytest.approx(value(X, y, solver=solver), rel=3e-9)


@pytest.mark.parametrize(("solver", "loss"), SOLVER_LOSSES)
def test_all_storage_types_give_the_same_model(loss, solver, storage):
    X, y = random_problem(rows=60, features=7, seed=8, density=0.5)
    stored = solve(BinaryProblem(storage(X), y, loss=loss, bias=1.0), solver=solver, tol=1e-9)
    plain = solve(BinaryProblem(X, y, loss=loss, bias=1.0), solver=solver, tol=1e-9)
    np.testing.assert_allclose(stored.weights, plain.weights, atol=2e-4)
    assert stored.certificate.primal == pytest.approx(plain.certificate.primal, rel=2e-9)


@pytest.mark.parametrize("solver", HINGE_SOLVERS)
def test_float32_equals_float64_of_the_same_numbers(solver, storage):
    X, y = random_problem(rows=60, features=7, seed=9, density=0.5)
    X = X.astype(np.float32)
    assert value(storage(X), y, solver=solver) == pytest.approx(value(X.astype(np.float64), y, solver=solver), rel=3e-9)


@pytest.mark.parametrize(("solver", "loss"), SOLVER_LOSSES)
@pytest.mark.parametrize("bias", [0.0, 1.0])
def test_zero_rows_are_handled_as_the_paper_says(loss, solver, bias):
    X, y = random_problem(rows=30, features=4, seed=10)
    X[::3] = 0
    truth = optimum(X, y, 0.8, loss, bias)
    for matrix in (X, csr(X)):
        assert value(matrix, y, 0.8, loss=loss, bias=bias, solver=solver) == pytest.approx(truth, rel=1e-8)


@pytest.mark.parametrize("solver", HINGE_SOLVERS)
def test_a_matrix_of_zeros_has_a_solution(solver):
    X, y = np.zeros((6, 3)), np.array([1, -1, 1, -1, 1, 1])
    assert value(X, y, 2.0, bias=0.0, solver=solver) == pytest.approx(12.0)


@pytest.mark.parametrize(("solver", "loss"), SOLVER_LOSSES)
def test_unsorted_and_repeated_column_indices_mean_what_scipy_says(solver, loss):
    X, y = random_problem(rows=30, features=4, seed=11)
    matrix = csr(X)
    # Write every entry as two halves, in falling order of columns, and leave a row empty.
    X[5] = 0
    rows = [np.repeat(np.arange(4), 2)[::-1] if i != 5 else np.empty(0, int) for i in range(30)]
    matrix.data = np.concatenate([X[i, row] / 2 for i, row in enumerate(rows)])
    matrix.indices = np.concatenate(rows).astype(np.int32)
    matrix.indptr = np.concatenate([[0], np.cumsum([len(row) for row in rows])]).astype(np.int32)
    np.testing.assert_allclose(matrix.toarray(), X)
    assert value(matrix, y, loss=loss, solver=solver) == pytest.approx(value(X, y, loss=loss, solver=solver), rel=3e-9)


@pytest.mark.parametrize(("solver", "loss"), SOLVER_LOSSES)
def test_one_class_only_is_a_valid_problem(solver, loss):
    X, _ = random_problem(rows=30, features=4, seed=12)
    y = np.ones(30, dtype=int)
    assert value(X, y, loss=loss, solver=solver) == pytest.approx(optimum(X, y, 1.0, loss, 1.0), rel=1e-8)


@pytest.mark.parametrize("C", [1e-8, 1e3, 1e6])
@pytest.mark.parametrize("loss", LOSS_NAMES)
def test_extreme_C_still_converges(C, loss):
    X, y = random_problem(rows=100, features=5, seed=13)
    problem = BinaryProblem(X, y, C, loss=loss, bias=1.0)
    solution = solve(problem, tol=1e-6)
    assert solution.converged
    # scipy's own accuracy suffers here, so it only gives an upper bound; the lower one is the dual value in numpy.
    assert solution.certificate.primal <= optimum(X, y, C, loss, 1.0) * (1 + 1e-6)
    assert problem.certificate(solution.weights, solution.alpha).gap <= 1.01e-6


@pytest.mark.parametrize("acceleration", [True, False])
@pytest.mark.parametrize("C", [1e-40, 1.0, 10.0])
@pytest.mark.parametrize("scale", [1e-40, 1e-9, 1.0, 1e3])
def test_cutting_planes_on_any_scale(acceleration, C, scale):
    """Cuts so flat or so steep that sums of their squares and offsets lose one or the other."""
    X, y = random_problem(rows=60, features=4, seed=30)
    solution = solve(BinaryProblem(scale * X, y, C, loss="hinge"), CuttingPlane(acceleration=acceleration), tol=1e-6)
    truth = solve(BinaryProblem(scale * X, y, C, loss="hinge"), tol=1e-6)
    assert truth.converged
    assert solution.converged
    assert solution.certificate.primal == pytest.approx(truth.certificate.primal, rel=3e-6)
    assert solution.certificate.gap >= 0


def test_cutting_planes_where_all_cuts_cancel():
    rows = np.random.default_rng(31).normal(size=(50, 3))
    X, y = np.vstack([rows, rows]), np.repeat([1, -1], 50)
    solution = solve(BinaryProblem(X, y, loss="hinge", bias=1.0), solver="cutting_plane", tol=1e-9)
    assert solution.certificate.primal == pytest.approx(100.0)


@pytest.mark.parametrize("loss", LOSS_NAMES)
def test_columns_of_very_different_scale_still_converge(loss):
    X, y = random_problem(rows=120, features=6, seed=14)
    X *= 10.0 ** np.arange(-3, 3)
    solution = solve(BinaryProblem(X, y, 1.0, loss=loss, bias=1.0), tol=1e-6)
    assert solution.converged
    assert solution.certificate.primal == pytest.approx(optimum(X, y, 1.0, loss, 1.0), rel=2e-6)


@pytest.mark.parametrize("features", [30, 600])
@pytest.mark.parametrize("loss", LOSS_NAMES)
def test_newton_with_a_matrix_and_with_conjugate_gradients(features, loss):
    X, y = random_problem(rows=200, features=features, seed=15, density=0.2)
    newton = value(csr(X), y, loss=loss, solver="newton", tol=1e-8)
    assert newton == pytest.approx(value(csr(X), y, loss=loss, solver="dcd", tol=1e-8), rel=3e-8)


def test_ties_in_the_data_do_not_matter_to_the_value():
    rng = np.random.default_rng(16)
    X = rng.integers(0, 2, size=(200, 4)).astype(float)  # sixteen different rows, both labels in each
    y = np.where(rng.random(200) < 0.5, 1, -1)
    truth = optimum(X, y, 0.5, "hinge", 1.0)
    for solver in HINGE_SOLVERS:
        assert value(X, y, 0.5, solver=solver, tol=1e-8) == pytest.approx(truth, rel=2e-8)


@pytest.mark.parametrize("solver", ["dcd", "avsf", "online", "auto"])
def test_the_same_seed_gives_the_same_bits_and_another_seed_others(solver):
    X, y = random_problem(rows=300, features=600, seed=17)
    problem = BinaryProblem(X, y, loss="hinge")
    first, again = (solve(problem, solver=solver, seed=5) for _ in range(2))
    assert np.array_equal(first.weights, again.weights)
    assert np.array_equal(first.alpha, again.alpha)
    assert not np.array_equal(first.alpha, solve(problem, solver=solver, seed=6).alpha)


@pytest.mark.parametrize("solver", HINGE_SOLVERS)
def test_starting_from_the_solution_ends_at_once(solver):
    X, y = random_problem(rows=200, features=10, seed=18)
    problem = BinaryProblem(X, y, 1.0, loss="hinge", bias=1.0)
    cold = solve(problem, solver="dcd", tol=1e-6)
    warm = solve(problem, solver=solver, tol=1e-5, start=cold.alpha)
    assert warm.converged
    assert warm.n_iter <= max(cold.n_iter / 4, 1)


def test_initial_alphas_outside_the_bounds_are_clipped():
    X, y = random_problem(rows=50, features=5)
    problem = BinaryProblem(X, y, 1.0, loss="hinge", bias=1.0)
    for start in (np.full(50, 1e6), np.full(50, -1e6)):
        assert solve(problem, start=start, tol=1e-7).certificate.primal == pytest.approx(
            solve(problem, tol=1e-7).certificate.primal, rel=2e-7
        )


@pytest.mark.parametrize("solver", ["dcd", "avsf", "online"])
def test_max_iter_returns_the_best_certified_iterate(solver):
    X, y = random_problem(rows=400, features=20, seed=19)
    problem = BinaryProblem(X, y, 100.0, loss="hinge", bias=1.0)
    solution = solve(problem, solver=solver, tol=1e-12, max_iter=12)
    assert solution.exit == "max_iter"
    assert not solution.converged
    assert solution.n_iter == 12
    assert solution.certificate.gap <= min(report.gap for report in solution.history) * (1 + 1e-9)


@pytest.mark.parametrize("penalize_bias", [True, False])
@pytest.mark.parametrize("loss", LOSS_NAMES)
@pytest.mark.parametrize("max_iter", [1, 7, 30])
@pytest.mark.parametrize("solver", ["dcd", "avsf", "online"])
def test_a_fit_cut_short_returns_feasible_variables_where_the_bias_is_anchored(solver, max_iter, loss, penalize_bias):
    X, y = random_problem(rows=300, features=40, seed=23, density=0.2)
    X /= np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 0.1)  # short rows beside the constant column
    C = np.where(np.arange(300) % 7 == 0, 0.0, 50.0)
    problem = BinaryProblem(csr(X), y, C, loss=loss, bias=3.0, penalize_bias=penalize_bias)
    solution = solve(problem, solver=solver, tol=1e-13, max_iter=max_iter)
    assert_certified(problem, solution, rel=1e-9)
    if loss != "least_squares":
        assert solution.alpha.min() >= 0
    if loss == "hinge":
        assert np.all(solution.alpha <= C)
    assert np.all(solution.alpha[C == 0] == 0)
    if not penalize_bias:
        assert y @ solution.alpha == pytest.approx(0.0, abs=1e-9 * np.abs(solution.alpha).sum())


@pytest.mark.parametrize("bias", [1.0, 100.0])
@pytest.mark.parametrize("loss", LOSS_NAMES)
@pytest.mark.parametrize("solver", ["dcd", "avsf", "online"])
def test_a_long_constant_column_beside_short_rows_still_converges(solver, loss, bias):
    X, y = random_problem(rows=40, features=6, seed=25)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    assert value(X, y, 5.0, loss=loss, bias=bias, solver=solver, max_iter=100_000) == pytest.approx(
        optimum(X, y, 5.0, loss, bias), rel=1e-8
    )


@pytest.mark.parametrize("loss", LOSS_NAMES)
def test_rows_of_weight_zero_take_no_part_where_the_mean_of_iterates_is_the_best_pair(loss):
    X, y = random_problem(rows=90, features=20, seed=24)
    X *= 10.0 ** (np.arange(20) % 5 - 2)  # so slow that iterates wander
    C = np.where(np.arange(90) % 3 == 0, 0.0, 100.0)
    solution = solve(BinaryProblem(X, y, C, loss=loss, bias=1.0), solver="avsf", tol=1e-12, max_iter=200)
    assert np.all(solution.alpha[C == 0] == 0)
    assert np.all(np.isfinite(solution.weights))


@pytest.mark.parametrize("solver", HINGE_SOLVERS)
def test_a_time_limit_ends_the_fit_with_a_certificate(solver):
    X, y = random_problem(rows=3000, features=100, seed=20, noise=5.0)
    problem = BinaryProblem(X, y, 1e5, loss="hinge", bias=1.0)
    solution = solve(problem, solver=solver, tol=1e-15, max_iter=10**9, time_limit=0.005)
    assert solution.exit == "time_limit"
    assert_certified(problem, solution, rel=1e-8)  # numpy's rounding times C


def test_reports_are_exact_and_in_order():
    X, y = random_problem(rows=300, features=20, seed=21)
    problem = BinaryProblem(X, y, 1.0, loss="hinge", bias=1.0)
    seen = []
    solution = solve(problem, solver="dcd", tol=1e-6, callback=lambda report, weights: seen.append((report, weights)))
    assert [report for report, _ in seen] == solution.history
    epochs = [report.epoch for report in solution.history]
    assert epochs == sorted(epochs)
    assert epochs[-1] == solution.n_iter
    for report, weights in seen:
        assert report.primal == pytest.approx(problem.primal(weights), rel=1e-9)


@pytest.mark.parametrize("solver", HINGE_SOLVERS)
def test_a_callback_can_stop_the_solver(solver):
    X, y = random_problem(rows=300, features=20, seed=22)
    solution = solve(
        BinaryProblem(X, y, 10.0, loss="hinge"), solver=solver, tol=1e-14, callback=lambda report, _: report.gap < 0.5
    )
    assert solution.exit == "stopped"


@pytest.mark.parametrize("solver", HINGE_SOLVERS)
def test_an_exception_in_a_callback_comes_out(solver):
    X, y = random_problem()

    def fail(report, _):
        raise KeyError(f"from the callback at {report.epoch}")

    with pytest.raises(KeyError, match="from the callback"):
        solve(BinaryProblem(X, y, loss="hinge"), solver=solver, callback=fail)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"solver": "magic"}, "solver='magic' is unknown; choose from"),
        ({"tol": -1.0}, "tol must be"),
        ({"tol": np.nan}, "tol must be"),
        ({"max_iter": 0}, "max_iter must be"),
        ({"time_limit": 0.0}, "time_limit must be"),
        ({"start": np.ones(3)}, "alpha must hold 60 finite numbers"),
        ({"start": np.full(60, np.nan)}, "alpha must hold 60 finite numbers"),
        ({"report_passes": 0.0}, "report_passes must be a positive number, not 0.0"),
        ({"report_seconds": -1.0}, "report_seconds must be a positive number, not -1.0"),
        ({"n_jobs": 0}, "n_jobs=0 has no meaning"),
    ],
)
def test_bad_options_are_refused_with_a_message(options, message):
    X, y = random_problem()
    with pytest.raises(ValueError, match=message):
        solve(BinaryProblem(X, y), **options)


@pytest.mark.parametrize("value", ["x", "1", np.nan, -1.0, -np.inf, True, [1.0], 1j])
@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("tol", "a number >= 0"),
        ("max_iter", "a whole number from 1 on"),
        ("time_limit", "a positive number"),
        ("seed", "a whole number from 0 on"),
        ("report_passes", "a positive number"),
        ("report_seconds", "a positive number"),
        ("keep_seconds", "a positive number"),
    ],
)
def test_a_limit_that_makes_no_sense_is_named_with_its_value_and_what_is_expected(name, expected, value):
    X, y = random_problem()
    with pytest.raises(ValueError, match=f"^{name} must be {expected}.*, not {re.escape(repr(value))}$"):
        solve(BinaryProblem(X, y), **{name: value})


@pytest.mark.parametrize("value", ["2", 1.5, np.nan, True])
def test_a_number_of_threads_that_makes_no_sense_is_refused(value):
    X, y = random_problem()
    with pytest.raises(ValueError, match=f"n_jobs={value!r} has no meaning; use a positive number"):
        solve(BinaryProblem(X, y), n_jobs=value)


def test_other_words_for_pack_are_refused():
    X, y = random_problem()
    with pytest.raises(ValueError, match="pack must be True or False, not 'no'"):
        solve(BinaryProblem(X, y), pack="no")


def test_limits_may_be_numbers_of_numpy():
    X, y = random_problem()
    limits = {"tol": np.float32(1e-3), "max_iter": np.int32(100), "time_limit": np.float32(9), "seed": np.uint8(3)}
    reports = {"report_passes": np.int64(2), "report_seconds": np.float64(0.5), "keep_seconds": np.int16(4)}
    assert solve(BinaryProblem(X, y), n_jobs=np.int64(1), pack=np.True_, **limits, **reports).converged
    assert solve(BinaryProblem(X, y), max_iter=100.0, tol=np.inf).converged


@pytest.mark.parametrize("C", [1e-60, 1e60])
def test_C_beyond_what_doubles_can_carry_is_refused(C):
    X, y = random_problem()
    with pytest.raises(ValueError, match="it must lie between 1e-50 and 1e"):
        BinaryProblem(X, y, C)


@pytest.mark.parametrize("loss", LOSS_NAMES)
@pytest.mark.parametrize("C", [1e-50, 1e50])
def test_the_most_extreme_C_still_has_a_finite_certificate(loss, C):
    X, y = random_problem(rows=30, features=3)
    solution = solve(BinaryProblem(X, y, C, loss=loss, bias=1.0), max_iter=50)
    assert np.all(np.isfinite(solution.certificate))


def test_a_worse_later_stage_never_replaces_a_better_earlier_one():
    X, y = random_problem(rows=2000, features=30, seed=23, noise=3.0)
    problem = BinaryProblem(30 * X, y, 10.0, loss="hinge", bias=1.0)
    good = solve(problem, solver="newton", tol=1e-3)
    assert good.converged
    again = solve(problem, solver="newton", tol=1e-12, start=good, max_iter=1)
    assert again.certificate.gap <= good.certificate.gap * (1 + 1e-9)
    easier = BinaryProblem(30 * X, y, 1.5e-4, loss="hinge", bias=1.0)  # for which "auto" begins with "dcd"
    stopped = solve(easier, tol=1e-12, callback=lambda report, _: report.solver == "newton")
    assert stopped.certificate.gap <= min(report.gap for report in stopped.history if report.solver == "dcd") + 1e-12


def test_a_short_newton_run_returns_a_usable_pair():
    X, y = random_problem(rows=5000, features=20, seed=24, noise=3.0)
    problem = BinaryProblem(30 * X, y, 10.0, loss="hinge", bias=1.0)
    solution = solve(problem, solver="newton", tol=1e-12, max_iter=12)
    assert solution.certificate.gap < 0.2


def test_a_stop_flag_set_before_the_start_ends_at_once():
    from maxmargin._core import StopFlag

    X, y = random_problem(rows=2000, features=600, seed=25)
    stop = StopFlag()
    stop.set()
    solution = solve(BinaryProblem(X, y, 100.0, loss="hinge"), tol=1e-12, stop=stop)
    assert solution.exit == "stopped"
    assert solution.n_iter <= 2


@pytest.mark.parametrize("penalize_bias", [True, False])
@pytest.mark.parametrize(
    ("loss", "scale", "C"),
    [
        *((loss, *numbers) for loss in LOSS_NAMES[1:] for numbers in ((1e3, 1e3), (1e3, 1e5), (10.0, 1e7))),
        ("hinge", 1e3, 10.0),
    ],
)
def test_auto_arrives_on_large_numbers_and_large_C(loss, scale, C, penalize_bias):
    """Slacks of 1e-16 times C |x|^2 are no longer small: dual variables must not be read off them."""
    for seed in range(3):
        X, y = random_problem(rows=60, features=6, seed=seed, noise=1.0)
        problem = BinaryProblem(scale * X, y, C, loss=loss, bias=1.0, penalize_bias=penalize_bias)
        solution = solve(problem, tol=1e-6)
        assert solution.converged, (solution.solver, solution.certificate.gap)
        assert problem.certificate(solution.weights, solution.alpha).gap <= 1e-5


@pytest.mark.parametrize(
    ("rows", "features", "C", "loss", "expected"),
    [
        (3000, 40, 1e-3, "hinge", "dcd"),  # easy
        (3000, 40, 10.0, "hinge", "newton"),  # few features, cheap steps
        (3000, 40, 1e-3, "squared_hinge", "dcd"),
        (3000, 40, 0.1, "squared_hinge", "newton"),
        (60, 8, 0.02, "hinge", "newton"),  # easy, but small
        (2000, 1000, 1e-4, "squared_hinge", "dcd"),  # few rows: expensive steps, and easy
        (300, 1100, 1e-4, "squared_hinge", "dcd"),  # many features
        (300, 1100, 0.1, "squared_hinge", "dcd"),  # harder, but it is fast enough
        (300, 1100, 1.0, "squared_hinge", "avsf"),
    ],
)
def test_auto_chooses_by_the_cost_of_the_methods(rows, features, C, loss, expected):
    X, y = random_problem(rows=rows, features=features, seed=1, noise=3.0)
    assert solve(BinaryProblem(X, y, C, loss=loss, bias=1.0)).solver == expected


def test_auto_changes_the_method_when_dcd_is_too_slow():
    X, y = random_problem(rows=2000, features=600, seed=1, noise=30.0)
    problem = BinaryProblem(X, y, 1.0, bias=1.0)
    assert newton_passes(problem) >= EXPENSIVE
    solution = solve(problem, tol=1e-6)
    assert solution.solver == "dcd+newton"
    assert solution.converged
    first = [report.epoch for report in solution.history if report.solver == "dcd"]
    assert max(first) < newton_passes(problem)
    assert solve(problem, tol=1e-6).n_iter == solution.n_iter  # counted in work, not in seconds


@pytest.mark.parametrize("seed", [1, 3, 4])
def test_newton_never_climbs_where_steps_are_far_too_long(seed):
    """With few curved rows, long rows and a free bias a step is mostly gradient, a million times too long."""
    rng = np.random.default_rng(seed)
    X = 100.0 * rng.normal(size=(40, 8))
    y = np.where(rng.random(40) < 0.4, 1, -1)
    C = 1e4 * rng.integers(0, 3, 40)
    solution = solve(BinaryProblem(X, y, C, loss="hinge", bias=1.0, penalize_bias=False), solver="newton", tol=1e-6)
    assert solution.converged, (solution.solver, solution.certificate.gap)
    assert solution.solver == "newton"


@pytest.mark.parametrize("features", [20, 1100])
def test_newton_does_not_start_from_weights_that_are_worse_than_none(features):
    X, y = random_problem(rows=80, features=features, seed=5, noise=1.0)
    problem = BinaryProblem(X, y, 10.0, loss="squared_hinge", bias=1.0)
    far_off = 1e6 * np.random.default_rng(5).random(80)
    solution = solve(problem, solver="newton", tol=1e-8, start=far_off)
    assert solution.history[0].primal <= 10.0 * 80
    assert solution.converged


def test_auto_goes_on_with_cutting_planes_where_rounding_stops_newton():
    X, y = random_problem(rows=60, features=6, seed=0, noise=1.0)
    problem = BinaryProblem(1e3 * X, y, 1e3, loss="hinge", bias=1.0)
    solution = solve(problem, tol=1e-6)
    assert solution.converged, (solution.solver, solution.certificate.gap)
    # Either way it ends after few steps, and never runs into max_iter.
    assert solution.n_iter < 2000
