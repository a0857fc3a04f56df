"""Training side by side with other programs, at their own objective, in one thread: the protocol of the README's table.

For every cell (kind of problem, data, loss, C, bias) and rival: the rival is run as its users run it, the exact primal
value of its weights is the target, and `LinearSVC` is run with ``tol`` from a fixed grid, as a user would stop it. Its
time is that of ``fit`` with the largest value of the grid whose solution is no worse than the target. Both get the same
matrix, float64 unless ``--float32`` is given. With the squared hinge LIBLINEAR is "-s 1" and "-s 2", and the worse of
the two ratios counts. Classes against the rest are compared by the sum of their objectives.

    python -m benchmarks.speed [--kind binary ovr crammer_singer] [--data imdb ...] [-C 0.1 1 10 100] [--bias 0 1]
    python -m benchmarks.speed --report      # the Markdown of what has been measured

Every measurement is a line of JSON with the commit and the machine in ``benchmarks/results/speed.jsonl``. A cell that
this commit has measured on this machine is not measured again, so that a run can be ended and taken up at any time.

Constants of the library were chosen on `TUNED_ON`; what the README says comes from `REPORTED_ON` alone.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import time
from collections.abc import Iterable, Iterator
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.datasets import ROOT, load_binary, load_classes
from benchmarks.report import Table, describe_machine, geometric_mean
from benchmarks.rivals import RIVALS, Rival, within
from maxmargin import BinaryProblem, LinearSVC, Matrix, MulticlassProblem

TEXT, FEW = "binary text", "few features"
OVR, JOINT = "one against the rest", "Crammer-Singer"
#: Data sets by group: on the first the constants were chosen, the second they have not seen.
TUNED_ON: dict[str, tuple[str, ...]] = {
    TEXT: ("imdb", "news20", "20ng.bigram", "ohsumed23", "r52", "so20"),
    FEW: ("a9a", "w8a", "ijcnn1", "covtype", "mnist", "breast_cancer", "iris"),
    OVR: ("news20", "ohsumed23", "r52", "so20"),
    JOINT: ("news20", "r52", "mnist", "letter", "covtype"),
}
REPORTED_ON: dict[str, tuple[str, ...]] = {
    TEXT: ("blogs150k",),
    FEW: ("digits",),
    OVR: ("mnist",),
    JOINT: ("ohsumed23", "so20"),
}
KINDS = {"binary": (TEXT, FEW), "ovr": (OVR,), "crammer_singer": (JOINT,)}
LOSSES = {"binary": ("hinge", "squared_hinge"), "ovr": ("hinge", "squared_hinge"), "crammer_singer": ("hinge",)}
CS = {"binary": (0.1, 1.0, 10.0, 100.0), "ovr": (0.1, 1.0, 10.0), "crammer_singer": (0.1, 1.0, 10.0)}
#: The tolerances that a user would ask for.
GRID = (0.5, 0.3, 0.1, 3e-2, 1e-2, 3e-3, 1e-3, 3e-4, 1e-4, 3e-5, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9, 1e-10, 1e-11)
#: Cells in which the rival takes less than this, in seconds, do not count.
SHORTEST = 0.005
#: Runs shorter than this are preceded by one that does not count: `within` makes a process of its own, after which the
#: first write to every page of memory copies it, in both processes.
SHORT = 0.1
#: Equal but for the order in which the losses are added up.
SAME = 1e-12
RESULTS = ROOT / "benchmarks" / "results" / "speed.jsonl"


class Cell:
    """One problem: what to train on, and how both programs are asked to."""

    def __init__(self, kind: str, data: str, loss: str, C: float, bias: float, dtype: str, X: Any, y: Any) -> None:
        self.kind, self.data, self.loss, self.C, self.bias, self.dtype = kind, data, loss, C, bias, dtype
        self.X, self.y = X, y
        self.matrix = Matrix(X)

    def key(self, rival: str) -> dict[str, Any]:
        """What names a measurement."""
        names = ("kind", "data", "loss", "C", "bias", "dtype")
        return {name: getattr(self, name) for name in names} | {"rival": rival}

    def fit(self, tol: float, limit: float) -> tuple[float, LinearSVC]:
        """Seconds of ``LinearSVC.fit``, and the model."""
        model = LinearSVC(
            self.loss,
            C=self.C,
            multi_class="ovr" if self.kind in ("binary", "l1") else self.kind,
            penalty="l1" if self.kind == "l1" else "l2",
            tol=tol,
            fit_intercept=self.bias > 0,
            time_limit=limit,
        )
        start = time.perf_counter()
        model.fit(self.X, self.y)
        return time.perf_counter() - start, model

    def objective(self, weights: np.ndarray) -> float:
        """The primal value of weights, that of all classes together, in plain numpy."""
        if self.kind == "crammer_singer":
            return MulticlassProblem(self.matrix, self.y, self.C, bias=self.bias).primal(weights)
        positives = [1] if self.kind in ("binary", "l1") else range(len(weights))
        penalty = "l1" if self.kind == "l1" else "l2"
        return sum(
            BinaryProblem(
                self.matrix,
                np.where(self.y == positive, 1, -1),
                self.C,
                loss=self.loss,
                bias=self.bias,
                penalty=penalty,
            ).primal(row)
            for positive, row in zip(positives, weights, strict=True)
        )


def reach(cell: Cell, target: float, limit: float) -> tuple[float, float, LinearSVC]:
    """The largest tolerance of the grid that meets the target, and a first timing with it."""
    for tol in GRID:
        seconds, model = cell.fit(tol, limit)
        if np.sum(model.primal_objective_) <= target + SAME * abs(target):
            return tol, seconds, model
    return math.nan, math.inf, model


def measure(cell: Cell, rival: Rival, limit: float, our_limit: float, repeats: int) -> dict[str, Any]:
    """Rival and maxmargin in turn, so that changes of the machine's pace meet both; the fastest run of each counts."""

    def train() -> tuple[float, np.ndarray]:
        found = rival.train(cell.kind, cell.loss, cell.C)
        return found if found[0] > SHORT else rival.train(cell.kind, cell.loss, cell.C)

    def fit(tol: float) -> float:
        if ours < SHORT:
            cell.fit(tol, our_limit)
        return cell.fit(tol, our_limit)[0]

    found = within(limit, train)
    if found is None:
        # Not done: the ratio to the time that a gap of 1e-3 takes, at least.
        seconds, model = cell.fit(1e-3, our_limit)
        return {"rival_seconds": limit, "ended": True, "tol": 1e-3, "seconds": seconds, **facts(model)}
    theirs, weights = found
    target = cell.objective(weights)
    tol, ours, model = reach(cell, target, our_limit)
    rounds = 1
    while rounds < repeats and (theirs + ours) * rounds < 4.0 and not math.isnan(tol):
        rounds += 1
        again = within(limit, train)
        theirs = theirs if again is None else min(theirs, again[0])
        ours = min(ours, fit(tol))
    error = (target - float(np.sum(model.dual_objective_))) / abs(target)
    return {
        "rival_seconds": theirs,
        "rival_error": error,  # at the most: against the dual value of our solution
        "target": target,
        "tol": tol,
        "seconds": ours,
        **facts(model),
    }


