"""Figure 5 of Joachims: iterations over epsilon."""

from __future__ import annotations

from benchmarks.reproduce.context import Context
from benchmarks.reproduce.curves import slope
from benchmarks.reproduce.items import Cell, Item, Line, Panel, Result
from benchmarks.reproduce.paper004 import EPSILONS, SETTINGS, perf, sizes, tasks


def run(context: Context, what: str = "cuts", label: str = "iterations (cuts)", paper: float = 0.3) -> Result:
    panel, cells = Panel(f"SVM-perf: {label}", "epsilon", label, []), []
    for found, C in tasks(context):
        n = sizes(found, context)[-1]
        results = {epsilon: perf(context, found, n=n, C=C, epsilon=epsilon) for epsilon in EPSILONS}
        done = {epsilon: float(result[what]) for epsilon, result in results.items() if result["done"]}
        panel.lines.append(Line(found.label, list(done), list(done.values())))
        if len(done) > 2:
            power = -slope(list(done), list(done.values()))
            told = f"1/eps^{power:.2f}, the paper about 1/eps^{paper:g}"
            cells.append(Cell(f"{found.label}: grows slower than 1/eps", power < 1.0, told, context.own(found)))
    return Result(SETTINGS, panels=[panel], cells=cells)


ITEM = Item(
    "paper004_figure5",
    "004",
    "Figure 5: iterations over epsilon",
    "The number of iterations grows like 1/eps^0.3, much slower than the bound of 1/eps^2.",
    run,
)
