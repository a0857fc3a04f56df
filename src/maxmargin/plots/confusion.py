"""Which classes are taken for which: a table of counts in colours."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from maxmargin.plots.drawing import check_choice, new_axes

#: With more classes than this, cells hold no numbers.
MOST_NUMBERED = 25


class ConfusionDisplay:
    """Counts of true (rows) against predicted (columns) labels.

    Parameters
    ----------
    counts : array of shape (n_classes, n_classes)
        How often each class (row) was taken for each (column).
    classes : sequence
        Their labels.

    Attributes
    ----------
    ax_, figure_ : Axes, Figure
        Where it was drawn, after `plot`.

    Examples
    --------
    >>> from maxmargin import ConfusionDisplay
    >>> ConfusionDisplay.from_predictions(["a", "b", "b"], ["a", "b", "a"]).counts.tolist()
    [[1, 0], [1, 1]]
    """

    def __init__(self, counts: ArrayLike, classes: Sequence[Any] | NDArray[Any]) -> None:
        self.counts = np.asarray(counts)
        self.classes = list(classes)
        if self.counts.shape != (len(self.classes), len(self.classes)):
            raise ValueError(f"counts must be a square table for {len(self.classes)} classes, not {self.counts.shape}")

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any, y: ArrayLike, *, ax: Any = None, **kwargs: Any) -> ConfusionDisplay:
        """Draw what a fitted classifier makes of rows with known labels."""
        return cls.from_predictions(y, estimator.predict(X), ax=ax, **kwargs)

    @classmethod
    def from_predictions(
        cls, y_true: ArrayLike, y_pred: ArrayLike, *, ax: Any = None, **kwargs: Any
    ) -> ConfusionDisplay:
        """Draw predicted against true labels."""
        true, predicted = np.asarray(y_true), np.asarray(y_pred)
        if true.shape != predicted.shape or true.ndim != 1:
            raise ValueError(f"y_true and y_pred must be as long as each other, not {true.shape} and {predicted.shape}")
        classes = np.unique(np.concatenate([true, predicted]))
        counts = np.zeros((len(classes), len(classes)), dtype=np.int64)
        np.add.at(counts, (np.searchsorted(classes, true), np.searchsorted(classes, predicted)), 1)
        return cls(counts, classes).plot(ax=ax, **kwargs)

    def plot(self, *, ax: Any = None, normalize: str | None = None, **kwargs: Any) -> ConfusionDisplay:
        """Draw.

        Parameters
        ----------
        ax : Axes, default=None
            Where to; None makes a new figure.
        normalize : {"true", "predicted", None}, default=None
            Shares of each row or of each column instead of counts.
        **kwargs
            Passed to ``Axes.imshow``.

        Returns
        -------
        ConfusionDisplay
            The display itself.
        """
        if normalize is not None:
            check_choice("normalize", normalize, ("true", "predicted"))
        size = min(2.5 + 0.5 * len(self.classes), 10.0)
        [panel] = new_axes(ax, size=(size + 0.8, size))
        values = self.counts.astype(np.float64)
        if normalize is not None:
            totals = values.sum(axis=1 if normalize == "true" else 0, keepdims=True)
            values = np.divide(values, totals, out=np.zeros_like(values), where=totals > 0)
        image = panel.imshow(values, **{"cmap": "Blues", "vmin": 0.0, **kwargs})
        places, names = np.arange(len(self.classes)), [str(label) for label in self.classes]
        long = max(map(len, names)) > 3
        panel.set_xticks(places, names, rotation=45 if long else 0, ha="right" if long else "center")
        panel.set_yticks(places, names)
        panel.set_xlabel("predicted")
        panel.set_ylabel("true")
        if len(self.classes) <= MOST_NUMBERED:
            middle = values.max() / 2
            for (i, j), value in np.ndenumerate(values):
                text = f"{value:.2f}" if normalize is not None else f"{self.counts[i, j]:,}"
                panel.text(
                    j, i, text, ha="center", va="center", color="white" if value > middle else "0.2", fontsize="small"
                )
        panel.figure.colorbar(
            image, ax=panel, shrink=0.8, label="rows" if normalize is None else f"share of the {normalize} class"
        )
        self.ax_, self.figure_ = panel, panel.figure
        return self