def certify(cell: Cell, tol: float, limit: float) -> dict[str, Any]:
    """The time to a certified gap, beside nobody."""
    seconds, model = cell.fit(tol, limit)
    return {"tol": tol, "seconds": seconds, "certified": bool(np.max(model.duality_gap_) <= tol), **facts(model)}


def facts(model: LinearSVC) -> dict[str, Any]:
    """What a fit says of itself."""
    solvers = model.solver_used_ if isinstance(model.solver_used_, list) else [model.solver_used_]
    return {
        "objective": float(np.sum(model.primal_objective_)),
        "gap": float(np.max(model.duality_gap_)),
        "n_iter": int(model.n_iter_),
        "solver": "/".join(sorted({solver.split("+newton+avsf+newton")[0] for solver in solvers})),
    }


def commit() -> str:
    """The version of the sources, with a mark where they were changed since."""

    def git(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=False)

    changed = git("diff", "--quiet", "HEAD", "--", "src").returncode != 0
    return (git("rev-parse", "--short=10", "HEAD").stdout.strip() or "unknown") + ("-changed" if changed else "")


def cells(arguments: argparse.Namespace) -> Iterator[Cell]:
    """All that were asked for, set by set."""
    dtype = "float32" if arguments.float32 else "float64"
    for kind in arguments.kind:
        known = [name for group in KINDS[kind] for name in (*TUNED_ON[group], *REPORTED_ON[group])]
        for name in arguments.data or known:
            if arguments.data is not None and name not in known and len(arguments.kind) > 1:
                continue
            found = (load_binary if kind == "binary" else load_classes)(name, dtype)
            if found is None:
                print(f"{name}: not found, skipped")
                continue
            losses = [loss for loss in LOSSES[kind] if loss in (arguments.loss or LOSSES[kind])]
            for bias, loss, C in product(arguments.bias, losses, arguments.C or CS[kind]):
                yield Cell(kind, name, loss, C, bias, dtype, *found)


