"""One problem in several threads: the time of "newton", and of "auto" on text, with one thread and with more.

    python -m benchmarks.scale [--threads 2] [--data covtype mnist] [--repeat 3]

Certified gap 1e-3, C = 1, an intercept, float64; the smallest time of some, of the whole call of ``solve`` with a new
matrix. Methods that work on one thread, whatever ``n_jobs`` is, show a ratio of about 1. Data larger than memory are
in ``benchmarks.blocks``, a cluster in ``benchmarks.scale_dask``.
"""

from __future__ import annotations

import argparse
import time

from benchmarks.datasets import load_binary
from maxmargin import BinaryProblem, Matrix, solve

SETS = {"covtype": "newton", "mnist": "newton", "w8a": "newton", "blogs150k": "auto", "20ng.bigram": "auto"}


def measure(name: str, loss: str, solver: str, n_jobs: int, repeat: int) -> tuple[float, int]:
    found = load_binary(name, "float64")
    assert found is not None
    X, y = found
    best, steps = float("inf"), 0
    for _ in range(repeat):
        begin = time.perf_counter()
        solution = solve(BinaryProblem(Matrix(X), y, 1.0, loss=loss, bias=1.0), solver, n_jobs=n_jobs)
        best, steps = min(best, time.perf_counter() - begin), solution.n_iter
        assert solution.converged
    return best, steps


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--data", nargs="*", default=list(SETS))
    parser.add_argument("--repeat", type=int, default=3)
    given = parser.parse_args()
    print(f"| data | loss | solver | steps | 1 thread | {given.threads} threads | ratio |")
    print("|---|---|---|---|---|---|---|")
    for name in given.data:
        if load_binary(name) is None:
            print(f"| {name} | the data are missing; see benchmarks/datasets.py | | | | | |")
            continue
        for loss in ("hinge", "squared_hinge"):
            solver = SETS.get(name, "auto")
            one, steps = measure(name, loss, solver, 1, given.repeat)
            more, _ = measure(name, loss, solver, given.threads, given.repeat)
            print(
                f"| {name} | {loss} | {solver} | {steps} | {one:.3f} s | {more:.3f} s | {one / more:.2f} |", flush=True
            )


if __name__ == "__main__":
    main()
