"""From a solver's reports to scikit-learn's callbacks and to lines of text."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxmargin.models.model import weight_rows
from maxmargin.problems.csr import Csr
from maxmargin.problems.losses import Floats
from maxmargin.solvers.solution import Report, share_done
from maxmargin.training.multilabel import LARGE_WEIGHTS

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
    attributes : callable
        Turns weights into fitted attributes, for callbacks that evaluate the model on the way. It is called only when
        one of them asks for the model.
    lines : Lines or None
        Prints the reports.
    """

    def __init__(
        self,
        context: Any,
        estimator: Any,
        tol: float,
        metadata: dict[str, Any],
        attributes: Callable[[Any], dict[str, Any]],
        lines: Lines | None,
    ) -> None:
        self.context = context
        self.arguments = {"estimator": estimator, **metadata}
        self.tol = tol
        self.attributes = attributes
        self.lines = lines
        self.first_gap: float | None = None
        self.done = 0

    @property
    def listens(self) -> bool:
        """Whether anybody wants reports."""
        return self.context is not None or self.lines is not None

    def begin(self) -> None:
        """The fit starts."""
        if self.context is not None:
            self.context.call_on_fit_task_begin(**self.arguments)

    def report(self, report: Report, weights: Any) -> bool:
        """One report; true when a callback wants the fit to stop."""
        if self.lines is not None:
            self.lines.report(report)
        if self.context is None:
            return False
        if self.first_gap is None:
            self.first_gap = report.gap
        steps = math.floor(STEPS * share_done(self.first_gap, report.gap, self.tol))
        stop = False
        while self.done < steps and not stop:
            step = self.context.subcontext(task_name="step to tol")
            step.call_on_fit_task_begin(**self.arguments)
            stop = step.call_on_fit_task_end(
                **self.arguments, reconstruction_attributes=partial(self.attributes, weights)
            )
            self.done += 1
        return stop

    def end(self) -> None:
        """The fit has ended, one way or another."""
        if self.lines is not None:
            self.lines.end()
        if self.context is not None:
            self.context.call_on_fit_task_end(**self.arguments)


class UnderWay:
    """The model of one-versus-rest while its classes are being trained, for callbacks that evaluate it.

    It has the weights that were last asked for of every class, so that classes which are trained one after the other,
    in threads or side by side make one model. A class of which nothing was heard has weights of zero, with which every
    fit begins.

    Parameters
    ----------
    classes : ndarray
        All classes, or labels.
    positives : sequence of int or None
        Which of them each problem is for; None for a problem over all classes.
    bias : float
        The value of the constant column.
    multilabel : str or None
        Whether rows have any number of labels, and predictions are "dense" or "sparse" then.
    intercept : ndarray or None
        The intercepts of labels that are not learned; zero for the others.
    """

    def __init__(
        self,
        classes: NDArray[Any],
        positives: Sequence[int | None],
        bias: float,
        multilabel: str | None = None,
        intercept: Floats | None = None,
    ) -> None:
        self.classes = classes
        self.positives = positives
        self.bias = bias
        self.multilabel = multilabel
        self.intercept = intercept
        self.heard: dict[int | None, Floats] = {}

    def attributes(self, problem: int, weights: Floats) -> dict[str, Any]:
        """The fitted attributes, with these weights of one of the problems."""
        self.heard[self.positives[problem]] = weights
        coef: Any
        if self.multilabel is None and len(self.positives) == 1:
            own = weight_rows([weights])
            coef, intercept = own[:, :-1], self.bias * own[:, -1]
        else:
            nothing = np.zeros_like(weights)
            rows = [self.heard.get(number, nothing) for number in range(len(self.classes))]
            large = self.multilabel is not None and 8 * len(rows) * len(weights) > LARGE_WEIGHTS
            coef = Csr.of_rows([row[:-1] for row in rows]).to_scipy() if large else np.array(rows)[:, :-1]
            intercept = self.bias * np.array([row[-1] for row in rows])
            if self.intercept is not None:
                intercept += self.intercept
        return {"coef_": coef, "intercept_": intercept, "classes_": self.classes, "_multilabel": self.multilabel}


def follow(estimator: Any, told: dict[str, Any], attributes: Callable[[Any], dict[str, Any]]) -> Progress:
    """Who hears of a fit of one problem: callbacks of its arguments, ``told``, and of its model by ``attributes``."""
    context = estimator._init_callback_context(max_subtasks=STEPS, sequential_subtasks=True)
    return Progress(
        context if hasattr(estimator, "_skl_callbacks") else None,
        estimator,
        estimator.tol,
        told,
        attributes,
        Lines() if estimator.verbose else None,
    )


def follow_classes(estimator: Any, told: dict[str, Any], under_way: UnderWay) -> list[Progress]:
    """Who hears of each problem of one-versus-rest. The task of the whole fit begins here; the estimator ends it."""
    count = len(under_way.positives)
    context = estimator._init_callback_context(max_subtasks=count, sequential_subtasks=False)
    context.call_on_fit_task_begin(estimator=estimator, **told)
    heard = hasattr(estimator, "_skl_callbacks")
    progresses = []
    for task, positive in enumerate(under_way.positives):
        name = f"class {under_way.classes[positive]}"
        progresses.append(
            Progress(
                context.subcontext(task_name=name, task_id=task, max_subtasks=STEPS) if heard else None,
                estimator,
                estimator.tol,
                told,
                partial(under_way.attributes, task),
                Lines(f"{name}: ") if estimator.verbose else None,
            )
        )
    return progresses


class Lines:
    """Prints the reports of a fit, each on a line of its own after a label, but none that says nothing new.

    A report that shows the same values as the one before is left out, and of several of one epoch the last one is
    printed: so a line waits for the report that follows it, or for the end.
    """

    def __init__(self, label: str = "") -> None:
        self.label = label
        self.last: Report | None = None
        self.waits = False

    def report(self, report: Report) -> None:
        """One more report."""
        last = self.last
        if last is not None and not (self.waits and (last.solver, last.epoch) == (report.solver, report.epoch)):
            self.end()
            if _values(last) == _values(report):
                return
        self.last, self.waits = report, True

    def end(self) -> None:
        """Print the line that waits."""
        if self.waits:
            print(f"{self.label}{self.last}")
            self.waits = False


def _values(report: Report) -> str:
    """What is told apart of a report."""
    return f"{report.solver} {report.primal:.6e} {report.dual:.6e} {report.gap:.2e}"
