"""Regression and one-class problems side by side with other programs, by the protocol of `benchmarks.speed`.

The rival is run as its users run it, the exact primal value of its weights is the target, and `LinearSVR` or
`OneClassSVM` gets the largest tolerance of a fixed grid with which it is no worse. Squared losses meet LIBLINEAR's
"-s 11" and "-s 12", of which the worse ratio counts; "epsilon_insensitive" meets "-s 13"; both meet scikit-learn.
One-class problems, "--loss one_class", meet "-s 21".
Targets are as they are: those of cadata are dollars. "elevation" is covtype's first column, predicted from the others.

    python -m benchmarks.regression [--data cadata ...] [--loss ...] [-C 0.01 1 100] [--epsilon 0 0.1] [--bias 0 1]
    python -m benchmarks.regression --report

Measurements are lines of JSON in ``benchmarks/results/regression.jsonl``, and a run is taken up where it ended.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import time
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from benchmarks.datasets import ROOT, load
from benchmarks.report import Table, describe_machine, geometric_mean
from benchmarks.rivals import Rival, timed_fit
from benchmarks.speed import SHORTEST, certify, commit, latest, lines_of, measure, ratio
from maxmargin import LinearSVR, Matrix, OneClassProblem, OneClassSVM, RegressionProblem

DATA = ("cadata", "cpusmall", "elevation", "imdb")
LOSSES = ("epsilon_insensitive", "squared_epsilon_insensitive")
ONE_CLASS = "one_class"
ONE_CLASS_DATA, NUS = ("a9a", "covtype", "imdb"), (0.01, 0.1, 0.5)
CS = (0.01, 0.1, 1.0, 10.0, 100.0)
EPSILONS = (0.0, 0.1)
CERTIFIED = "certified 1e-06"
#: A cell in which the rival takes longer than this, in seconds, must not be lost.
NOTICEABLE = 0.02
RESULTS = ROOT / "benchmarks" / "results" / "regression.jsonl"


def load_regression(name: str) -> tuple[sp.csr_matrix, np.ndarray] | None:
    """Rows and targets."""
    found = load("covtype" if name == "elevation" else name, "float64")
    if found is None or name != "elevation":
        return None if found is None else (found[0], found[1].astype(np.float64))
    X = found[0]
    return sp.csr_matrix(X[:, 1:]), X[:, 0].toarray().ravel()


class RegressionCell:
    """One regression, and how both programs are asked to solve it."""

    kind = "regression"

    def __init__(self, data: str, loss: str, epsilon: float, C: float, bias: float, X: Any, y: Any) -> None:
        self.data, self.loss, self.epsilon, self.C, self.bias = data, loss, epsilon, C, bias
        self.X, self.y = X, y
        self.problem = RegressionProblem(Matrix(X), y, C, loss=loss, epsilon=epsilon, bias=bias)

    def key(self, rival: str) -> dict[str, Any]:
        """What names a measurement."""
        names = ("kind", "data", "loss", "epsilon", "C", "bias")
        return {name: getattr(self, name) for name in names} | {"rival": rival}

    def fit(self, tol: float, limit: float) -> tuple[float, LinearSVR]:
        """Seconds of ``LinearSVR.fit``, and the model."""
        model = LinearSVR(
            self.loss, epsilon=self.epsilon, C=self.C, tol=tol, fit_intercept=self.bias > 0, time_limit=limit
        )
        return timed_fit(model, self.X, self.y), model

    def objective(self, weights: np.ndarray) -> float:
        """The primal value of weights, in plain numpy."""
        return self.problem.primal(weights)


class OneClassCell:
    """One one-class problem; nu has the place of C, and all else is fixed."""

    kind, loss, epsilon, bias = ONE_CLASS, ONE_CLASS, 0.0, 0.0

    def __init__(self, data: str, nu: float, X: Any) -> None:
        self.data, self.C, self.X = data, nu, X
        self.problem = OneClassProblem(Matrix(X), nu)

    key = RegressionCell.key
    objective = RegressionCell.objective

    def fit(self, tol: float, limit: float) -> tuple[float, OneClassSVM]:
        """Seconds of ``OneClassSVM.fit``, and the model."""
        model = OneClassSVM(nu=self.C, tol=tol, time_limit=limit)
        return timed_fit(model, self.X, None), model


class LiblinearOneClass(Rival):
    """LIBLINEAR's one-class problem."""

    name = "LIBLINEAR -s 21"
    package = "liblinear"
    solvers: ClassVar = {ONE_CLASS: 21}

    def __init__(self, cell: OneClassCell) -> None:
        from liblinear.liblinear import problem

        super().__init__(cell.X, np.ones(cell.X.shape[0]), 0.0)
        self.problem = problem(self.y, cell.X, -1)

    def train(self, kind: str, loss: str, C: float) -> tuple[float, np.ndarray]:  # noqa: ARG002
        """``liblinear-train -s 21 -n nu``."""
        from liblinear.liblinear import liblinear, parameter

        options = parameter(f"-s 21 -n {C!r} -q")
        start = time.perf_counter()
        model = liblinear.train(self.problem, options)
        seconds = time.perf_counter() - start
        weights = np.append(model.contents.w[: self.X.shape[1]], -model.contents.rho)
        liblinear.free_and_destroy_model(model)
        return seconds, weights


