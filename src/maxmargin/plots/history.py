"""How a fit came about: the certified gap and the two objectives, against time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from maxmargin.plots.drawing import check_choice, new_axes, tidy_axes
from maxmargin.solvers.solution import Report

KINDS = ("both", "gap", "objective")
#: With more problems than this, they have no legend.
MOST_NAMED = 10
#: Smaller gaps, which are rounding, are drawn here: a logarithmic axis has no zero.
SMALLEST_GAP = 1e-16


class HistoryDisplay:
    """Gap and objectives of a fit along the way.

    Parameters
    ----------
    histories : list of lists of Report
        One history for each problem that was solved.
    names : list of str, optional
        Names of the problems: their classes.
    tol : float, optional
        The gap that was asked for.

    Attributes
    ----------
    axes_ : list of Axes
        The panels, after `plot`.
    figure_ : Figure
        The figure that they belong to.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from maxmargin import HistoryDisplay, LinearSVC
    >>> model = LinearSVC().fit(*load_breast_cancer(return_X_y=True))
    >>> display = HistoryDisplay.from_estimator(model)
    >>> [ax.get_ylabel() for ax in display.axes_]
    ['certified gap', 'objective']
    """

    def __init__(
        self, histories: Sequence[Sequence[Report]], names: Sequence[str] | None = None, tol: float | None = None
    ) -> None:
        self.histories = [list(history) for history in histories]
        self.names = None if names is None else [str(name) for name in names]
        self.tol = tol

    @classmethod
    def from_estimator(cls, estimator: Any, *, kind: str = "both", ax: Any = None, **kwargs: Any) -> HistoryDisplay:
        """Draw the ``history_`` of a fitted estimator."""
        if not hasattr(estimator, "history_"):
            raise ValueError(f"this {type(estimator).__name__} has no history: it is not fitted, or of another program")
        history = estimator.history_
        several = len(history) > 0 and not isinstance(history[0], Report)
        names = [str(label) for label in estimator.classes_] if several else None
        return cls(history if several else [history], names, estimator.tol).plot(kind=kind, ax=ax, **kwargs)

    @classmethod
    def from_history(cls, history: Any, *, kind: str = "both", ax: Any = None, **kwargs: Any) -> HistoryDisplay:
        """Draw the history of a `Solution`, or a list of reports."""
        return cls([getattr(history, "history", history)]).plot(kind=kind, ax=ax, **kwargs)

    def plot(
        self, *, kind: str = "both", ax: Any = None, x: str = "seconds", subtract_checks: bool = False, **kwargs: Any
    ) -> HistoryDisplay:
        """Draw.

        Parameters
        ----------
        kind : {"both", "gap", "objective"}, default="both"
            What to draw; both are two panels side by side.
        ax : Axes or two of them, default=None
            Where to; None makes a new figure.
        x : {"seconds", "epoch"}, default="seconds"
            Against what.
        subtract_checks : bool, default=False
            Leave out the time that certificates and reports took.
        **kwargs
            Passed to ``Axes.plot``.

        Returns
        -------
        HistoryDisplay
            The display itself.
        """
        check_choice("kind", kind, KINDS)
        check_choice("x", x, ("seconds", "epoch"))
        panels = new_axes(ax, columns=2 if kind == "both" else 1)
        kinds = ("gap", "objective") if kind == "both" else (kind,)
        for panel, what in zip(panels, kinds, strict=True):
            for number, history in enumerate(self.histories):
                moments = [self._moment(report, x, subtract_checks) for report in history]
                color = f"C{number % 10}"
                name = None if self.names is None else self.names[number]
                style = {"color": color, "linewidth": 1.5, "marker": "o", "markersize": 3, **kwargs}
                if what == "gap":
                    gaps = [max(report.gap, SMALLEST_GAP) for report in history]
                    panel.plot(moments, gaps, label=name, **style)
                else:
                    primal = name if name is not None else "primal: best weights"
                    dual = "dual: lower bound" if name is None else None
                    panel.plot(moments, [report.primal for report in history], label=primal, **style)
                    panel.plot(moments, [report.dual for report in history], label=dual, **{**style, "linestyle": "--"})
            self._finish(panel, what, x, alone=len(kinds) == 1)
        self.axes_ = panels
        self.figure_ = panels[0].figure
        return self

    @staticmethod
    def _moment(report: Report, x: str, subtract_checks: bool) -> float:
        if x == "epoch":
            return float(report.epoch)
        return report.seconds - (report.check_seconds if subtract_checks else 0.0)

    def _finish(self, panel: Any, what: str, x: str, alone: bool) -> None:
        xlabel = "epochs, steps or cuts" if x == "epoch" else "seconds"
        if what == "gap":
            panel.set_yscale("log")
            if self.tol:
                panel.axhline(self.tol, color="0.4", linewidth=1, linestyle=":", label=f"tol = {self.tol:g}")
            tidy_axes(panel, xlabel, "certified gap")
        else:
            tidy_axes(panel, xlabel, "objective" if self.names is None else "objective (dashed: dual)")
            values = [value for history in self.histories for report in history for value in report[3:5]]
            if values and min(values) > 0 and max(values) > 100 * min(values):
                panel.set_yscale("log")
        # The classes are named once, beside their gaps.
        named = self.names is None or (len(self.names) <= MOST_NAMED and (what == "gap" or alone))
        if named and panel.get_legend_handles_labels()[0]:
            panel.legend(frameon=False, fontsize="small")


def plot_history(model: Any, *, kind: str = "both", ax: Any = None, **kwargs: Any) -> HistoryDisplay:
    """Draw gap and objectives of a fitted estimator or of a `Solution` against time.

    Parameters
    ----------
    model : LinearSVC, LinearRankSVM, Solution or list of Report
        What has a history.
    kind : {"both", "gap", "objective"}, default="both"
        What to draw.
    ax : Axes or two of them, default=None
        Where to; None makes a new figure.
    **kwargs
        Passed to `HistoryDisplay.plot`.

    Returns
    -------
    HistoryDisplay
        With ``axes_`` and ``figure_``.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin import BinaryProblem, plot_history, solve
    >>> solution = solve(BinaryProblem(np.array([[1.0], [-1.0]]), [1, -1]))
    >>> plot_history(solution, kind="gap").axes_[0].get_xlabel()
    'seconds'
    """
    if hasattr(model, "history_"):
        return HistoryDisplay.from_estimator(model, kind=kind, ax=ax, **kwargs)
    return HistoryDisplay.from_history(model, kind=kind, ax=ax, **kwargs)
