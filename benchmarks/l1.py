"""The penalty "l1" side by side with LIBLINEAR's "-s 5", at its own objective: the protocol of `benchmarks.speed`.

    python -m benchmarks.l1 [--data imdb ...] [-C 0.1 1 10 100] [--bias 0 1] [--dry]
    python -m benchmarks.l1 --report

A cell counts from 20 ms on. Where no tolerance of the grid reaches LIBLINEAR's objective within the limit, the ratio is
that of LIBLINEAR's time to the limit. Constants of the method were chosen on `TUNED_ON`; all others count for more.
Measurements are lines of JSON in ``benchmarks/results/l1.jsonl``, and a run is
taken up where it ended.
"""

from __future__ import annotations

import argparse
import json
import math
import os
from itertools import product
from pathlib import Path
from typing import Any

from benchmarks.datasets import ROOT, load_binary
from benchmarks.report import Table, describe_machine, geometric_mean
from benchmarks.rivals import LiblinearL1
from benchmarks.speed import Cell, commit, latest, lines_of, measure

DATA = ("a9a", "imdb", "news20", "20ng.bigram")
#: Sets on which constants of "working_sets" were chosen, and those of the default ones whose figures were looked at
#: meanwhile. Any other set that `load_binary` knows may be given: so20, ohsumed23, r52, ...
TUNED_ON = ("a9a", "news20", "imdb", "20ng.bigram")
CS = (0.1, 1.0, 10.0, 100.0)
#: Cells in which LIBLINEAR takes less than this, in seconds, do not count.
SHORTEST = 0.02


RESULTS = ROOT / "benchmarks" / "results" / "l1.jsonl"


def report(lines: list[dict[str, Any]]) -> str:
    """Mean, worst cell and all cells, as Markdown."""
    table = Table(["data", "C", "bias", "its s", "its error", "tol", "our s", "ratio", "certified gap"], quiet=True)
    ratios = {}
    for line in lines:
        key, theirs, ours = line["key"], line["rival_seconds"], line["seconds"]
        name = f"{key['data']} C={key['C']:g} bias {key['bias']:g}"
        if theirs >= SHORTEST:
            ratios[name] = theirs / ours
        error = line.get("rival_error", math.nan)
        numbers = [theirs, f"{error:.1e}", f"{line['tol']:g}", ours, f"{theirs / ours:.2f}", f"{line['gap']:.1e}"]
        table.add([key["data"], f"{key['C']:g}", f"{key['bias']:g}", *numbers])
    worst = min(ratios, key=ratios.__getitem__)
    mean = geometric_mean(list(ratios.values()))
    machines = [
        f"{machine} Commits: {', '.join(sorted({line['commit'] for line in lines if line['machine'] == machine}))}."
        for machine in sorted({line["machine"] for line in lines})
    ]
    behind = sum(value < 1.0 for value in ratios.values())
    summary = f"{len(ratios)} cells: geometric mean {mean:.2f}x, worst {ratios[worst]:.2f}x ({worst}), {behind} behind."
    unseen = [value for name, value in ratios.items() if not name.startswith(TUNED_ON)]
    if unseen:
        summary += f" Sets that no constant has seen: {geometric_mean(unseen):.2f}x over {len(unseen)} cells."
    else:
        summary += " All on sets that constants were chosen on."
    head = ["# The penalty l1", "", "Written by `python -m benchmarks.l1 --report`, which states the protocol.", ""]
    return "\n".join([*head, *machines, "", summary, "", table.markdown(), ""])


def measure_all(arguments: argparse.Namespace) -> None:
    """Measure what is missing, and append it line by line."""
    version, machine = commit(), describe_machine()
    done = {json.dumps(line["key"]) for line in lines_of(arguments.output) if line["commit"] == version}
    for name in arguments.data:
        found = load_binary(name, "float64")
        if found is None:
            print(f"{name}: not found, skipped")
            continue
        for bias, C in product(arguments.bias, arguments.C):
            cell = Cell("l1", name, "squared_hinge", C, bias, "float64", *found)
            key = cell.key(LiblinearL1.name)
            if json.dumps(key) in done:
                continue
            rival = LiblinearL1(*found, bias)
            line = measure(cell, rival, arguments.limit, arguments.our_limit, arguments.repeats)
            if not math.isfinite(line["seconds"]):
                line["seconds"] = arguments.our_limit
            ratio = line["rival_seconds"] / line["seconds"]
            print(name, f"C={C:g} bias {bias:g} tol {line['tol']:g} {line['seconds']:.3f} s, {ratio:.2f}x", flush=True)
            if not arguments.dry:
                with arguments.output.open("a") as file:
                    file.write(json.dumps({"key": key, **line, "commit": version, "machine": machine}) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", nargs="+", default=list(DATA))
    parser.add_argument("-C", nargs="+", type=float, default=list(CS))
    parser.add_argument("--bias", nargs="+", type=float, default=[0.0, 1.0])
    parser.add_argument("--repeats", type=int, default=3, help="runs of which the fastest counts, if short")
    parser.add_argument("--limit", type=float, default=120.0, help="seconds for LIBLINEAR in one cell")
    parser.add_argument("--our-limit", type=float, default=30.0, help="seconds for one fit of maxmargin")
    parser.add_argument("--output", type=Path, default=RESULTS)
    parser.add_argument("--dry", action="store_true", help="print, but write nothing")
    parser.add_argument("--report", action="store_true", help="write the Markdown of what has been measured")
    arguments = parser.parse_args()
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    if not arguments.report:
        measure_all(arguments)
    if not arguments.dry:
        page = arguments.output.with_suffix(".md")
        page.write_text(report(latest(arguments.output)))
        print(f"written to {page}")


if __name__ == "__main__":
    main()
