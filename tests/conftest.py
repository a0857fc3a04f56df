"""Small problems with an independent truth, and every way a matrix can be stored."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_breast_cancer

from maxmargin import save_svmlight
from maxmargin.cli.app import run

LOSS_NAMES = ["hinge", "squared_hinge", "least_squares"]
SOLVER_NAMES = ["auto", "dcd", "avsf", "online", "newton"]
HINGE_SOLVERS = [*SOLVER_NAMES, "cutting_plane"]
SOLVER_LOSSES = [
    *((solver, loss) for loss in LOSS_NAMES for solver in SOLVER_NAMES),
    ("cutting_plane", "hinge"),
    ("pcd", "squared_hinge"),
    ("pcd", "least_squares"),
]
#: What can be solved with a bias outside the regulariser.
FREE_BIAS = [(solver, loss) for solver, loss in SOLVER_LOSSES if solver != "cutting_plane"]


def random_problem(rows=60, features=8, seed=0, density=1.0, noise=0.5):
    """A noisy linear problem as float64 dense array and labels -1 / +1."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, features)) * (rng.random((rows, features)) < density)
    y = np.where(X @ rng.normal(size=features) + noise * rng.normal(size=rows) > 0, 1, -1)
    y[:2] = [1, -1]
    return X, y


def csr(X, index_type=np.int32, pointer_type=np.int32):
    """CSR with the index types asked for, which scipy's constructor would unify."""
    matrix = sp.csr_array(X)
    matrix.indices = matrix.indices.astype(index_type)
    matrix.indptr = matrix.indptr.astype(pointer_type)
    return matrix


def read_only(X):
    for array in [X] if isinstance(X, np.ndarray) else [X.data, X.indices, X.indptr]:
        array.flags.writeable = False
    return X


def memory_mapped(X, folder):
    path = folder / "X.npy"
    np.save(path, X)
    return np.load(path, mmap_mode="r")


STORAGES = {
    "dense": lambda X, _: np.ascontiguousarray(X),
    "csr32": lambda X, _: csr(X),
    "csr64": lambda X, _: csr(X, np.int64, np.int64),
    "csr_int32_indices_int64_pointers": lambda X, _: csr(X, np.int32, np.int64),
    "csr_int64_indices_int32_pointers": lambda X, _: csr(X, np.int64, np.int32),
    "read_only_csr": lambda X, _: read_only(csr(X)),
    "read_only_dense": lambda X, _: read_only(np.array(X, order="C")),
    "memory_map": memory_mapped,
}


def assert_certified(problem, solution, rel=1e-10):
    """The certificate is that of the weights and of the variables, by the formulas in numpy, and they are close."""
    truth = problem.certificate(solution.weights, solution.alpha)
    assert solution.certificate.primal == pytest.approx(truth.primal, rel=rel)
    assert solution.certificate.dual == pytest.approx(truth.dual, rel=rel, abs=rel * truth.primal)
    assert solution.certificate.gap >= 0
    difference = solution.weights - problem.weights(solution.alpha)
    if not getattr(problem, "penalize_bias", True):
        difference = difference[:-1]
    bound = 4 * (solution.certificate.primal - solution.certificate.dual)
    assert np.sum(difference**2) <= bound + rel * truth.primal


@pytest.fixture(params=list(STORAGES))
def storage(request, tmp_path):
    """A function that stores a dense array in one of the supported ways."""
    return lambda X: STORAGES[request.param](X, tmp_path)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty folder to work in, with a training and a test file."""
    monkeypatch.chdir(tmp_path)
    X, y = load_breast_cancer(return_X_y=True)
    X = X / np.abs(X).max(axis=0)
    y = np.where(y == 1, 1, -1)
    save_svmlight(X[:400], y[:400], "train.svm")
    save_svmlight(X[400:], y[400:], "test.svm")
    return tmp_path


@pytest.fixture
def command(capsys):
    """Runs the command and returns its exit code, what it printed, and what it said on standard error."""

    def call(*words):
        code = run(list(words))
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return call
