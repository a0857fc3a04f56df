"""Two bounds of an optimum: the primal value of any weights, and the dual value of any feasible dual variables."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

TINY = float(np.finfo(np.float64).tiny)


class Certificate(NamedTuple):
    """A primal and a dual value: the optimum lies between them.

    The two need not belong together. By strong convexity the weights ``w`` of the primal value and those ``w(alpha)``
    that the dual variables stand for are close all the same: ``|w - w(alpha)|^2 <= 4 (primal - dual)``.

    Examples
    --------
    >>> from maxmargin import Certificate
    >>> Certificate(primal=2.0, dual=1.5).gap
    0.25
    """

    primal: float
    dual: float

    @property
    def gap(self) -> float:
        """``(primal - dual) / |primal|``, never negative: no solution is better than this one by a larger share."""
        return max(self.primal - self.dual, 0.0) / max(abs(self.primal), TINY)
