"""Cutting planes (Joachims 2006) for the hinge, for ranking and for the loss of Crammer and Singer, by one C++ engine.

The paper stops when no constraint is violated by more than its ``epsilon``. At the solution of a master problem the
violation times ``C`` (with ``C/n`` or ``C/m`` in front of the sum of losses) is the duality gap, so that ``tol`` here
is ``epsilon * C / objective``.
"""

from __future__ import annotations

import numpy as np

from maxmargin import _core
from maxmargin.csr import Csr
from maxmargin.losses import Floats
from maxmargin.multiclass import MulticlassProblem
from maxmargin.problems import BinaryProblem
from maxmargin.ranking import RankingProblem
from maxmargin.solvers.multiclass import class_stage
from maxmargin.solvers.run import OnReport, Outcome, RawOutcome, Run


def cutting_plane(problem: BinaryProblem, run: Run, alpha: Floats | None) -> Outcome:
    """The error rate (OP2), from the cut that ``alpha`` stands for."""
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


def cut_classes(problem: MulticlassProblem, run: Run, alpha: Csr | None) -> Outcome:
    """The loss of Crammer and Singer, as in section 2.3 of Keerthi et al."""
    return class_stage(
        "cutting_plane",
        problem,
        run,
        lambda on_report, time_left: _core.cut_classes(
            problem.rows,
            problem.y,
            problem.C,
            problem.n_classes,
            problem.bias,
            None if alpha is None else alpha[:3],
            run.tol,
            run.max_iter,
            run.acceleration,
            time_left,
            on_report,
            run.stop,
        ),
    )


#: From so many rows on, cuts are first found on a sample, one in `SAMPLE` rows or groups.
LARGE = 100_000
SAMPLE = 8
#: With so many groups, whole groups are sampled.
MANY_GROUPS = 1_000


def cut_pairs(problem: RankingProblem, run: Run, points: Floats | None) -> Outcome:
    """Pairs of different rank (OP5), from cuts at ``points``."""
    width = problem.shape[1] + 1

    def cut(pairs: _core.Pairs, at: Floats | None, seconds: float, on_report: OnReport | None) -> RawOutcome:
        raw, in_use = _core.cut_pairs(
            problem.rows,
            pairs,
            problem.C,
            np.zeros((0, width)) if at is None else at,
            run.tol,
            run.max_iter,
            run.acceleration,
            seconds,
            on_report,
            run.stop,
        )
        found.append(in_use.reshape(-1, width))
        return raw

    found: list[Floats] = []
    sample = _sample(problem) if points is None and run.acceleration else None
    if sample is not None:
        cut(sample, None, 0.5 * run.time_left(), None)
        points = found[-1]
    outcome = run.stage(
        "cutting_plane",
        lambda on_report, time_left: cut(problem.ranks.pairs, points, time_left, on_report),
    )
    return outcome._replace(points=found[-1])


def _sample(problem: RankingProblem) -> _core.Pairs | None:
    """The pairs of some rows of large data: where cuts of their risk touch, those of the whole risk are good too."""
    ranks = problem.ranks
    size = len(ranks.y)
    if size < LARGE:
        return None
    unit = ranks.group_of if ranks.group_of is not None and len(ranks.groups) >= MANY_GROUPS else np.arange(size)
    scattered = unit.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)  # as good as random, and always the same
    taken = (scattered >> np.uint64(32)) % np.uint64(SAMPLE) == 0
    pairs = _core.Pairs(ranks.y, ranks.group_of, taken * (1.0 if ranks.weights is None else ranks.scaled_weights))
    return pairs if pairs.total() > 0 else None
