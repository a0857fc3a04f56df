"""The settings of Joachims 2006: SVM-perf with epsilon = 0.001, C before the mean of the losses, a constant column.

SVM-perf is the plain cutting plane that keeps all cuts and stops by the paper's own rule. SVM-Light's part is taken by
scikit-learn's ``SVC(kernel="linear")`` (LIBSVM), which is a decomposition method too; it has a time limit.
"""

from __future__ import annotations

import math
import time
from typing import Any

import numpy as np

from benchmarks.reproduce.context import Context
from benchmarks.reproduce.data import Found
from benchmarks.rivals import within
from maxmargin import BinaryProblem, CuttingPlane, RankingProblem, count_pairs, solve

#: The sets and the C that is best for each.
SETS = {"ccat": 1e4, "c11": 5e4, "astro-physic": 2e4, "covtype1": 1e6, "kdd04-physics": 2e4}
EPSILON = 1e-3
EPSILONS = (0.5, 0.2, 0.1, 0.03, 0.01, 0.003, 0.001)
CS = (10.0, 100.0, 1e3, 1e4, 1e5, 1e6)
SETTINGS = (
    "epsilon = 0.001 and the paper's C (C/n before the sum of the losses) unless it says otherwise, a constant column, "
    "all cuts kept, no acceleration. SVM-Light's part is scikit-learn's SVC(kernel='linear')."
)
DECOMPOSITION = "SVC (LIBSVM)"


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
        limit = context.pick(8.0, 3600.0)
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
    """The same by a decomposition method; seconds are infinite where its limit came first."""

    def run() -> dict[str, float]:
        X, y = shuffled(found)
        tenth = len(y) * 9 // 10

        def work() -> tuple[float, float]:
            from sklearn.svm import SVC

            start = time.perf_counter()
            model = SVC(kernel="linear", C=C / n, cache_size=500).fit(X[:n], y[:n])
            seconds = time.perf_counter() - start
            return seconds, 100 * float(np.mean(model.predict(X[tenth:]) == y[tenth:]))

        result = within(context.pick(8.0, 3600.0), work)
        return {"seconds": -1.0, "score": -1.0} if result is None else {"seconds": result[0], "score": result[1]}

    found_ = context.once(f"paper004-{found.used}-{found.name}-svc-{n}-{C:g}", run)
    return {**found_, "seconds": math.inf if found_["seconds"] < 0 else found_["seconds"]}


def optimum(context: Context, found: Found, *, n: int, C: float) -> float:
    """The exact optimum, to a gap of 1e-6, by the library's own choice."""

    def run() -> float:
        X, y = shuffled(found)
        problem = BinaryProblem(X[:n], y[:n], C / n, loss="hinge", bias=1.0)
        return solve(problem, tol=1e-6, time_limit=context.pick(20.0, 3600.0)).certificate.dual

    return float(context.once(f"paper004-{found.used}-{found.name}-optimum-{n}-{C:g}", run))


def tasks(context: Context) -> list[tuple[Found, float]]:
    """The data sets that can be had, with the paper's C."""
    return [(found, SETS[found.name]) for found in context.several(list(SETS))]