def measure_all(arguments: argparse.Namespace) -> None:
    """Measure what is missing, and append it line by line."""
    version, machine = commit(), describe_machine()
    done = {json.dumps(line["key"]) for line in lines_of(arguments.output) if line["commit"] == version}
    table = Table(["kind", "data", "loss", "C", "bias", "rival", "its s", "its error", "tol", "our s", "ratio", "by"])
    for cell in cells(arguments):
        for name in arguments.rivals:
            key = cell.key(name)
            if json.dumps(key) in done:
                continue
            if name.startswith("certified"):
                line = certify(cell, float(name.split()[1]), arguments.our_limit)
            elif RIVALS[name].knows(cell.kind, cell.loss, cell.bias):
                rival = RIVALS[name](cell.X, cell.y, cell.bias)
                line = measure(cell, rival, arguments.limit, arguments.our_limit, arguments.repeats)
            else:
                continue
            theirs, ours = line.get("rival_seconds", math.nan), line["seconds"]
            table.add(
                [
                    *(str(key[part]) for part in ("kind", "data", "loss")),
                    f"{cell.C:g}",
                    f"{cell.bias:g}",
                    name,
                    theirs,
                    f"{line.get('rival_error', math.nan):.1e}",
                    f"{line['tol']:g}",
                    ours,
                    f"{theirs / ours:.2f}",
                    f"{line['solver']} {line['n_iter']}",
                ]
            )
            if not arguments.dry:
                with arguments.output.open("a") as file:
                    file.write(json.dumps({"key": key, **line, "commit": version, "machine": machine}) + "\n")


def lines_of(path: Path) -> list[dict[str, Any]]:
    """The measurements of a file."""
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def latest(path: Path) -> list[dict[str, Any]]:
    """The last measurement of each cell and rival."""
    return list({json.dumps(line["key"]): line for line in lines_of(path)}.values())


def report(lines: list[dict[str, Any]]) -> str:
    """Geometric means, worst cells and all cells, as Markdown."""
    text = ["# Speed", "", "Written by `python -m benchmarks.speed --report`; the protocol is in its first lines.", ""]
    versions = sorted({line["commit"] for line in lines})
    text += [f"{machine} Commits: {', '.join(versions)}." for machine in sorted({line["machine"] for line in lines})]
    for dtype in ("float64", "float32"):
        for seen, groups in (("reported on", REPORTED_ON), ("tuned on", TUNED_ON)):
            table = Table(["group", "loss", "rival", "cells", "mean", "worst", "ended", "no answer"], quiet=True)
            for (kind, group, loss), own in grouped(lines, dtype, groups):
                for rival in RIVALS:
                    add_summary(table, f"{group}, {seen}" if kind else group, loss, rival, own)
            if table.rows:
                text += ["", f"## {dtype}, data sets of `{seen.upper().replace(' ', '_')}`", "", table.markdown()]
    text += ["", "## Certified 1e-6", ""]
    certified = [line for line in lines if line["key"]["rival"] == "certified 1e-06"]
    missed = [name_of(line) for line in certified if not line["certified"]]
    text += [f"{len(certified) - len(missed)} of {len(certified)} cells. Missed: {', '.join(missed) or 'none'}.", ""]
    return "\n".join([*text, "## All cells", "", all_cells(lines), ""])