class LiblinearRegression(Rival):
    """LIBLINEAR through its own Python package with its default stopping rules."""

    name = "LIBLINEAR -s 12, -s 13"
    package = "liblinear"
    solvers: ClassVar = {"squared_epsilon_insensitive": 12, "epsilon_insensitive": 13}

    def __init__(self, cell: RegressionCell) -> None:
        from liblinear.liblinear import problem

        super().__init__(cell.X, cell.y, cell.bias)
        self.epsilon = cell.epsilon
        self.problem = problem(cell.y, cell.X, cell.bias if cell.bias > 0 else -1)

    def train(self, kind: str, loss: str, C: float) -> tuple[float, np.ndarray]:  # noqa: ARG002
        """``liblinear-train -s ... -c C -p epsilon [-B 1]``."""
        from liblinear.liblinear import liblinear, parameter

        options = parameter(f"-s {self.solvers[loss]} -c {C!r} -p {self.epsilon!r} -q")
        start = time.perf_counter()
        model = liblinear.train(self.problem, options)
        seconds = time.perf_counter() - start
        count = self.X.shape[1] + (1 if self.bias > 0 else 0)
        weights = np.zeros(self.X.shape[1] + 1)
        weights[:count] = model.contents.w[:count]
        liblinear.free_and_destroy_model(model)
        return seconds, weights


class LiblinearPrimal(LiblinearRegression):
    """LIBLINEAR's Newton method for regression."""

    name = "LIBLINEAR -s 11"
    solvers: ClassVar = {"squared_epsilon_insensitive": 11}


class ScikitLearnRegression(Rival):
    """scikit-learn's LinearSVR as it is by default."""

    name = "scikit-learn"
    package = "sklearn"
    solvers: ClassVar = dict.fromkeys(LOSSES)

    def __init__(self, cell: RegressionCell) -> None:
        super().__init__(cell.X, cell.y, cell.bias)
        self.epsilon = cell.epsilon

    def train(self, kind: str, loss: str, C: float) -> tuple[float, np.ndarray]:  # noqa: ARG002
        """``LinearSVR(epsilon=epsilon, loss=loss, C=C).fit(X, y)``."""
        from sklearn.svm import LinearSVR as Theirs

        model = Theirs(epsilon=self.epsilon, loss=loss, C=C, fit_intercept=self.bias > 0, random_state=0)
        seconds = timed_fit(model, self.X, self.y)
        return seconds, np.append(model.coef_, model.intercept_)


RIVALS: dict[str, Any] = {
    rival.name: rival for rival in (LiblinearRegression, LiblinearPrimal, ScikitLearnRegression, LiblinearOneClass)
}


def cells(arguments: argparse.Namespace) -> Iterator[Any]:
    """All that were asked for, set by set."""
    for name in ONE_CLASS_DATA if ONE_CLASS in arguments.loss else ():
        rows = load(name, "float64")
        for nu in arguments.nu if rows is not None else ():
            yield OneClassCell(name, nu, rows[0])
    losses = [loss for loss in arguments.loss if loss != ONE_CLASS]
    for name in arguments.data if losses else ():
        found = load_regression(name)
        if found is None:
            print(f"{name}: not found, skipped")
            continue
        for bias, loss, epsilon, C in product(arguments.bias, losses, arguments.epsilon, arguments.C):
            yield RegressionCell(name, loss, epsilon, C, bias, *found)


def measure_all(arguments: argparse.Namespace) -> None:
    """Measure what is missing, and append it line by line."""
    version, machine = commit(), describe_machine()
    done = {json.dumps(line["key"]) for line in lines_of(arguments.output) if line["commit"] == version}
    table = Table(
        ["data", "loss", "epsilon", "C", "bias", "rival", "its s", "its error", "tol", "our s", "ratio", "by"]
    )
    for cell in cells(arguments):
        for name in arguments.rivals:
            key = cell.key(name)
            if json.dumps(key) in done:
                continue
            if name == CERTIFIED:
                line = certify(cell, 1e-6, arguments.our_limit)
            elif cell.loss in RIVALS[name].solvers:
                line = measure(cell, RIVALS[name](cell), arguments.limit, arguments.our_limit, arguments.repeats)
            else:
                continue
            theirs, ours = line.get("rival_seconds", math.nan), line["seconds"]
            table.add(
                [
                    *(f"{key[part]}" for part in ("data", "loss", "epsilon", "C", "bias")),
                    name,
                    theirs,
                    f"{line.get('rival_error', math.nan):.1e}",
                    f"{line['tol']:g}",
                    ours,
                    f"{theirs / ours:.2f}",
                    f"{line['solver']} {line['n_iter']}" + ("" if line.get("certified", True) else " NOT CERTIFIED"),
                ]
            )
            if not arguments.dry:
                with arguments.output.open("a") as file:
                    file.write(json.dumps({"key": key, **line, "commit": version, "machine": machine}) + "\n")


