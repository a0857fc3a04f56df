"""The regularisers of problems and their conjugates: the one place that knows their formulas."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray


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


#: How far sums of rows may be beyond their bound of 1, for rounding.
ROUNDING = 1e-10


@dataclass(frozen=True)
class L1Norm:
    """``r(w) = |w|_1``, whose conjugate is 0 where no entry is larger than 1 in size, and infinite elsewhere.

    Parameters
    ----------
    free_bias : bool, default=False
        Whether the last weight, that of the constant column, is left out.

    Examples
    --------
    >>> from maxmargin.problems.regulariser import L1Norm
    >>> L1Norm().value([3.0, -4.0]), L1Norm().conjugate([1.0, -0.5]), L1Norm().conjugate([1.1, 0.0])
    (7.0, 0.0, inf)
    """

    free_bias: bool = False

    def value(self, w: ArrayLike) -> float:
        """``r(w)``."""
        return float(np.sum(np.abs(self._regularised(w))))

    def conjugate(self, sums: ArrayLike) -> float:
        """``r*(v)`` at sums of rows; where the bias is free, the last of them must be 0."""
        largest = np.max(np.abs(self._regularised(sums)), initial=0.0)
        return 0.0 if largest <= 1 + ROUNDING else float("inf")

    def _regularised(self, w: ArrayLike) -> NDArray[np.float64]:
        weights = np.asarray(w, dtype=np.float64)
        return weights[..., :-1] if self.free_bias else weights


#: The regularisers by the name of the penalty.
REGULARISERS: dict[str, type[SquaredNorm] | type[L1Norm]] = {"l2": SquaredNorm, "l1": L1Norm}
