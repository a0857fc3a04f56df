"""CSV and Parquet by way of polars (the extra ``[table]``): one column holds the labels, the others are features.

Columns of text are refused, or turned into one feature per category if asked to; the model remembers the categories.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from maxmargin.csr import Csr
from maxmargin.io.data import Data, ReadOptions
from maxmargin.io.files import PathLike
from maxmargin.model import Model

if TYPE_CHECKING:
    import polars as pl

#: Names that say that a column holds the labels.
LABEL_NAMES = ("label", "target", "class", "y")
BLOCK_ROWS = 1 << 16

#: A column and what becomes of it: itself (None), or one feature per category.
Columns = list[list[Any]]


def read_table(path: PathLike, format_: str, options: ReadOptions, *, need_labels: bool = True) -> Data:
    """A whole table."""
    name = os.fspath(path)
    frame = _collect(_scan(name, format_, {}), name)
    label = _label_column(frame.columns, options.label, name, need_labels)
    features = frame.drop(label) if label is not None else frame
    if features.width == 0 or frame.height == 0:
        raise ValueError(f"{name}: the table has {frame.height} rows and {features.width} columns of features")
    columns = _columns_of(features, name, options.one_hot)
    X, _ = _features(features, columns, name, options, first_row=0)
    y = None if label is None else _labels(frame[label], name, first_row=0)
    return Data(X, y, feature_names=names_of(columns), source={"label": label, "columns": columns})


def iter_table(path: PathLike, format_: str, model: Model, options: ReadOptions) -> Iterator[Data]:
    """A table in blocks, with the columns the model was trained on, in its order."""
    name = os.fspath(path)
    columns: Columns | None = model.source.get("columns")
    if columns is None and model.feature_names is not None:
        columns = [[column, None] for column in model.feature_names]
    overrides = {} if columns is None else {column: kinds is not None for column, kinds in columns}
    if model.classes.dtype.kind in "UO" and model.source.get("label") is not None:
        overrides[model.source["label"]] = True  # labels that look like numbers in this file are texts all the same
    lazy = _scan(name, format_, overrides)
    present = _column_names(lazy, name)
    label = options.label
    if label is None and model.source.get("label") in present:
        label = model.source["label"]
    known = {column for column, _ in columns or []}
    label = _label_column(present, label, name, False, known)
    if columns is None:
        columns = [[column, None] for column in present if column != label]
        if len(columns) != model.coef.shape[1]:
            raise ValueError(f"{name}: the table has {len(columns)} features, the model {model.coef.shape[1]}")
    missing = [column for column, _ in columns if column not in present]
    if missing:
        raise ValueError(
            f"{name}: the model needs the column {missing[0]!r}, which is not there"
            + (f" (nor are {len(missing) - 1} others)" if len(missing) > 1 else "")
        )
    if options.one_hot:
        raise ValueError("one-hot is known from the model when predicting; leave it out")
    wanted = [column for column, _ in columns] + ([] if label is None else [label])
    first_row = 0
    for frame in _batches(lazy.select(wanted), name):
        features = frame.select([column for column, _ in columns])
        X, dropped = _features(features, columns, name, options, first_row)
        y = None if label is None else _labels(frame[label], name, first_row)
        first_row += frame.height
        yield Data(X, y, dropped=dropped)


def names_of(columns: Columns) -> list[str]:
    """The names of the features that columns turn into."""
    return [
        feature
        for column, categories in columns
        for feature in ([column] if categories is None else [f"{column}={category}" for category in categories])
    ]


def _polars() -> Any:
    try:
        import polars
    except ImportError as error:
        raise ValueError("CSV and Parquet need polars: pip install 'maxmargin[table]'") from error
    return polars


def _scan(name: str, format_: str, overrides: dict[str, bool]) -> Any:
    """The table, not read yet. Columns the model knows are read as text (true) or as numbers (false)."""
    pl = _polars()
    with open(name, "rb"):
        pass  # a missing file gets the usual error, not polars' own
    try:
        if format_ == "parquet":
            return pl.scan_parquet(name, glob=False)
        separator = "\t" if format_ == "tsv" else ","
        present = set(pl.scan_csv(name, separator=separator, glob=False).collect_schema().names())
        kinds = {column: pl.String if text else pl.Float64 for column, text in overrides.items() if column in present}
        return pl.scan_csv(
            name, separator=separator, infer_schema_length=None, schema_overrides=kinds or None, glob=False
        )
    except (pl.exceptions.PolarsError, OSError) as error:
        raise _unreadable(name, error) from error


def _unreadable(name: str, error: Exception) -> ValueError:
    return ValueError(f"{name}: the table cannot be read ({str(error).splitlines()[0][:300]})")


def _column_names(lazy: pl.LazyFrame, name: str) -> list[str]:
    pl = _polars()
    try:
        return list(lazy.collect_schema().names())
    except (pl.exceptions.PolarsError, OSError) as error:
        raise _unreadable(name, error) from error


def _collect(lazy: pl.LazyFrame, name: str) -> pl.DataFrame:
    pl = _polars()
    try:
        return lazy.collect()
    except (pl.exceptions.PolarsError, OSError) as error:
        raise _unreadable(name, error) from error


def _batches(lazy: pl.LazyFrame, name: str) -> Iterator[pl.DataFrame]:
    pl = _polars()
    try:
        yield from lazy.collect_batches(chunk_size=BLOCK_ROWS, maintain_order=True)
    except (pl.exceptions.PolarsError, OSError) as error:
        raise _unreadable(name, error) from error


def _label_column(
    columns: list[str], label: str | None, name: str, needed: bool, features: set[str] | None = None
) -> str | None:
    """The column with the labels: as named, or numbered from 0, or by one of the usual names."""
    if label is not None:
        if label in columns:
            return label
        try:
            return columns[int(label)]
        except (ValueError, IndexError):
            raise ValueError(f"{name}: there is no column {label!r}; there are {_shown(columns)}") from None
    usual = [column for column in columns if column.lower() in LABEL_NAMES and column not in (features or ())]
    if len(usual) == 1:
        return usual[0]
    if needed:
        raise ValueError(f"{name}: which column holds the labels? Say so with --label; there are {_shown(columns)}")
    return None


def _shown(columns: list[str]) -> str:
    return ", ".join(columns[:20]) + (f" and {len(columns) - 20} more" if len(columns) > 20 else "")


def _columns_of(features: pl.DataFrame, name: str, one_hot: bool) -> Columns:
    pl = _polars()
    columns: Columns = []
    for column in features.get_columns():
        if column.dtype.is_numeric() or column.dtype == pl.Boolean:
            columns.append([column.name, None])
        elif column.dtype in (pl.String, pl.Categorical, pl.Enum) and one_hot:
            categories = column.drop_nulls().cast(pl.String).unique().sort().to_list()
            columns.append([column.name, categories])
        elif column.dtype in (pl.String, pl.Categorical, pl.Enum):
            example = column.drop_nulls().cast(pl.String).head(1).to_list()
            raise ValueError(
                f"{name}: the column {column.name!r} holds text{f' ({example[0][:40]!r})' if example else ''}, and an "
                "SVM needs numbers; leave it out, or use --one-hot for one feature per category"
            )
        else:
            raise ValueError(f"{name}: the column {column.name!r} holds {column.dtype}, and an SVM needs numbers")
    return columns


def _features(
    features: pl.DataFrame, columns: Columns, name: str, options: ReadOptions, first_row: int
) -> tuple[Any, int]:
    """The rows as numbers, and how many cells had a category that the model does not know."""
    pl = _polars()
    dtype = np.dtype(np.float64 if options.dtype is None else options.dtype)
    rows, width = features.height, len(columns)
    values = np.empty((rows, width), dtype=dtype)
    indices = np.empty((rows, width), dtype=np.int64)
    start = dropped = 0
    for position, (column, (_, categories)) in enumerate(zip(features.get_columns(), columns, strict=True)):
        nulls = column.is_null()
        if nulls.any():
            raise ValueError(
                f"{name}: the column {column.name!r} has no value in row {first_row + int(nulls.arg_max() or 0) + 1}"
                + (f" and {nulls.sum() - 1} more" if nulls.sum() > 1 else "")
                + "; fill in the gaps or leave these rows out"
            )
        if categories is None:
            if not (column.dtype.is_numeric() or column.dtype == pl.Boolean):
                raise ValueError(
                    f"{name}: the column {column.name!r} holds {column.dtype}, but the model needs numbers"
                )
            numbers = column.cast(pl.Float64).to_numpy()
            if not np.all(np.isfinite(numbers)):
                bad = first_row + int(np.argmin(np.isfinite(numbers))) + 1
                raise ValueError(f"{name}: the column {column.name!r} is not finite in row {bad}")
            values[:, position] = numbers
            indices[:, position] = start
            start += 1
        else:
            codes = {category: code for code, category in enumerate(categories)}
            found = np.array([codes.get(text, -1) for text in column.cast(pl.String).to_list()], dtype=np.int64)
            values[:, position] = found >= 0
            indices[:, position] = start + np.maximum(found, 0)
            dropped += int((found < 0).sum())
            start += len(categories)
    if all(categories is None for _, categories in columns):
        return values, dropped
    return Csr(values.ravel(), indices.ravel(), np.arange(0, rows * width + 1, width), (rows, start)), dropped


def _labels(column: pl.Series, name: str, first_row: int) -> NDArray[Any]:
    pl = _polars()
    nulls = column.is_null()
    if nulls.any():
        raise ValueError(
            f"{name}: the label {column.name!r} is missing in row {first_row + int(nulls.arg_max() or 0) + 1}"
        )
    if column.dtype.is_float():
        numbers = column.cast(pl.Float64).to_numpy()
        if not np.all(np.isfinite(numbers)):
            raise ValueError(f"{name}: the label {column.name!r} is not finite in some rows")
        return np.asarray(numbers)
    if column.dtype.is_integer():
        return np.asarray(column.cast(pl.Int64).to_numpy())
    if column.dtype == pl.Boolean:
        return np.asarray(column.to_numpy())
    if column.dtype in (pl.String, pl.Categorical, pl.Enum):
        return np.array(column.cast(pl.String).to_list())
    raise ValueError(f"{name}: labels must be numbers or text, but the column {column.name!r} holds {column.dtype}")
