import numpy as np
import pytest

from maxmargin import LOSSES, BinaryProblem, Certificate

from ..conftest import LOSS_NAMES, csr, random_problem
from ..truth import optimum


@pytest.mark.parametrize("loss", LOSS_NAMES)
@pytest.mark.parametrize("bias", [0.0, 1.0, 7.0])
def test_core_and_numpy_agree_on_the_certificate(loss, bias, storage):
    X, y = random_problem(seed=1, density=0.4)
    rng = np.random.default_rng(2)
    C = rng.uniform(0.1, 3, len(y)) * (rng.random(len(y)) > 0.1)
    problem = BinaryProblem(storage(X), y, C, loss=loss, bias=bias)
    upper = np.minimum(LOSSES[loss].upper(C), 5.0)
    alpha = rng.uniform(max(LOSSES[loss].lower_per_C, -2.0), upper) * (C > 0)
    state = problem.start(alpha)
    state.verify()
    weights, variables = problem.found(state)
    truth = problem.certificate(problem.weights(alpha), alpha)
    assert state.dual == pytest.approx(max(truth.dual, 0.0), rel=1e-10)
    assert state.primal == pytest.approx(min(truth.primal, problem.primal(np.zeros(9))), rel=1e-10)
    if truth.dual > 0:
        np.testing.assert_array_equal(variables, alpha)
    if truth.primal < problem.primal(np.zeros(9)):
        np.testing.assert_allclose(weights, problem.weights(alpha), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize(
    ("loss", "formula"),
    [
        ("hinge", lambda z: np.maximum(z, 0)),
        ("squared_hinge", lambda z: np.maximum(z, 0) ** 2),
        ("least_squares", lambda z: z**2),
    ],
)
def test_losses_are_what_their_names_say(loss, formula):
    slack = np.linspace(-3, 3, 25)
    C = np.linspace(0, 2, 25)
    np.testing.assert_allclose(LOSSES[loss].primal(slack, C), C * formula(slack), atol=1e-15)


@pytest.mark.parametrize("loss", LOSS_NAMES)
def test_no_dual_value_exceeds_the_optimum_and_no_primal_value_is_below(loss):
    X, y = random_problem(rows=25, features=4)
    problem = BinaryProblem(X, y, 0.7, loss=loss, bias=1.0)
    best = optimum(X, y, 0.7, loss, bias=1.0)
    rng = np.random.default_rng(0)
    for _ in range(200):
        alpha = rng.uniform(max(problem.loss.lower_per_C, -1), 0.7, len(y))
        certificate = problem.certificate(problem.weights(alpha), alpha)
        assert certificate.dual <= best + 1e-9
        assert certificate.primal >= best - 1e-9
        assert problem.primal(rng.normal(size=5)) >= best - 1e-9


def test_dual_value_outside_the_bounds_is_minus_infinity():
    X, y = random_problem()
    problem = BinaryProblem(X, y, 1.0, loss="hinge")
    assert problem.dual(np.full(len(y), 1.1)) == -np.inf
    assert problem.dual(np.full(len(y), -0.1)) == -np.inf


def test_gap_of_a_zero_primal_is_defined():
    assert Certificate(0.0, 0.0).gap == 0.0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"y": [1, -1]}, r"y must have shape \(60,\)"),
        ({"y": np.zeros(60)}, "only -1 and"),
        ({"y": np.full(60, "a")}, "only -1 and"),
        ({"y": np.full(60, np.nan)}, "only -1 and"),
        ({"C": -1.0}, "C must be finite"),
        ({"C": np.nan}, "C must be finite"),
        ({"C": np.inf}, "C must be finite"),
        ({"C": 0.0}, "positive for at least one row"),
        ({"C": np.ones(3)}, "C must be a number or have shape"),
        ({"loss": "logistic"}, "loss='logistic' is unknown"),
        ({"bias": np.inf}, "bias must be finite"),
        ({"X": np.empty((0, 3)), "y": []}, "X is empty"),
        ({"X": np.ones((60, 0))}, "X is empty"),
        ({"X": np.ones(60)}, "two dimensions"),
    ],
)
def test_bad_problems_are_refused_with_a_message(arguments, message):
    X, y = random_problem()
    with pytest.raises(ValueError, match=message):
        BinaryProblem(**{"X": X, "y": y, **arguments})


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (np.ones((4, 3), dtype=int), "float32 or float64"),
        (np.ones((4, 3), dtype=np.float16), "float32 or float64"),
        (np.asfortranarray(np.ones((4, 3))), "C-ordered"),
        (np.ones((8, 3))[::2], "C-ordered"),
        (csr(np.ones((4, 3))).tocsc(), "tocsr"),
        (csr(np.ones((4, 3))).astype(int), "float32 or float64"),
        ([[1.0, 2.0]], "numpy array or a CSR matrix"),
    ],
)
def test_what_would_need_a_copy_is_refused(X, message):
    with pytest.raises(TypeError, match=message):
        BinaryProblem(X, np.ones(4))


def broken(**changes):
    matrix = csr(np.eye(4))
    for name, value in changes.items():
        setattr(matrix, name, np.asarray(value, dtype=getattr(matrix, name).dtype))
    return matrix


@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        (broken(indices=[0, 1, 2, 4]), "column index 4 at position 3, but only 4 columns"),
        (broken(indices=[0, -1, 2, 3]), "column index -1 at position 1"),
        (broken(indices=[0, 1, 2, 2**31 - 1]), "column index 2147483647"),
        (broken(indptr=[0, 2, 1, 3, 4]), "decrease at row 1"),
        (broken(indptr=[1, 1, 2, 3, 4]), "start at 0"),
        (broken(indptr=[0, 1, 2, 3, 9]), "end at 9, but only 4 values"),
        (broken(indptr=[0, 1, 2, 3]), "5|row pointers"),
        (broken(data=[1.0, 2.0, 3.0]), "3 values but 4 column indices"),
        (broken(data=[1.0, np.nan, 3.0, 1.0]), "NaN, infinity"),
        (broken(data=[1.0, 2.0, np.inf, 1.0]), "row 2"),
        (broken(data=[1.0, 2.0, 1e200, 1.0]), "too large in row 2"),
    ],
)
def test_broken_matrices_are_refused_not_followed(matrix, message):
    from maxmargin import solve

    with pytest.raises(ValueError, match=message):
        solve(BinaryProblem(matrix, np.array([1, -1, 1, -1])))


def test_int64_indices_beyond_int32_are_compared_as_int64():
    matrix = csr(np.eye(4), np.int64, np.int64)
    matrix.indices[3] = 2**32  # would be 0 as a 32-bit number
    with pytest.raises(ValueError, match="column index 4294967296"):
        BinaryProblem(matrix, np.array([1, -1, 1, -1]))


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "least_squares"])
def test_losses_at_zero_are_the_objective_there(loss):
    X, y = random_problem(rows=20, features=3)
    problem = BinaryProblem(X, y, np.arange(20) / 7, loss=loss, bias=1.0)
    assert problem.losses_at_zero() == pytest.approx(problem.primal(np.zeros(4)), rel=1e-14)
