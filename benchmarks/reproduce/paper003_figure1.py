"""Figure 1 of Keerthi et al.: the sequential dual method for Crammer-Singer with and without its heuristics."""

from __future__ import annotations

from benchmarks.reproduce.context import Context
from benchmarks.reproduce.curves import before, first_below
from benchmarks.reproduce.items import Item, Line, Panel, Result
from benchmarks.reproduce.paper003 import PLAIN, SDM, SETTINGS, Experiment

#: What counts as accurate.
ACCURATE = 1e-3


def run(context: Context, formulation: str = "crammer_singer") -> Result:
    panels, cells = [], []
    for name in ("mnist", "covtype"):
        found = context.data(name, two_classes=False)
        if found is None:
            continue
        experiment = Experiment(context, found, 1.0, formulation)
        curves = {"with heuristics": experiment.curve("SDM", SDM), "without": experiment.curve("SDM-plain", PLAIN)}
        lines = [Line(n, c.seconds, experiment.errors(c)) for n, c in curves.items()]
        panels.append(Panel(found.label, "seconds", "relative function value difference", lines))
        times = {n: first_below(experiment.errors(c), ACCURATE, c.seconds) for n, c in curves.items()}
        statement = f"{found.label}: the heuristics pay when solved accurately"
        told = f"to {ACCURATE:g} with and without: "
        cells.append(before(statement, times["with heuristics"], times["without"], experiment.own, told=told))
    return Result(f"C = 1. {SETTINGS}", panels=panels, cells=cells)


ITEM = Item(
    "paper003_figure1",
    "003",
    "Figure 1: shrinking and cooling, Crammer-Singer",
    "The heuristics are valuable when the dual needs to be solved quite accurately, on MNIST and COVER.",
    run,
)
