"""The settings of Joachims 2006: SVM-perf with epsilon = 0.001, C before the mean of the losses, a constant column.

SVM-perf is the plain cutting plane that keeps all cuts and stops by the paper's own rule. The decomposition method is
SVM-Light where its ``svm_learn`` is found, else scikit-learn's ``SVC(kernel="linear")`` (LIBSVM); it has a time limit.
"""

from __future__ import annotations

import math
import re
import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.reproduce import limits
from benchmarks.reproduce.context import Context
from benchmarks.reproduce.data import Found
from benchmarks.rivals import within
from maxmargin import BinaryProblem, CuttingPlane, RankingProblem, count_pairs, save_svmlight, solve

#: The sets and the C that is best for each.
SETS = {"ccat": 1e4, "c11": 5e4, "astro-physic": 2e4, "covtype1": 1e6, "kdd04-physics": 2e4}
EPSILON = 1e-3
EPSILONS = (0.5, 0.2, 0.1, 0.03, 0.01, 0.003, 0.001)
CS = (10.0, 100.0, 1e3, 1e4, 1e5, 1e6)
SETTINGS = (
    "epsilon = 0.001 and the paper's C (C/n before the sum of the losses) unless it says otherwise, a constant column, "
    "all cuts kept, no acceleration. The decomposition method is SVM-Light where svm_learn is found, else "
    "scikit-learn's SVC(kernel='linear'). Where it has met its limit "
    f"({limits.DECOMPOSITION[1]:g} s, {limits.DECOMPOSITION[0]:g} in quick mode), it is not tried with more rows and a "
    "larger C."
)


def svm_light() -> bool:
    """Whether Joachims' own program is here."""
    return shutil.which("svm_learn") is not None


DECOMPOSITION = "SVM-Light" if svm_light() else "SVC (LIBSVM)"


