"""Figure 2 of Keerthi et al.: SDM, EG and CP on MNIST for a large and a small C."""

from __future__ import annotations

from benchmarks.reproduce.context import Context
from benchmarks.reproduce.items import Item, Result
from benchmarks.reproduce.paper003 import SETTINGS
from benchmarks.reproduce.paper003_figure3 import LEVEL, compare


def run(context: Context) -> Result:
    result = Result(f"Times to {LEVEL:g}. {SETTINGS}")
    found = context.data("mnist", two_classes=False)
    for C in (10.0, 0.1) if found is not None else ():
        panels, cells = compare(context, found, C)
        result.panels += panels
        result.cells += cells
    return result


ITEM = Item(
    "paper003_figure2",
    "003",
    "Figure 2: SDM, EG and CP on MNIST for C = 10 and C = 0.1",
    "SDM is faster than EG and CP for large and for small C.",
    run,
)
