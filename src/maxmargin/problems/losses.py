"""The binary losses as one family (eq. 4 of Hsieh et al. 2008), in plain numpy.

Every loss has the dual ``min 1/2 a'(Q + D)a - e'a, lower <= a_i <= U_i`` and differs only in three numbers.
Its primal form is the conjugate, so both sides of a certificate follow from the same line of the table.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from maxmargin import _core

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Loss:
    """A loss of the family, described by its dual.

    Parameters
    ----------
    name : str
        The name users give.
    lower : float
        Lower bound of the dual variables: 0, or ``-inf`` when their sign is free.
    upper_per_C : float
        ``U_i / C_i``, the upper bound of dual variable ``i`` over the weight of its row.
    diagonal_times_C : float
        ``D_ii * C_i``, what the loss adds to the diagonal of the dual, times the weight of the row.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin import LOSSES
    >>> slack = np.array([0.0, 0.5, 2.0])
    >>> LOSSES["hinge"].primal(slack, np.ones(3)).tolist()
    [0.0, 0.5, 2.0]
    >>> LOSSES["squared_hinge"].primal(slack, np.ones(3)).tolist()
    [0.0, 0.25, 4.0]
    """

    name: str
    lower: float
    upper_per_C: float
    diagonal_times_C: float

    @property
    def core(self) -> _core.Loss:
        """The three numbers, as the C++ core takes them."""
        return _core.Loss(self.lower, self.upper_per_C, self.diagonal_times_C)

    def is_like(self, other: Loss) -> bool:
        """Whether it is the same function, whatever its name."""
        return (self.lower, self.upper_per_C, self.diagonal_times_C) == (
            other.lower,
            other.upper_per_C,
            other.diagonal_times_C,
        )

    @property
    def is_curved(self) -> bool:
        """Whether the loss has a second derivative; the hinge has none."""
        return self.diagonal_times_C > 0

    def upper(self, C: Floats) -> Floats:
        """``U_i``; rows of weight zero are fixed at zero."""
        return np.where(C > 0, self.upper_per_C * np.where(C > 0, C, 1.0), 0.0)

    def primal(self, slack: Floats, C: Floats) -> Floats:
        """The loss of each row at ``slack = 1 - margin``, its weight included."""
        if self.diagonal_times_C == 0.0:
            return C * np.maximum(self.upper_per_C * slack, self.lower * slack)
        # The conjugate of a -> D a^2 / 2 over lower <= a <= U, divided by C so that C = 0 needs no case.
        a = np.clip(slack / self.diagonal_times_C, self.lower, self.upper_per_C)
        return C * (a * slack - 0.5 * self.diagonal_times_C * a * a)

    def dual_terms(self, alpha: Floats, C: Floats) -> Floats:
        """What each row adds to the dual objective apart from ``-|w|^2 / 2``."""
        used = C > 0
        diagonal = self.diagonal_times_C / np.where(used, C, 1.0)
        return np.where(used, alpha - 0.5 * diagonal * alpha * alpha, 0.0)


#: The losses by name.
LOSSES: dict[str, Loss] = {
    loss.name: loss
    for loss in (
        Loss("hinge", 0.0, 1.0, 0.0),
        Loss("squared_hinge", 0.0, np.inf, 0.5),
        Loss("least_squares", -np.inf, np.inf, 0.5),
    )
}
