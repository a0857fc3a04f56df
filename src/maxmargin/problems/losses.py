"""The losses of one score as one family (eq. 4 of Hsieh et al. 2008), in plain numpy.

Every loss has the dual ``min 1/2 a'(Q + D)a - target'a + epsilon |a|_1, L_i <= a_i <= U_i`` and differs only in four
numbers. Its primal form is the conjugate, so both sides of a certificate follow from the same line of the table.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

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
    lower_per_C : float
        ``L_i / C_i``, the lower bound of dual variable ``i`` over the weight of its row: 0 or, when its sign is free,
        the negative of ``upper_per_C``.
    upper_per_C : float
        ``U_i / C_i``, the upper bound of dual variable ``i`` over the weight of its row.
    diagonal_times_C : float
        ``D_ii * C_i``, what the loss adds to the diagonal of the dual, times the weight of the row.
    epsilon : float, default=0.0
        Half the width of the tube: slacks up to this cost nothing, and others by what they are beyond it.

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
    lower_per_C: float
    upper_per_C: float
    diagonal_times_C: float
    epsilon: float = 0.0

    @property
    def core(self) -> _core.Loss:
        """The four numbers, as the C++ core takes them."""
        return _core.Loss(self.lower_per_C, self.upper_per_C, self.diagonal_times_C, self.epsilon)

    def is_like(self, other: Loss, with_tube: bool = True) -> bool:
        """Whether it is the same function, whatever its name, and if so wanted whatever its tube."""
        return (
            self.lower_per_C == other.lower_per_C
            and self.upper_per_C == other.upper_per_C
            and self.diagonal_times_C == other.diagonal_times_C
            and (not with_tube or self.epsilon == other.epsilon)
        )

    def with_tube(self, epsilon: float) -> Loss:
        """The same loss of what slacks are outside of a tube."""
        return replace(self, epsilon=float(epsilon))

    @property
    def is_curved(self) -> bool:
        """Whether the loss has a second derivative; the hinge has none."""
        return self.diagonal_times_C > 0

    def lower(self, C: Floats) -> Floats:
        """``L_i``; rows of weight zero are fixed at zero."""
        return np.where(C > 0, self.lower_per_C * np.where(C > 0, C, 1.0), 0.0)

    def upper(self, C: Floats) -> Floats:
        """``U_i``; rows of weight zero are fixed at zero."""
        return np.where(C > 0, self.upper_per_C * np.where(C > 0, C, 1.0), 0.0)

    def primal(self, slack: Floats, C: Floats) -> Floats:
        """The loss of each row at ``slack = target - margin``, its weight included."""
        outside = slack - np.clip(slack, -self.epsilon, self.epsilon)
        if self.diagonal_times_C == 0.0:
            return C * np.maximum(self.upper_per_C * outside, self.lower_per_C * outside)
        # The conjugate of a -> D a^2 / 2 over L <= a <= U, divided by C so that C = 0 needs no case.
        a = np.clip(outside / self.diagonal_times_C, self.lower_per_C, self.upper_per_C)
        return C * (a * outside - 0.5 * self.diagonal_times_C * a * a)

    def dual_terms(self, alpha: Floats, C: Floats, target: Floats | float = 1.0) -> Floats:
        """What each row adds to the dual objective apart from ``-|w|^2 / 2``."""
        used = C > 0
        diagonal = self.diagonal_times_C / np.where(used, C, 1.0)
        linear = target * alpha - self.epsilon * np.abs(alpha)
        return np.where(used, linear - 0.5 * diagonal * alpha * alpha, 0.0)


#: The losses of margins by name.
LOSSES: dict[str, Loss] = {
    loss.name: loss
    for loss in (
        Loss("hinge", 0.0, 1.0, 0.0),
        Loss("squared_hinge", 0.0, np.inf, 0.5),
        Loss("least_squares", -np.inf, np.inf, 0.5),
    )
}
#: The losses of residuals by name, without their tube.
REGRESSION_LOSSES: dict[str, Loss] = {
    loss.name: loss
    for loss in (
        Loss("epsilon_insensitive", -1.0, 1.0, 0.0),
        Loss("squared_epsilon_insensitive", -np.inf, np.inf, 0.5),
        LOSSES["least_squares"],
    )
}
