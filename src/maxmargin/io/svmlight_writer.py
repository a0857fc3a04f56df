"""Rows and labels to svmlight text, in blocks; numbers with the fewest digits that read back to the same bits."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from maxmargin import _core
from maxmargin.io.files import PathLike, is_stream, open_to_write
from maxmargin.problems.csr import Csr
from maxmargin.problems.losses import Floats

_WRITE_VALUES = 1 << 20
#: Query numbers have at most 18 digits.
LARGEST_QID = 10**18


def save_svmlight(
    X: Any,
    y: ArrayLike | Sequence[Sequence[float]],
    path_or_file: PathLike | Any,
    *,
    zero_based: bool = False,
    qid: ArrayLike | None = None,
    multilabel: bool = False,
    comment: str | None = None,
) -> None:
    """Write rows and labels in svmlight format; `load_svmlight` with the same dtype gives back the same bits.

    A path is replaced whole or not at all, and compressed as its suffix says (.gz, .bz2, .xz, .zst).

    Parameters
    ----------
    X : array or sparse matrix of shape (rows, features)
        Stored zeros of a sparse matrix are written, zeros of a dense one are not.
    y : array of shape (rows,), or one sequence of labels per row
        Labels.
    path_or_file : path or binary file
        Where to.
    zero_based : bool, default=False
        Whether the first column is written as 0 or as 1. LIBLINEAR reads one-based files only, and a zero-based file
        in which column 0 happens to be empty cannot be told from a one-based one.
    qid : array of shape (rows,), optional
        Query numbers, whole and not negative.
    multilabel : bool, default=False
        ``y`` holds any number of labels per row.
    comment : str, optional
        Lines of comment at the top.

    Examples
    --------
    >>> import io, numpy as np
    >>> from maxmargin import save_svmlight
    >>> file = io.BytesIO()
    >>> save_svmlight(np.array([[0.5, 0.0], [0.0, 0.1]]), [1, -1], file)
    >>> print(file.getvalue().decode(), end="")
    1 1:0.5
    -1 2:0.1
    """
    if isinstance(X, str | os.PathLike):
        raise TypeError(f"save_svmlight takes rows, labels and then the path, and got {os.fspath(X)!r} as the rows")
    rows = _rows_to_write(X)
    size = rows.shape[0]
    labels, label_starts = _labels_to_write(y, size, multilabel)
    if label_starts is not None and qid is None:
        bare = np.flatnonzero((np.diff(label_starts) == 0) & (np.diff(rows.indptr) == 0))
        if bare.size:
            raise ValueError(f"row {bare[0]} has neither labels nor features, which would be a blank line")
    queries = None
    if qid is not None:
        queries = np.ascontiguousarray(qid)
        whole = queries.shape == (size,) and queries.dtype.kind in "iu"
        if not whole or np.any(queries < 0) or np.any(queries >= LARGEST_QID):
            raise ValueError(f"qid must hold {size} whole numbers from 0 to {LARGEST_QID - 1}, one per row of X")
        queries = queries.astype(np.int64, copy=False)
    if is_stream(path_or_file):
        _write_rows(path_or_file, rows, labels, label_starts, queries, zero_based, comment)
        return
    with open_to_write(path_or_file) as file:
        _write_rows(file, rows, labels, label_starts, queries, zero_based, comment)


def _rows_to_write(X: Any) -> Csr:
    """Rows in CSR with increasing indices and finite float values."""
    if isinstance(X, Csr):
        X = X.to_scipy()
    if hasattr(X, "tocsr"):
        X = X.tocsr()
        if not X.has_canonical_format:
            X = X.copy()
            X.sum_duplicates()
        rows = Csr(X.data, X.indices, X.indptr, X.shape)
    else:
        dense = np.asarray(X)
        if dense.ndim != 2:
            raise ValueError(f"X must have two dimensions, not {dense.ndim}")
        nonzero = dense != 0
        rows = Csr(
            dense[nonzero],
            np.nonzero(nonzero)[1],
            np.concatenate([[0], np.cumsum(nonzero.sum(axis=1))]),
            (dense.shape[0], dense.shape[1]),
        )
    values = rows.data
    if values.dtype not in (np.float32, np.float64):
        if values.dtype.kind not in "iubf" or values.dtype.itemsize > 8:
            raise TypeError(f"X must hold numbers of at most 64 bits, not {values.dtype}")
        values = values.astype(np.float64)
    if not np.all(np.isfinite(values)):
        raise ValueError("X contains NaN or infinity, which svmlight files cannot hold")
    both_short = rows.indices.dtype == np.int32 and rows.indptr.dtype == np.int32
    wide = np.int32 if both_short else np.int64
    return Csr(
        np.ascontiguousarray(values),
        np.ascontiguousarray(rows.indices, dtype=wide),
        np.ascontiguousarray(rows.indptr, dtype=wide),
        rows.shape,
    )


def _labels_to_write(y: Any, size: int, multilabel: bool) -> tuple[Floats, NDArray[np.int64] | None]:
    starts: NDArray[np.int64] | None = None
    if multilabel:
        rows = [list(row) for row in y]
        if len(rows) != size:
            raise ValueError(f"y must have {size} entries, one per row of X, not {len(rows)}")
        starts = np.cumsum([0, *map(len, rows)], dtype=np.int64)
        y = [label for row in rows for label in row]
    labels = np.asarray(y)
    if not multilabel and labels.shape != (size,):
        raise ValueError(f"y must have shape ({size},) to match the rows of X, not {labels.shape}")
    if labels.size and labels.dtype.kind not in "iufb":
        raise TypeError(f"svmlight labels are numbers, not {labels.dtype}; number the classes first")
    numbers = labels.astype(np.float64)
    if not np.all(np.isfinite(numbers)) or (labels.dtype.kind in "iu" and np.any(numbers.astype(object) != labels)):
        raise ValueError("y contains NaN, infinity, or whole numbers too large for a double")
    return numbers, starts


def _write_rows(
    file: Any,
    rows: Csr,
    labels: Floats,
    label_starts: NDArray[np.int64] | None,
    qid: NDArray[np.int64] | None,
    zero_based: bool,
    comment: str | None,
) -> None:
    if comment:
        file.write("".join(f"# {line}\n" for line in comment.splitlines()).encode())
    begin, size = 0, rows.shape[0]
    while begin < size:
        # as many rows as have about a million values, at least one
        end = int(np.searchsorted(rows.indptr, rows.indptr[begin] + _WRITE_VALUES, side="right")) - 1
        end = min(max(end, begin + 1), begin + _WRITE_VALUES, size)
        first, last = int(rows.indptr[begin]), int(rows.indptr[end])
        file.write(
            _core.write_svmlight(
                rows.data[first:last],
                rows.indices[first:last].astype(np.int64),
                rows.indptr[begin : end + 1].astype(np.int64) - first,
                labels[begin:end] if label_starts is None else labels,
                None if label_starts is None else label_starts[begin : end + 1],
                None if qid is None else qid[begin:end],
                0 if zero_based else 1,
            )
        )
        begin = end
