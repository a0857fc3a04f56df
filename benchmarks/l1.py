"""The penalty "l1" side by side with LIBLINEAR's "-s 5", at its own objective: the protocol of `benchmarks.speed`.

    python -m benchmarks.l1 [--data imdb ...] [-C 0.01 0.1 1 10] [--bias 0 1] [--dry]

A cell counts from 20 ms on. Where no tolerance of the grid reaches LIBLINEAR's objective within the limit, the ratio is
that of LIBLINEAR's time to the limit.
"""

from __future__ import annotations

import argparse
import json
import math
import os
from itertools import product
from pathlib import Path

from benchmarks.datasets import ROOT, load_binary
from benchmarks.report import Table, describe_machine, geometric_mean
from benchmarks.rivals import LiblinearL1
from benchmarks.speed import Cell, commit, measure

DATA = ("a9a", "imdb", "news20", "20ng.bigram")
CS = (0.01, 0.1, 1.0, 10.0)
#: Cells in which LIBLINEAR takes less than this, in seconds, do not count.
SHORTEST = 0.02


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", nargs="+", default=list(DATA))
    parser.add_argument("-C", nargs="+", type=float, default=list(CS))
    parser.add_argument("--bias", nargs="+", type=float, default=[0.0, 1.0])
    parser.add_argument("--repeats", type=int, default=3, help="runs of which the fastest counts, if short")
    parser.add_argument("--limit", type=float, default=120.0, help="seconds for LIBLINEAR in one cell")
    parser.add_argument("--our-limit", type=float, default=30.0, help="seconds for one fit of maxmargin")
    parser.add_argument("--output", type=Path, default=ROOT / "benchmarks" / "results" / "l1.md")
    parser.add_argument("--dry", action="store_true", help="print, but write nothing")
    arguments = parser.parse_args()
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    table = Table(["data", "C", "bias", "its s", "its error", "tol", "our s", "ratio", "certified gap"])
    ratios = {}
    for name in arguments.data:
        found = load_binary(name, "float64")
        if found is None:
            print(f"{name}: not found, skipped")
            continue
        for bias, C in product(arguments.bias, arguments.C):
            cell = Cell("l1", name, "squared_hinge", C, bias, "float64", *found)
            rival = LiblinearL1(*found, bias)
            line = measure(cell, rival, arguments.limit, arguments.our_limit, arguments.repeats)
            ours = line["seconds"] if math.isfinite(line["seconds"]) else arguments.our_limit
            ratio = line["rival_seconds"] / ours
            if line["rival_seconds"] >= SHORTEST:
                ratios[json.dumps([name, C, bias])] = ratio
            error = line.get("rival_error", math.nan)
            numbers = [line["rival_seconds"], f"{error:.1e}", f"{line['tol']:g}", ours, f"{ratio:.2f}"]
            table.add([name, f"{C:g}", f"{bias:g}", *numbers, f"{line['gap']:.1e}"])
    if not ratios:
        return
    worst = min(ratios, key=ratios.__getitem__)
    summary = (
        f"{len(ratios)} cells: geometric mean {geometric_mean(list(ratios.values())):.2f}x, "
        f"worst {ratios[worst]:.2f}x ({worst})."
    )
    print(summary)
    if not arguments.dry:
        head = "# The penalty l1\n\nWritten by `python -m benchmarks.l1`, which states the protocol.\n"
        text = f"{head}\n{describe_machine()} Commit: {commit()}.\n\n{summary}\n\n{table.markdown()}\n"
        arguments.output.write_text(text)


if __name__ == "__main__":
    main()
