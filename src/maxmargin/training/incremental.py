"""Rows that come and go: a problem that is solved again from the dual variables of the rows that stay.

A new row starts with the variable zero, and a row that leaves takes its variable along. What is left is feasible for
the new problem (variables that are outside of bounds which have moved are brought back), so that its solution is near.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from maxmargin.problems.losses import Floats


@dataclass(frozen=True)
class SeenRows:
    """The rows of a problem, with their labels and weights.

    Attributes
    ----------
    X : ndarray or scipy CSR matrix of shape (rows, features)
        A copy: who hands over rows in one buffer after the other may write into it again.
    labels : ndarray of shape (rows,)
        The number of the class of each row.
    weight : ndarray of shape (rows,)
        Their weights.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin.training.incremental import SeenRows
    >>> seen = SeenRows.of(np.eye(2), np.array([0, 1]), None)
    >>> seen.with_rows(np.ones((1, 2)), np.array([1]), np.array([2.0])).without([0]).weight.tolist()
    [1.0, 2.0]
    """

    X: Any
    labels: NDArray[np.intp]
    weight: Floats

    @classmethod
    def of(cls, X: Any, labels: NDArray[np.intp], weight: Floats | None) -> SeenRows:
        """The first rows."""
        return cls(X.copy(), labels, np.ones(len(labels)) if weight is None else np.array(weight))

    def with_rows(self, X: Any, labels: NDArray[np.intp], weight: Floats | None) -> SeenRows:
        """These and more, stored as the first ones were."""
        new = SeenRows.of(_stored_like(self.X, X), labels, weight)
        return SeenRows(
            _stack(self.X, new.X),
            np.concatenate([self.labels, new.labels]),
            np.concatenate([self.weight, new.weight]),
        )

    def kept(self, rows: ArrayLike) -> NDArray[np.bool_]:
        """Which rows stay when some are left out, given by their numbers or by a mask."""
        size = len(self.labels)
        which = np.asarray(rows)
        if which.dtype == bool:
            if which.shape != (size,):
                raise ValueError(f"rows is a mask of shape {which.shape}, but there are {size} rows")
            return np.asarray(~which)
        if which.size == 0:
            return np.ones(size, dtype=bool)
        if which.dtype.kind not in "iu":
            raise ValueError(f"rows must hold numbers of rows or be a mask of booleans, not {which.dtype}")
        if which.min() < -size or which.max() >= size:
            wrong = which.min() if which.min() < -size else which.max()
            raise ValueError(f"rows names row {wrong}, but there are {size} rows, counted from 0")
        kept = np.ones(size, dtype=bool)
        kept[which] = False
        return kept

    def without(self, rows: ArrayLike) -> SeenRows:
        """The others."""
        kept = self.kept(rows)
        return SeenRows(self.X[kept], self.labels[kept], self.weight[kept])


def extended(dual_coef: Any, rows: int) -> Any:
    """Signed dual variables, one column for each row, with zeros for rows that are new."""
    from scipy.sparse import csr_array

    return csr_array((dual_coef.data, dual_coef.indices, dual_coef.indptr), shape=(dual_coef.shape[0], rows))


def _stored_like(first: Any, X: Any) -> Any:
    """Sparse if the first rows were, dense if they were."""
    if isinstance(first, np.ndarray):
        return X if isinstance(X, np.ndarray) else X.toarray()
    return type(first)(X) if isinstance(X, np.ndarray) else X


def _stack(above: Any, below: Any) -> Any:
    if isinstance(above, np.ndarray):
        return np.concatenate([above, below])
    from scipy.sparse import vstack

    return vstack([above, below], format="csr")
