"""Choosing C side by side: 13 values from 1e-3 to 1e3 and 5 folds, in one thread, with the same folds for everybody.

For every data set and rival the rival does the search as its users do, then `LinearSVCCV` in the same run:

- "GridSearchCV": scikit-learn's search over its own LinearSVC as it is by default; both train the final model as well.
- "LIBLINEAR", "LIBLINEAR -s 2": one training per C and fold ("-s 1" is its default for the squared hinge, "-s 2" its
  Newton method), on matrices of the folds that are made before the time is taken.
- "LIBLINEAR -C": its own search, with its own folds and values of C.
- "unseeded": `svm_path` over all rows against the same values of C, each solved from zero, both to a certified 1e-3.
- "grid": `LinearSVCCV` with ``cv_tol=0.01``, a proof over the whole range, against itself without one.
- "grid, auto": `LinearSVCCV` with ``tol="auto"``, which knows what exact optima would choose, against itself without.
- "one fit": ``LinearSVC().calibrated(X, y)`` against ``LinearSVC().fit(X, y)``; its line has the log loss on a quarter
  of the rows that was left out, and that of scikit-learn's CalibratedClassifierCV(ensemble=False).

    python -m benchmarks.choosing [--data imdb w8a ...] [--rivals GridSearchCV ...] [--limit 600]
    python -m benchmarks.choosing --report

Every measurement is a line of JSON with the commit and the machine in ``benchmarks/results/choosing.jsonl``, and is not
repeated for the same commit. A rival that needs more than the limit is ended, and the ratio is then at least that.
"""

from __future__ import annotations

import argparse
import json
import os

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before numpy is loaded: everybody gets one thread

import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.datasets import ROOT, load_binary, load_classes
from benchmarks.report import Table, describe_machine, geometric_mean
from benchmarks.rivals import Liblinear, LiblinearNewton, within
from benchmarks.speed import commit, latest, lines_of
from maxmargin import LinearSVCCV, svm_path

CS = np.logspace(-3, 3, 13)
FOLDS = 5
#: Data sets, and whether they have more than two classes.
DATA = {"imdb": False, "w8a": False, "news20": False, "r52": True, "mnist": False}
#: Those on which a proof is asked for.
PROVED = ("a9a", "w8a", "imdb")
#: What is measured there: proofs about C, and probabilities.
PROOFS = ("grid", "grid, auto", "one fit")
RESULTS = ROOT / "benchmarks" / "results" / "choosing.jsonl"


