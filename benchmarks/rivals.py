"""The other programs, each called as its own users call it. All return seconds and weights with the bias last."""

from __future__ import annotations

import multiprocessing
import time
import warnings
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import numpy as np
import scipy.sparse as sp


def within(limit: float, work: Callable[[], tuple[float, Any]]) -> tuple[float, Any]:
    """``work()`` in a process of its own, for programs without a time limit; ``(limit, None)`` when that ended it."""
    context = multiprocessing.get_context("fork")
    results = context.Queue()
    process = context.Process(target=lambda: results.put(work()))
    process.start()
    try:
        return results.get(timeout=limit)
    except Exception:
        return limit, None
    finally:
        process.kill()
        process.join()


class Liblinear:
    """LIBLINEAR through its own Python package; the conversion of the data to its format is not counted."""

    name = "LIBLINEAR"

    def __init__(self, X: sp.csr_matrix, y: np.ndarray) -> None:
        from liblinear.liblinear import problem

        self.features = X.shape[1]
        self.problem = problem(y.astype(np.float64), X.astype(np.float64), 1.0)

    def train(self, loss: str, C: float) -> tuple[float, np.ndarray]:
        """Default stopping rule of ``liblinear-train -s 3`` or ``-s 1``."""
        from liblinear.liblinear import liblinear, parameter

        options = parameter(f"-s {3 if loss == 'hinge' else 1} -c {C} -B 1 -q")
        start = time.perf_counter()
        model = liblinear.train(self.problem, options)
        seconds = time.perf_counter() - start
        w = np.ctypeslib.as_array(model.contents.w, (self.features + 1,)) * model.contents.label[0]
        liblinear.free_and_destroy_model(model)
        return seconds, w


class ScikitLearn:
    """scikit-learn's LinearSVC with its default tolerance and iteration limit."""

    name = "scikit-learn"

    def __init__(self, X: sp.csr_matrix, y: np.ndarray) -> None:
        self.X, self.y = X, y

    def train(self, loss: str, C: float) -> tuple[float, np.ndarray]:
        """``LinearSVC(loss=loss, C=C).fit(X, y)``."""
        from sklearn.svm import LinearSVC

        model = LinearSVC(loss=loss, C=C, random_state=0)
        start = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(self.X, self.y)
        return time.perf_counter() - start, np.append(model.coef_[0], model.intercept_)


class SnapMl:
    """SnapML's SupportVectorMachine with its default tolerance and iteration limit, one thread."""

    name = "SnapML"

    def __init__(self, X: sp.csr_matrix, y: np.ndarray) -> None:
        self.X, self.y = X, y.astype(np.float64)

    def train(self, loss: str, C: float) -> tuple[float, np.ndarray]:
        """``SupportVectorMachine(loss=loss, regularizer=1 / C, fit_intercept=True).fit(X, y)``."""
        from snapml import SupportVectorMachine

        model = SupportVectorMachine(loss=loss, regularizer=1 / C, fit_intercept=True, n_jobs=1, random_state=0)
        start = time.perf_counter()
        model.fit(self.X, self.y)
        return time.perf_counter() - start, np.append(model.coef_.ravel(), model.intercept_)


def installed() -> list[type]:
    """The rivals that can be imported here; LIBLINEAR and scikit-learn always are."""
    return [Liblinear, ScikitLearn, *([SnapMl] if find_spec("snapml") else [])]
