"""Figure 5 of Keerthi et al.: test accuracy over time of one-versus-rest, Crammer-Singer and Weston-Watkins."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.reproduce.context import Context
from benchmarks.reproduce.curves import Curve, shown
from benchmarks.reproduce.items import Cell, Item, Line, Panel, Result
from benchmarks.reproduce.paper003 import SDM, SETTINGS, Experiment
from maxmargin import BinaryProblem, DualCoordinateDescent, solve

DCD = DualCoordinateDescent(order="shuffled", resting=False, averaging=False, anchoring=False, plane=False)
#: "Nearly the same time" is within this factor.
SAME = 5.0


def one_versus_rest(experiment: Experiment, loops: int) -> dict[str, Any]:
    """All classes, evaluated after each loop over the training set in each: the slowest loop of all counts."""
    classes = experiment.problem.n_classes
    seconds = np.zeros(loops)
    weights = np.zeros((loops, classes, experiment.X.shape[1] + 1))
    for k in range(classes):
        problem = BinaryProblem(experiment.X, np.where(experiment.y == k, 1, -1), 1.0, loss="hinge")
        reached = [0]

        def listen(report: Any, found: np.ndarray, k: int = k, reached: list[int] = reached) -> None:
            if report.epoch <= loops:
                weights[report.epoch - 1 :, k] = found
                seconds[report.epoch - 1 :] += report.seconds - report.check_seconds - reached[0]
                reached[0] = report.seconds - report.check_seconds

        solve(problem, DCD, tol=1e-6, max_iter=loops, report_passes=1e-3, callback=listen, pack=False)
    curve = Curve(seconds=seconds.tolist(), score=[experiment.score(each) for each in weights])
    return vars(curve)


def settled(curve: Curve) -> float:
    """Seconds until the accuracy is within half a point of the last one for good."""
    far = [k for k, score in enumerate(curve.score) if abs(score - curve.score[-1]) > 0.5]
    return curve.seconds[min(far[-1] + 1, len(curve.seconds) - 1) if far else 0]


def run(context: Context) -> Result:
    panels, cells = [], []
    for name in ("mnist", "covtype"):
        found = context.data(name, two_classes=False)
        if found is None:
            continue
        joint = {
            label: Experiment(context, found, 1.0, formulation)
            for label, formulation in (("Crammer-Singer", "crammer_singer"), ("Weston-Watkins", "weston_watkins"))
        }
        loops = context.pick(30, 60)
        first = joint["Crammer-Singer"]
        curves = {
            "one versus rest": Curve(
                **context.once(f"{first.key}-ovr", lambda first=first, loops=loops: one_versus_rest(first, loops))
            )
        }
        curves |= {label: experiment.curve("SDM", SDM) for label, experiment in joint.items()}
        lines = [Line(n, c.seconds, c.score) for n, c in curves.items()]
        panels.append(Panel(found.label, "seconds", "test accuracy, %", lines, y_log=False))
        times, ends = ({n: f(c) for n, c in curves.items()} for f in (settled, lambda c: c.score[-1]))
        told = ", ".join(f"{n} {shown(t)} s" for n, t in times.items())
        alike = max(times.values()) <= SAME * max(min(times.values()), 1e-3)
        own = first.own
        cells.append(Cell(f"{found.label}: steady states within {SAME:g} times the time", alike, told, own))
        for label in joint:
            numbers = f"{ends[label]:.2f} % against {ends['one versus rest']:.2f} %"
            better = ends[label] > ends["one versus rest"]
            cells.append(Cell(f"{found.label}: {label} more accurate than one versus rest", better, numbers, own))
    return Result(f"C = 1, hinge for one versus rest. {SETTINGS}", panels=panels, cells=cells)


ITEM = Item(
    "paper003_figure5",
    "003",
    "Figure 5: one versus rest and the joint formulations over time",
    "All three take nearly the same time to reach their steady test accuracy; that of the joint formulations is higher "
    "on MNIST and COVER.",
    run,
)
