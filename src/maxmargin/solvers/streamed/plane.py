"""The exact step in a plane for dual descent over blocks: see ``src/core/binary/dual_plane.hpp``.

With ``s`` the change that a round made to the variables and ``p`` the step before, the dual is maximised over ``alpha +
t1 s + t2 p``. All that this takes is summed up while the rows are visited. In memory the variables are then clipped to
their bounds, for which rows are needed. Here they may lie beyond them until the next visit of their row, whose exact
step takes them back; so weights and variables always belong together. Dual values are those after the visits. This does
not converge with the hinge, where most variables lie at one of two bounds: it is for losses without an upper bound.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxmargin.problems.losses import Floats, Loss

#: The longest step, in lengths of ``s`` and of ``p``.
FARTHEST = 8.0


class Plane:
    """The plane of one problem, of which variables and weights are given as before a round."""

    def __init__(self, alpha: Floats, weights: Floats) -> None:
        self.before = self.weights_before = np.zeros(0)
        self.begin(alpha, weights)

    def begin(self, alpha: Floats, weights: Floats) -> None:
        """Before a round."""
        self.base, self.weights = alpha.copy(), weights.copy()
        self.sums = np.zeros(7)

    def add(self, rows: Any, alpha: Floats, signs: NDArray[Any], target: Floats | float, C: Floats, loss: Loss) -> None:
        """What the rows of a piece have to say, after their visit."""
        base = self.base[rows]
        s = alpha - base
        p = self.before[rows] if len(self.before) else np.zeros(len(s))
        diagonal = np.divide(loss.diagonal_times_C, C, out=np.zeros(len(C)), where=C > 0)
        slope = target - diagonal * base
        if loss.epsilon:
            slope = slope - loss.epsilon * np.sign(alpha)
        curved = diagonal * s
        self.sums += [slope @ s, slope @ p, curved @ s, curved @ p, (diagonal * p) @ p, signs @ s, signs @ p]

    def step(self, alpha: Floats, weights: Floats, curvature: float, bias: float) -> Floats:
        """The variables at the maximum; ``weights``, which are those of ``alpha``, follow in place."""
        change = weights - self.weights
        now, before = self.lengths(change, curvature, bias)
        moved = now * (alpha - self.base)
        weights[:] = self.weights + now * change
        if len(self.before):
            moved += before * self.before
            weights += before * self.weights_before
        self.before, self.weights_before = moved, weights - self.weights
        return self.base + moved

    def lengths(self, change: Floats, curvature: float, bias: float) -> tuple[float, float]:
        """How far to go along both directions."""
        g0, g1, a, b, c, now, before = self.sums.tolist()
        constant = bias * self.weights[-1]
        inner, last = change[:-1], self.weights_before[:-1]
        g0 += -float(self.weights[:-1] @ inner) - constant * now
        a += float(inner @ inner) + curvature * now * now
        if len(last):
            g1 += -float(self.weights[:-1] @ last) - constant * before
            b += float(inner @ last) + curvature * now * before
            c += float(last @ last) + curvature * before * before
        determinant = a * c - b * b
        t = (g0 / a if a > 0.0 else 1.0, 0.0)
        if determinant > 1e-12 * a * c:
            t = ((c * g0 - b * g1) / determinant, (a * g1 - b * g0) / determinant)
        if not max(abs(t[0]), abs(t[1])) <= FARTHEST:
            return 1.0, 0.0
        return t
