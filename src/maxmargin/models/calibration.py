"""Probabilities from scores of rows that were left out of the training: no other fit is needed.

- "sigmoid": ``p = 1 / (1 + exp(-(a score + b)))`` by maximum likelihood with the targets of Platt,
  ``(N+ + 1)/(N+ + 2)`` and ``1/(N- + 2)``, which keep it from being certain (Platt 1999; Lin, Lin and Weng 2007).
  Classes one by one.
- "isotonic": the non-decreasing function of the score nearest to the labels (Zadrozny and Elkan 2002). Classes one by
  one.
- "temperature": ``softmax(score / T)``, one number for all classes (Guo et al. 2017).

Probabilities of several classes that were fitted one by one are divided by their sum.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxmargin.problems.losses import Floats

#: The kinds of calibration.
CALIBRATIONS = ("sigmoid", "isotonic", "temperature")
#: Newton steps of a likelihood, and the change at which they end.
MOST_STEPS, SMALL_CHANGE = 100, 1e-10
#: Rows of the sample on which the two numbers of a sigmoid are fitted first.
SAMPLE = 2_000


@dataclass(frozen=True)
class Calibration:
    """How scores become probabilities.

    Attributes
    ----------
    kind : {"sigmoid", "isotonic", "temperature"}
        The kind.
    x, y : list of ndarray
        For each column of the scores: slope and offset ("sigmoid"), scores and probabilities between which lines are
        drawn ("isotonic"), or ``1 / T`` and nothing ("temperature", once for all columns).

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin.models.calibration import fit_calibration
    >>> scores = np.array([[-2.0], [-1.0], [1.0], [2.0], [-0.5], [0.5]])
    >>> calibration = fit_calibration("sigmoid", scores, np.array([0, 0, 1, 1, 1, 0]), n_classes=2)
    >>> calibration.probabilities(np.array([[0.0], [3.0]])).round(2).shape
    (2, 2)
    """

    kind: str
    x: list[Floats]
    y: list[Floats]

    def probabilities(self, scores: Floats) -> Floats:
        """One column for each class; rows add up to 1."""
        scores = scores.reshape(len(scores), -1)
        if self.kind == "temperature":
            logits = np.hstack([-0.5 * scores, 0.5 * scores]) if scores.shape[1] == 1 else scores
            return _softmax(float(self.x[0][0]) * logits)
        columns = np.column_stack([self._column(k, scores[:, k]) for k in range(scores.shape[1])])
        if columns.shape[1] == 1:
            return np.hstack([1.0 - columns, columns])
        total = columns.sum(axis=1, keepdims=True)
        return np.where(total > 0, columns / np.where(total > 0, total, 1.0), 1.0 / columns.shape[1])

    def _column(self, k: int, scores: Floats) -> Floats:
        if self.kind == "sigmoid":
            return _sigmoid(self.x[k][0] * scores + self.y[k][0])
        return np.asarray(np.interp(scores, self.x[k], self.y[k]))


def fit_calibration(
    kind: str, scores: Floats, labels: NDArray[np.intp], n_classes: int, weights: Floats | None = None
) -> Calibration:
    """Fit probabilities to scores of rows that were left out.

    Parameters
    ----------
    kind : {"sigmoid", "isotonic", "temperature"}
        The kind.
    scores : array of shape (rows, 1) or (rows, n_classes)
        NaN for rows that were never left out, ``-inf`` for classes that a row's model did not know.
    labels : array of shape (rows,)
        Which class each row has.
    n_classes : int
        At least 2.
    weights : array of shape (rows,), optional
        How much each row counts.

    Returns
    -------
    Calibration
        The probabilities as a function of scores.
    """
    if kind not in CALIBRATIONS:
        raise ValueError(f"calibrate={kind!r} is unknown; choose from {list(CALIBRATIONS)}")
    known = ~np.isnan(scores).any(axis=1)
    own = scores[np.arange(len(scores)), labels] if scores.shape[1] > 1 else scores[:, 0]
    known &= np.isfinite(own)
    if weights is not None:
        known &= weights > 0
    if not known.any():
        raise ValueError("there are no rows with scores to calibrate on")
    scores, labels = scores[known], labels[known]
    counts = np.ones(len(labels)) if weights is None else weights[known]
    if kind == "temperature":
        logits = np.hstack([-0.5 * scores, 0.5 * scores]) if n_classes == 2 else scores
        return Calibration(kind, [np.array([_temperature(logits, labels, counts)])], [np.zeros(0)])
    fit = _fit_sigmoid if kind == "sigmoid" else _fit_isotonic
    fitted = []
    for k in range(scores.shape[1]):
        use = np.isfinite(scores[:, k])
        positive = labels[use] == (1 if scores.shape[1] == 1 else k)
        fitted.append(fit(scores[use, k], positive, counts[use]))
    return Calibration(kind, [x for x, _ in fitted], [y for _, y in fitted])


def _sigmoid(z: Floats) -> Floats:
    small = np.exp(-np.abs(z))
    return np.asarray(np.where(z >= 0, 1.0, small) / (1.0 + small))


def _sum(one: Floats, two: Floats) -> float:
    """The product of two vectors, in this thread alone: to wake others takes longer than to do without them."""
    return float(np.einsum("i,i->", one, two))


def _softmax(logits: Floats) -> Floats:
    shifted = np.exp(logits - logits.max(axis=1, keepdims=True))
    return np.asarray(shifted / shifted.sum(axis=1, keepdims=True))


def _fit_sigmoid(scores: Floats, positive: NDArray[np.bool_], counts: Floats) -> tuple[Floats, Floats]:
    """Newton's method with step halving for the two parameters; scores are scaled so that they do not matter."""
    above, below = counts[positive].sum(), counts[~positive].sum()
    target = np.where(positive, (above + 1.0) / (above + 2.0), 1.0 / (below + 2.0))
    scale = max(float(np.abs(scores).max(initial=0.0)), 1e-300)
    s = scores / scale

    a, b = 0.0, float(np.log((above + 1.0) / (below + 1.0)))
    every = len(s) // SAMPLE
    if every > 1:
        a, b = _newton_sigmoid(s[::every], target[::every], counts[::every], a, b)
    a, b = _newton_sigmoid(s, target, counts, a, b)
    return np.array([a / scale]), np.array([b])


