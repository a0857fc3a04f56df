"""How much each row counts: ``C_i = C * class weight * sample weight``."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxmargin.problems.losses import Floats


def class_weights(
    spec: Mapping[Any, float] | str,
    classes: NDArray[Any],
    labels: NDArray[np.intp],
    sample_weight: Floats | None = None,
) -> Floats:
    """The weight of each class.

    A mapping gives it by label, 1 where it names none; "balanced" makes all classes count alike, whatever their share
    of the (weighted) rows. Rows of weight zero are as good as absent, and with them perhaps whole classes. A mapping
    that names a label which is not there (a typing error, or a fold without a rare class) gets a warning.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin.training.weights import class_weights
    >>> class_weights({"b": 3.0}, np.array(["a", "b"]), np.array([0, 1, 1])).tolist()
    [1.0, 3.0]
    """
    if isinstance(spec, str):
        if spec != "balanced":
            raise ValueError(f"class_weight must be a dict or 'balanced', not {spec!r}")
        share = np.bincount(labels, weights=sample_weight, minlength=len(classes))
        present = share > 0
        weights = np.zeros(len(classes))
        weights[present] = share.sum() / (present.sum() * share[present])
        return weights
    known = classes.tolist()
    unknown = [label for label in spec if label not in known]
    if unknown:
        shown = ", ".join(map(repr, known[:10])) + (", ..." if len(known) > 10 else "")
        warnings.warn(
            f"class_weight names {unknown[0]!r}, which is not a class of y; the classes are {shown}", stacklevel=2
        )
    weights = np.array([spec.get(label, 1.0) for label in known], dtype=np.float64)
    if not np.all(np.isfinite(weights)) or np.any(weights < 0):
        raise ValueError(f"class_weight must be finite and not negative, but is {dict(spec)}")
    return weights


def row_weights(
    C: float,
    class_weight: Mapping[Any, float] | str | None,
    classes: NDArray[Any],
    labels: NDArray[np.intp],
    sample_weight: Floats | None = None,
) -> Any:
    """``C_i``: a number when all rows count alike, else one per row."""
    weights: Any = float(C)
    if sample_weight is not None:
        weights = weights * sample_weight
    if class_weight is not None:
        weights = weights * class_weights(class_weight, classes, labels, sample_weight)[labels]
    return weights
