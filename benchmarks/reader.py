"""Reading svmlight text: `load_svmlight` on one and two threads against scikit-learn's reader, in one run.

python -m benchmarks.reader [--repeats 5] [--markdown FILE]
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_svmlight_file

from benchmarks.report import Table, describe_machine
from benchmarks.text import text_file
from maxmargin import load_svmlight

SETS = ("covtype", "imdb", "news20", "a9a")


def seconds(read: Callable[..., Any], path: Path, **options: Any) -> float:
    start = time.perf_counter()
    read(str(path), **options)
    return time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--markdown", type=Path)
    options = parser.parse_args()
    table = Table(["data", "MB", "scikit-learn", "one thread", "ratio", "two threads", "ratio", "MB/s"])
    for name in SETS:
        path = text_file(name)
        if path is None:
            print(f"{name}: missing, left out")
            continue
        megabytes = path.stat().st_size / 1e6
        theirs, _ = load_svmlight_file(str(path))
        ours, _ = load_svmlight(path, n_features=theirs.shape[1])
        assert np.array_equal(theirs.data, ours.data), "the readers disagree"
        times: dict[str, list[float]] = {"theirs": [], "one": [], "two": []}
        for repeat in range(options.repeats):
            if repeat < max(options.repeats // 2, 1):
                times["theirs"].append(seconds(load_svmlight_file, path))
            times["one"].append(seconds(load_svmlight, path))
            times["two"].append(seconds(load_svmlight, path, n_jobs=2))
        theirs_s, one, two = (statistics.median(values) for values in times.values())
        table.add(
            [
                name,
                round(megabytes),
                theirs_s,
                one,
                f"{theirs_s / one:.1f}x",
                two,
                f"{theirs_s / two:.1f}x",
                round(megabytes / one),
            ]
        )
    if options.markdown:
        options.markdown.write_text(
            f"# Reading svmlight text\n\n`python -m benchmarks.reader`. {describe_machine()} Medians, seconds; "
            "float64. scikit-learn is `load_svmlight_file`; MB/s is one thread.\n\n" + table.markdown() + "\n"
        )


if __name__ == "__main__":
    main()
