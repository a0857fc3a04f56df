"""Figure 7 of Joachims: how far the objective of SVM-perf's relaxed solution is from the optimum."""

from __future__ import annotations

from benchmarks.reproduce.context import Context
from benchmarks.reproduce.items import Cell, Item, Line, Panel, Result
from benchmarks.reproduce.paper004 import CS, EPSILON, EPSILONS, SETTINGS, optimum, perf, sizes, tasks


def run(context: Context) -> Result:
    over_C = Panel("epsilon = 0.001", "C", "(optimum - SVM-perf) / optimum", [])
    over_epsilon = Panel("the paper's C", "epsilon", "(optimum - SVM-perf) / optimum", [])
    cells = []
    for found, own_C in tasks(context):
        n = sizes(found, context)[context.pick(-2, -1)]

        def difference(C: float, epsilon: float, found=found, n=n) -> float | None:  # type: ignore[no-untyped-def]
            result, best = perf(context, found, n=n, C=C, epsilon=epsilon), optimum(context, found, n=n, C=C)
            # The relaxed objective is that of the last master problem: the dual value.
            return max((best - result["dual"]) / best, 1e-8) if result["done"] else None

        left = {C: value for C in CS if (value := difference(C, EPSILON)) is not None}
        right = {e: value for e in EPSILONS if (value := difference(own_C, e)) is not None}
        over_C.lines.append(Line(found.label, list(left), list(left.values())))
        over_epsilon.lines.append(Line(found.label, list(right), list(right.values())))
        if left:
            worst = max(left.values())
            cells.append(
                Cell(
                    f"{found.label}: at most 1 % over all C", worst <= 0.01, f"at most {worst:.2%}", context.own(found)
                )
            )
    return Result(SETTINGS, panels=[over_C, over_epsilon], cells=cells)


ITEM = Item(
    "paper004_figure7",
    "004",
    "Figure 7: distance from the optimum over C and epsilon",
    "For epsilon = 0.001 the relative error of the objective is roughly between 0.1 % and 1 % over all values of C, "
    "and it falls with epsilon.",
    run,
)
