"""Binary training side by side with LIBLINEAR, scikit-learn and SnapML at equal accuracy, in one thread.

For every data set, loss and C: run the rival, take the primal value of its solution, and measure how long maxmargin
needs until its returned solution has a primal value at least as small, with its certificate. Also: the time to a
certified gap of 1e-3 and 1e-6, and the cells in which LIBLINEAR ends more than 1 % above the optimum.

    python -m benchmarks.binary [--data a9a w8a ...] [--repeats 3] [--output benchmarks/results/binary.md]

SnapML takes part where it is installed (pip install snapml).
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.datasets import ROOT, folder, load_binary
from benchmarks.report import Table, describe_machine
from benchmarks.rivals import Liblinear, installed, within
from maxmargin import BinaryProblem, LinearSVC, Solution, solve

DATA = ["breast_cancer", "iris", "a9a", "w8a", "ijcnn1", "imdb", "news20", "mnist", "covtype"]
LOSSES = ["hinge", "squared_hinge"]
CS = [0.01, 0.1, 1.0, 10.0, 100.0, 1000.0]
#: An answer further from the optimum than this is no answer.
FAR = 0.01
#: Equal to the last digits that single sums of losses agree on.
SAME = 1 + 1e-9


def best_of(repeats: int, run: Callable[[], tuple[float, Any]]) -> tuple[float, Any]:
    """The fastest of several runs; long ones are not repeated."""
    results = [run()]
    while len(results) < repeats and results[0][0] < 2.0:
        results.append(run())
    return min(results, key=lambda result: result[0])


def timed_solve(X: Any, y: Any, loss: str, C: float, **options: Any) -> tuple[float, Solution]:
    """From the arrays to the solution, checks of the input included."""
    start = time.perf_counter()
    solution = solve(BinaryProblem(X, y, C, loss=loss, bias=1.0), **options)
    return time.perf_counter() - start, solution


def reach_by_solve(X: Any, y: Any, loss: str, C: float, target: float, error: float) -> tuple[float, float]:
    """Seconds until ``solve`` returns a solution with a primal value of at most ``target``, and that value."""

    def reached(report: Any, _: Any) -> bool:
        return report.primal <= target

    while True:
        seconds, solution = timed_solve(X, y, loss, C, tol=error, callback=reached, time_limit=60.0)
        if solution.certificate.primal <= target * SAME or solution.exit == "time_limit":
            return seconds, solution.certificate.primal
        error *= 0.7


def reach_by_fit(X: Any, y: Any, loss: str, C: float, target: float, error: float) -> tuple[float, float]:
    """The same with the estimator, stopped by ``tol`` alone."""
    while True:
        model = LinearSVC(loss, C=C, tol=error, time_limit=60.0)
        start = time.perf_counter()
        model.fit(X, y)
        seconds = time.perf_counter() - start
        if model.primal_objective_ <= target * SAME or seconds > 60.0:
            return seconds, model.primal_objective_
        error *= 0.7


def measure(
    X: Any, y: Any, rivals: list[Any], loss: str, C: float, repeats: int, limits: list[float]
) -> dict[str, Any]:
    """One cell of the table."""
    problem = BinaryProblem(X, y, C, loss=loss, bias=1.0)
    cell: dict[str, Any] = {}
    lower = -math.inf
    for tol in (1e-3, 1e-6):
        seconds, solution = best_of(repeats, lambda tol=tol: timed_solve(X, y, loss, C, tol=tol, time_limit=60.0))
        cell[f"{tol:g}"] = seconds if solution.converged else math.inf
        cell["check_share"] = solution.check_seconds / solution.seconds
        cell["solver"] = solution.solver.split("+newton+avsf+newton")[0]
        lower = max(lower, solution.certificate.dual)
    if not solution.converged or solution.certificate.gap > 1e-7:
        lower = max(lower, timed_solve(X, y, loss, C, tol=1e-9, time_limit=10.0)[1].certificate.dual)
    for rival, limit in zip(rivals, limits, strict=True):
        reach = reach_by_solve if rival.name == "LIBLINEAR" else reach_by_fit
        seconds, w = within(limit, lambda rival=rival: best_of(repeats, lambda: rival.train(loss, C)))
        if w is None:
            # Not done yet: the ratio to the time that 1e-3 takes, at least.
            cell |= {rival.name: seconds, f"{rival.name} error": math.nan, f"{rival.name} ours": cell["0.001"]}
            continue
        target = problem.primal(w)
        error = max((target - lower) / target, 1e-12)
        ours, _ = best_of(repeats, lambda reach=reach, t=target, e=error: reach(X, y, loss, C, t, e))
        cell |= {rival.name: seconds, f"{rival.name} error": error, f"{rival.name} ours": ours}
    return cell


def geometric_mean(values: list[float]) -> float:
    """The exponential of the mean logarithm."""
    return math.exp(sum(map(math.log, values)) / len(values))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", nargs="+", default=DATA, help="data sets (default: %(default)s)")
    parser.add_argument("--repeats", type=int, default=3, help="runs of which the fastest counts")
    parser.add_argument("--liblinear-limit", type=float, default=300.0, help="seconds for LIBLINEAR in one cell")
    parser.add_argument("--limit", type=float, default=60.0, help="seconds for the other programs in one cell")
    parser.add_argument("--output", type=Path, default=ROOT / "benchmarks" / "results" / "binary.md")
    arguments = parser.parse_args()
    if folder() is None:
        print("No data found but the small sets: set MAXMARGIN_DATA to a folder of .npz files (see datasets.py).")
    kinds = installed()
    names = [kind.name for kind in kinds]
    limits = [arguments.liblinear_limit if kind is Liblinear else arguments.limit for kind in kinds]
    heads = ["data", "loss", "C"]
    for name in names:
        heads += [f"{name} s", "its error", "maxmargin s", "ratio"]
    table = Table([*heads, "to 1e-3 s", "to 1e-6 s", "solver"])
    cells: list[dict[str, Any]] = []
    for name in arguments.data:
        found = load_binary(name)
        if found is None:
            print(f"{name}: not found in {folder()}, skipped")
            continue
        X, y = found
        rivals = [kind(X, y) for kind in kinds]
        for loss in LOSSES:
            for C in CS:
                cell = measure(X, y, rivals, loss, C, arguments.repeats, limits)
                cells.append(cell | {"name": f"{name} {loss} C={C:g}"})
                row: list[Any] = [name, loss, f"{C:g}"]
                for rival in names:
                    ended = math.isnan(cell[f"{rival} error"])
                    mark = ">" if ended else ""
                    row += [
                        f"{mark}{cell[rival]:.3g}",
                        "-" if ended else f"{cell[f'{rival} error']:.0e}",
                        cell[f"{rival} ours"],
                        f"{mark}{cell[rival] / cell[f'{rival} ours']:.1f}",
                    ]
                table.add([*row, cell["0.001"], cell["1e-06"], cell["solver"]])
    lines = [describe_machine(), "", *summary(cells, names), "", *by_data(cells)]
    print("\n".join(["", *lines]))
    arguments.output.parent.mkdir(parents=True, exist_ok=True)
    arguments.output.write_text("\n".join(["# Binary training", "", *lines, "", table.markdown(), ""]))
    print(f"written to {arguments.output}")


def by_data(cells: list[dict[str, Any]]) -> list[str]:
    """One line per data set and loss over all C, in Markdown."""
    heads = ["data, loss", "LIBLINEAR, all C", "its largest error", "ratios", "mean", "certified 1e-6, slowest C"]
    lines = [heads, ["---"] * len(heads)]
    for group in dict.fromkeys(cell["name"].rsplit(" ", 1)[0] for cell in cells):
        own = [cell for cell in cells if cell["name"].startswith(f"{group} ")]
        ratios = [cell["LIBLINEAR"] / cell["LIBLINEAR ours"] for cell in own]
        errors = [cell["LIBLINEAR error"] for cell in own]
        worst = max(cell["1e-06"] for cell in own)
        lines.append(
            [
                ", ".join(word.replace("_", " ") for word in group.split(" ")),
                f"{sum(cell['LIBLINEAR'] for cell in own):.3g} s",
                "ended" if any(map(math.isnan, errors)) else f"{max(errors):.1%}",
                f"{min(ratios):.1f} to {max(ratios):.0f}",
                f"{geometric_mean(ratios):.1f}x",
                "-" if math.isinf(worst) else f"{worst:.2g} s",
            ]
        )
    return [f"| {' | '.join(line)} |" for line in lines]


def summary(cells: list[dict[str, Any]], names: list[str]) -> list[str]:
    """The figures that matter, each as a paragraph of Markdown."""
    lines = []
    for tol in ("0.001", "1e-06"):
        missed = [cell["name"] for cell in cells if math.isinf(cell[tol])]
        lines += [
            f"Certified {float(tol):g} in {len(cells) - len(missed)} of {len(cells)} cells"
            + (f"; not in {', '.join(missed)}." if missed else "."),
            "",
        ]
    for rival in names:
        ratios = [cell[rival] / cell[f"{rival} ours"] for cell in cells]
        slower = [
            f"{cell['name']} ({ratio:.2f})"
            for cell, ratio in zip(cells, ratios, strict=True)
            if ratio < 1 and cell[rival] > 0.2
        ]
        ended = sum(math.isnan(cell[f"{rival} error"]) for cell in cells)
        lines += [
            f"{rival}: {geometric_mean(ratios):.2f}x slower than maxmargin at its own accuracy (geometric mean of "
            f"{len(ratios)} cells{f', a lower bound in {ended} that were ended' if ended else ''}); cells over 0.2 s "
            f"where it is faster: {', '.join(slower) or 'none'}.",
            "",
        ]
    far = [cell for cell in cells if not cell["LIBLINEAR error"] <= FAR]
    lines += [
        f"LIBLINEAR ends more than 1 % above the optimum, or was ended, in {len(far)} of {len(cells)} cells: "
        + ", ".join(f"{cell['name']} ({cell['LIBLINEAR error']:.0%})" for cell in far)
        + ".",
        "",
        f"Certificates take {100 * float(np.mean([cell['check_share'] for cell in cells])):.0f} % of the time on "
        "average.",
    ]
    return lines


if __name__ == "__main__":
    main()
