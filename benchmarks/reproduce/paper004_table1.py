"""Table 1 of Joachims: training times for classification and for ordinal regression, against a decomposition method."""

from __future__ import annotations

import math

from benchmarks.reproduce.context import Context
from benchmarks.reproduce.curves import before, shown
from benchmarks.reproduce.items import Item, Result, Table
from benchmarks.reproduce.paper004 import DECOMPOSITION, SETTINGS, decomposition, perf, sizes, tasks


def run(context: Context) -> Result:
    rows, cells = [], []
    for found, C in tasks(context):
        n = sizes(found, context)[-1]
        ours = perf(context, found, n=n, C=C)
        ranking = perf(context, found, n=n, C=C, task="ranking")
        theirs = decomposition(context, found, n=n, C=C)
        rows.append(
            [
                found.label,
                *(
                    f"{n:,}",
                    f"{found.X.shape[1]:,}",
                    f"{found.X.nnz / found.X.shape[0] / found.X.shape[1]:.2%}",
                    f"{C:g}",
                ),
                *(_seconds(ours), str(ours["cuts"]), shown(theirs["seconds"]), _seconds(ranking), str(ranking["cuts"])),
            ]
        )
        seconds = ours["seconds"] if ours["done"] else math.inf
        statement = f"{found.label}: SVM-perf before {DECOMPOSITION}"
        cells.append(before(statement, seconds, theirs["seconds"], context.own(found)))
    head = ["data", "n", "N", "s", "C", "SVM-perf, s", "cuts", f"{DECOMPOSITION}, s", "ordinal regression, s", "cuts"]
    return Result(SETTINGS, tables=[Table("Training time", head, rows)], cells=cells)


def _seconds(result: dict[str, float]) -> str:
    return shown(result["seconds"]) + ("" if result["done"] else " (limit)")


ITEM = Item(
    "paper004_table1",
    "004",
    "Table 1: training times",
    "SVM-perf is substantially faster than the decomposition method on all problems, and ordinal regression takes only "
    "a few times as long as classification.",
    run,
)
