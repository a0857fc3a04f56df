"""Programs of others that know no callbacks: their curves are runs of growing effort, each from the start.

Each is optional, found by its package, and called as its own users call it, in one thread. ``effort`` is a tolerance or
a number of passes, whichever the program knows. Weights have no bias.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks.reproduce.curves import Curve
from benchmarks.rivals import timed_fit
from maxmargin import BinaryProblem

TOLERANCES = (1.0, 0.3, 0.1, 3e-2, 1e-2, 3e-3, 1e-3, 1e-4, 1e-5, 1e-6)
PASSES = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)
#: ReHLine and dlib take dense or boxed rows: not more entries than this.
MOST_ENTRIES = 20_000_000

Train = Callable[[sp.csr_matrix, np.ndarray, float, str, float], tuple[float, np.ndarray]]


@dataclass(frozen=True)
class Peer:
    """A program: its package, the losses it knows, what it is given in turn, and how it is called."""

    package: str
    losses: tuple[str, ...]
    efforts: tuple[float, ...]
    train: Train

    def is_here(self) -> bool:
        """Whether it is installed."""
        return find_spec(self.package) is not None


def liblinear(solvers: dict[str, int]) -> Train:
    """``liblinear-train -s ... -e effort``."""

    def train(X: sp.csr_matrix, y: np.ndarray, C: float, loss: str, effort: float) -> tuple[float, np.ndarray]:
        from liblinear.liblinear import liblinear, parameter, problem

        data = problem(y.astype(np.float64), X.astype(np.float64), -1)
        options = parameter(f"-s {solvers[loss]} -c {C!r} -e {effort!r} -q")
        start = time.perf_counter()
        model = liblinear.train(data, options)
        seconds = time.perf_counter() - start
        weights = model.contents.label[0] * np.ctypeslib.as_array(model.contents.w, (X.shape[1],)).copy()
        liblinear.free_and_destroy_model(model)
        return seconds, weights

    return train


def _fitted(model: Any, X: Any, y: np.ndarray) -> tuple[float, np.ndarray]:
    return timed_fit(model, X, y), np.asarray(model.coef_, dtype=np.float64).ravel()


def _scikit_learn(X: Any, y: Any, C: float, loss: str, effort: float) -> tuple[float, np.ndarray]:
    from sklearn.svm import LinearSVC

    return _fitted(
        LinearSVC(loss=loss, C=C, fit_intercept=False, tol=effort, max_iter=100_000, dual=True, random_state=0), X, y
    )


def _sgd(X: Any, y: Any, C: float, loss: str, effort: float) -> tuple[float, np.ndarray]:
    from sklearn.linear_model import SGDClassifier

    alpha = 1 / (C * len(y)) if loss == "hinge" else 1 / (2 * C * len(y))
    return _fitted(
        SGDClassifier(
            loss=loss, alpha=alpha, fit_intercept=False, max_iter=int(effort), tol=None, average=True, random_state=0
        ),
        X,
        y,
    )


def _snapml(X: Any, y: Any, C: float, loss: str, effort: float) -> tuple[float, np.ndarray]:
    from snapml import SupportVectorMachine

    return _fitted(
        SupportVectorMachine(
            loss=loss, regularizer=1 / C, fit_intercept=False, n_jobs=1, random_state=0, tol=effort, max_iter=10_000
        ),
        X,
        y.astype(np.float64),
    )


def _skglm(X: Any, y: Any, C: float, loss: str, effort: float) -> tuple[float, np.ndarray]:  # noqa: ARG001
    from skglm import LinearSVC

    timed_fit(LinearSVC(C=C), X[:50], y[:50])  # compiles
    return _fitted(LinearSVC(C=C, tol=effort), X, y)


def _lightning(X: Any, y: Any, C: float, loss: str, effort: float) -> tuple[float, np.ndarray]:
    from lightning.classification import LinearSVC

    return _fitted(LinearSVC(loss=loss, C=C, tol=effort, max_iter=10_000, random_state=0, permute=True), X, y)


def _rehline(X: Any, y: Any, C: float, loss: str, effort: float) -> tuple[float, np.ndarray]:  # noqa: ARG001
    from rehline import plqERM_Ridge

    dense = _dense(X)
    return _fitted(plqERM_Ridge(loss={"name": "svm"}, C=C, tol=effort, max_iter=100_000), dense, y.astype(np.float64))


def _vowpal_wabbit(X: Any, y: Any, C: float, loss: str, effort: float) -> tuple[float, np.ndarray]:  # noqa: ARG001
    from vowpalwabbit.sklearn import VWClassifier

    model = VWClassifier(
        loss_function="hinge", l2=1 / (C * len(y)), passes=int(effort), bit_precision=22, noconstant=True
    )
    seconds = timed_fit(model, X, y)
    return seconds, np.asarray(model.get_coefs().todense()).ravel()[: X.shape[1]]


def _dlib(X: Any, y: Any, C: float, loss: str, effort: float) -> tuple[float, np.ndarray]:  # noqa: ARG001
    import dlib

    rows, labels = dlib.vectors(), dlib.array()
    for row, sign in zip(_dense(X), y, strict=True):
        rows.append(dlib.vector(row.tolist()))
        labels.append(float(sign))
    trainer = dlib.svm_c_trainer_linear()
    trainer.set_c(C * len(y))
    trainer.epsilon = effort
    trainer.force_last_weight_to_1 = False
    start = time.perf_counter()
    found = trainer.train(rows, labels)
    return time.perf_counter() - start, np.array(list(found.weights))


def _spark(X: Any, y: Any, C: float, loss: str, effort: float) -> tuple[float, np.ndarray]:  # noqa: ARG001
    from pyspark.ml.classification import LinearSVC
    from pyspark.ml.linalg import SparseVector
    from pyspark.sql import SparkSession

    session = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    rows = [
        (float(sign > 0), SparseVector(X.shape[1], X.indices[a:b].tolist(), X.data[a:b].tolist()))
        for sign, a, b in zip(y, X.indptr[:-1], X.indptr[1:], strict=True)
    ]
    frame = session.createDataFrame(rows, ["label", "features"]).cache()
    frame.count()
    model = LinearSVC(
        regParam=1 / (C * len(y)), maxIter=int(effort), tol=0.0, fitIntercept=False, standardization=False
    )
    start = time.perf_counter()
    fitted = model.fit(frame)
    return time.perf_counter() - start, fitted.coefficients.toArray()


def _dense(X: sp.csr_matrix) -> np.ndarray:
    if X.shape[0] * X.shape[1] > MOST_ENTRIES:
        raise MemoryError("it takes dense rows only, and these are too many")
    return X.toarray()


BOTH = ("hinge", "squared_hinge")
PEERS = {
    "LIBLINEAR": Peer("liblinear", BOTH, TOLERANCES, liblinear({"hinge": 3, "squared_hinge": 1})),
    "LIBLINEAR -s 2": Peer("liblinear", BOTH[1:], TOLERANCES, liblinear({"squared_hinge": 2})),
    "scikit-learn": Peer("sklearn", BOTH, TOLERANCES, _scikit_learn),
    "SGDClassifier": Peer("sklearn", BOTH, PASSES, _sgd),
    "SnapML": Peer("snapml", BOTH, TOLERANCES, _snapml),
    "skglm": Peer("skglm", BOTH[:1], TOLERANCES, _skglm),
    "lightning": Peer("lightning", BOTH, TOLERANCES, _lightning),
    "ReHLine": Peer("rehline", BOTH[:1], TOLERANCES, _rehline),
    "Vowpal Wabbit": Peer("vowpalwabbit", BOTH[:1], PASSES, _vowpal_wabbit),
    "dlib": Peer("dlib", BOTH[:1], TOLERANCES, _dlib),
    "Spark": Peer("pyspark", BOTH[:1], PASSES, _spark),
}


def tolerance_curve(
    name: str,
    X: sp.csr_matrix,
    y: np.ndarray,
    C: float,
    loss: str,
    score: Callable[[np.ndarray], float],
    seconds: float,
) -> Curve:
    """One run for each effort until one takes longer than ``seconds``; values are the best so far, as for ours.

    The curve is empty, and ``exit`` says why, where the program is not installed or refuses the data.
    """
    peer, curve = PEERS[name], Curve()
    if not peer.is_here():
        curve.exit = "not installed"
        return curve
    problem = BinaryProblem(X, y, C, loss=loss)
    lowest, best = np.inf, None
    for effort in peer.efforts:
        try:
            took, found = peer.train(X, y, C, loss, effort)
        except Exception as error:  # a program that fails here is a result, not an end of the run
            curve.exit = f"{type(error).__name__}: {error}"[:200]
            break
        weights = np.append(found, 0.0)
        value = problem.primal(weights)
        if value < lowest or best is None:
            lowest, best = value, weights
        curve.seconds.append(took)
        curve.primal.append(lowest)
        curve.dual.append(0.0)
        curve.epochs.append(len(curve.epochs) + 1)
        curve.active.append(0)
        curve.score.append(score(best))
        if took > seconds:
            break
    return curve
