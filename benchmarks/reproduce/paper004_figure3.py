"""Figure 3 of Joachims: the difference in test accuracy between SVM-perf and the decomposition method, over C."""

from __future__ import annotations

import math

from benchmarks.reproduce.context import Context
from benchmarks.reproduce.items import Cell, Item, Line, Panel, Result
from benchmarks.reproduce.paper004 import CS, DECOMPOSITION, SETTINGS, decomposition, perf, sizes, tasks

CLOSE = 1.0


def run(context: Context) -> Result:
    panel = Panel("Test accuracy of SVM-perf minus that of the other", "C", "points", [], y_log=False, level=0.0)
    cells = []
    for found, _ in tasks(context):
        n = sizes(found, context)[context.pick(-2, -1)]
        points = []
        for C in CS:
            ours, theirs = perf(context, found, n=n, C=C), decomposition(context, found, n=n, C=C)
            if math.isfinite(theirs["seconds"]) and ours["done"]:
                points.append((C, ours["score"] - theirs["score"]))
        panel.lines.append(Line(found.label, [C for C, _ in points], [d for _, d in points]))
        worst = min(points, key=lambda point: point[1], default=None)
        if worst is not None:
            told = f"{worst[1]:+.2f} points at C = {worst[0]:g}"
            statement = f"{found.label}: never more than {CLOSE:g} point below {DECOMPOSITION}"
            cells.append(Cell(statement, worst[1] >= -CLOSE, told, context.own(found)))
    return Result(SETTINGS, panels=[panel], cells=cells)


ITEM = Item(
    "paper004_figure3",
    "004",
    "Figure 3: prediction performance against the decomposition method",
    "For almost all values of C both perform almost identically; rules learned by SVM-perf are not less accurate.",
    run,
)