def sizes(found: Found, context: Context) -> list[int]:
    """Numbers of rows, three times more each."""
    n = len(found.y) * 9 // 10
    counts = [n]
    while counts[0] // 3 >= context.pick(300, 1_000) and len(counts) < 6:
        counts.insert(0, counts[0] // 3)
    return counts


def shuffled(found: Found) -> tuple[Any, np.ndarray]:
    """The rows in random order, nine tenths of them for training."""
    order = np.random.default_rng(1).permutation(len(found.y))
    return found.X[order], found.y[order]


def perf(
    context: Context, found: Found, *, n: int, C: float, epsilon: float = EPSILON, task: str = "classification"
) -> dict[str, float]:
    """One training by SVM-perf on the first rows: seconds, cuts, objective, test accuracy or share of pairs."""

    def run() -> dict[str, float]:
        X, y = shuffled(found)
        tenth = len(y) * 9 // 10
        method = CuttingPlane(acceleration=False, keep_cuts=True, epsilon=epsilon)
        if task == "ranking":
            problem: Any = RankingProblem(X[:n], y[:n].astype(float), C)
        else:
            problem = BinaryProblem(X[:n], y[:n], C / n, loss="hinge", bias=1.0)
        limit = context.limit(limits.PAPER004)
        solution = solve(problem, method, tol=1e-12, max_iter=100_000, time_limit=limit, pack=False)
        w = solution.weights
        scores = X[tenth:] @ w[:-1] + w[-1]
        if task == "ranking":
            score = 100 * float(count_pairs(y[tenth:].astype(float), scores).share_in_order)
        else:
            score = 100 * float(np.mean(np.where(scores > 0, 1, -1) == y[tenth:]))
        return {
            "seconds": solution.seconds - solution.check_seconds,
            "cuts": solution.n_iter,
            "primal": solution.certificate.primal,
            "dual": solution.certificate.dual,
            "score": score,
            "done": float(solution.exit in ("epsilon", "converged")),
        }

    return context.once(f"paper004-{found.used}-{found.name}-{task}-{n}-{C:g}-{epsilon:g}", run)


def decomposition(context: Context, found: Found, *, n: int, C: float) -> dict[str, float]:
    """The same by a decomposition method; seconds are infinite where its limit came first.

    Where it has met its limit with fewer rows and a smaller C already, it is not tried.
    """
    key = f"paper004-{found.used}-{found.name}-{'svm_learn' if svm_light() else 'svc'}"
    hopeless = context.stopped.setdefault(key, [])
    if any(n >= rows and smaller <= C for rows, smaller in hopeless):
        return {"seconds": math.inf, "score": -1.0}

    def run() -> dict[str, float]:
        X, y = shuffled(found)
        tenth = len(y) * 9 // 10
        train = by_svm_light if svm_light() else by_svc
        result = within(context.limit(limits.DECOMPOSITION), lambda: train(X[:n], y[:n], C / n, X[tenth:], y[tenth:]))
        return {"seconds": -1.0, "score": -1.0} if result is None else {"seconds": result[0], "score": result[1]}

    result = context.once(f"{key}-{n}-{C:g}", run)
    if result["seconds"] >= 0:
        return dict(result)
    hopeless.append((n, C))
    return {**result, "seconds": math.inf}


def by_svc(X: Any, y: np.ndarray, C: float, X_test: Any, y_test: np.ndarray) -> tuple[float, float]:
    """Seconds and test accuracy of scikit-learn's SVC."""
    from sklearn.svm import SVC

    start = time.perf_counter()
    model = SVC(kernel="linear", C=C, cache_size=500).fit(X, y)
    return time.perf_counter() - start, 100 * float(np.mean(model.predict(X_test) == y_test))


def by_svm_light(X: Any, y: np.ndarray, C: float, X_test: Any, y_test: np.ndarray) -> tuple[float, float]:
    """Seconds and test accuracy of svm_learn; its own measure of time leaves out reading."""
    with tempfile.TemporaryDirectory() as name:
        data, model = Path(name) / "data", Path(name) / "model"
        save_svmlight(X, y, data)
        words = ["svm_learn", "-t", "0", "-c", repr(C), "-e", str(EPSILON), str(data), str(model)]
        told = subprocess.run(words, capture_output=True, text=True, check=True).stdout
        weights, threshold = read_svm_light(model, X.shape[1])
    found = re.search(r"Runtime in cpu-seconds: *([0-9.]+)", told)
    if found is None:
        raise ValueError("svm_learn told no time")
    scores = X_test @ weights - threshold
    return float(found.group(1)), 100 * float(np.mean(np.where(scores > 0, 1, -1) == y_test))


def read_svm_light(model: Path, features: int) -> tuple[np.ndarray, float]:
    """Weights and threshold of a linear model: after the line of the threshold, one of alpha y and row each."""
    weights, threshold = np.zeros(features), None
    for line in model.read_text().splitlines():
        words = line.partition("#")[0].split()
        if threshold is not None:
            for place, value in (pair.split(":") for pair in words[1:]):
                weights[int(place) - 1] += float(words[0]) * float(value)
        elif "threshold b" in line:
            threshold = float(words[0])
    if threshold is None:
        raise ValueError(f"{model}: no threshold")
    return weights, threshold


def optimum(context: Context, found: Found, *, n: int, C: float) -> float:
    """The exact optimum, to a gap of 1e-6, by the library's own choice."""

    def run() -> float:
        X, y = shuffled(found)
        problem = BinaryProblem(X[:n], y[:n], C / n, loss="hinge", bias=1.0)
        return solve(problem, tol=1e-6, time_limit=context.limit(limits.REFERENCE)).certificate.dual

    return float(context.once(f"paper004-{found.used}-{found.name}-optimum-{n}-{C:g}", run))


def tasks(context: Context) -> list[tuple[Found, float]]:
    """The data sets that can be had, with the paper's C."""
    return [(found, SETS[found.name]) for found in context.several(list(SETS))]
