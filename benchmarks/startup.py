"""How long ``import maxmargin`` takes, against ``import numpy``: fresh interpreters, in turn, medians.

python -m benchmarks.startup [--repeats 15]
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import time


def seconds(code: str) -> float:
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", code], check=True)
    return time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=15)
    repeats = parser.parse_args().repeats
    codes = [
        "import numpy",
        "import maxmargin",
        "import maxmargin; maxmargin.solve",
        "import maxmargin; maxmargin.LinearSVC",
    ]
    times: dict[str, list[float]] = {code: [] for code in codes}
    for _ in range(repeats + 1):
        for code in codes:
            times[code].append(seconds(code))
    medians = {code: statistics.median(values[1:]) for code, values in times.items()}  # the first fills the caches
    for code, median in medians.items():
        print(f"{code:40} {1000 * median:7.1f} ms   {median / medians[codes[0]]:.2f}x numpy")


if __name__ == "__main__":
    main()
