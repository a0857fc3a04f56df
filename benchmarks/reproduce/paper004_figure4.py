"""Figures 4, 5 and 6 of Joachims share their runs; this one is test accuracy over epsilon."""

from __future__ import annotations

from benchmarks.reproduce.context import Context
from benchmarks.reproduce.items import Cell, Item, Line, Panel, Result
from benchmarks.reproduce.paper004 import EPSILON, EPSILONS, SETTINGS, perf, sizes, tasks

CLOSE = 0.5


def run(context: Context) -> Result:
    title = "Test accuracy minus that at 0.001"
    panel, cells = Panel(title, "epsilon", "points", [], y_log=False, level=0.0), []
    for found, C in tasks(context):
        n = sizes(found, context)[-1]
        score = {epsilon: perf(context, found, n=n, C=C, epsilon=epsilon)["score"] for epsilon in EPSILONS}
        differences = {epsilon: value - score[EPSILON] for epsilon, value in score.items()}
        panel.lines.append(Line(found.label, list(differences), list(differences.values())))
        worst = max(abs(value) for epsilon, value in differences.items() if epsilon <= 0.01)
        statement = f"{found.label}: within {CLOSE} points for epsilon <= 0.01"
        cells.append(Cell(statement, worst <= CLOSE, f"{worst:.2f} points", context.own(found)))
    return Result(SETTINGS, panels=[panel], cells=cells)


ITEM = Item(
    "paper004_figure4",
    "004",
    "Figure 4: prediction performance over epsilon",
    "For all epsilon <= 0.01 the prediction performance is within half a percentage point of that at 0.001.",
    run,
)
