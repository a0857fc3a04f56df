"""Which columns of a matrix are on another scale than the rest: the usual reason for slow convergence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from maxmargin.problems.losses import Floats

#: A column this many times larger than a typical one is worth a word.
MUCH = 30.0
#: At most so many are named.
NAMED = 4
#: Stored values looked at in one piece, and in all: pieces of a large matrix that are spread evenly tell enough.
PIECE, ENOUGH = 1 << 16, 1 << 20


def column_scales(X: Any) -> Floats:
    """The root of the mean square of each column's nonzero entries; 0 for a column without any.

    Of a large matrix some rows are looked at, from all parts of it.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin.problems.scaling import column_scales
    >>> column_scales(np.array([[3.0, 0.0, 0.0], [-3.0, 0.0, 5.0]])).tolist()
    [3.0, 0.0, 5.0]
    """
    squares, counts = np.zeros(X.shape[1]), np.zeros(X.shape[1])
    if hasattr(X, "indptr"):
        stored, piece = int(X.indptr[-1]), max(PIECE, X.shape[1])
        for first in _spread(stored, piece, ENOUGH):
            values = X.data[first : min(first + piece, stored)].astype(np.float64)
            columns = X.indices[first : min(first + piece, stored)]
            squares += np.bincount(columns, weights=values * values, minlength=X.shape[1])
            counts += np.bincount(columns[values != 0], minlength=X.shape[1])
    else:
        piece = max(PIECE // X.shape[1], 1)
        for first in _spread(X.shape[0], piece, max(ENOUGH // X.shape[1], 1)):
            part = np.asarray(X[first : first + piece], dtype=np.float64)
            squares += (part * part).sum(axis=0)
            counts += (part != 0).sum(axis=0)
    return np.sqrt(squares / np.maximum(counts, 1))


def _spread(size: int, piece: int, enough: int) -> range:
    """Where pieces begin: one after the other, or with equal gaps so that they are about ``enough`` in all."""
    pieces = -(-size // piece)
    most = max(enough // piece, 1)
    return range(0, size, piece * max(-(-pieces // most), 1))


def describe_scales(X: Any, names: Sequence[Any] | None = None, first: int = 0) -> str | None:
    """A sentence about columns that are much larger than a typical one, with the remedy; None if there are none.

    Columns without names are counted from ``first``.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin.problems.scaling import describe_scales
    >>> print(describe_scales(np.array([[1.0, 2.0, 5000.0], [2.0, 1.0, 7000.0]]), ["age", "rooms", "income"]))
    The columns of X are on different scales: 'income' is around 6.1e+03, a typical column around 1.6. Scale them to \
similar ranges, for example with sklearn.preprocessing.MaxAbsScaler or StandardScaler.
    """
    scales = column_scales(X)
    present = scales[scales > 0]
    if len(present) < 2:
        return None
    typical = float(np.median(present))
    large = np.flatnonzero(scales > MUCH * typical)
    if len(large) == 0:
        # A few ordinary columns among very small ones are the same trouble seen from the other side.
        if not present.max() > MUCH * present.min():
            return None
        large, typical = np.flatnonzero(scales == scales.max()), float(present.min())
        other = "the smallest"
    else:
        other = "a typical column"
    large = large[np.argsort(-scales[large], kind="stable")]
    named = [f"{names[j]!r}" if names is not None else f"column {j + first}" for j in large[:NAMED].tolist()]
    rest = f" and {len(large) - NAMED} more" if len(large) > NAMED else ""
    verb = "is" if len(large) == 1 else "are"
    return (
        f"The columns of X are on different scales: {', '.join(named)}{rest} {verb} around {scales[large[0]]:.2g}, "
        f"{other} around {typical:.2g}. Scale them to similar ranges, for example with "
        "sklearn.preprocessing.MaxAbsScaler or StandardScaler."
    )
