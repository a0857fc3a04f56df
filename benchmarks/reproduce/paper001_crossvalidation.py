"""The cross-validation argument of Glasmachers and Dogan: a search over C costs the sum over all C."""

from __future__ import annotations

import math

from benchmarks.reproduce import limits
from benchmarks.reproduce.context import Context
from benchmarks.reproduce.curves import shown
from benchmarks.reproduce.items import Cell, Item, Result, Table, ratio
from benchmarks.reproduce.paper001 import LEVELS, METHODS, SETS, SETTINGS, timings


def run(context: Context) -> Result:
    rows, cells = [], []
    limit = context.limit(limits.PAPER001)
    for found in context.several(SETS):
        # Where neither ends, nothing is known; where one does not, it takes its limit at least.
        times = [t for t in timings(context, found) if any(math.isfinite(t.seconds[name][1]) for name in METHODS)]
        if not times:
            continue
        seconds = {name: [min(t.seconds[name][1], limit) for t in times] for name in METHODS}
        ended = {name: all(math.isfinite(t.seconds[name][1]) for t in times) for name in METHODS}
        total = {name: sum(each) for name, each in seconds.items()}
        share = {name: each[-1] / total[name] for name, each in seconds.items()}
        told = {name: f"{'' if ended[name] else 'at least '}{shown(total[name])}" for name in METHODS}
        rows.append(
            [
                found.label,
                f"{times[0].C:g} to {times[-1].C:g}",
                *told.values(),
                *(f"{share[name]:.0%}" for name in METHODS),
            ]
        )
        own = context.own(found)
        if found.name != "covtype":
            statement = f"{found.label}: the sum over C is less with AVSF"
            less = ended["AVSF"] and total["AVSF"] < total["shrinking"]
            numbers = f"{told['AVSF']} s against {told['shrinking']} s in all"
            known = ratio(total["AVSF"], total["shrinking"]) if all(ended.values()) else None
            cells.append(Cell(statement, less, numbers, own, known))
        statement = f"{found.label}: the largest C takes most of it"
        cells.append(Cell(statement, share["shrinking"] > 0.5, f"{share['shrinking']:.0%}", own))
    head = ["data", "C", *(f"{name}, s" for name in METHODS), *(f"{name}, largest C" for name in METHODS)]
    title = f"Sums over C, to a gap of {LEVELS[1]:g}, where either ends; a run that does not counts {limit:g} s"
    return Result(SETTINGS, tables=[Table(title, head, rows)], cells=cells)


ITEM = Item(
    "paper001_crossvalidation",
    "001",
    "The cross-validation argument",
    "The cost of a search over C is dominated by the largest value, which is where adaptive frequencies save most.",
    run,
)
