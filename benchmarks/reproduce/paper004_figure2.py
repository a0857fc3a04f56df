"""Figure 2 of Joachims: the number of iterations over the number of rows, and the bound of Lemma 2."""

from __future__ import annotations

import numpy as np

from benchmarks.reproduce.context import Context
from benchmarks.reproduce.items import Cell, Item, Line, Panel, Result
from benchmarks.reproduce.paper004 import EPSILON, SETTINGS, perf, sizes, tasks


def run(context: Context) -> Result:
    panel, cells = Panel("Iterations of SVM-perf", "rows", "iterations (cuts)", []), []
    for found, C in tasks(context):
        counts = sizes(found, context)
        results = [perf(context, found, n=n, C=C) for n in counts]
        done = [(n, r["cuts"]) for n, r in zip(counts, results, strict=True) if r["done"]]
        if not done:
            continue
        panel.lines.append(Line(found.label, [float(n) for n, _ in done], [float(cuts) for _, cuts in done]))
        radius = 1.0 + float(np.asarray(found.X.multiply(found.X).sum(axis=1)).max())  # the constant column is 1
        bound = max(2 / EPSILON, 8 * C * radius / EPSILON**2)
        most, own = max(cuts for _, cuts in done), context.own(found)
        cells.append(Cell(f"{found.label}: within the bound of Lemma 2", most <= bound, f"{most} <= {bound:.1e}", own))
        if len(done) > 1:
            told = ", ".join(f"{cuts} at {n:,}" for n, cuts in done)
            grows = done[-1][1] <= 1.5 * max(cuts for _, cuts in done[:-1])
            cells.append(Cell(f"{found.label}: does not grow with n", grows, told, own))
    return Result(SETTINGS, panels=[panel], cells=cells)


ITEM = Item(
    "paper004_figure2",
    "004",
    "Figure 2 and Lemma 2: iterations over the number of rows",
    "The number of iterations is bounded by max(2/eps, 8 C R^2/eps^2), whatever n is, and does not grow with n even "
    "where n is small; for some problems it falls.",
    run,
)
