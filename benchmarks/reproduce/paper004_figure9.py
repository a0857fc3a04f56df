"""Figure 9 of Joachims: training time over C, for SVM-perf and the decomposition method."""

from __future__ import annotations

import math

from benchmarks.reproduce.context import Context
from benchmarks.reproduce.curves import before
from benchmarks.reproduce.items import Item, Line, Panel, Result
from benchmarks.reproduce.paper004 import CS, DECOMPOSITION, SETTINGS, decomposition, perf, sizes, tasks


def run(context: Context) -> Result:
    panels = [Panel(title, "C", "seconds", []) for title in ("SVM-perf", DECOMPOSITION)]
    cells = []
    for found, _ in tasks(context):
        n = sizes(found, context)[context.pick(-2, -1)]
        ours = {C: perf(context, found, n=n, C=C) for C in CS}
        theirs = {C: decomposition(context, found, n=n, C=C)["seconds"] for C in CS}
        done = {C: result["seconds"] for C, result in ours.items() if result["done"]}
        panels[0].lines.append(Line(found.label, list(done), list(done.values())))
        known = {C: seconds for C, seconds in theirs.items() if math.isfinite(seconds)}
        panels[1].lines.append(Line(found.label, list(known), list(known.values())))
        for C in CS:
            if C in done or C in known:
                fast = done.get(C, math.inf)
                statement = f"{found.label}, C = {C:g}: SVM-perf before {DECOMPOSITION}"
                cells.append(before(statement, fast, theirs[C], context.own(found)))
    return Result(SETTINGS, panels=panels, cells=cells)


ITEM = Item(
    "paper004_figure9",
    "004",
    "Figure 9: training time over C",
    "Training time of SVM-perf grows slower than C but for excessive values, and SVM-perf is faster than the "
    "decomposition method for all values of C.",
    run,
)
