"""Labels as numbers of classes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

#: Whole numbers within a range of this size are counted instead of sorted.
SMALL_RANGE = 1 << 16


def encode_labels(y: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.intp]]:
    """The classes in rising order, and which of them each row has.

    The same as ``numpy.unique(y, return_inverse=True)``, and several times faster for whole numbers.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin.training.labels import encode_labels
    >>> classes, labels = encode_labels(np.array([7, -1, 7]))
    >>> classes.tolist(), labels.tolist()
    ([-1, 7], [1, 0, 1])
    """
    if y.dtype.kind not in "iub" or y.size == 0:
        return np.unique(y, return_inverse=True)
    lowest, highest = int(y.min()), int(y.max())
    if highest - lowest >= SMALL_RANGE:
        return np.unique(y, return_inverse=True)
    places = y.astype(np.intp) - lowest
    present = np.bincount(places, minlength=1) > 0
    number = np.cumsum(present) - 1
    return (np.flatnonzero(present) + lowest).astype(y.dtype), number[places]
