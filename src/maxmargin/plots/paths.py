"""What C does: scores with error bars, coefficients and support vectors against C."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from maxmargin.plots.drawing import check_choice, new_axes, tidy_axes

KINDS = ("coefficients", "support", "objective")
#: So many coefficients, the largest at the end of the path, are drawn in colours and named.
NAMED = 8
#: And so many in all.
MOST_DRAWN = 300


class ScoreDisplay:
    """Cross-validated scores against C, with error bars.

    Parameters
    ----------
    Cs : array of shape (n_Cs,)
        The values of C.
    scores : array of shape (n_Cs, n_folds)
        Scores of each fold; their means are drawn.
    best_C : float, optional
        The value that was chosen.
    score_name : str, default="score"
        What the scores are.

    Attributes
    ----------
    ax_, figure_ : Axes, Figure
        Where it was drawn, after `plot`.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin import ScoreDisplay
    >>> display = ScoreDisplay([0.1, 1.0], np.array([[0.8, 0.9], [0.9, 1.0]]), best_C=1.0).plot()
    >>> display.ax_.get_xscale()
    'log'
    """

    def __init__(
        self, Cs: ArrayLike, scores: ArrayLike, best_C: float | None = None, score_name: str = "score"
    ) -> None:
        self.Cs = np.asarray(Cs, dtype=np.float64)
        self.scores = np.asarray(scores, dtype=np.float64)
        if self.scores.ndim != 2 or len(self.scores) != len(self.Cs):
            raise ValueError(
                f"scores must have one row for each of the {len(self.Cs)} values of C and one column for each fold, "
                f"not the shape {self.scores.shape}"
            )
        self.best_C = best_C
        self.score_name = score_name

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None, **kwargs: Any) -> ScoreDisplay:
        """Draw the ``cv_results_`` of a fitted search over C: LinearSVCCV, LinearRankSVMCV or GridSearchCV."""
        results = getattr(estimator, "cv_results_", None)
        if results is None:
            raise ValueError(f"this {type(estimator).__name__} has no cv_results_: it is not a fitted search over C")
        names = [name for name in results if name == "param_C" or name.endswith("__C")]
        others = [name for name in results if name.startswith("param_") and name not in names]
        if len(names) != 1 or others:
            raise ValueError("cv_results_ is not that of a search over C alone")
        folds = [name for name in results if name.startswith("split") and name.endswith("_test_score")]
        folds.sort(key=lambda name: int(name.removeprefix("split").removesuffix("_test_score")))
        best = getattr(estimator, "C_", None)
        if best is None and hasattr(estimator, "best_params_"):
            [best] = estimator.best_params_.values()
        Cs = np.asarray(results[names[0]], dtype=np.float64)
        return cls(Cs, np.column_stack([results[name] for name in folds]), best).plot(ax=ax, **kwargs)

    def plot(self, *, ax: Any = None, error: str = "standard_error", **kwargs: Any) -> ScoreDisplay:
        """Draw.

        Parameters
        ----------
        ax : Axes, default=None
            Where to; None makes a new figure.
        error : {"standard_error", "deviation"}, default="standard_error"
            What the bars show: the error of the mean over folds, or how much folds differ.
        **kwargs
            Passed to ``Axes.errorbar``.

        Returns
        -------
        ScoreDisplay
            The display itself.
        """
        check_choice("error", error, ("standard_error", "deviation"))
        [panel] = new_axes(ax)
        order = np.argsort(self.Cs)
        means, folds = self.scores.mean(axis=1), self.scores.shape[1]
        spread = self.scores.std(axis=1, ddof=1 if folds > 1 else 0)
        bars = spread / np.sqrt(folds) if error == "standard_error" else spread
        style = {"marker": "o", "markersize": 4, "capsize": 3, "linewidth": 1.5, **kwargs}
        panel.errorbar(self.Cs[order], means[order], yerr=bars[order], **style)
        panel.set_xscale("log")
        if self.best_C is not None:
            panel.axvline(self.best_C, color="0.4", linewidth=1, linestyle=":", label=f"chosen: C = {self.best_C:g}")
            panel.legend(frameon=False, fontsize="small")
        what = "standard error" if error == "standard_error" else "standard deviation"
        tidy_axes(panel, "C", self.score_name, f"mean over {folds} folds, bars: {what}")
        self.ax_, self.figure_ = panel, panel.figure
        return self


class PathDisplay:
    """Coefficients, support vectors and objectives along C.

    Parameters
    ----------
    Cs : array of shape (n_Cs,)
        The values of C.
    coefs : array of shape (n_Cs, n_features) or (n_Cs, n_classes, n_features), optional
        The weights at each.
    n_support : array of shape (n_Cs,), optional
        Rows with a nonzero dual variable.
    primal, dual : array of shape (n_Cs,), optional
        The objectives.
    feature_names : list of str, optional
        Names of the features.
    classes : array, optional
        Labels of the classes.

    Attributes
    ----------
    axes_ : list of Axes
        The panels, after `plot`.
    figure_ : Figure
        The figure that they belong to.

    Examples
    --------
    >>> from maxmargin import PathDisplay
    >>> display = PathDisplay([0.1, 1.0], n_support=[9, 4]).plot(kind="support")
    >>> display.axes_[0].get_ylabel()
    'support vectors'
    """

    def __init__(
        self,
        Cs: ArrayLike,
        coefs: ArrayLike | None = None,
        n_support: ArrayLike | None = None,
        primal: ArrayLike | None = None,
        dual: ArrayLike | None = None,
        feature_names: Sequence[str] | None = None,
        classes: Sequence[Any] | None = None,
    ) -> None:
        self.Cs = np.asarray(Cs, dtype=np.float64)
        self.coefs = None if coefs is None else np.asarray(coefs, dtype=np.float64)
        self.n_support = None if n_support is None else np.asarray(n_support, dtype=np.float64)
        self.primal = None if primal is None else np.asarray(primal, dtype=np.float64)
        self.dual = None if dual is None else np.asarray(dual, dtype=np.float64)
        self.feature_names = feature_names
        self.classes = classes
        if self.coefs is not None and self.coefs.ndim == 2:
            self.coefs = self.coefs[:, np.newaxis, :]
        for name in ("coefs", "n_support", "primal", "dual"):
            values = getattr(self, name)
            if values is not None and len(values) != len(self.Cs):
                raise ValueError(f"{name} has {len(values)} entries, but there are {len(self.Cs)} values of C")

    @classmethod
    def from_path(
        cls,
        path: Any,
        *,
        feature_names: Sequence[str] | None = None,
        kind: str = "coefficients",
        ax: Any = None,
        **kwargs: Any,
    ) -> PathDisplay:
        """Draw what `svm_path` has found."""
        classes = path.classes.tolist() if path.coefs.shape[1] > 1 else None
        return cls(
            path.Cs,
            path.coefs,
            path.n_support,
            path.primal.sum(axis=1),
            path.dual.sum(axis=1),
            feature_names,
            classes,
        ).plot(kind=kind, ax=ax, **kwargs)

    def plot(self, *, kind: str = "coefficients", ax: Any = None, **kwargs: Any) -> PathDisplay:
        """Draw.

        Parameters
        ----------
        kind : {"coefficients", "support", "objective"}, default="coefficients"
            What to draw; coefficients of several classes have a panel for each.
        ax : Axes or one for each panel, default=None
            Where to; None makes a new figure.
        **kwargs
            Passed to ``Axes.plot``.

        Returns
        -------
        PathDisplay
            The display itself.
        """
        check_choice("kind", kind, KINDS)
        if kind == "coefficients":
            if self.coefs is None:
                raise ValueError("this path has no coefficients; choose kind='support' or kind='objective'")
            panels = new_axes(ax, columns=min(self.coefs.shape[1], 3), rows=-(-self.coefs.shape[1] // 3))
            for number in range(self.coefs.shape[1]):
                self._coefficients(panels[number], number, kwargs)
            for unused in panels[self.coefs.shape[1] :]:
                unused.set_axis_off()
        else:
            panels = new_axes(ax)
            (self._support if kind == "support" else self._objective)(panels[0], kwargs)
        for panel in panels:
            panel.set_xscale("log")
        self.axes_ = panels
        self.figure_ = panels[0].figure
        return self

    def _coefficients(self, panel: Any, number: int, kwargs: dict[str, Any]) -> None:
        assert self.coefs is not None
        paths = self.coefs[:, number, :]
        size = np.abs(paths).max(axis=0)
        largest = np.argsort(-size, kind="stable")[:MOST_DRAWN]
        for place, feature in reversed(list(enumerate(largest.tolist()))):
            named = place < NAMED and size[feature] > 0
            style = (
                {"color": f"C{place}", "linewidth": 1.5, "label": self._feature(feature)}
                if named
                else {"color": "0.8", "linewidth": 0.7, "zorder": 1}
            )
            panel.plot(self.Cs, paths[:, feature], **{**style, **kwargs})
        tidy_axes(panel, "C", "weight", None if self.classes is None else f"class {self.classes[number]}")
        handles, labels = panel.get_legend_handles_labels()
        if handles:
            panel.legend(
                handles[::-1],
                labels[::-1],
                frameon=False,
                fontsize="small",
                title="largest weights",
                title_fontsize="small",
            )

    def _feature(self, feature: int) -> str:
        return str(feature) if self.feature_names is None else str(self.feature_names[feature])

    def _support(self, panel: Any, kwargs: dict[str, Any]) -> None:
        if self.n_support is None:
            raise ValueError("this path does not know how many support vectors there are")
        panel.plot(self.Cs, self.n_support, **{"marker": "o", "markersize": 4, "linewidth": 1.5, **kwargs})
        panel.set_ylim(0.0, 1.05 * max(float(self.n_support.max()), 1.0))
        tidy_axes(panel, "C", "support vectors")

    def _objective(self, panel: Any, kwargs: dict[str, Any]) -> None:
        if self.primal is None:
            raise ValueError("this path does not know its objectives")
        panel.plot(self.Cs, self.primal, **{"marker": "o", "markersize": 4, "label": "primal", **kwargs})
        if self.dual is not None:
            panel.plot(self.Cs, self.dual, **{"linestyle": "--", "label": "dual", **kwargs})
        if np.all(self.primal > 0) and (self.dual is None or np.all(self.dual > 0)):
            panel.set_yscale("log")
        panel.legend(frameon=False, fontsize="small")
        tidy_axes(panel, "C", "objective")


def plot_path(
    path: Any,
    *,
    kind: str = "coefficients",
    feature_names: Sequence[str] | None = None,
    ax: Any = None,
    **kwargs: Any,
) -> PathDisplay:
    """Draw what `svm_path` has found: coefficients, support vectors or objectives against C.

    Parameters
    ----------
    path : Path
        The result of `svm_path`.
    kind : {"coefficients", "support", "objective"}, default="coefficients"
        What to draw.
    feature_names : sequence of str, optional
        Names of the features.
    ax : Axes or one for each panel, default=None
        Where to; None makes a new figure.
    **kwargs
        Passed to ``Axes.plot``.

    Returns
    -------
    PathDisplay
        With ``axes_`` and ``figure_``.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from maxmargin import plot_path, svm_path
    >>> X, y = load_iris(return_X_y=True)
    >>> [ax.get_title() for ax in plot_path(svm_path(X, y, [0.1, 1.0, 10.0])).axes_]
    ['class 0', 'class 1', 'class 2']
    """
    return PathDisplay.from_path(path, feature_names=feature_names, kind=kind, ax=ax, **kwargs)
