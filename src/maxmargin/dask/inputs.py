"""Dask collections as lists of blocks, and what each block must be.

Taken are dask arrays (of numpy or of scipy's sparse chunks), dask dataframes, lists of delayed blocks, and folders
of blocks that each worker reads for itself. A block is checked by the task that makes it, so that an error names
the block.
"""

from __future__ import annotations

import os
from typing import Any

import dask
import dask.array as da
import numpy as np
import scipy.sparse as sp
from dask.base import is_dask_collection
from dask.delayed import Delayed

from maxmargin.io.blocks import Blocks, open_blocks
from maxmargin.solvers.block import Block, by_rows

TAKEN = "a dask array, a dask dataframe, a list of delayed blocks, or a folder of blocks (open_blocks)"


def is_distributed(X: Any) -> bool:
    """Whether data lie in blocks."""
    return is_dask_collection(X) or (isinstance(X, (list, tuple)) and bool(X) and all(map(_is_delayed, X)))


def column_names(X: Any) -> list[str] | None:
    """The names of the columns of a dataframe."""
    if isinstance(X, Blocks):
        return X.feature_names
    return None if isinstance(X, (da.Array, list, tuple)) else [str(name) for name in X.columns]


def blocks_of(X: Any, others: dict[str, Any]) -> list[Any]:
    """One delayed `Block` for each block of the rows.

    Parameters
    ----------
    X : dask array, dask dataframe or list of delayed blocks
        Rows.
    others : dict
        What lies beside them, by the names of the arguments; None for what there is not.
    """
    if isinstance(X, Blocks):
        return _blocks_of_folder(X, others)
    if not is_distributed(X):
        raise TypeError(
            f"X must be {TAKEN}, not {type(X).__name__}; maxmargin.LinearSVC and its like take arrays in memory"
        )
    if others["y"] is None:
        raise ValueError("y is missing; only a folder of blocks (open_blocks) brings its own labels")
    pieces = pieces_of(X)
    beside = {name: _pieces_beside(X, pieces, value, name) for name, value in others.items() if value is not None}
    make = dask.delayed(make_block, pure=False)
    names = list(beside)
    return [make(piece, k, len(pieces), names, *(beside[name][k] for name in names)) for k, piece in enumerate(pieces)]


def _blocks_of_folder(X: Blocks, others: dict[str, Any]) -> list[Any]:
    """The blocks of a folder that all workers can read under the same path; each reads its own."""
    given = [name for name, value in others.items() if value is not None]
    if given:
        raise ValueError(f"{given[0]} comes from the folder of blocks; leave it out, or write it there by write_blocks")
    if not X.has_labels:
        raise ValueError(f"{X.path} has no labels; write them there by write_blocks")
    if X.shape[0] != X.n_rows:
        raise ValueError(f"only the whole folder {X.path} can be read by workers; write the chosen rows to their own")
    make = dask.delayed(read_block, pure=False)
    return [make(os.path.abspath(X.path), k, X.n_blocks) for k in range(X.n_blocks)]


def read_block(path: str, number: int, count: int) -> Block:
    """One block of a folder, checked; runs on a worker."""
    found = open_blocks(path).read(number)
    sides = {"y": found.y, "sample_weight": found.sample_weight, "qid": found.qid}
    present = {name: side for name, side in sides.items() if side is not None}
    return make_block(found.X.to_scipy(), number, count, list(present), *present.values())


def pieces_of(X: Any) -> list[Any]:
    """The delayed blocks of rows."""
    if isinstance(X, da.Array):
        if X.ndim != 2:
            raise ValueError(f"X must have two dimensions, not {X.ndim}")
        if X.numblocks[1] != 1:
            X = X.rechunk({1: -1})
        return list(X.to_delayed().ravel())
    return list(X) if isinstance(X, (list, tuple)) else list(X.to_delayed())


