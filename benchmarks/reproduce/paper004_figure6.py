"""Figure 6 of Joachims: training time over epsilon."""

from __future__ import annotations

from functools import partial

from benchmarks.reproduce.items import Item
from benchmarks.reproduce.paper004_figure5 import run

ITEM = Item(
    "paper004_figure6",
    "004",
    "Figure 6: training time over epsilon",
    "Training time grows like 1/eps^0.4.",
    partial(run, what="seconds", label="seconds", paper=0.4),
)
