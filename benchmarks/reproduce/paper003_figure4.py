"""Figure 4 of Keerthi et al.: the same as Figure 1 for Weston-Watkins."""

from __future__ import annotations

from functools import partial

from benchmarks.reproduce.items import Item
from benchmarks.reproduce.paper003_figure1 import run

ITEM = Item(
    "paper003_figure4",
    "003",
    "Figure 4: shrinking and cooling, Weston-Watkins",
    "The heuristics are effective on MNIST and COVER for the Weston-Watkins formulation too.",
    partial(run, formulation="weston_watkins"),
)