class Search:
    """One data set, its folds, and the rivals' searches: each gives seconds and the best mean accuracy."""

    def __init__(self, name: str, loss: str) -> None:
        from sklearn.model_selection import StratifiedKFold

        self.name, self.loss = name, loss
        self.several = DATA.get(name, False)
        found = (load_classes if self.several else load_binary)(name, "float64")
        if found is None:
            raise FileNotFoundError(name)
        self.X, self.y = found
        self.folds = list(StratifiedKFold(FOLDS, shuffle=True, random_state=0).split(self.X, self.y))

    def ours(self, refit: bool = False, **options: Any) -> dict[str, Any]:
        """`LinearSVCCV` with its defaults."""
        model = LinearSVCCV(self.loss, Cs=CS, cv=self.folds, refit=refit, **options)
        start = time.perf_counter()
        model.fit(self.X, self.y)
        seconds = time.perf_counter() - start
        facts = {"seconds": seconds, "C": model.C_, "accuracy": model.best_score_}
        if hasattr(model, "certified_"):
            facts |= {"certified": model.certified_}
        if hasattr(model, "range_Cs_"):
            facts |= {"bound": model.error_bound_, "values": len(model.range_Cs_)}
        return facts

    def grid_search(self) -> tuple[float, float]:
        """scikit-learn's."""
        from sklearn.model_selection import GridSearchCV
        from sklearn.svm import LinearSVC

        model = GridSearchCV(LinearSVC(loss=self.loss, random_state=0), {"C": CS}, cv=self.folds, n_jobs=1)
        start = time.perf_counter()
        model.fit(self.X, self.y)
        return time.perf_counter() - start, float(model.best_score_)

    def liblinear(self, rival: type[Liblinear]) -> tuple[float, float]:
        """One training per C and fold."""
        seconds, accuracy = 0.0, np.zeros((len(CS), FOLDS))
        for fold, (train, test) in enumerate(self.folds):
            made = rival(self.X[train], self.y[train], 1.0)
            classes = np.unique(self.y[train])
            for k, C in enumerate(CS.tolist()):
                spent, weights = made.train("ovr" if self.several else "binary", self.loss, C)
                seconds += spent
                start = time.perf_counter()
                scores = self.X[test] @ weights[:, :-1].T + weights[:, -1]
                best = classes[scores.argmax(axis=1)] if self.several else np.where(scores[:, 0] > 0, 1, -1)
                accuracy[k, fold] = np.mean(best == self.y[test])
                seconds += time.perf_counter() - start
        return seconds, float(accuracy.mean(axis=1).max())

    def liblinear_search(self) -> tuple[float, float]:
        """``liblinear-train -C -s 2 -v 5 -B 1``."""
        from ctypes import byref, c_double

        from liblinear.liblinear import liblinear, parameter

        made = LiblinearNewton(self.X, self.y, 1.0)
        options = parameter("-s 2 -q")
        C, p, rate = c_double(), c_double(), c_double()
        start = time.perf_counter()
        liblinear.find_parameters(made.problem, options, FOLDS, -1.0, -1.0, byref(C), byref(p), byref(rate))
        return time.perf_counter() - start, float(rate.value)

    def unseeded(self) -> tuple[float, float]:
        """Every C of a path by itself."""
        from maxmargin import LinearSVC

        start = time.perf_counter()
        for C in CS.tolist():
            LinearSVC(self.loss, C=C).fit(self.X, self.y)
        return time.perf_counter() - start, float("nan")

    def seeded(self) -> dict[str, Any]:
        """The path."""
        start = time.perf_counter()
        path = svm_path(self.X, self.y, CS, loss=self.loss)
        return {"seconds": time.perf_counter() - start, "certified": bool(path.converged.all())}

    def rivals(self) -> dict[str, tuple[Callable[[], tuple[float, float]], Callable[[], dict[str, Any]]]]:
        """What each rival does, and what we do beside it."""
        if self.name in PROVED and self.name not in DATA:
            names = [*PROOFS]
        else:
            names = ["GridSearchCV", "LIBLINEAR", "unseeded"]
            if self.loss == "squared_hinge":
                names += ["LIBLINEAR -s 2", "LIBLINEAR -C"]
            if self.name in PROVED:
                names += PROOFS
        everything: dict[str, Any] = {
            "GridSearchCV": (self.grid_search, lambda: self.ours(refit=True)),
            "LIBLINEAR": (lambda: self.liblinear(Liblinear), self.ours),
            "LIBLINEAR -s 2": (lambda: self.liblinear(LiblinearNewton), self.ours),
            "LIBLINEAR -C": (self.liblinear_search, self.ours),
            "unseeded": (self.unseeded, self.seeded),
            "grid": (self.plain, lambda: self.ours(cv_tol=0.01, time_limit=300.0)),
            "grid, auto": (self.plain, lambda: self.ours(tol="auto", time_limit=300.0)),
            "one fit": (self.fit, self.calibrated),
        }
        return {name: everything[name] for name in names}

    def halves(self) -> list[Any]:
        """Three quarters of the rows to train on, and the rest."""
        from sklearn.model_selection import train_test_split

        return list(train_test_split(self.X, self.y, test_size=0.25, random_state=0, stratify=self.y))

    def fit(self) -> tuple[float, float]:
        """One fit without probabilities."""
        from maxmargin import LinearSVC

        X, _, y, _ = self.halves()
        return fastest(lambda: LinearSVC(self.loss).fit(X, y))[0], float("nan")

    def calibrated(self) -> dict[str, Any]:
        """One with probabilities, and how good they are beside scikit-learn's."""
        from sklearn.calibration import CalibratedClassifierCV
        from sklearn.metrics import log_loss

        from maxmargin import LinearSVC

        X, X_test, y, y_test = self.halves()
        seconds, model = fastest(lambda: LinearSVC(self.loss).calibrated(X, y))
        facts = {"seconds": seconds, "log_loss": log_loss(y_test, model.predict_proba(X_test))}
        theirs = CalibratedClassifierCV(LinearSVC(self.loss), ensemble=False).fit(X, y)
        return facts | {"rival_log_loss": log_loss(y_test, theirs.predict_proba(X_test))}

    def plain(self) -> tuple[float, float]:
        """Ourselves without a proof."""
        found = self.ours()
        return found["seconds"], found["accuracy"]


def fastest(work: Callable[[], Any], runs: int = 5) -> tuple[float, Any]:
    """The seconds of the fastest run of something short, and what it gives."""
    best = float("inf")
    for _ in range(runs):
        start = time.perf_counter()
        found = work()
        best = min(best, time.perf_counter() - start)
    return best, found


