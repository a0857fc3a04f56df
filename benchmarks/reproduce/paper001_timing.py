"""The timing of Glasmachers and Dogan over C and accuracy: adaptive frequencies against shrinking."""

from __future__ import annotations

import math

from benchmarks.reproduce.context import Context
from benchmarks.reproduce.curves import before, shown
from benchmarks.reproduce.items import Item, Line, Panel, Result, Table
from benchmarks.reproduce.paper001 import LEVELS, METHODS, SETS, SETTINGS, timings

#: AVSF is level with shrinking from so large a part of its time on.
LEVEL = 0.8


def run(context: Context) -> Result:
    panels, tables, cells = [], [], []
    for found in context.several(SETS):
        times = timings(context, found)
        for unit in ("seconds", "steps"):
            lines = []
            for name in METHODS:
                for place, level in enumerate(LEVELS):
                    points = [(t.C, getattr(t, unit)[name][place]) for t in times]
                    reached = [point for point in points if math.isfinite(point[1])]
                    lines.append(Line(f"{name}, {level:g}", [C for C, _ in reached], [value for _, value in reached]))
            panels.append(Panel(f"{found.label}: {unit}", "C", unit, lines))
        rows = [
            [f"{t.C:g}", *(shown(getattr(t, unit)[name][1]) for unit in ("seconds", "steps") for name in METHODS)]
            for t in times
        ]
        head = ["C", *(f"{name}, {unit}" for unit in ("seconds", "steps") for name in METHODS)]
        tables.append(Table(f"{found.label}, to a gap of {LEVELS[1]:g}", head, rows))
        known = [t for t in times if any(math.isfinite(t.seconds[name][1]) for name in METHODS)]
        if not known:
            continue
        small, large = known[0], known[-1]
        own = context.own(found)
        # covtype is the paper's exception.
        fast, slow = ("shrinking", "AVSF") if found.name == "covtype" else ("AVSF", "shrinking")
        statement = f"{found.label}, C = {large.C:g}: {fast} before {slow}"
        cells.append(before(statement, large.seconds[fast][1], large.seconds[slow][1], own))
        statement = f"{found.label}, C = {small.C:g}: shrinking before AVSF or level"
        cells.append(before(statement, small.seconds["shrinking"][1], small.seconds["AVSF"][1], own, factor=1 / LEVEL))
    return Result(f"{SETTINGS} The largest C is the largest that either finishes.", panels, tables, cells)


ITEM = Item(
    "paper001_timing",
    "001",
    "Timing over C and accuracy",
    "The original algorithm, with shrinking, is superior for small C, and adaptive frequencies are a lot faster for "
    "large C, often by an order of magnitude; covtype is the exception, where the original is superior for all C.",
    run,
)
