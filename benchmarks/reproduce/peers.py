"""Programs of others that know no callbacks: their curves are runs of growing effort, each from the start.

Each is optional, found by its package, and called as its own users call it, in one thread. ``effort`` is a tolerance or
a number of passes, whichever the program knows. Weights have no bias.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks.reproduce.curves import Curve
from benchmarks.rivals import each_within, timed_fit
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

    options: dict[str, Any] = {"loss": loss, "alpha": 1 / (C * len(y))}
    if loss == "squared_hinge":
        # Its slope is not bounded: the default's first steps are too long, and it diverges.
        options = {"loss": loss, "alpha": 1 / (2 * C * len(y)), "learning_rate": "invscaling", "power_t": 0.25}
        options["eta0"] = 0.5 / _largest_square(X)
    model = SGDClassifier(fit_intercept=False, max_iter=int(effort), tol=None, average=True, random_state=0, **options)
    return _fitted(model, X, y)


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
    return _fitted(LinearSVC(C=C, tol=effort, max_iter=100_000), X, y)


def _lightning(X: Any, y: Any, C: float, loss: str, effort: float) -> tuple[float, np.ndarray]:
    from lightning.classification import LinearSVC

    return _fitted(LinearSVC(loss=loss, C=C, tol=effort, max_iter=10_000, random_state=0, permute=True), X, y)


def _rehline(X: Any, y: Any, C: float, loss: str, effort: float) -> tuple[float, np.ndarray]:  # noqa: ARG001
    from rehline import plqERM_Ridge

    dense = _dense(X)
    return _fitted(plqERM_Ridge(loss={"name": "svm"}, C=C, tol=effort, max_iter=100_000), dense, y.astype(np.float64))


def _vowpal_wabbit(X: Any, y: Any, C: float, loss: str, effort: float) -> tuple[float, np.ndarray]:  # noqa: ARG001
    """Plain steps of the length 1 / (l2 t), the rate of strongly convex problems, the first of 1 / max |x|^2.

    It shrinks the weights only at rows that have a loss, so that it ends above the optimum however many passes it
    makes; with its own adaptive steps it moves away from it again.
    """
    from vowpalwabbit.sklearn import VWClassifier

    rate = 1 / _largest_square(X)
    model = VWClassifier(
        loss_function="hinge",
        l2=1 / (C * len(y)),
        passes=int(effort),
        bit_precision=22,
        noconstant=True,
        sgd=True,
        power_t=1.0,
        learning_rate=rate,
        initial_t=C * len(y) / rate,
    )
    seconds = timed_fit(model, X, y)
    program = model.get_vw()
    weights = np.array([program.get_weight(column) for column in range(X.shape[1])])
    # The weights that it tells lack the factor of its shrinking. Scores, which have it, are cut off at -1 and 1.
    scores = X[:100] @ weights
    small = 0.5 / max(float(np.abs(scores).max()), 1e-300)
    factor = float(model.decision_function(X[:100] * small) @ scores) / (small * float(scores @ scores) or 1.0)
    return seconds, factor * weights


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


def _largest_square(X: sp.csr_matrix) -> float:
    """The largest squared norm of a row."""
    return max(float(np.asarray(X.multiply(X).sum(axis=1)).max()), 1e-300)


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
    start: float,
) -> Curve:
    """One run for each effort until one takes longer than ``seconds``; values are the best so far, as for ours.

    They run in a process of their own, which is ended where ``start`` seconds more have passed without a result. The
    curve is empty, and ``exit`` says why, where the program is not installed or refuses the data.
    """
    peer, curve = PEERS[name], Curve()
    if not peer.is_here():
        curve.exit = "not installed"
        return curve

    def runs() -> Iterator[tuple[float, np.ndarray] | str]:
        for effort in peer.efforts:
            try:
                yield peer.train(X, y, C, loss, effort)
            except Exception as error:  # a program that fails here is a result, not an end of the run
                yield f"{type(error).__name__}: {error}"[:200]
                return

    problem = BinaryProblem(X, y, C, loss=loss)
    lowest, best = np.inf, None
    for number, run in enumerate(each_within(seconds + start, runs), start=1):
        if isinstance(run, str):
            curve.exit = run
            break
        took, found = run
        weights = np.append(found, 0.0)
        value = problem.primal(weights)
        if value < lowest or best is None:
            lowest, best = value, weights
        curve.seconds.append(took)
        curve.primal.append(lowest)
        curve.dual.append(0.0)
        curve.epochs.append(number)
        curve.active.append(0)
        curve.score.append(score(best))
        if took > seconds:
            break
    if not curve.seconds and not curve.exit:
        curve.exit = f"no result within {seconds + start:g} s"
    return curve
