"""The master problem of cutting planes: the best weights for a risk that is bounded from below by its cuts.

With the cuts ``risk(w) >= b_k - g_k.w`` it is ``min 1/2 |w|^2 + C max(0, max_k (b_k - g_k.w))``, and its dual

    max  b'm - 1/2 |sum_k m_k g_k|^2     over  m_k >= 0,  sum_k m_k <= C,

in as many variables as there are cuts. Any feasible ``m`` gives a lower bound of the whole problem. Steps exchange
between the two multipliers that gain most, one of which may be that of the constant cut ``risk >= 0``.
"""

from __future__ import annotations

import numpy as np

from maxmargin.problems.losses import Floats


class Master:
    """Cuts, and the multipliers that are best for them.

    Parameters
    ----------
    size : int
        Weights.
    C : float
        Weight of the risk.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin.solvers.streamed.master import Master
    >>> master = Master(1, 10.0)
    >>> master.add(1.0, np.array([1.0]))
    >>> master.solve(1e-9).tolist(), master.dual
    ([1.0], 0.5)
    """

    MOST_STEPS = 50_000

    def __init__(self, size: int, C: float) -> None:
        self.C = C
        self.slopes = np.zeros((0, size))
        self.offsets = np.zeros(0)
        self.gram = np.zeros((0, 0))
        self.multipliers = np.zeros(0)
        self.dual = 0.0

    @property
    def active(self) -> int:
        """Cuts with a multiplier."""
        return int(np.count_nonzero(self.multipliers))

    def add(self, offset: float, slope: Floats) -> None:
        """Another cut."""
        products = self.slopes @ slope
        self.slopes = np.vstack([self.slopes, slope])
        self.offsets = np.append(self.offsets, offset)
        self.multipliers = np.append(self.multipliers, 0.0)
        own = np.append(products, slope @ slope)
        self.gram = np.vstack([np.hstack([self.gram, products[:, np.newaxis]]), own])

    def solve(self, tolerance: float) -> Floats:
        """The weights that are best for the cuts, to a tolerance of the objective."""
        # The constant cut comes first: offset and slope are zero.
        m = np.concatenate([[self.C - self.multipliers.sum()], self.multipliers])
        K = np.pad(self.gram, ((1, 0), (1, 0)))
        gradient = np.concatenate([[0.0], self.offsets]) - K @ m
        for _ in range(self.MOST_STEPS):
            up = int(np.argmax(gradient))
            down = int(np.argmin(np.where(m > 0.0, gradient, np.inf)))
            violation = gradient[up] - gradient[down]
            if violation * self.C <= tolerance:
                break
            curvature = K[up, up] + K[down, down] - 2.0 * K[up, down]
            step = m[down] if curvature <= 0.0 else min(m[down], violation / curvature)
            m[up] += step
            m[down] = 0.0 if step == m[down] else m[down] - step
            gradient -= step * (K[:, up] - K[:, down])
        multipliers = m[1:]
        w = multipliers @ self.slopes
        dual = float(multipliers @ self.offsets) - 0.5 * float(w @ w)
        if dual >= self.dual:
            self.dual, self.multipliers = dual, multipliers
        return np.asarray(w)