def better_of(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Of LIBLINEAR's methods in each cell the one that comes off better beside ours."""
    best: dict[str, dict[str, Any]] = {}
    for line in lines:
        name = json.dumps({**line["key"], "rival": ""})
        if name not in best or ratio(line) < ratio(best[name]):
            best[name] = line
    return list(best.values())


def name_of(line: dict[str, Any]) -> str:
    """A cell in words."""
    key = line["key"]
    if key["loss"] == ONE_CLASS:
        return f"{key['data']} one class nu={key['C']:g}"
    return f"{key['data']} {key['loss']} epsilon={key['epsilon']:g} C={key['C']:g} bias {key['bias']:g}"


def report(lines: list[dict[str, Any]]) -> str:
    """Geometric means, worst cells, lost cells and all cells, as Markdown."""
    text = ["# Regression", "", "Written by `python -m benchmarks.regression --report`, which also says how.", ""]
    versions = sorted({line["commit"] for line in lines})
    text += [f"{machine} Commits: {', '.join(versions)}." for machine in sorted({line["machine"] for line in lines})]
    table = Table(
        ["loss", "rival", "cells", "mean", "worst", f"lost over {1000 * NOTICEABLE:g} ms", "not reached"], quiet=True
    )
    for loss in (*LOSSES, ONE_CLASS):
        for rival in ("LIBLINEAR", "scikit-learn"):
            own = [line for line in lines if line["key"]["loss"] == loss and line["key"]["rival"].startswith(rival)]
            every = [line for line in better_of(own) if line["rival_seconds"] >= SHORTEST]
            own = [line for line in every if line["seconds"] < math.inf]
            if own:
                worst = min(own, key=ratio)
                lost = sum(ratio(line) < 1 and line["rival_seconds"] > NOTICEABLE for line in own)
                mean = geometric_mean([ratio(line) for line in own])
                worst_cell = f"{ratio(worst):.2f}x ({name_of(worst)})"
                missing = str(len(every) - len(own))
                table.add([loss, rival, str(len(own)), f"{mean:.2f}x", worst_cell, str(lost), missing])
    certified = [line for line in lines if line["key"]["rival"] == CERTIFIED]
    missed = [name_of(line) for line in certified if not line["certified"]]
    text += ["", table.markdown(), "", f"Certified 1e-6: {len(certified) - len(missed)} of {len(certified)} cells."]
    text += [f"Missed: {', '.join(missed)}."] if missed else []
    table = Table(["cell", "rival", "its s", "its error", "our tol", "our s", "ratio", "by"], quiet=True)
    for line in lines:
        if "rival_seconds" in line:
            mark = "> " if line.get("ended") else ""
            error = f"{line['rival_error']:.0e}" if "rival_error" in line else "-"
            theirs = f"{mark}{line['rival_seconds']:.3g}"
            times = [theirs, error, f"{line['tol']:g}", line["seconds"], f"{mark}{ratio(line):.2f}", line["solver"]]
            table.add([name_of(line), line["key"]["rival"], *times])
    return "\n".join([*text, "", "## All cells", "", table.markdown(), ""])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", nargs="+", default=DATA, choices=DATA)
    parser.add_argument("--loss", nargs="+", default=(*LOSSES, ONE_CLASS), choices=(*LOSSES, ONE_CLASS))
    parser.add_argument("--nu", nargs="+", type=float, default=NUS, help="of one-class problems")
    parser.add_argument("--epsilon", nargs="+", type=float, default=EPSILONS)
    parser.add_argument("-C", nargs="+", type=float, default=CS)
    parser.add_argument("--bias", nargs="+", type=float, default=[1.0])
    parser.add_argument("--rivals", nargs="+", default=[*RIVALS, CERTIFIED], choices=[*RIVALS, CERTIFIED])
    parser.add_argument("--repeats", type=int, default=3, help="runs of which the fastest counts, if short")
    parser.add_argument("--limit", type=float, default=30.0, help="seconds for a rival in one cell")
    parser.add_argument("--our-limit", type=float, default=60.0, help="seconds for maxmargin in one cell")
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
