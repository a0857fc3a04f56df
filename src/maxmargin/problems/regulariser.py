"""The regulariser of a problem and its conjugate: the one place that knows its formula."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike


@dataclass(frozen=True)
class SquaredNorm:
    """``r(w) = 1/2 |w|^2``, whose conjugate has the same formula.

    Parameters
    ----------
    free_bias : bool, default=False
        Whether the last weight, that of the constant column, is left out.

    Examples
    --------
    >>> from maxmargin.problems.regulariser import SquaredNorm
    >>> SquaredNorm().value([3.0, 4.0]), SquaredNorm(free_bias=True).value([3.0, 4.0])
    (12.5, 4.5)
    """

    free_bias: bool = False

    def value(self, w: ArrayLike) -> float:
        """``r(w)``."""
        weights = np.asarray(w, dtype=np.float64)
        regularised = weights[..., :-1] if self.free_bias else weights
        return float(0.5 * np.sum(regularised**2))

    def conjugate(self, sums: ArrayLike) -> float:
        """``r*(v)`` at sums of rows; where the bias is free, the last of them must be 0."""
        return self.value(sums)
