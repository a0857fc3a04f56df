"""Figure 8 of Joachims: iterations over C."""

from __future__ import annotations

from benchmarks.reproduce.context import Context
from benchmarks.reproduce.curves import slope
from benchmarks.reproduce.items import Cell, Item, Line, Panel, Result
from benchmarks.reproduce.paper004 import CS, SETTINGS, perf, sizes, tasks


def run(context: Context) -> Result:
    panels, cells = [], []
    for task in ("classification", "ranking"):
        panel = Panel(f"SVM-perf, {task}", "C", "iterations (cuts)", [])
        for found, _ in tasks(context):
            n = sizes(found, context)[context.pick(-2, -1)]
            results = {C: perf(context, found, n=n, C=C, task=task) for C in CS}
            done = {C: float(result["cuts"]) for C, result in results.items() if result["done"]}
            panel.lines.append(Line(found.label, list(done), list(done.values())))
            if len(done) > 2:
                power = slope(list(done), list(done.values()))
                told = f"C^{power:.2f}, the paper about C^0.5"
                statement = f"{found.label}, {task}: slower than linear in C"
                cells.append(Cell(statement, power < 1.0, told, context.own(found)))
        panels.append(panel)
    return Result(SETTINGS, panels=panels, cells=cells)


ITEM = Item(
    "paper004_figure8",
    "004",
    "Figure 8: iterations over C",
    "The number of iterations grows like the square root of C, for classification and similarly for ordinal "
    "regression, where the bound of Lemma 2 is linear.",
    run,
)
