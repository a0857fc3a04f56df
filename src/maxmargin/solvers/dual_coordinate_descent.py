"""Dual coordinate descent (Hsieh et al. 2008) in five orders of visiting the rows.

"dcd" is Algorithm 1 with a random permutation per epoch (3.1) and shrinking (3.2), "online" Algorithm 2, and "avsf"
visits rows by adaptive frequencies (Glasmachers & Dogan). All run the same C++ loop.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from maxmargin import _core
from maxmargin.solvers.method import Exit, Method, check_choice, check_epsilon, check_flags
from maxmargin.solvers.packing import packing_pays

if TYPE_CHECKING:
    from maxmargin.solvers.run import Run

ORDERS = {order.name.lower(): order for order in (_core.Order.CYCLIC, _core.Order.PERMUTED, _core.Order.SHUFFLED)} | {
    "uniform": _core.Order.UNIFORM,
    "adaptive": _core.Order.ADAPTIVE,
}

#: ``ColumnParts::most`` in src/core/rows/column_parts.hpp.
MOST_PARTS = 16


@dataclass(frozen=True)
class DualCoordinateDescent(Method):
    """Dual coordinate descent: one exact step after the other, each on the dual variable of one row.

    Parameters
    ----------
    order : {"permuted", "shuffled", "cyclic", "uniform", "adaptive"}, default="permuted"
        Which row comes next. "shuffled" is a random permutation of all rows per epoch, as in section 3.1 of the paper;
        "permuted" the same with neighbours kept near each other, which is kinder to caches; "cyclic" Algorithm 1 as
        printed; "uniform" any row at any time (Algorithm 2, "online"); "adaptive" visits rows in proportion to what
        their steps have gained ("avsf").
    shrinking : bool, default=True
        Whether rows that seem to stay at a bound are set aside (eq. 16), in all orders but "uniform". The paper of
        "adaptive" does not.
    resting : bool, default=True
        Whether a row that does not change when it is visited is left out of the next epoch, and of the next two and
        four if that repeats; in the orders "permuted", "shuffled" and "cyclic", from the third epoch on, unless they
        stop by ``epsilon``. The paper sets rows aside by shrinking alone.
    averaging : bool, default=True
        Whether "adaptive" also looks at the means of its iterates, which the paper does not.
    anchoring : bool, default=True
        Whether a regularised bias is held back by a proximal term where its column is large beside the rows. The
        optimum is the same.
    plane : bool, default=True
        Whether epochs are followed by exact steps in the plane of their change and of the step before ("adaptive": for
        the hinge alone), and the best weights so far are mixed with the next ones. The papers do neither.
    parts : int or None, default=None
        With ``n_jobs`` of 2 and more, in how many parts the columns of a packed copy are kept, each of which belongs to
        one thread, so that there is work for as many threads. The result depends on the parts, not on the threads. 1:
        sweeps are those of one thread. None: by the length of the rows, from two to eight, and 1 where threads would
        not help.
    epsilon : float or None, default=None
        Stop when no projected gradient differs from another by more, rule (17) of the paper, and take rows back by that
        rule alone; for "permuted", "shuffled" and "cyclic". None: by the duality gap.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin import BinaryProblem, DualCoordinateDescent, solve
    >>> problem = BinaryProblem(np.array([[1.0], [-1.0]]), [1, -1])
    >>> solve(problem, DualCoordinateDescent(order="cyclic", shrinking=False)).solver
    'dcd'
    """

    kinds: ClassVar[tuple[str, ...]] = ("binary", "regression", "one_class")

    order: str = "permuted"
    shrinking: bool = True
    resting: bool = True
    averaging: bool = True
    anchoring: bool = True
    plane: bool = True
    parts: int | None = None
    epsilon: float | None = None

    def __post_init__(self) -> None:
        check_choice("order", self.order, tuple(ORDERS))
        check_flags(self, "shrinking", "resting", "averaging", "anchoring", "plane")
        check_epsilon(self.epsilon)
        if self.parts is not None and not (isinstance(self.parts, int) and 1 <= self.parts <= MOST_PARTS):
            raise ValueError(f"parts must be None or a whole number from 1 to {MOST_PARTS}, not {self.parts!r}")
        if self.epsilon is not None and self.order in ("uniform", "adaptive"):
            raise ValueError(f"epsilon needs an order that visits every row once an epoch, not {self.order!r}")

    @property
    def name(self) -> str:
        """The short name: "dcd", "online" or "avsf"."""
        return {"uniform": "online", "adaptive": "avsf"}.get(self.order, "dcd")

    def run(
        self,
        problem: Any,
        state: _core.BinaryState,
        run: Run,
        max_passes: float = float("inf"),
        worth: float = float("inf"),
        patience: float = float("inf"),
    ) -> Exit:
        """Sweep over the rows.

        Ends after work of ``max_passes`` passes over the data, earlier if at its pace it would need more than ``worth``
        passes from here, or if it stalls after ``patience`` passes.
        """
        options = _core.DescentOptions(
            ORDERS[self.order],
            self.shrinking,
            self.resting and self.epsilon is None,
            self.averaging,
            self.anchoring,
            self.plane,
            run.pack and packing_pays(problem, run.threads > 1 and self.parts != 1),
            self.parts or 0,
            self.epsilon or 0.0,
        )
        limits = run.stage(self.name, max_passes=max_passes, worth=worth, patience=patience)
        exit_ = _core.dual_coordinate_descent(state, options, limits, run.core)
        if state.parts > 1:
            run.recorder.stages[-1] = f"{self.name} in {state.parts} parts"
        return exit_
