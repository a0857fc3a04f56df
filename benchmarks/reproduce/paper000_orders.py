"""Sections 3.1 and 5 of Hsieh et al.: a random order of sub-problems against a fixed one, and the online setting."""

from __future__ import annotations

from benchmarks.reproduce.context import Context
from benchmarks.reproduce.curves import first_below, shown
from benchmarks.reproduce.items import Cell, Item, Line, Panel, Result, ratio
from benchmarks.reproduce.paper000 import FIGURES, SETTINGS, dcd, experiments, labelled

ORDERS = {"permuted": "shuffled", "cyclic": "cyclic", "online": "uniform"}
LEVEL = 1e-3
#: "Similar" is within this factor of epochs.
SIMILAR = 2.0


def run(context: Context) -> Result:
    panels, cells = [], []
    for experiment in experiments(context, ["a9a", *FIGURES]):
        found = experiment.found
        curves = {name: experiment.curve(f"order-{name}", dcd(order)) for name, order in ORDERS.items()}
        epochs = {
            name: first_below(curve.errors(experiment.optimum), LEVEL, [float(e) for e in curve.epochs])
            for name, curve in curves.items()
        }
        title = f"{found.label}, {labelled(experiment.loss)}"
        lines = [
            Line(n, [float(e) for e in c.epochs], [max(e, 1e-6) for e in c.errors(experiment.optimum)])
            for n, c in curves.items()
        ]
        panels.append(Panel(title, "epochs", "relative error (20)", lines, level=LEVEL))
        told = ", ".join(f"{name} {shown(count)}" for name, count in epochs.items())
        own = context.own(found)
        cells.append(
            Cell(
                f"{title}: permuted in fewer epochs than cyclic",
                epochs["permuted"] < epochs["cyclic"],
                told,
                own,
                ratio(epochs["permuted"], epochs["cyclic"]),
            )
        )
        alike = epochs["online"] <= SIMILAR * epochs["permuted"] < float("inf")
        cells.append(Cell(f"{title}: online within {SIMILAR:g} times the epochs of batch", alike, told, own))
    return Result(f"{SETTINGS} Epochs to a relative error of {LEVEL:g}.", panels=panels, cells=cells)


ITEM = Item(
    "paper000_orders",
    "000",
    "Sections 3.1 and 5: orders of sub-problems",
    "Permuting the sub-problems at each outer iteration is much faster than the fixed order of Algorithm 1; the online "
    "Algorithm 2 is similar to the batch setting without shrinking.",
    run,
)