def grouped(lines: list[dict[str, Any]], dtype: str, groups: dict[str, tuple[str, ...]]) -> Iterator[tuple[Any, Any]]:
    """The lines of each group and loss."""
    for kind, names in KINDS.items():
        for group, loss in product(names, LOSSES[kind]):
            own = [
                line
                for line in lines
                if line["key"]["kind"] == kind
                and line["key"]["dtype"] == dtype
                and line["key"]["loss"] == loss
                and line["key"]["data"] in groups[group]
            ]
            yield (kind, group, loss), own


def ratio(line: dict[str, Any]) -> float:
    """How many times as long the rival takes."""
    return float(line["rival_seconds"] / line["seconds"])


def add_summary(table: Table, group: str, loss: str, rival: str, lines: list[dict[str, Any]]) -> None:
    """One rival over the cells of a group; LIBLINEAR is the better of its two for each."""
    own = [line for line in lines if line["key"]["rival"] == rival]
    if rival == "LIBLINEAR":
        own = list(better_of(lines))
    own = [line for line in own if line["rival_seconds"] >= SHORTEST]
    if own:
        worst = min(own, key=ratio)
        table.add(
            [
                group,
                loss,
                rival,
                str(len(own)),
                f"{geometric_mean([ratio(line) for line in own]):.2f}x",
                f"{ratio(worst):.2f}x ({name_of(worst)})",
                str(sum(line.get("ended", False) for line in own)),
                str(sum(line.get("rival_error", 0.0) > 0.01 for line in own)),
            ]
        )


def better_of(lines: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Of "-s 1" and "-s 2" in each cell the one that comes off better beside ours."""
    best: dict[str, dict[str, Any]] = {}
    for line in lines:
        if line["key"]["rival"].startswith("LIBLINEAR"):
            name = json.dumps({**line["key"], "rival": ""})
            if name not in best or ratio(line) < ratio(best[name]):
                best[name] = line
    yield from best.values()


def name_of(line: dict[str, Any]) -> str:
    """A cell in words."""
    key = line["key"]
    return f"{key['data']} {key['loss']} C={key['C']:g} bias {key['bias']:g}"


def all_cells(lines: list[dict[str, Any]]) -> str:
    """Every measurement against a rival."""
    table = Table(
        ["kind", "cell", "type", "rival", "its s", "its error", "our tol", "our s", "ratio", "by"], quiet=True
    )
    for line in lines:
        if "rival_seconds" in line:
            mark = "> " if line.get("ended") else ""
            table.add(
                [
                    line["key"]["kind"],
                    name_of(line),
                    line["key"]["dtype"],
                    line["key"]["rival"],
                    f"{mark}{line['rival_seconds']:.3g}",
                    f"{line['rival_error']:.0e}" if "rival_error" in line else "-",
                    f"{line['tol']:g}",
                    line["seconds"],
                    f"{mark}{ratio(line):.2f}",
                    line["solver"],
                ]
            )
    return table.markdown()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kind", nargs="+", default=list(KINDS), choices=list(KINDS))
    parser.add_argument("--data", nargs="+", help="data sets (default: all of the kind)")
    parser.add_argument("--loss", nargs="+")
    parser.add_argument("-C", nargs="+", type=float)
    parser.add_argument("--bias", nargs="+", type=float, default=[0.0, 1.0])
    parser.add_argument(
        "--rivals", nargs="+", default=["LIBLINEAR", "LIBLINEAR -s 2"], choices=[*RIVALS, "certified 1e-06"]
    )
    parser.add_argument("--float32", action="store_true")
    parser.add_argument("--repeats", type=int, default=3, help="runs of which the fastest counts, if short")
    parser.add_argument("--limit", type=float, default=60.0, help="seconds for a rival in one cell")
    parser.add_argument("--our-limit", type=float, default=120.0, help="seconds for maxmargin in one cell")
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
