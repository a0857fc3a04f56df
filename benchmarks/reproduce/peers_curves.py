"""Programs of today: objective and test accuracy over time at equal settings, "auto" beside all that are installed."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from benchmarks.reproduce import limits
from benchmarks.reproduce.context import Context, split
from benchmarks.reproduce.curves import Curve, first_below, record, shown
from benchmarks.reproduce.items import Cell, Item, Line, Panel, Result, Table
from benchmarks.reproduce.peers import PEERS, tolerance_curve
from maxmargin import BinaryProblem, solve

SETS = ["a9a", "imdb", "20ng.bigram", "covtype"]
LEVELS = (1e-1, 1e-2, 1e-3, 1e-4)
#: "On or below a curve" leaves so much for the noise of a machine.
NOISE = 1.1


def run(context: Context) -> Result:
    panels, rows, cells = [], [], []
    states: dict[str, str] = {name: "not installed" for name, peer in PEERS.items() if not peer.is_here()}
    limit, start = context.limit(limits.PEER), context.limit(limits.PEER_START)
    for found in context.several(SETS):
        X, y, X_test, y_test = split(found)

        def score(weights: np.ndarray, X_test: Any = X_test, y_test: Any = y_test) -> float:
            return 100 * float(np.mean(np.sign(X_test @ weights[:-1]) == y_test))

        for loss in ("hinge", "squared_hinge"):
            problem = BinaryProblem(X, y, 1.0, loss=loss)
            key = f"peers-{found.used}-{loss}"
            optimum = context.once(
                f"{key}-reference",
                lambda problem=problem: (
                    solve(problem, tol=1e-7, time_limit=context.limit(limits.REFERENCE)).certificate.dual
                ),
            )
            curves = {
                "auto": Curve(
                    **context.once(
                        f"{key}-auto",
                        lambda problem=problem, score=score: vars(
                            record(problem, "auto", seconds=limit, tol=1e-6, score=score)
                        ),
                    )
                )
            }
            for name, peer in PEERS.items():
                if name not in states and loss in peer.losses:
                    curve = Curve(
                        **context.once(
                            f"{key}-{name}",
                            lambda name=name, X=X, y=y, loss=loss, score=score: vars(
                                tolerance_curve(name, X, y, 1.0, loss, score, limit, start)
                            ),
                        )
                    )
                    if curve.seconds:
                        curves[name] = curve
                    elif curve.exit:
                        rows.append([found.label, loss, name, curve.exit, *[""] * (len(LEVELS) - 1)])
            title = f"{found.label}, {loss}"
            errors = {name: [max(e, 1e-7) for e in curve.errors(optimum)] for name, curve in curves.items()}
            lines = [Line(name, curve.seconds, errors[name]) for name, curve in curves.items()]
            panels.append(Panel(title, "seconds", "relative error of the objective", lines))
            lines = [Line(name, curve.seconds, curve.score) for name, curve in curves.items()]
            panels.append(Panel(title, "seconds", "test accuracy, %", lines, y_log=False))
            times = {
                name: [first_below(errors[name], level, curve.seconds) for level in LEVELS]
                for name, curve in curves.items()
            }
            rows += [[found.label, loss, name, *map(shown, each)] for name, each in times.items()]
            for name in curves:
                if name == "auto":
                    continue
                worst = max(
                    (
                        ours / theirs
                        for ours, theirs in zip(times["auto"], times[name], strict=True)
                        if math.isfinite(theirs)
                    ),
                    default=0.0,
                )
                told = f"at worst {worst:.2f} times its time to one of {', '.join(f'{level:g}' for level in LEVELS)}"
                statement = f"{title}: auto on or below {name}"
                cells.append(Cell(statement, worst <= NOISE, told, context.own(found), worst or None))
    tables = [
        Table("Seconds to a relative error", ["data", "loss", "program", *(f"{level:g}" for level in LEVELS)], rows)
    ]
    if states:
        tables.append(
            Table("Programs that are not installed", ["program", "package"], [[n, PEERS[n].package] for n in states])
        )
    settings = (
        "C = 1, no bias, 4/5 of the rows, one thread. Programs without callbacks are run with growing effort, each "
        "from the start. SGDClassifier takes its average; with the squared hinge its default steps diverge, and "
        "shorter ones are used. Vowpal Wabbit shrinks the weights only at rows that have a loss, so it ends above "
        "the optimum with any number of passes; its steps are those of strongly convex problems. Ours runs without its "
        "packed copy of the rows."
    )
    return Result(settings, panels, tables, cells)


ITEM = Item(
    "peers_curves",
    "peers",
    "Objective and test accuracy over time, beside other programs",
    'Ours: "auto" is on or below the curve of every other program.',
    run,
)
