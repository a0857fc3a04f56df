"""Scores and predictions of rows in blocks, computed when they are asked for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import dask
import dask.array as da
import numpy as np

from maxmargin.dask.inputs import rows_of
from maxmargin.models.model import Model

#: A function of a model and of checked rows.
OfRows = Callable[[Model, Any], Any]


def map_rows(X: Any, model: Model, function: OfRows, dtype: Any, columns: int | None = None) -> Any:
    """``function(model, rows)`` of every block, lazily, in the form of ``X``: array, dataframe or list.

    ``columns`` is the number of columns of the result; None means that it has one dimension.
    """
    shared = dask.delayed(model, pure=True)
    if isinstance(X, da.Array):
        if X.shape[1] != model.coef.shape[1]:
            raise ValueError(f"X has {X.shape[1]} features, but the model was trained with {model.coef.shape[1]}")
        if X.numblocks[1] != 1:
            X = X.rechunk({1: -1})
        meta = np.zeros((0,) if columns is None else (0, columns), dtype=dtype)
        shape = {"drop_axis": 1} if columns is None else {"chunks": (X.chunks[0], (columns,))}
        return X.map_blocks(_apply, shared, function, dtype=dtype, meta=meta, **shape)
    if isinstance(X, (list, tuple)):
        task = dask.delayed(_apply, pure=True)
        return [task(piece, shared, function) for piece in X]
    import pandas as pd

    meta = pd.Series([], dtype=dtype) if columns is None else pd.DataFrame({k: [0.0] for k in range(columns)}).iloc[:0]
    return X.map_partitions(_apply_frame, shared, function, meta=meta)


def _apply(X: Any, model: Model, function: OfRows) -> Any:
    rows = rows_of(X, "a block")
    if rows.shape[1] != model.coef.shape[1]:
        raise ValueError(f"a block of X has {rows.shape[1]} features, but the model has {model.coef.shape[1]}")
    return function(model, rows)


def _apply_frame(X: Any, model: Model, function: OfRows) -> Any:
    import pandas as pd

    found = _apply(X, model, function)
    return pd.Series(found, index=X.index) if found.ndim == 1 else pd.DataFrame(found, index=X.index)


def scores(model: Model, rows: Any) -> Any:
    """Scores of rows, with one column for each class if there are more than two."""
    found = model.scores(rows)
    return found.ravel() if found.shape[1] == 1 else found


def predictions(model: Model, rows: Any) -> Any:
    """Labels of rows, or their scores where there are no classes."""
    return model.predict(rows)
