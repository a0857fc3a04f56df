"""Figure 3 of Keerthi et al.: SDM, EG and CP on five data sets, dual values and test accuracy over time."""

from __future__ import annotations

from benchmarks.reproduce.context import Context
from benchmarks.reproduce.curves import first_below, shown
from benchmarks.reproduce.data import Found
from benchmarks.reproduce.items import Cell, Item, Line, Panel, Result, ratio
from benchmarks.reproduce.paper003 import RIVALS, SETS, SETTINGS, Experiment

#: The accuracy at which times are compared.
LEVEL = 1e-2


def compare(context: Context, found: Found, C: float) -> tuple[list[Panel], list[Cell]]:
    """Both panels and the statements of one data set."""
    experiment = Experiment(context, found, C)
    curves = {name: experiment.curve(name, method) for name, method in RIVALS.items()}
    title = f"{found.label}, C = {C:g}"
    panels = [
        Panel(
            title,
            "seconds",
            "relative function value difference",
            [Line(n, c.seconds, experiment.errors(c)) for n, c in curves.items()],
            level=LEVEL,
        ),
        Panel(
            title, "seconds", "test accuracy, %", [Line(n, c.seconds, c.score) for n, c in curves.items()], y_log=False
        ),
    ]
    times = {n: first_below(experiment.errors(c), LEVEL, c.seconds) for n, c in curves.items()}
    ends = {n: experiment.errors(c)[-1] for n, c in curves.items()}
    cells = []
    for fast, slow in (("SDM", "EG"), ("SDM", "CP"), ("EG", "CP")):
        told = f"{shown(times[fast])} s against {shown(times[slow])} s; at the end {ends[fast]:.1e}, {ends[slow]:.1e}"
        first = times[fast] < times[slow] or (times[fast] == times[slow] and ends[fast] < ends[slow])
        cells.append(
            Cell(f"{title}: {fast} before {slow}", first, told, experiment.own, ratio(times[fast], times[slow]))
        )
    return panels, cells


def run(context: Context) -> Result:
    panels, cells = [], []
    for found in context.several(SETS, two_classes=False):
        drawn, stated = compare(context, found, 1.0)
        panels += drawn
        cells += stated
    return Result(f"C = 1, times to {LEVEL:g}. {SETTINGS}", panels=panels, cells=cells)


ITEM = Item(
    "paper003_figure3",
    "003",
    "Figure 3: SDM, EG and CP on five data sets",
    "Overall SDM is much faster than EG, which in turn is much faster than CP, in the dual objective "
    "and in test accuracy.",
    run,
)
