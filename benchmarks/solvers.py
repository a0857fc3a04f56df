"""What "auto" chooses against every single solver: seconds to a certified gap of 1e-3, one thread.

    python -m benchmarks.solvers [--data a9a w8a ...] [--tol 1e-3] [--output benchmarks/results/solvers.md]

A single solver that is not done after twice the time of "auto" is not the best one and is ended there.
"""

from __future__ import annotations

import argparse
import math
import time
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.datasets import ROOT, folder, load_binary
from benchmarks.report import Table, describe_machine, geometric_mean
from benchmarks.speed import CS, FEW, LOSSES, REPORTED_ON, TEXT, TUNED_ON
from maxmargin import LOSSES as FAMILY
from maxmargin import BinaryProblem, Solution, solve
from maxmargin.solvers.methods import solvers_for

DATA = [name for groups in (TUNED_ON, REPORTED_ON) for group in (TEXT, FEW) for name in groups[group]]
#: Times below this, in seconds, are alike to everyone.
NOISE = 0.002
WITHIN = 1.3


def timed_solve(X: Any, y: Any, loss: str, C: float, **options: Any) -> tuple[float, Solution]:
    """From the arrays to the solution, checks of the input included."""
    start = time.perf_counter()
    solution = solve(BinaryProblem(X, y, C, loss=loss, bias=1.0), **options)
    return time.perf_counter() - start, solution


def measure(X: Any, y: Any, loss: str, C: float, tol: float, repeats: int) -> tuple[float, dict[str, float], Solution]:
    """Seconds of "auto" and of each single solver, and what "auto" found.

    All that can be the fastest run in turn, round by round, because the machine changes its pace.
    """
    run = partial(timed_solve, X, y, loss, C, tol=tol)
    seconds, solution = run(time_limit=60.0)
    limit = 2 * seconds + 0.01
    times = {"auto": seconds}
    for solver in solvers_for("binary", FAMILY[loss])[1:]:  # "auto" comes first
        seconds, single = run(solver=solver, time_limit=limit)
        if single.converged:
            times[solver] = seconds
    for _ in range(repeats):
        for solver in times:
            times[solver] = min(times[solver], run(solver=solver, time_limit=60.0)[0])
    return times["auto"], {name: times.get(name, math.inf) for name in solvers_for("binary")[1:]}, solution


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", nargs="+", default=DATA, help="data sets (default: %(default)s)")
    parser.add_argument("--tol", type=float, default=1e-3)
    parser.add_argument("--repeats", type=int, default=5, help="runs of which the fastest counts")
    parser.add_argument("--output", type=Path, default=ROOT / "benchmarks" / "results" / "solvers.md")
    arguments = parser.parse_args()
    singles = solvers_for("binary")[1:]
    table = Table(["data", "loss", "C", "auto s", *singles, "best", "auto / best", "auto was"])
    ratios: dict[str, float] = {}
    for name in arguments.data:
        found = load_binary(name, "float64")
        if found is None:
            print(f"{name}: not found in {folder()}, skipped")
            continue
        X, y = found
        for loss in LOSSES["binary"]:
            for C in CS["binary"]:
                auto, times, solution = measure(X, y, loss, C, arguments.tol, arguments.repeats)
                best = min(times, key=lambda solver: times[solver])
                ratio = 1.0 if math.isinf(times[best]) else max(auto, NOISE) / max(times[best], NOISE)
                ratios[f"{name} {loss} C={C:g}"] = ratio
                shown = solution.solver.split("+newton+avsf+newton")[0]
                table.add(
                    [
                        name,
                        loss,
                        f"{C:g}",
                        auto,
                        *times.values(),
                        "none" if math.isinf(times[best]) else best,
                        f"{ratio:.2f}",
                        shown,
                    ]
                )
    inside = sum(ratio <= WITHIN for ratio in ratios.values())
    outside = [f"{cell} ({ratio:.2f})" for cell, ratio in ratios.items() if ratio > WITHIN]
    lines = [
        describe_machine(),
        "",
        f"Seconds to a certified gap of {arguments.tol:g}; - is not within twice the time of auto. auto is within "
        f"{WITHIN}x of the best single solver in {inside} of {len(ratios)} cells ({inside / len(ratios):.0%}), and "
        f"takes {geometric_mean(list(ratios.values())):.2f}x its time in the geometric mean; times below "
        f"{1000 * NOISE:g} ms count as equal. Outside: {', '.join(outside) or 'none'}.",
    ]
    print("\n".join(["", *lines]))
    arguments.output.write_text("\n".join(["# The choice of auto", "", *lines, "", table.markdown(), ""]))
    print(f"written to {arguments.output}")


if __name__ == "__main__":
    main()
