"""From a solver's reports to scikit-learn's callbacks and to lines of text."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from maxmargin.solvers.solution import Report, share_done

#: A fit is shown to callbacks as this many tasks, spread evenly over the logarithm of the gap, down to ``tol``.
STEPS = 20


class Progress:
    """Tells scikit-learn's callbacks how far one fit has come.

    Parameters
    ----------
    context : sklearn.callback.CallbackContext or None
        The task this fit stands for, with `STEPS` subtasks; None when nobody listens.
    estimator : estimator
        The estimator that is being fitted.
    tol : float
        The gap at which the fit ends.
    metadata : dict
        ``X``, ``y`` and ``metadata`` as callbacks receive them.
    attributes : callable or None
        Turns weights into fitted attributes, for callbacks that evaluate the model on the way.
    line : callable or None
        Receives every report, to print it.
    """

    def __init__(
        self,
        context: Any,
        estimator: Any,
        tol: float,
        metadata: dict[str, Any],
        attributes: Callable[[Any], dict[str, Any]] | None,
        line: Callable[[Report], None] | None,
    ) -> None:
        self.context = context
        self.arguments = {"estimator": estimator, **metadata}
        self.tol = tol
        self.attributes = attributes
        self.line = line
        self.first_gap: float | None = None
        self.done = 0

    @property
    def listens(self) -> bool:
        """Whether anybody wants reports."""
        return self.context is not None or self.line is not None

    def begin(self) -> None:
        """The fit starts."""
        if self.context is not None:
            self.context.call_on_fit_task_begin(**self.arguments)

    def report(self, report: Report, weights: Any) -> bool:
        """One report; true when a callback wants the fit to stop."""
        if self.line is not None:
            self.line(report)
        if self.context is None:
            return False
        if self.first_gap is None:
            self.first_gap = report.gap
        steps = math.floor(STEPS * share_done(self.first_gap, report.gap, self.tol))
        stop = False
        while self.done < steps and not stop:
            step = self.context.subcontext(task_name="step to tol")
            step.call_on_fit_task_begin(**self.arguments)
            fitted = self.attributes(weights) if self.attributes is not None else None
            stop = step.call_on_fit_task_end(**self.arguments, reconstruction_attributes=fitted)
            self.done += 1
        return stop

    def end(self) -> None:
        """The fit has ended, one way or another."""
        if self.context is not None:
            self.context.call_on_fit_task_end(**self.arguments)


def printer(label: str = "") -> Callable[[Report], None]:
    """Prints every report on a line of its own, after a label."""
    return lambda report: print(f"{label}{report}")
