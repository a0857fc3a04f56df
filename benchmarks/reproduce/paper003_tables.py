"""Tables 4.2 and 4.3 of Keerthi et al.: test accuracies with C tuned, ten partitions, and Wilcoxon's test."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

from benchmarks.reproduce import limits
from benchmarks.reproduce.context import Context
from benchmarks.reproduce.items import Cell, Item, Result, Table
from benchmarks.reproduce.paper003 import SETS, joined, own, scaled
from maxmargin import LinearSVC

METHODS = {"OVR": "ovr", "CS": "crammer_singer", "WW": "weston_watkins"}
GRID = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0)
PAPER = {
    "news20": (85.39, 85.26, 85.10),
    "sector": (94.83, 95.17, 94.37),
    "mnist": (91.46, 92.50, 91.84),
    "rcv1.multiclass": (90.85, 91.19, 91.10),
    "covtype": (71.35, 72.31, 72.40),
}
#: Table 4.3: who is ahead where the difference is significant.
DIRECTIONS = {
    "news20": {"CS": "neither", "WW": "OVR"},
    "sector": {"CS": "CS", "WW": "OVR"},
    "mnist": {"CS": "CS", "WW": "WW"},
    "rcv1.multiclass": {"CS": "CS", "WW": "WW"},
    "covtype": {"CS": "CS", "WW": "WW"},
}
SIGNIFICANT = 0.01


def significance(label: str, other: str, value: float, difference: float, paper: str, own: bool) -> Cell:
    """A statement of Table 4.3: whether a difference to one versus rest is significant, and in favour of whom."""
    ahead = "neither" if value >= SIGNIFICANT else other if difference > 0 else "OVR"
    told = f"p = {value:.2g}, {difference:+.2f} points: {ahead}"
    statement = f"{label}: OVR against {other} at {SIGNIFICANT:g}: in favour of {paper}"
    return Cell(statement, ahead == paper, told, own)


def partitions(y: np.ndarray, count: int) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Random 60/20/20 % of the rows, each class in proportion as far as it goes."""
    parts = []
    for seed in range(count):
        rng = np.random.default_rng(seed)
        order = np.lexsort((rng.random(len(y)), y))
        fifth = np.empty(len(y), dtype=int)
        fifth[order] = np.arange(len(y)) % 5
        parts.append((np.flatnonzero(fifth < 3), np.flatnonzero(fifth == 3), np.flatnonzero(fifth == 4)))
    return parts


def accuracy(
    X: sp.csr_matrix, y: np.ndarray, rows: Any, test: Any, C: float, multi_class: str, limit: float
) -> tuple[float, bool]:
    """Percent right on some rows of a model trained on others, and whether it was solved within its limit."""
    model = LinearSVC(
        "hinge", C=C, multi_class=multi_class, fit_intercept=False, tol=1e-3, time_limit=limit, random_state=0
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X[rows], y[rows])
    return 100 * float(model.score(X[test], y[test])), bool(np.all(model.converged_))


def tuned(X: sp.csr_matrix, y: np.ndarray, multi_class: str, part: Any, limit: float) -> float:
    """C by the validation rows, then trained on both."""
    train, valid, test = part
    scores: dict[float, float] = {}
    for C in GRID:
        scores[C], solved = accuracy(X, y, train, valid, C, multi_class, limit)
        if not solved:
            break
    best = max(scores, key=scores.__getitem__)
    return accuracy(X, y, np.concatenate([train, valid]), test, best, multi_class, limit)[0]


def run(context: Context) -> Result:
    from scipy.stats import wilcoxon

    count, limit = context.pick(3, 10), context.limit(limits.PAPER003_FIT)
    means, tests, cells = [], [], []
    for name in SETS:
        found = context.data(name, two_classes=False)
        if found is None:
            continue
        theirs, found = own(context, found), joined(scaled(found))
        X, parts = found.X, partitions(found.y, count)
        scores = {}
        for label, multi_class in METHODS.items():
            scores[label] = [
                context.once(
                    f"paper003-tables-{found.used}-{label}-{k}",
                    lambda part=part, multi_class=multi_class, X=X, y=found.y: tuned(X, y, multi_class, part, limit),
                )
                for k, part in enumerate(parts)
            ]
        paper = PAPER[name]
        means.append(
            [
                found.label,
                *(f"{np.mean(s):.2f} ± {np.std(s, ddof=1):.2f}" for s in scores.values()),
                " / ".join(f"{value:.2f}" for value in paper),
            ]
        )
        values = {
            other: 1.0 if scores["OVR"] == scores[other] else float(wilcoxon(scores["OVR"], scores[other]).pvalue)
            for other in ("CS", "WW")
        }
        tests.append([found.label, *(f"{value:.2g}" for value in values.values())])
        # Stand-ins have directions of their own, and few partitions no small p.
        for other, value in values.items() if found.own and 2 / 2**count < SIGNIFICANT else ():
            difference = float(np.mean(scores[other]) - np.mean(scores["OVR"]))
            cells.append(significance(found.label, other, value, difference, DIRECTIONS[name][other], theirs))
        # A part of the rows is not the paper's training set: then only orders can be compared.
        if theirs:
            for label, value in zip(METHODS, paper, strict=True):
                told = f"{np.mean(scores[label]):.2f}, paper {value:.2f}"
                near = abs(np.mean(scores[label]) - value) <= 1.0
                cells.append(Cell(f"{found.label}: {label} within a point of the paper", near, told, True))
        if name in ("mnist", "covtype"):
            for label in ("CS", "WW"):
                told = f"{np.mean(scores[label]):.2f} against {np.mean(scores['OVR']):.2f}"
                better = bool(np.mean(scores[label]) > np.mean(scores["OVR"]))
                cells.append(Cell(f"{found.label}: {label} more accurate than OVR", better, told, theirs))
    heads = [["data", *METHODS, "paper: OVR / CS / WW"], ["data", "OVR-CS", "OVR-WW"]]
    return Result(
        f"No bias, hinge, rows of norm 1 but for MNIST and COVER, C from {GRID[0]:g} to {GRID[-1]:g} by the validation "
        f"rows, {count} partitions of 60/20/20 %, certified gap 1e-3 within {limit:g} s; where a fit does "
        "not end in time, larger values of C are not tried. Wilcoxon's smallest value with n partitions is 2 / 2^n: "
        "below 8 of them Table 4.3 makes no statements.",
        tables=[
            Table("Table 4.2: test accuracy in percent, mean and deviation", heads[0], means),
            Table("Table 4.3: p values of Wilcoxon's signed rank test", heads[1], tests),
        ],
        cells=cells,
    )


ITEM = Item(
    "paper003_tables",
    "003",
    "Tables 4.2 and 4.3: accuracies with C tuned",
    "With C tuned, the joint formulations are better than one versus rest on MNIST and COVER, by half a point to a "
    "point; on normalised text all three are within a point. By Wilcoxon's test at 0.01 Crammer-Singer is ahead of one "
    "versus rest on all sets but NEWS20, and Weston-Watkins on all but NEWS20 and SECTOR, where it is behind.",
    run,
)
