"""Several classes at once: against a quadratic program, the conditions of optimality, and other libraries."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_digits, load_iris

from maxmargin import BinaryProblem, CuttingPlane, MulticlassProblem, SequentialDual, solve
from maxmargin.problems.csr import Csr

from ..conftest import assert_certified, csr
from ..truth import multiclass_optimum

FORMULATIONS = ["crammer_singer", "weston_watkins"]
#: Solver, formulation, and the tolerance that is reasonable to ask for.
METHODS = [
    *(("auto", formulation, 1e-8) for formulation in FORMULATIONS),
    *(("sdm", formulation, 1e-8) for formulation in FORMULATIONS),
    *(("newton", formulation, 1e-8) for formulation in FORMULATIONS),
    *((SequentialDual(adaptive=False), formulation, 1e-8) for formulation in FORMULATIONS),
    *((SequentialDual(adaptive=False, effort=5.0, little_gain=0.0), formulation, 1e-8) for formulation in FORMULATIONS),
    *((SequentialDual(adaptive=False, shrinking=False), formulation, 1e-8) for formulation in FORMULATIONS),
    ("cutting_plane", "crammer_singer", 1e-8),
    (CuttingPlane(acceleration=False), "crammer_singer", 1e-6),
    ("eg", "crammer_singer", 1e-4),
]
methods = pytest.mark.parametrize(("solver", "formulation", "tol"), METHODS)


def random_classes(rows=40, features=5, classes=4, seed=0, density=1.0, noise=1.0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, features)) * (rng.random((rows, features)) < density)
    y = (X @ rng.normal(size=(features, classes)) + noise * rng.normal(size=(rows, classes))).argmax(axis=1)
    y[:classes] = np.arange(classes)
    return X, y


def solved(X, y, C=1.0, *, formulation="crammer_singer", bias=1.0, solver="auto", tol=1e-8, **options):
    problem = MulticlassProblem(X, y, C, formulation=formulation, bias=bias)
    solution = solve(problem, solver=solver, tol=tol, max_iter=1_000_000)
    assert solution.converged, (solution.exit, solution.certificate.gap)
    return problem, solution


def value(X, y, C=1.0, **options):
    return solved(X, y, C, **options)[1].certificate.primal


@methods
@pytest.mark.parametrize(("C", "bias", "classes"), [(0.02, 0.0, 3), (1.0, 1.0, 5), (20.0, 1.0, 3)])
def test_the_optimum_of_a_quadratic_program(solver, formulation, tol, C, bias, classes):
    X, y = random_classes(rows=30, features=4, classes=classes, seed=3)
    truth = multiclass_optimum(X, y, C, formulation, bias)
    reached = value(X, y, C, formulation=formulation, bias=bias, solver=solver, tol=tol)
    assert reached == pytest.approx(truth, rel=1.1 * tol)
    assert reached >= truth * (1 - 1e-9)


@pytest.mark.parametrize("formulation", FORMULATIONS)
@pytest.mark.parametrize("C", [0.1, 20.0])
def test_newton_by_conjugate_gradients_finds_the_optimum(formulation, C):
    X, y = random_classes(rows=120, features=520, classes=4, density=0.05, seed=11)  # 2,084 weights
    truth = value(csr(X), y, C, formulation=formulation, solver="sdm", tol=1e-10)
    problem, solution = solved(csr(X), y, C, formulation=formulation, solver="newton")
    assert solution.solver == "newton"
    assert_certified(problem, solution)
    assert solution.certificate.primal == pytest.approx(truth, rel=1.1e-8)


@pytest.mark.parametrize("classes", [3, 9, 30, 61])
def test_slacks_that_are_all_alike(classes):
    # Columns of few values, so that many classes lie exactly at the level of a sub-problem.
    rng = np.random.default_rng(2)
    X = rng.integers(0, 2, size=(4 * classes, 3)).astype(float)
    y = np.arange(4 * classes) % classes
    truth = value(X, y, 0.3, solver="newton", tol=1e-9)
    assert value(X, y, 0.3, solver="sdm", tol=1e-9) == pytest.approx(truth, rel=2e-9)


@methods
def test_the_certificate_is_that_of_the_weights_and_the_variables(solver, formulation, tol):
    X, y = random_classes(seed=4)
    problem, solution = solved(csr(X), y, 0.5, formulation=formulation, bias=2.0, solver=solver, tol=1e-4)
    assert_certified(problem, solution)
    assert solution.certificate.gap <= 1e-4


def violations(problem, solution):
    """v_i of (6), or the largest v_i^m of (18), written out."""
    alpha = solution.alpha.to_scipy().toarray()
    result = []
    for i, y in enumerate(problem.y):
        C = problem.C[i]
        z = problem.slacks(solution.weights)[i]
        others = [m for m in range(problem.n_classes) if m != y]
        if problem.formulation == "crammer_singer":
            # g^m of the paper is z^m for the others and 0 for the own class, up to a constant
            g = {m: z[m] for m in others} | {y: 0.0}
            total = alpha[i].sum()
            below = [m for m in others if alpha[i, m] > 0] + ([y] if total < C * (1 - 1e-12) else [])
            result.append(max(g.values()) - min(g[m] for m in below) if C > 0 else 0.0)
        else:
            for m in others:
                if alpha[i, m] == 0:
                    result.append(max(z[m], 0.0))
                else:
                    result.append(abs(z[m]) if alpha[i, m] < C else max(-z[m], 0.0))
    return result


@pytest.mark.parametrize("formulation", FORMULATIONS)
@pytest.mark.parametrize("adaptive", [True, False])
def test_no_condition_of_optimality_is_violated(formulation, adaptive):
    X, y = random_classes(rows=60, features=6, classes=5, seed=5)
    problem, solution = solved(X, y, 2.0, formulation=formulation, solver=SequentialDual(adaptive=adaptive), tol=1e-13)
    assert max(violations(problem, solution)) < 1e-4
    rough = solve(problem, solver=SequentialDual(adaptive=adaptive), tol=0.1)
    assert max(violations(problem, rough)) > 1e-4  # the check can fail


@pytest.mark.parametrize("classes", [2, 3, 4, 5, 8, 9, 33, 105])
@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_any_number_of_classes(formulation, classes):
    X, y = random_classes(rows=2 * classes + 40, features=12, classes=classes, seed=classes)
    problem, solution = solved(X, y, 0.3, formulation=formulation, tol=1e-5)
    assert problem.certificate(solution.weights, solution.alpha).gap <= 1.01e-5
    plain_method = SequentialDual(adaptive=False, shrinking=False)
    plain = value(X, y, 0.3, formulation=formulation, solver=plain_method, tol=1e-5)
    assert solution.certificate.primal == pytest.approx(plain, rel=3e-5)


@pytest.mark.parametrize("formulation", FORMULATIONS)
@pytest.mark.parametrize("C", [0.01, 1.0, 10.0])
def test_two_classes_are_the_binary_problem(formulation, C):
    # w_1 = -w_0 = v / 2 makes |w_0|^2 + |w_1|^2 = |v|^2 / 2, so that the binary problem with 2 C has twice the value.
    X, y = random_classes(classes=2, seed=6)
    _, solution = solved(X, y, C, formulation=formulation, tol=1e-9)
    binary = solve(BinaryProblem(X, 2 * y - 1, 2 * C, loss="hinge", bias=1.0), tol=1e-9)
    assert 2 * solution.certificate.primal == pytest.approx(binary.certificate.primal, rel=3e-9)
    np.testing.assert_allclose(solution.weights[1] - solution.weights[0], binary.weights, atol=2e-4)
    np.testing.assert_allclose(solution.weights[1], -solution.weights[0], atol=1e-12)


@pytest.mark.parametrize("C", [0.1, 1.0])
def test_other_libraries_have_the_same_objective(C):
    import liblinear.liblinearutil as ll
    from sklearn.svm import LinearSVC

    X, y = load_iris(return_X_y=True)
    problem, solution = solved(X, y, C, tol=1e-8)
    rival = ll.train(y.astype(float), sp.csr_matrix(X), f"-s 4 -c {C} -B 1 -e 1e-8 -q")
    order = rival.get_labels()
    theirs = np.array([rival.w[k] for k in range(15)]).reshape(5, 3).T
    weights = np.zeros((3, 5))
    weights[order] = theirs
    assert problem.primal(weights) == pytest.approx(solution.certificate.primal, rel=1e-5)
    other = LinearSVC(multi_class="crammer_singer", C=C, tol=1e-8, max_iter=1_000_000, random_state=0).fit(X, y)
    weights = np.column_stack([other.coef_, other.intercept_])
    assert problem.primal(weights) == pytest.approx(solution.certificate.primal, rel=1e-5)


@methods
def test_weight_two_equals_repeating_the_row(solver, formulation, tol):
    X, y = random_classes(rows=25, features=4, classes=3, seed=7)
    weights = np.random.default_rng(7).integers(0, 4, len(y))
    weights[:3] = [1, 2, 3]
    repeated = np.repeat(np.arange(len(y)), weights)
    common = {"formulation": formulation, "solver": solver, "tol": tol}
    weighted = value(X, y, 0.3 * weights, **common)
    assert weighted == pytest.approx(value(X[repeated], y[repeated], 0.3, **common), rel=3 * tol)


@methods
def test_all_storage_types_give_the_same_optimum(solver, formulation, tol, storage):
    X, y = random_classes(rows=50, features=7, classes=5, seed=8, density=0.5)
    common = {"formulation": formulation, "solver": solver, "tol": tol}
    plain = value(X, y, **common)
    assert value(storage(X), y, **common) == pytest.approx(plain, rel=3 * tol)
    single = X.astype(np.float32)
    assert value(storage(single), y, **common) == pytest.approx(value(single.astype(float), y, **common), rel=3 * tol)


@methods
def test_hard_rows(solver, formulation, tol):
    X, y = random_classes(rows=30, features=4, classes=4, seed=9)
    X[5] = 0  # no information
    X[6] = X[7]
    y[6], y[7] = 1, 2  # the same row in two classes
    X[8:12] = X[8]
    y[8:12] = 3  # copies
    y[y == 0] = 1
    y[0] = 0  # a class with one row
    for bias in (0.0, 1.0):
        reached = value(X, y, 1.5, formulation=formulation, bias=bias, solver=solver, tol=tol)
        truth = multiclass_optimum(X, y, 1.5, formulation, bias)  # rows of zeros cost it some digits
        assert reached == pytest.approx(truth, rel=max(2 * tol, 1e-7))


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_rows_that_are_all_zero(formulation):
    problem = MulticlassProblem(np.zeros((4, 2)), [0, 1, 2, 2], C=[1.0, 2.0, 3.0, 0.0], formulation=formulation)
    solution = solve(problem, tol=0.0)
    pays = 6.0 if formulation == "crammer_singer" else 12.0
    assert solution.certificate == (pays, pays)
    assert not solution.weights.any()


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_unscaled_columns_and_huge_C(formulation):
    X, y = random_classes(rows=60, features=4, classes=3, seed=10, noise=0.1)
    problem, solution = solved(X * [1e-3, 1.0, 10.0, 100.0], y, 1.0, formulation=formulation, tol=1e-4)
    assert problem.certificate(solution.weights, solution.alpha).gap <= 1.01e-4
    value(X, y, 1e4, formulation=formulation, tol=1e-3)


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_a_class_without_rows_and_rows_of_one_class(formulation):
    X, y = random_classes(classes=3, seed=11)
    problem = MulticlassProblem(X, y, formulation=formulation, n_classes=5, bias=1.0)
    solution = solve(problem, tol=1e-6)
    assert problem.certificate(solution.weights, solution.alpha).gap <= 1e-6
    alone = MulticlassProblem(X, np.zeros(len(y), dtype=int), formulation=formulation, n_classes=2, bias=1.0)
    assert solve(alone, tol=1e-6).converged


@methods
def test_warm_start(solver, formulation, tol):
    X, y = random_classes(rows=80, seed=12)
    problem, cold = solved(X, y, 1.0, formulation=formulation, solver=solver, tol=tol)
    again = solve(problem, solver=solver, tol=4 * tol, start=cold.alpha)
    assert again.converged
    assert again.n_iter < max(cold.n_iter, 9) or solver == "eg"
    larger = MulticlassProblem(X, y, 2.0, formulation=formulation, bias=1.0)
    for alpha in (cold.alpha, cold.alpha.to_scipy(), cold.alpha.to_scipy().toarray()):
        moved = solve(larger, solver=solver, tol=tol, start=alpha, max_iter=1_000_000)
        assert moved.certificate.primal == pytest.approx(multiclass_optimum(X, y, 2.0, formulation, 1.0), rel=2 * tol)
    smaller = MulticlassProblem(X, y, 0.1, formulation=formulation, bias=1.0)
    stopped = solve(smaller, solver=solver, start=cold.alpha, tol=0.0, max_iter=1)
    assert np.isfinite(smaller.dual(stopped.alpha))  # variables of a larger C are brought within their bounds


@pytest.mark.parametrize("solver", ["auto", "sdm", "newton", "eg", "cutting_plane"])
def test_limits_and_callbacks(solver):
    X, y = load_digits(return_X_y=True)
    X = np.ascontiguousarray(X)
    problem = MulticlassProblem(X, y, 10.0, bias=1.0)
    short = solve(problem, solver=solver, tol=0.0, time_limit=0.05)
    assert short.exit == "time_limit"
    assert_certified(problem, short, rel=1e-9)
    few = solve(problem, solver=solver, tol=0.0, max_iter=3)
    assert (few.exit, few.n_iter) == ("max_iter", 3)
    seen = []

    def stop(report, weights):
        seen.append((report, weights))
        return True

    stopped = solve(problem, solver=solver, tol=0.0, max_iter=5, callback=stop)
    assert stopped.exit == "stopped"
    report, weights = seen[0]
    assert weights.shape == (10, 65)
    assert report.primal == pytest.approx(problem.primal(weights), rel=1e-9)


def test_the_same_seed_gives_the_same_bits():
    X, y = random_classes(rows=200, seed=13)
    for solver in ("sdm", "eg"):
        runs = [solve(MulticlassProblem(X, y), solver=solver, tol=1e-3, seed=s).weights for s in (1, 1, 2)]
        assert np.array_equal(runs[0], runs[1])
        assert not np.array_equal(runs[0], runs[2])


def test_memory_of_the_variables_is_that_of_the_nonzero_ones():
    X, y = random_classes(rows=300, features=8, classes=60, seed=14)
    _, solution = solved(X, y, 1.0, tol=1e-6)
    assert isinstance(solution.alpha, Csr)
    assert len(solution.alpha.data) < 300 * 20
    assert np.all(solution.alpha.data > 0)


def test_dual_coef_and_back():
    X, y = random_classes(classes=4, seed=15)
    problem, solution = solved(X, y, 1.0)
    beta = problem.dual_coef(solution.alpha)
    assert beta.shape == (4, 40)
    np.testing.assert_allclose(beta.to_scipy().sum(axis=0), 0.0, atol=1e-14)
    np.testing.assert_allclose(beta.to_scipy() @ X, solution.weights[:, :-1], atol=1e-12)
    back = problem.alpha_of(beta.to_scipy())
    np.testing.assert_array_equal(back.to_scipy().toarray(), solution.alpha.to_scipy().toarray())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"y": [0, 1]}, r"y must have shape \(3,\)"),
        ({"y": [0, -1, 1]}, "integers from 0 on"),
        ({"y": [0.0, 1.0, 2.0]}, "integers from 0 on"),
        ({"y": [0, 0, 0]}, "at least two classes"),
        ({"y": [0, 1, 2], "n_classes": 2}, "at least two classes, from 0 to 1"),
        ({"y": [0, 1, 2], "formulation": "other"}, "choose from"),
        ({"y": [0, 1, 2], "C": -1.0}, "C must be finite"),
        ({"y": [0, 1, 2], "bias": np.inf}, "bias must be finite"),
    ],
)
def test_bad_problems(arguments, message):
    with pytest.raises(ValueError, match=message):
        MulticlassProblem(np.eye(3), **arguments)


def test_newton_refuses_too_many_weights():
    problem = MulticlassProblem(sp.csr_array((3, 5000)), [0, 1, 2])
    with pytest.raises(ValueError, match="not 15,003 for 3 classes and 5,000 features"):
        solve(problem, solver="newton")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"solver": "dcd"},
            "this problem: it solves binary problems .*; choose from .'auto', 'newton', 'sdm'.",
        ),
        ({"solver": "eg"}, "it solves problems of Crammer & Singer; choose from"),
        ({"solver": CuttingPlane()}, "it solves binary .* and problems of Crammer & Singer and ranking problems"),
        ({"start": np.zeros((1, 4))}, "rows by classes"),
        ({"start": np.zeros(3)}, "rows by classes"),
        ({"start": np.full((3, 3), np.nan)}, "alpha must be finite"),
        ({"start": Csr(np.ones(1), np.array([7]), np.array([0, 1, 1, 1]), (3, 3))}, "column index 7"),
    ],
)
def test_bad_options(options, message):
    problem = MulticlassProblem(np.eye(3), [0, 1, 2], formulation="weston_watkins")
    with pytest.raises(ValueError, match=message):
        solve(problem, **options)
