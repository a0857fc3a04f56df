"""Two builds of the library side by side on cells of `benchmarks.speed`, to see whether anything became slower.

python -m benchmarks.compare OTHER [--data a9a w8a ...] [--tol 1e-3 1e-6] [--repeats 3]

OTHER is a checkout with a built environment in its ``.venv``. A worker of each build solves the same cells, so that
changes of the machine's pace meet both. The ratio is the time of the other build over that of this one.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from benchmarks.datasets import ROOT, folder, load_binary
from benchmarks.report import Table, geometric_mean

DATA = ["a9a", "w8a", "imdb", "news20", "covtype"]


def work() -> None:
    """Answer cells from standard input; runs in either build."""
    from maxmargin import BinaryProblem, solve

    loaded: dict[str, Any] = {}
    for line in sys.stdin:
        name, loss, C, tol = json.loads(line)
        if name not in loaded:
            loaded.clear()
            loaded[name] = load_binary(name, "float64")
        X, y = loaded[name]
        start = time.perf_counter()
        solution = solve(BinaryProblem(X, y, C, loss=loss, bias=1.0), tol=tol, time_limit=60.0)
        print(json.dumps([time.perf_counter() - start, solution.certificate.gap]), flush=True)


def worker(checkout: Path) -> subprocess.Popen[str]:
    """The worker of a build; both read the benchmarks of this checkout."""
    code = f"import sys; sys.path.insert(0, {str(ROOT)!r}); from benchmarks.compare import work; work()"
    python = checkout / ".venv" / "bin" / "python"
    return subprocess.Popen(
        [str(python), "-c", code], cwd=checkout, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )


def ask(process: subprocess.Popen[str], cell: list[Any]) -> float:
    """Seconds for a cell."""
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(json.dumps(cell) + "\n")
    process.stdin.flush()
    return float(json.loads(process.stdout.readline())[0])


def main() -> None:
    from benchmarks.speed import CS, LOSSES  # which an older build could not import

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("other", type=Path, help="a checkout of another version, built")
    parser.add_argument("--data", nargs="+", default=DATA)
    parser.add_argument("--tol", nargs="+", type=float, default=[1e-3, 1e-6])
    parser.add_argument("--repeats", type=int, default=3)
    arguments = parser.parse_args()
    if folder() is None:
        sys.exit("No data found: set MAXMARGIN_DATA to a folder of .npz files (see datasets.py).")
    workers = [worker(arguments.other.resolve()), worker(ROOT)]
    table = Table(["data", "loss", "C", "tol", "other s", "this s", "ratio"])
    ratios = []
    for name in arguments.data:
        for loss in LOSSES["binary"]:
            for C in CS["binary"]:
                for tol in arguments.tol:
                    rounds = [[ask(process, [name, loss, C, tol]) for process in workers]]
                    while len(rounds) < arguments.repeats and sum(rounds[0]) < 4.0:
                        rounds.append([ask(process, [name, loss, C, tol]) for process in workers])
                    other, this = (min(times) for times in zip(*rounds, strict=True))
                    ratios.append(other / this)
                    table.add([name, loss, f"{C:g}", f"{tol:g}", other, this, f"{other / this:.2f}"])
    print(
        f"\nThe other build takes {geometric_mean(ratios):.3f} times as long (geometric mean of {len(ratios)} cells)."
    )


if __name__ == "__main__":
    main()
