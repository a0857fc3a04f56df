"""The other programs, each called as its own users call it, in one thread.

A rival is made for one data set and one bias, and ``train`` returns seconds and weights: one row for two classes, else
one per class, the bias last. What it must do to the data before it can begin is not counted, except where its own
``fit`` does it.
"""

from __future__ import annotations

import multiprocessing
import time
import warnings
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp


def within(limit: float, work: Callable[[], Any]) -> Any:
    """``work()`` in a process of its own, for programs without a time limit; None when that ended it, or it failed."""
    return next(each_within(limit, lambda: iter([work()])), None)


def each_within(limit: float, work: Callable[[], Iterator[Any]]) -> Iterator[Any]:
    """What ``work()`` yields in a process of its own, until an item takes longer than ``limit`` or the process dies."""
    context = multiprocessing.get_context("fork")
    reader, writer = context.Pipe(duplex=False)

    def send() -> None:
        for item in work():
            writer.send(item)

    process = context.Process(target=send)
    with warnings.catch_warnings():  # later versions of Python warn of forks beside threads of libraries
        warnings.simplefilter("ignore", DeprecationWarning)
        process.start()
    writer.close()
    try:
        while reader.poll(limit):
            yield reader.recv()
    except EOFError:  # it has come to its end
        pass
    finally:
        process.kill()
        process.join()


class Rival:
    """A program to compare with."""

    name: ClassVar[str]
    package: ClassVar[str]
    #: The losses it knows, by kind of problem.
    takes: ClassVar[dict[str, tuple[str, ...]]] = {"binary": ("hinge", "squared_hinge")}
    #: Whether it can do without, and with, a constant column.
    biases: ClassVar[tuple[float, ...]] = (0.0, 1.0)

    def __init__(self, X: sp.csr_matrix, y: np.ndarray, bias: float) -> None:
        self.X, self.y, self.bias = X, y, bias

    def train(self, kind: str, loss: str, C: float) -> tuple[float, np.ndarray]:
        """Seconds and weights."""
        raise NotImplementedError

    @classmethod
    def knows(cls, kind: str, loss: str, bias: float) -> bool:
        """Whether it solves such problems here."""
        return bool(find_spec(cls.package)) and loss in cls.takes.get(kind, ()) and bias in cls.biases


class Liblinear(Rival):
    """LIBLINEAR through its own Python package with its default stopping rule: "-s 3", "-s 1" and "-s 4"."""

    name = "LIBLINEAR"
    package = "liblinear"
    takes: ClassVar = {
        "binary": ("hinge", "squared_hinge"),
        "ovr": ("hinge", "squared_hinge"),
        "crammer_singer": ("hinge",),
    }
    solvers: ClassVar = {"hinge": 3, "squared_hinge": 1}

    def __init__(self, X: sp.csr_matrix, y: np.ndarray, bias: float) -> None:
        from liblinear.liblinear import problem

        super().__init__(X, y, bias)
        self.problem = problem(y.astype(np.float64), X.astype(np.float64), bias if bias > 0 else -1)

    def train(self, kind: str, loss: str, C: float) -> tuple[float, np.ndarray]:
        """``liblinear-train -s ... -c C [-B 1]``."""
        from liblinear.liblinear import liblinear, parameter

        solver = 4 if kind == "crammer_singer" else self.solvers[loss]
        options = parameter(f"-s {solver} -c {C!r} -q")
        start = time.perf_counter()
        model = liblinear.train(self.problem, options)
        seconds = time.perf_counter() - start
        count = model.contents.nr_class
        columns = 1 if count == 2 and kind != "crammer_singer" else count
        rows = self.X.shape[1] + (1 if self.bias > 0 else 0)
        labels = np.array(model.contents.label[:count])
        found = np.ctypeslib.as_array(model.contents.w, (rows * columns,)).reshape(rows, columns).T
        weights = np.zeros((columns, self.X.shape[1] + 1))
        # Classes come in the order of their first rows; of two, the weights are those of the first.
        weights[:, :rows] = labels[0] * found if columns == 1 else found[np.argsort(labels)]
        liblinear.free_and_destroy_model(model)
        return seconds, weights