def measure(arguments: argparse.Namespace) -> None:
    """Measure what is missing, and append it line by line."""
    version, machine = commit(), describe_machine()
    done = {json.dumps(line["key"]) for line in lines_of(arguments.output) if line["commit"] == version}
    table = Table(["data", "loss", "rival", "its s", "our s", "ratio", "its best", "our best"])
    for name in arguments.data or [*DATA, "a9a"]:
        for loss in arguments.loss:
            keys = {rival: {"data": name, "loss": loss, "rival": rival} for rival in arguments.rivals}
            missing = [rival for rival, key in keys.items() if json.dumps(key) not in done]
            if not missing:
                continue
            search = Search(name, loss)
            for rival, (theirs, ours) in search.rivals().items():
                if rival not in missing:
                    continue
                found = within(arguments.limit, theirs)
                seconds, accuracy = (arguments.limit, float("nan")) if found is None else found
                line = {"rival_seconds": seconds, "rival_accuracy": accuracy, "ended": found is None, **ours()}
                mark = "> " if found is None else ""
                best = f"{100 * line.get('accuracy', float('nan')):.2f}"
                ratio = f"{mark}{seconds / line['seconds']:.2f}"
                table.add([name, loss, rival, seconds, line["seconds"], ratio, f"{100 * accuracy:.2f}", best])
                if not arguments.dry:
                    with arguments.output.open("a") as file:
                        file.write(
                            json.dumps({"key": keys[rival], **line, "commit": version, "machine": machine}) + "\n"
                        )


def report(lines: list[dict[str, Any]]) -> str:
    """Geometric means and all measurements, as Markdown."""
    text = ["# Choosing C", "", "Written by `python -m benchmarks.choosing --report`; its first lines say how.", ""]
    versions = ", ".join(sorted({line["commit"] for line in lines}))
    text += [f"{machine} Commits: {versions}." for machine in sorted({line["machine"] for line in lines})]
    means = Table(["loss", "rival", "sets", "mean ratio", "worst", "our best, points above"], quiet=True)
    every = Table(["data", "loss", "rival", "its s", "our s", "ratio", "its best", "our best"], quiet=True)
    for loss in sorted({line["key"]["loss"] for line in lines}):
        for rival in dict.fromkeys(line["key"]["rival"] for line in lines):
            own = [line for line in lines if line["key"]["rival"] == rival and line["key"]["loss"] == loss]
            if not own:
                continue
            ratios = [line["rival_seconds"] / line["seconds"] for line in own]
            worst = own[int(np.argmin(ratios))]["key"]["data"]
            above = [100 * (line.get("accuracy", np.nan) - line["rival_accuracy"]) for line in own]
            known = [value for value in above if not np.isnan(value)]
            span = f"{min(known):+.2f} to {max(known):+.2f}" if known else "-"
            mean = f"{geometric_mean(ratios):.2f}x"
            means.add([loss, rival, str(len(own)), mean, f"{min(ratios):.2f}x ({worst})", span])
    for line in lines:
        key, mark = line["key"], "> " if line["ended"] else ""
        every.add(
            [
                *(key[name] for name in ("data", "loss", "rival")),
                f"{mark}{line['rival_seconds']:.3g}",
                line["seconds"],
                f"{mark}{line['rival_seconds'] / line['seconds']:.2f}",
                f"{100 * line['rival_accuracy']:.2f}",
                f"{100 * line.get('accuracy', float('nan')):.2f}",
            ]
        )
    return "\n".join([*text, "", means.markdown(), "", "## All measurements", "", every.markdown(), ""])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    every = ["GridSearchCV", "LIBLINEAR", "LIBLINEAR -s 2", "LIBLINEAR -C", "unseeded", *PROOFS]
    parser.add_argument("--data", nargs="+", help="data sets (default: all)")
    parser.add_argument("--loss", nargs="+", default=["squared_hinge"])
    parser.add_argument("--rivals", nargs="+", default=every, choices=every)
    parser.add_argument("--limit", type=float, default=600.0, help="seconds for a rival's whole search")
    parser.add_argument("--output", type=Path, default=RESULTS)
    parser.add_argument("--dry", action="store_true", help="print, but write nothing")
    parser.add_argument("--report", action="store_true", help="write the Markdown of what has been measured")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    if not arguments.report:
        measure(arguments)
    if not arguments.dry:
        page = arguments.output.with_suffix(".md")
        page.write_text(report(latest(arguments.output)))
        print(f"written to {page}")


if __name__ == "__main__":
    main()
