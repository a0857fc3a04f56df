"""One problem in several threads: the time with one thread and with more, and what parts of the columns cost in passes.

    python -m benchmarks.scale [--threads 2] [--data covtype mnist] [--repeat 3] [--parts 8]

Two classes, several classes at once (Crammer-Singer) and rankings, to a certified gap of 1e-3 at C = 1 (rankings: C =
1000), an intercept, float64; the smallest time of some, of the whole call of ``solve`` with a new matrix. Methods that
work on one thread, whatever ``n_jobs`` is, show a ratio of about 1. "epochs in 8 parts" are those of dual coordinate
descent with as many parts as eight threads need, over those of one thread; dense and short rows are not dealt out.
Data larger than memory are in ``benchmarks.blocks``, a cluster in ``benchmarks.scale_dask``.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from typing import Any

from benchmarks.datasets import load_binary, load_classes
from maxmargin import BinaryProblem, DualCoordinateDescent, Matrix, MulticlassProblem, RankingProblem, Solution, solve

SETS = {
    "two classes": ("covtype", "mnist", "w8a", "imdb", "blogs150k", "20ng.bigram"),
    "several classes": ("mnist", "news20", "covtype"),
    "ranking": ("covtype",),
}
#: Sets on which sweeps are shared.
SHARED = ("imdb", "blogs150k", "20ng.bigram")


def problems(kind: str, name: str) -> Iterator[tuple[str, Callable[[], Any]]]:
    """What is solved, and how to make it anew."""
    found = (load_classes if kind == "several classes" else load_binary)(name, "float64")
    if found is None:
        return
    X, y = found
    if kind == "several classes":
        yield "Crammer-Singer", lambda: MulticlassProblem(Matrix(X), y, 1.0, bias=1.0)
    elif kind == "ranking":
        yield "ranking", lambda: RankingProblem(Matrix(X), y, 1000.0)
    else:
        yield "hinge", lambda: BinaryProblem(Matrix(X), y, 1.0, loss="hinge", bias=1.0)
        yield "squared hinge", lambda: BinaryProblem(Matrix(X), y, 1.0, loss="squared_hinge", bias=1.0)


def measure(make: Callable[[], Any], n_jobs: int, repeat: int) -> tuple[float, Solution]:
    """The smallest time of some, and the last solution."""
    best = float("inf")
    for _ in range(repeat):
        begin = time.perf_counter()
        solution = solve(make(), n_jobs=n_jobs)
        best = min(best, time.perf_counter() - begin)
        assert solution.converged
    return best, solution


def epochs(make: Callable[[], Any], parts: int, threads: int) -> str:
    """Epochs of dual coordinate descent in so many parts, beside those of one thread."""
    alone = solve(make(), "dcd")
    shared = solve(make(), DualCoordinateDescent(parts=parts), n_jobs=threads)
    return f"{shared.n_iter} / {alone.n_iter}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--data", nargs="*")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--parts", type=int, default=8)
    given = parser.parse_args()
    threads, parts = f"{given.threads} threads", f"epochs in {given.parts} parts"
    print(f"| data | loss | solver | steps | 1 thread | {threads} | ratio | {parts} |")
    print("|---|---|---|---|---|---|---|---|")
    for kind, sets in SETS.items():
        for name in sets:
            if given.data is not None and name not in given.data:
                continue
            for loss, make in problems(kind, name):
                one, _ = measure(make, 1, given.repeat)
                more, solution = measure(make, given.threads, given.repeat)
                dealt = epochs(make, given.parts, given.threads) if kind == "two classes" and name in SHARED else ""
                print(
                    f"| {name} | {loss} | {solution.solver} | {solution.n_iter} | {one:.3f} s | {more:.3f} s | "
                    f"{one / more:.2f} | {dealt} |",
                    flush=True,
                )


if __name__ == "__main__":
    main()
