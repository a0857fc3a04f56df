"""Dual coordinate descent (Hsieh et al. 2008) in three orders of visiting the rows.

``dcd`` is Algorithm 1 with a random permutation per epoch (3.1) and shrinking (3.2), ``online`` Algorithm 2, and
``avsf`` visits rows by adaptive frequencies (Glasmachers & Dogan). All run the same C++ loop.
"""

from __future__ import annotations

import numpy as np

from maxmargin._core import Order, descend
from maxmargin.losses import Floats
from maxmargin.problems import BinaryProblem
from maxmargin.solvers.run import Outcome, Run


def dcd(
    problem: BinaryProblem, run: Run, alpha: Floats | None, max_passes: float = np.inf, worth: float = np.inf
) -> Outcome:
    """Random permutation per epoch, with shrinking unless ``run.shrinking`` is false.

    Ends after work of ``max_passes`` passes over the data, or earlier if at its pace it would need more than ``worth``
    passes from here.
    """
    return _descend("dcd", Order.PERMUTED, problem, run, alpha, max_passes, worth)


def avsf(problem: BinaryProblem, run: Run, alpha: Floats | None, patience: float = np.inf) -> Outcome:
    """Rows visited in proportion to what their steps have gained; given up when it stalls after ``patience`` epochs."""
    return _descend("avsf", Order.ADAPTIVE, problem, run, alpha, patience=patience)


def online(problem: BinaryProblem, run: Run, alpha: Floats | None) -> Outcome:
    """Every step on a row picked at random."""
    return _descend("online", Order.UNIFORM, problem, run, alpha)


def _descend(
    name: str,
    order: Order,
    problem: BinaryProblem,
    run: Run,
    alpha: Floats | None,
    max_passes: float = np.inf,
    worth: float = np.inf,
    patience: float = np.inf,
) -> Outcome:
    return run.stage(
        name,
        lambda on_report, time_left: descend(
            problem.rows,
            problem.y,
            problem.C,
            problem.loss.dual,
            problem.bias_column,
            order,
            run.shrinking,
            alpha,
            run.tol,
            run.max_iter,
            max_passes,
            worth,
            time_left,
            run.seed,
            on_report,
            run.stop,
        ),
        patience,
    )
