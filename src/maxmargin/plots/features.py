"""Which features speak most for each class: the largest weights as bars."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from maxmargin.models.model import top_features
from maxmargin.plots.drawing import new_axes, tidy_axes
from maxmargin.problems.losses import Floats

#: Panels beside each other.
COLUMNS = 3
#: Longer names are cut.
LONGEST_NAME = 40


class TopFeaturesDisplay:
    """The largest weights of a linear model, by class.

    With two classes there is one panel: features that speak for the second class to the right, for the first to the
    left. With more there is one for each class, and a ranker or a regression has one.

    Parameters
    ----------
    coef : array of shape (1, n_features) or (n_classes, n_features)
        Weights.
    classes : sequence, optional
        Labels of the classes; none for a ranker or a regression.
    feature_names : sequence of str, optional
        Names of the features; their numbers if there are none.

    Attributes
    ----------
    axes_ : list of Axes
        The panels, after `plot`.
    figure_ : Figure
        The figure that they belong to.

    Examples
    --------
    >>> from maxmargin import TopFeaturesDisplay
    >>> display = TopFeaturesDisplay([[2.0, -1.0, 0.0]], ["no", "yes"], ["a", "b", "c"]).plot()
    >>> [label.get_text() for label in display.axes_[0].get_yticklabels()]
    ['b', 'a']
    """

    def __init__(
        self, coef: ArrayLike, classes: Sequence[Any] | None = None, feature_names: Sequence[str] | None = None
    ) -> None:
        self.coef = np.atleast_2d(np.asarray(coef, dtype=np.float64))
        self.classes = None if classes is None or len(classes) == 0 else list(classes)
        self.feature_names = feature_names
        if feature_names is not None and len(feature_names) != self.coef.shape[1]:
            raise ValueError(f"there are {len(feature_names)} names for {self.coef.shape[1]} features")

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        *,
        feature_names: Sequence[str] | None = None,
        n_features: int = 10,
        ax: Any = None,
        **kwargs: Any,
    ) -> TopFeaturesDisplay:
        """Draw the largest weights of a fitted linear estimator."""
        if not hasattr(estimator, "coef_"):
            raise ValueError(f"this {type(estimator).__name__} has no weights: it is not fitted")
        coef = estimator.coef_.toarray() if hasattr(estimator.coef_, "toarray") else estimator.coef_
        names = getattr(estimator, "feature_names_in_", None) if feature_names is None else feature_names
        return cls(coef, getattr(estimator, "classes_", None), names).plot(n_features=n_features, ax=ax, **kwargs)

    @property
    def panels(self) -> tuple[int, int]:
        """Columns and rows of panels."""
        return min(len(self.coef), COLUMNS), -(-len(self.coef) // COLUMNS)

    def plot(self, *, n_features: int = 10, ax: Any = None, **kwargs: Any) -> TopFeaturesDisplay:
        """Draw.

        Parameters
        ----------
        n_features : int, default=10
            How many features in each panel, for two classes of each sign.
        ax : Axes or one for each panel, default=None
            Where to; None makes a new figure.
        **kwargs
            Passed to ``Axes.barh``.

        Returns
        -------
        TopFeaturesDisplay
            The display itself.
        """
        columns, rows = self.panels
        shown = [self._shown(weights, n_features) for weights in self.coef]
        panels = new_axes(ax, columns, rows, size=(5.0, 0.9 + 0.25 * max(map(len, shown))))
        for number, (panel, features) in enumerate(zip(panels, shown, strict=False)):
            values = self.coef[number, features]
            colors = np.where(values > 0, "C0", "C3")
            panel.barh(np.arange(len(features)), values, **{"color": colors, **kwargs})
            panel.set_yticks(np.arange(len(features)), [self._name(feature) for feature in features], fontsize="small")
            tidy_axes(panel, "weight", "", self._title(number))
            panel.grid(False, axis="y")
            panel.axvline(0.0, color="0.3", linewidth=0.8)
        for unused in panels[len(self.coef) :]:
            unused.set_axis_off()
        self.axes_ = panels
        self.figure_ = panels[0].figure
        return self

    def _shown(self, weights: Floats, count: int) -> list[int]:
        """From the bottom up: of one of several classes what speaks for it, of two classes what speaks for either."""
        top = top_features(weights, count)
        return top.negative + top.positive[::-1] if len(self.coef) == 1 else top.positive[::-1]

    def _name(self, feature: int) -> str:
        name = str(feature) if self.feature_names is None else str(self.feature_names[feature])
        return name if len(name) <= LONGEST_NAME else f"{name[: LONGEST_NAME - 3]}..."

    def _title(self, number: int) -> str:
        if self.classes is None:
            return "for a higher score: right"
        if len(self.coef) == 1:
            return f"for {self.classes[0]}: left, for {self.classes[1]}: right"
        return f"for {self.classes[number]}"
