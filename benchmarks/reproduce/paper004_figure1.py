"""Figure 1 of Joachims: training time over the number of rows, for both programs, and for ordinal regression."""

from __future__ import annotations

import math
from typing import Any

from benchmarks.reproduce.context import Context
from benchmarks.reproduce.curves import slope
from benchmarks.reproduce.items import Cell, Item, Line, Panel, Result
from benchmarks.reproduce.paper004 import CS, DECOMPOSITION, SETTINGS, decomposition, perf, sizes, tasks

STEEPEST = 1.1


def best_C(context: Context, found: Any, n: int) -> float:
    """The C of highest test accuracy for this many rows."""
    return max(CS, key=lambda C: perf(context, found, n=n, C=C)["score"])


def run(context: Context) -> Result:
    panels = [
        Panel(title, "rows", "seconds", [])
        for title in ("SVM-perf", DECOMPOSITION, "SVM-perf, best C for each size", "SVM-perf, ordinal regression")
    ]
    cells = []
    for found, C in tasks(context):
        counts = sizes(found, context)
        times = [
            [perf(context, found, n=n, C=C) for n in counts],
            [decomposition(context, found, n=n, C=C) for n in counts],
            [perf(context, found, n=n, C=best_C(context, found, n)) for n in counts],
            [perf(context, found, n=n, C=C, task="ranking") for n in counts],
        ]
        slopes = []
        for panel, results in zip(panels, times, strict=True):
            # A run that met its limit tells nothing about growth.
            points = [
                (n, r["seconds"])
                for n, r in zip(counts, results, strict=True)
                if math.isfinite(r["seconds"]) and r.get("done", 1.0)
            ]
            panel.lines.append(Line(found.label, [float(n) for n, _ in points], [s for _, s in points]))
            slopes.append(slope([n for n, _ in points], [s for _, s in points]) if len(points) > 1 else math.nan)
        own = context.own(found)
        for name, value in (("classification", slopes[0]), ("ordinal regression", slopes[3])):
            if not math.isnan(value):
                told = f"slope {value:.2f}"
                cells.append(Cell(f"{found.label}: {name} at most n^{STEEPEST}", value <= STEEPEST, told, own))
        if not math.isnan(slopes[1]) and not math.isnan(slopes[0]):
            told = f"slope {slopes[1]:.2f} against {slopes[0]:.2f}"
            cells.append(Cell(f"{found.label}: {DECOMPOSITION} grows faster", slopes[1] > slopes[0], told, own))
    return Result(SETTINGS, panels=panels, cells=cells)


ITEM = Item(
    "paper004_figure1",
    "004",
    "Figure 1: training time over the number of rows",
    "SVM-perf scales like n^0.8 for classification, slightly steeper for ordinal regression, and the decomposition "
    "method like n^1.7; with the best C for each size it is still roughly linear.",
    run,
)