class LiblinearNewton(Liblinear):
    """LIBLINEAR's Newton method, "-s 2": what an expert takes where features are few."""

    name = "LIBLINEAR -s 2"
    takes: ClassVar = {"binary": ("squared_hinge",), "ovr": ("squared_hinge",)}
    solvers: ClassVar = {"squared_hinge": 2}


class LiblinearL1(Liblinear):
    """LIBLINEAR's coordinate descent for the penalty "l1", "-s 5"."""

    name = "LIBLINEAR -s 5"
    takes: ClassVar = {"l1": ("squared_hinge",)}
    solvers: ClassVar = {"squared_hinge": 5}


class ScikitLearn(Rival):
    """scikit-learn's LinearSVC as it is by default."""

    name = "scikit-learn"
    package = "sklearn"
    takes: ClassVar = {"binary": ("hinge", "squared_hinge"), "ovr": ("hinge", "squared_hinge")}

    def train(self, kind: str, loss: str, C: float) -> tuple[float, np.ndarray]:  # noqa: ARG002
        """``LinearSVC(loss=loss, C=C).fit(X, y)``."""
        from sklearn.svm import LinearSVC

        model = LinearSVC(loss=loss, C=C, fit_intercept=self.bias > 0, random_state=0)
        seconds = timed_fit(model, self.X, self.y)
        intercept = np.broadcast_to(model.intercept_, len(model.coef_))
        return seconds, np.column_stack([model.coef_, intercept])


class SnapMl(Rival):
    """SnapML's SupportVectorMachine as it is by default."""

    name = "SnapML"
    package = "snapml"

    def train(self, kind: str, loss: str, C: float) -> tuple[float, np.ndarray]:  # noqa: ARG002
        """``SupportVectorMachine(loss=loss, regularizer=1 / C).fit(X, y)``."""
        from snapml import SupportVectorMachine

        intercept = self.bias > 0
        model = SupportVectorMachine(loss=loss, regularizer=1 / C, fit_intercept=intercept, n_jobs=1, random_state=0)
        seconds = timed_fit(model, self.X, self.y.astype(np.float64))
        return seconds, np.append(model.coef_.ravel(), model.intercept_ if intercept else 0.0)[np.newaxis]


class Skglm(Rival):
    """skglm's LinearSVC, which knows the hinge without an intercept; compiled before it is timed."""

    name = "skglm"
    package = "skglm"
    takes: ClassVar = {"binary": ("hinge",)}
    biases: ClassVar = (0.0,)

    def train(self, kind: str, loss: str, C: float) -> tuple[float, np.ndarray]:  # noqa: ARG002
        """``LinearSVC(C=C).fit(X, y)``."""
        from skglm import LinearSVC

        timed_fit(LinearSVC(C=C), self.X[:50], self.y[:50])
        model = LinearSVC(C=C)
        seconds = timed_fit(model, self.X, self.y)
        return seconds, np.append(model.coef_.ravel(), 0.0)[np.newaxis]


class Rehline(Rival):
    """ReHLine's plqERM_Ridge, which takes dense data and the hinge."""

    name = "ReHLine"
    package = "rehline"
    takes: ClassVar = {"binary": ("hinge",)}
    biases: ClassVar = (0.0,)
    most_entries: ClassVar = 50_000_000

    def train(self, kind: str, loss: str, C: float) -> tuple[float, np.ndarray]:  # noqa: ARG002
        """``plqERM_Ridge(loss={"name": "svm"}, C=C).fit(X, y)``."""
        from rehline import plqERM_Ridge

        if self.X.shape[0] * self.X.shape[1] > self.most_entries:
            raise MemoryError("it takes dense data only")
        X = self.X.toarray()
        model = plqERM_Ridge(loss={"name": "svm"}, C=C)
        seconds = timed_fit(model, X, self.y.astype(np.float64))
        return seconds, np.append(np.ravel(model.coef_), 0.0)[np.newaxis]


def timed_fit(model: Any, X: Any, y: Any) -> float:
    """Seconds of ``fit``, its warnings unheard."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        start = time.perf_counter()
        model.fit(X, y)
        return time.perf_counter() - start


RIVALS: dict[str, type[Rival]] = {
    rival.name: rival for rival in (Liblinear, LiblinearNewton, LiblinearL1, ScikitLearn, SnapMl, Skglm, Rehline)
}
