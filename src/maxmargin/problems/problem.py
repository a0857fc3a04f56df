"""What the problems have in common: each is one over the rows of a `Matrix`."""

from __future__ import annotations

from typing import Any, ClassVar

from maxmargin.problems.losses import Floats
from maxmargin.problems.matrix import Matrix


class Problem:
    """A problem over rows.

    Parameters
    ----------
    X : Matrix, ndarray or CSR matrix of shape (rows, features)
        Used where it lies; a `Matrix` is not checked again.
    """

    #: Whether a row has one score and one dual variable, and its loss is one of the family (``losses.py``).
    one_score_per_row: ClassVar[bool] = False

    def __init__(self, X: Any) -> None:
        self.matrix = Matrix.of(X)
        size, features = self.shape
        if size == 0 or features == 0:
            raise ValueError(f"X is empty: it has {size} rows and {features} features")

    @property
    def X(self) -> Any:
        """The matrix as it was given."""
        return self.matrix.X

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and features."""
        return self.matrix.shape

    def weights_of_report(self, weights: Floats) -> Floats:
        """Weights as the core reports them, in the form in which they are returned."""
        return weights

    def points_of(self, state: Any) -> Floats | None:  # noqa: ARG002, for problems that have some
        """Where a similar problem may start from, beside dual variables; only rankings have such points."""
        return None

    def dual_parts(self, alpha: Any) -> tuple[float, float] | None:  # noqa: ARG002
        """The linear part of the dual value and twice its diagonal part; None where variables are no start."""
        return None