def _pieces_beside(X: Any, pieces: list[Any], values: Any, name: str) -> list[Any]:
    """The delayed blocks of labels, weights or groups, beside those of the rows."""
    if isinstance(X, da.Array) and isinstance(values, np.ndarray) and not np.isnan(X.chunks[0]).any():
        if values.shape != (X.shape[0],):
            raise ValueError(f"{name} must have shape ({X.shape[0]},) to match the rows of X, not {values.shape}")
        values = da.from_array(values, chunks=(X.chunks[0],))
    if isinstance(values, da.Array):
        if values.ndim != 1:
            raise ValueError(f"{name} must have one dimension, not {values.ndim}")
        known = isinstance(X, da.Array) and not (np.isnan(X.chunks[0]).any() or np.isnan(values.chunks[0]).any())
        if known and X.shape[0] != values.shape[0]:
            raise ValueError(f"{name} has {values.shape[0]} entries, but X has {X.shape[0]} rows")
        if known and X.chunks[0] != values.chunks[0]:
            values = values.rechunk((X.chunks[0],))
        found = list(values.to_delayed().ravel())
    elif isinstance(values, (list, tuple)) and values and all(map(_is_delayed, values)):
        found = list(values)
    elif is_dask_collection(values) and hasattr(values, "to_delayed"):
        found = list(values.to_delayed())
    else:
        raise TypeError(
            f"{name} must lie in the blocks of X, as a dask array, a dask series or a list of delayed blocks, not as "
            f"{type(values).__name__}; use dask.array.from_array({name}, chunks=X.chunks[0])"
        )
    if len(found) != len(pieces):
        raise ValueError(
            f"{name} has {len(found)} blocks, but X has {len(pieces)}; make them alike by rechunk or repartition, "
            "after compute_chunk_sizes() where Dask does not know the sizes"
        )
    return found


def _is_delayed(value: Any) -> bool:
    return isinstance(value, Delayed) or type(value).__name__ == "Future"


def make_block(X: Any, number: int, count: int, names: list[str], *beside: Any) -> Block:
    """One block of rows, checked; runs on a worker."""
    where = f"block {number} of {count}"
    rows = rows_of(X, where)
    fields = {name: _column_of(value, rows.shape[0], name, where) for name, value in zip(names, beside, strict=True)}
    weight = fields.get("sample_weight")
    if weight is not None:
        weight = weight.astype(np.float64)
        if not np.all(np.isfinite(weight)) or np.any(weight < 0):
            raise ValueError(f"sample_weight of {where} must be finite and not negative")
    y = fields["y"]
    if y.dtype.kind == "f" and not np.all(np.isfinite(y)):
        raise ValueError(f"y of {where} holds NaN or infinity; drop these rows, or fill them in, before the fit")
    return Block(rows, y, weight, fields.get("qid"), number=number)


def rows_of(X: Any, where: str) -> Any:
    """Rows as the core takes them: C-ordered floats, or CSR."""
    if hasattr(X, "to_numpy") and hasattr(X, "columns"):
        X = X.to_numpy()
    X = sp.csr_matrix(X.tocsr()) if sp.issparse(X) or hasattr(X, "tocsr") else np.asarray(X)
    if X.ndim != 2:
        raise ValueError(f"{where} of X must have two dimensions, not {X.ndim}")
    if X.dtype.kind not in "iufb" and X.dtype != object:
        raise ValueError(f"{where} of X must hold numbers, not {X.dtype}")
    try:
        X = X.astype(X.dtype if X.dtype in (np.float32, np.float64) else np.float64, copy=False)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{where} of X must hold numbers ({error})") from error
    values: Any = X.data if hasattr(X, "indptr") else X
    if not np.all(np.isfinite(values)):
        raise ValueError(f"{where} of X holds NaN or infinity; drop these rows, or fill them in, before the fit")
    return by_rows(X)


def _column_of(values: Any, rows: int, name: str, where: str) -> Any:
    column = values.to_numpy() if hasattr(values, "to_numpy") else np.asarray(values)
    if column.ndim == 2 and column.shape[1] == 1:
        column = column.ravel()
    if column.shape != (rows,):
        raise ValueError(f"{name} of {where} has shape {column.shape}, but X has {rows} rows there")
    if column.dtype == object and name != "sample_weight":
        column = np.asarray(column.tolist()) if rows else column
    return column