def _newton_sigmoid(s: Floats, target: Floats, counts: Floats, a: float, b: float) -> tuple[float, float]:
    """The parameters of lowest cross-entropy, from a start; the function is convex, so that any will do."""

    def look(a: float, b: float) -> tuple[float, Floats]:
        """The value to be lowest, and the probabilities, with one exponential for both."""
        z = a * s + b
        small = np.exp(-np.abs(z))
        value = _sum(counts, np.maximum(z, 0.0) + np.log1p(small) - target * z)
        return value, np.where(z >= 0, 1.0, small) / (1.0 + small)

    best, p = look(a, b)
    for _ in range(MOST_STEPS):
        slope = counts * (p - target)
        curve = counts * p * (1.0 - p)
        gradient = np.array([_sum(slope, s), slope.sum()])
        curved = curve * s
        hessian = np.array([[_sum(curved, s), curved.sum()], [curved.sum(), curve.sum()]])
        hessian += 1e-12 * max(float(np.trace(hessian)), 1e-300) * np.eye(2)
        step = np.linalg.solve(hessian, -gradient)
        now, p = look(a + step[0], b + step[1])
        while now > best and np.abs(step).max() > 1e-12:
            step *= 0.5
            now, p = look(a + step[0], b + step[1])
        if now > best:
            break
        a, b, gained, best = a + float(step[0]), b + float(step[1]), best - now, now
        if gained <= SMALL_CHANGE * abs(best):
            break
    return a, b


def _fit_isotonic(scores: Floats, positive: NDArray[np.bool_], counts: Floats) -> tuple[Floats, Floats]:
    """Pools of adjacent violators; equal scores are one place. Only the ends of each pool are kept."""
    places, place = np.unique(scores, return_inverse=True)
    total = np.bincount(place, weights=counts)
    means = np.bincount(place, weights=counts * positive) / total
    level: list[float] = []
    weight: list[float] = []
    size: list[int] = []
    for mean, count in zip(means.tolist(), total.tolist(), strict=True):
        level.append(mean)
        weight.append(count)
        size.append(1)
        while len(level) > 1 and level[-2] >= level[-1]:
            joined = weight[-2] + weight[-1]
            level[-2:] = [(level[-2] * weight[-2] + level[-1] * weight[-1]) / joined]
            weight[-2:] = [joined]
            size[-2:] = [size[-2] + size[-1]]
    last = np.cumsum(size) - 1
    first = last - np.array(size) + 1
    ends = np.unique(np.concatenate([first, last]))
    return places[ends], np.repeat(level, size)[ends]


def _temperature(logits: Floats, labels: NDArray[np.intp], counts: Floats) -> float:
    """``1 / T`` of highest likelihood, which is concave in it: by halving where the slope changes sign."""
    each = np.arange(len(labels))
    finite = np.where(np.isfinite(logits), logits, 0.0)  # a class that is not known has probability zero

    def slope(beta: float) -> float:
        p = _softmax(beta * logits)
        return float(counts @ (logits[each, labels] - np.sum(p * finite, axis=1)))

    low, high = 0.0, 1.0 / max(float(np.abs(finite).max(initial=0.0)), 1e-300)
    if slope(1e-12 * high) <= 0.0:
        return 1e-12 * high  # scores say nothing, or the contrary
    while slope(high) > 0.0 and high < 1e12:
        high *= 2.0
    for _ in range(60):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if slope(middle) > 0.0 else (low, middle)
    return 0.5 * (low + high)


def calibration_of(kind: Any, x: list[Floats], y: list[Floats], columns: int) -> Calibration:
    """A calibration from numbers nobody vouches for; ``ValueError`` if they are none."""
    if kind not in CALIBRATIONS:
        raise ValueError(f"{str(kind)[:40]!r} is no kind of calibration")
    wanted = 1 if kind == "temperature" else columns
    proper = len(x) == len(y) == wanted and all(np.isfinite(part).all() for part in (*x, *y))
    if kind == "temperature":
        proper = proper and len(x[0]) == 1 and x[0][0] >= 0
    elif kind == "sigmoid":
        proper = proper and all(len(part) == 1 for part in (*x, *y))
    else:
        proper = proper and all(
            len(a) == len(b) > 0 and np.all(np.diff(a) > 0) and b.min() >= 0 and b.max() <= 1
            for a, b in zip(x, y, strict=True)
        )
    if not proper:
        raise ValueError("the numbers of its calibration do not fit together")
    return Calibration(kind, x, y)
