"""The cross-validation argument of Glasmachers and Dogan: a search over C costs the sum over all C."""

from __future__ import annotations

import math

from benchmarks.reproduce.context import Context
from benchmarks.reproduce.curves import shown
from benchmarks.reproduce.items import Cell, Item, Result, Table
from benchmarks.reproduce.paper001 import LEVELS, METHODS, SETS, SETTINGS, timings


def run(context: Context) -> Result:
    rows, cells = [], []
    for found in context.several(SETS):
        times = [t for t in timings(context, found) if all(math.isfinite(t.seconds[name][1]) for name in METHODS)]
        if not times:
            continue
        total = {name: sum(t.seconds[name][1] for t in times) for name in METHODS}
        share = {name: times[-1].seconds[name][1] / total[name] for name in METHODS}
        rows.append(
            [
                found.label,
                f"{times[0].C:g} to {times[-1].C:g}",
                *(shown(total[name]) for name in METHODS),
                *(f"{share[name]:.0%}" for name in METHODS),
            ]
        )
        told = f"{shown(total['AVSF'])} s against {shown(total['shrinking'])} s in all"
        own = context.own(found)
        if found.name != "covtype":
            cells.append(
                Cell(f"{found.label}: the sum over C is less with AVSF", total["AVSF"] < total["shrinking"], told, own)
            )
        cells.append(
            Cell(
                f"{found.label}: the largest C takes most of it",
                share["shrinking"] > 0.5,
                f"{share['shrinking']:.0%}",
                own,
            )
        )
    head = ["data", "C", *(f"{name}, s" for name in METHODS), *(f"{name}, largest C" for name in METHODS)]
    table = Table(f"Sums over C, to a gap of {LEVELS[1]:g}, where both finish", head, rows)
    return Result(SETTINGS, tables=[table], cells=cells)


ITEM = Item(
    "paper001_crossvalidation",
    "001",
    "The cross-validation argument",
    "The cost of a search over C is dominated by the largest value, which is where adaptive frequencies save most.",
    run,
)
