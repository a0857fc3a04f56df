"""Figure 2 of Hsieh et al.: how far test accuracy is from that of the reference model, over time."""

from __future__ import annotations

from benchmarks.reproduce.context import Context
from benchmarks.reproduce.curves import Curve, before
from benchmarks.reproduce.items import Item, Line, Panel, Result
from benchmarks.reproduce.paper000 import FIGURES, SETTINGS, experiments, labelled
from benchmarks.reproduce.paper000_table2 import RIVALS

#: A model is as good as the reference from here on, in points.
CLOSE = 0.3


def settled(curve: Curve, accuracy: float) -> float:
    """Seconds from which on the accuracy stays close to the reference."""
    places = [k for k, score in enumerate(curve.score) if abs(score - accuracy) > CLOSE]
    after = (places[-1] + 1) if places else 0
    return curve.seconds[after] if after < len(curve.seconds) else float("inf")


def run(context: Context) -> Result:
    panels, cells = [], []
    for experiment in experiments(context, FIGURES):
        found, loss = experiment.found, experiment.loss
        curves = {name: experiment.curve(name) for name in RIVALS[loss]}
        lines = [Line(n, c.seconds, [s - experiment.accuracy for s in c.score]) for n, c in curves.items()]
        title = f"{found.label}, {labelled(loss)}"
        panels.append(Panel(title, "seconds", "test accuracy - reference, points", lines, y_log=False, level=0.0))
        first, *others = RIVALS[loss]
        times = {name: settled(curve, experiment.accuracy) for name, curve in curves.items() if curve.seconds}
        for rival in (name for name in others if name in times):
            statement = f"{found.label}: {first} settles before {rival}"
            cells.append(before(statement, times[first], times[rival], context.own(found)))
    settings = (
        f"{SETTINGS} Drawn is the accuracy of the weights with the lowest objective so far, so that jumps, which the "
        f"paper sees with Pegasos, do not show. Settled: within {CLOSE} points of the reference for good."
    )
    return Result(settings, panels=panels, cells=cells)


ITEM = Item(
    "paper000_figure2",
    "000",
    "Figure 2: test accuracy over time",
    "DCDL1 and DCDL2 reach the test accuracy of the reference model before the other solvers.",
    run,
)
