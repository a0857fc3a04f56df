"""Cutting planes (Joachims 2006): Algorithm 1 for the hinge, Algorithm 2 for ranking, by one C++ engine.

The paper stops when no constraint is violated by more than its ``epsilon``. At the solution of a master problem the
violation times ``C`` (with ``C/n`` or ``C/m`` in front of the sum of losses) is the duality gap, so that ``tol`` here
is ``epsilon * C / objective``.
"""

from __future__ import annotations

import numpy as np

from maxmargin import _core
from maxmargin.losses import LOSSES, Floats
from maxmargin.problems import BinaryProblem
from maxmargin.ranking import RankingProblem
from maxmargin.solvers.run import OnReport, Outcome, RawOutcome, Run


def cutting_plane(problem: BinaryProblem, run: Run, alpha: Floats | None) -> Outcome:
    """The error rate (OP2), from the cut that ``alpha`` stands for."""
    if problem.loss.dual != LOSSES["hinge"].dual:
        raise ValueError(f"solver='cutting_plane' works with loss='hinge' only, not with {problem.loss.name!r}")
    return run.stage(
        "cutting_plane",
        lambda on_report, time_left: _core.cut(
            problem.rows,
            problem.y,
            problem.C,
            problem.bias,
            alpha,
            run.tol,
            run.max_iter,
            run.acceleration,
            time_left,
            on_report,
            run.stop,
        ),
    )


def cut_pairs(problem: RankingProblem, run: Run, points: Floats | None) -> Outcome:
    """Pairs of different rank (OP5), from cuts at ``points``."""
    found: list[Floats] = []

    def run_core(on_report: OnReport, time_left: float) -> RawOutcome:
        width = problem.shape[1] + 1
        raw, points_in_use = _core.cut_pairs(
            problem.rows,
            problem.ranks.pairs,
            problem.C,
            np.zeros((0, width)) if points is None else points,
            run.tol,
            run.max_iter,
            run.acceleration,
            time_left,
            on_report,
            run.stop,
        )
        found.append(points_in_use.reshape(-1, width))
        return raw

    return run.stage("cutting_plane", run_core)._replace(points=found[0])
