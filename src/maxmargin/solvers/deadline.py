"""A time limit as a moment: what is left of it, whoever asks."""

from __future__ import annotations

import time


class Deadline:
    """The end of a time limit that begins now.

    Parameters
    ----------
    time_limit : float or None
        Seconds; None means no limit.

    Examples
    --------
    >>> from maxmargin.solvers.deadline import Deadline
    >>> Deadline(None).left() is None
    True
    >>> 0 < Deadline(10.0).left() <= 10.0
    True
    """

    def __init__(self, time_limit: float | None) -> None:
        if time_limit is not None and not time_limit > 0:
            raise ValueError(f"time_limit must be positive, not {time_limit}")
        self.begin = time.perf_counter()
        self.moment = None if time_limit is None else self.begin + time_limit

    def spent(self) -> float:
        """Seconds since the beginning."""
        return time.perf_counter() - self.begin

    def left(self, reserve: float = 0.0) -> float | None:
        """Seconds until then, less a reserve for what comes after; never quite zero, which is no time limit."""
        return None if self.moment is None else max(self.moment - time.perf_counter() - reserve, 1e-9)

    def is_over(self) -> bool:
        """Whether the moment has passed."""
        return self.moment is not None and time.perf_counter() >= self.moment
