"""Data in numpy's own files.

``.npz``: a CSR matrix as scipy saves it, or a dense ``X``, with labels ``y``. ``.npy``: a dense matrix, mapped into
memory, with the labels in one of its columns or in a file of their own.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxmargin.io.data import Data, ReadOptions
from maxmargin.io.files import PathLike
from maxmargin.models.model import Model
from maxmargin.problems.csr import Csr
from maxmargin.problems.matrix import Matrix

BLOCK_VALUES = 1 << 22
NOT_BOTH = "give either the column of the labels (--label) or their file (--labels), not both"


def read_npz(path: PathLike, options: ReadOptions) -> Data:
    """A CSR matrix (``data``, ``indices``, ``indptr``, ``shape``) or a dense ``X``, and ``y`` where it is there."""
    name = os.fspath(path)
    with _open_npz(name) as arrays:
        names = set(arrays.files)

        def get(key: str) -> NDArray[Any]:
            with _numpy_errors(f"{name}, array {key!r}"):
                return np.asarray(arrays[key])

        if {"data", "indices", "indptr", "shape"} <= names:
            if "format" in names and get("format").item() not in (b"csr", "csr"):
                raise ValueError(f"{name}: the matrix is not CSR; convert with X.tocsr() before saving")
            shape = get("shape")
            if shape.shape != (2,) or shape.dtype.kind not in "iu" or np.any(shape < 0):
                raise ValueError(f"{name}: 'shape' must be two whole numbers")
            X: Any = Csr(
                _as_float(get("data"), options, name),
                _as_index(get("indices"), "indices", name),
                _as_index(get("indptr"), "indptr", name),
                (int(shape[0]), int(shape[1])),
            )
            if len(X.indptr) != X.shape[0] + 1 or len(X.data) != len(X.indices):
                raise ValueError(f"{name}: the arrays 'data', 'indices', 'indptr' and 'shape' do not fit together")
        elif "X" in names:
            X = _as_rows(get("X"), options, name)
        else:
            raise ValueError(
                f"{name}: expected the arrays data, indices, indptr and shape of a CSR matrix, or X; found "
                f"{', '.join(sorted(names)) or 'none'}"
            )
        if options.labels is not None:
            y: NDArray[Any] | None = read_labels(options.labels)
        else:
            y = get("y") if "y" in names else None
        qid = get("qid") if "qid" in names else None
    if isinstance(X, Csr):
        try:
            Matrix(X)  # checks that no index points outside
        except ValueError as error:
            raise ValueError(f"{name}: {error}") from error
    if qid is not None and (qid.shape != (X.shape[0],) or qid.dtype.kind not in "iufU"):
        raise ValueError(f"{name}: 'qid' must hold a number or a text for each of the {X.shape[0]} rows")
    return Data(X, _checked_labels(y, X.shape[0], name), qid=qid)


def read_npy(path: PathLike, options: ReadOptions) -> Data:
    """A dense matrix; used in place when the labels are elsewhere, copied without their column otherwise."""
    name = os.fspath(path)
    table = _load_matrix(name)
    if options.label is None:
        y = None if options.labels is None else read_labels(options.labels)
        return Data(_as_rows(table, options, name), _checked_labels(y, table.shape[0], name))
    if options.labels is not None:
        raise ValueError(NOT_BOTH)
    column = _label_column(table, options.label, name)
    X = _as_rows(np.delete(table, column, axis=1), options, name)
    return Data(X, _checked_labels(np.array(table[:, column]), table.shape[0], name), source={"label": column})


def read_labels(path: PathLike) -> NDArray[Any]:
    """Labels from a ``.npy`` file, or from text with one label per line; numbers if all of them are."""
    name = os.fspath(path)
    if name.lower().endswith(".npy"):
        labels = _load_npy(name)
        if labels.ndim != 1:
            raise ValueError(f"{name}: expected one label per row, a one-dimensional array")
        return np.array(labels)
    with open(name, encoding="utf-8") as file:
        try:
            lines = [line.strip() for line in file]
        except UnicodeDecodeError as error:
            raise ValueError(f"{name}: expected text, one label per line ({error})") from error
    try:
        return np.array([float(line) for line in lines])
    except ValueError:
        return np.array(lines)


def iter_npy(path: PathLike, model: Model, options: ReadOptions) -> Iterator[Data]:
    """A dense matrix to predict, in blocks; a label column is where the model's training data had it, if it fits."""
    name = os.fspath(path)
    table = _load_matrix(name)
    size, features = table.shape[0], model.coef.shape[1]
    column: int | None = None
    if options.label is not None:
        if options.labels is not None:
            raise ValueError(NOT_BOTH)
        column = _label_column(table, options.label, name)
    elif options.labels is None and table.shape[1] == features + 1 and isinstance(model.source.get("label"), int):
        column = model.source["label"]
    if table.shape[1] - (column is not None) != features:
        raise ValueError(
            f"{name}: the data have {table.shape[1] - (column is not None)} features, the model {features}"
        )
    y = None if options.labels is None else _checked_labels(read_labels(options.labels), size, name)
    step = max(1, BLOCK_VALUES // table.shape[1])
    for begin in range(0, size, step):
        part = table[begin : begin + step]
        labels = None if y is None else y[begin : begin + step]
        if column is not None:
            labels = _checked_labels(np.array(part[:, column]), len(part), name)
            part = np.delete(part, column, axis=1)
        yield Data(_as_rows(part, options, name), labels, done=min((begin + step) / size, 1.0))


@contextmanager
def _open_npz(name: str) -> Iterator[Any]:
    with open(name, "rb") as file:  # numpy would leave it open when the archive is broken
        with _numpy_errors(name):
            arrays = np.load(file, allow_pickle=False)
        if isinstance(arrays, np.ndarray):
            raise ValueError(f"{name}: this is a .npy file; name it so")
        yield arrays


def _load_matrix(name: str) -> NDArray[Any]:
    table = _load_npy(name)
    if table.ndim != 2:
        raise ValueError(f"{name}: expected a matrix, but the array has {table.ndim} dimensions")
    return table


def _label_column(table: NDArray[Any], label: str, name: str) -> int:
    try:
        column = int(label)
    except ValueError as error:
        raise ValueError(f"{name}: the columns have no names; give the number of the label column") from error
    if not -table.shape[1] <= column < table.shape[1]:
        raise ValueError(f"{name}: there is no column {column}; there are {table.shape[1]}, counted from 0")
    return column % int(table.shape[1])


def _load_npy(name: str) -> NDArray[Any]:
    with open(name, "rb") as file:
        if file.read(2) == b"PK":
            raise ValueError(f"{name}: this is a .npz file; name it so")
    with _numpy_errors(name):
        return np.asarray(np.load(name, mmap_mode="r", allow_pickle=False))


@contextmanager
def _numpy_errors(name: str) -> Iterator[None]:
    """A broken header can make numpy raise almost anything, because it is read as a Python literal."""
    try:
        yield
    except (MemoryError, FileNotFoundError, PermissionError, IsADirectoryError):
        raise
    except Exception as error:
        # what is neither .npy nor .npz is a pickle to numpy, which invites to load it
        what = "" if "pickle" in str(error) else f" ({str(error)[:200]})"
        raise ValueError(f"{name}: not readable by numpy{what}") from error


def _as_float(values: NDArray[Any], options: ReadOptions, name: str) -> NDArray[Any]:
    if values.dtype.kind not in "iufb":
        raise ValueError(f"{name}: the values must be numbers, not {values.dtype}")
    if options.dtype is not None:
        return values.astype(options.dtype, copy=False)
    if values.dtype in (np.float32, np.float64):
        return values
    # float32 holds all numbers of one and two bytes exactly
    return values.astype(np.float32 if values.dtype.itemsize <= 2 else np.float64)


def _as_rows(matrix: NDArray[Any], options: ReadOptions, name: str) -> NDArray[Any]:
    if matrix.ndim != 2:
        raise ValueError(f"{name}: X must have two dimensions, not {matrix.ndim}")
    return np.ascontiguousarray(_as_float(matrix, options, name))


def _as_index(values: NDArray[Any], key: str, name: str) -> NDArray[Any]:
    if values.ndim != 1 or values.dtype.kind not in "iu":
        raise ValueError(f"{name}: {key!r} must be a vector of whole numbers")
    return values if values.dtype in (np.int32, np.int64) else values.astype(np.int64)


def _checked_labels(y: NDArray[Any] | None, rows: int, name: str) -> NDArray[Any] | None:
    if y is None:
        return None
    if y.shape != (rows,):
        raise ValueError(f"{name}: there are {rows} rows, but the labels have the shape {y.shape}")
    if y.dtype.kind not in "iufbU":
        raise ValueError(f"{name}: labels must be numbers or text, not {y.dtype}")
    if y.dtype.kind == "f" and not np.all(np.isfinite(y)):
        raise ValueError(f"{name}: the labels contain NaN or infinity")
    return y
