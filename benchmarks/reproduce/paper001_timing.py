"""The timing of Glasmachers and Dogan over C and accuracy: adaptive frequencies against shrinking."""

from __future__ import annotations

import math

from benchmarks.reproduce.context import Context
from benchmarks.reproduce.curves import shown
from benchmarks.reproduce.items import Cell, Item, Line, Panel, Result, Table
from benchmarks.reproduce.paper001 import LEVELS, METHODS, SETS, SETTINGS, timings


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
        small, large = known[0], known[-1]
        told = {
            t.C: f"{shown(t.seconds['AVSF'][1])} s against {shown(t.seconds['shrinking'][1])} s" for t in (small, large)
        }
        ratio = large.seconds["AVSF"][1] / large.seconds["shrinking"][1]
        own = context.own(found)
        if found.name == "covtype":
            statement = f"{found.label}, C = {large.C:g}: shrinking is superior, the paper's exception"
            cells.append(Cell(statement, ratio > 1, told[large.C], own))
        else:
            statement = f"{found.label}, C = {large.C:g}: AVSF before shrinking"
            cells.append(Cell(statement, ratio < 1, told[large.C], own))
        behind = small.seconds["AVSF"][1] >= 0.8 * small.seconds["shrinking"][1]
        cells.append(Cell(f"{found.label}, C = {small.C:g}: AVSF level or behind", behind, told[small.C], own))
    return Result(f"{SETTINGS} The largest C is the largest that either finishes.", panels, tables, cells)


ITEM = Item(
    "paper001_timing",
    "001",
    "Timing over C and accuracy",
    "The original algorithm, with shrinking, is superior for small C, and adaptive frequencies are a lot faster for "
    "large C, often by an order of magnitude; covtype is the exception, where the original is superior for all C.",
    run,
)
