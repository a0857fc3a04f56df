"""CSV and Parquet by way of polars (the extra ``[table]``): one column holds the labels, the others are features.

Columns of text are refused, or turned into one feature per category if asked to; the model remembers the categories.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from maxmargin.io.data import Data, ReadOptions
from maxmargin.io.files import PathLike, clear_read_errors, decompressed, line_blocks
from maxmargin.models.model import Model
from maxmargin.problems.csr import Csr

if TYPE_CHECKING:
    import polars as pl

#: Names that say that a column holds the labels.
LABEL_NAMES = ("label", "target", "class", "y")
BLOCK_ROWS = 1 << 16
BLOCK_BYTES = 1 << 24
SEPARATORS = {"csv": ",", "tsv": "\t"}
#: Cells that stand for no value, beside empty ones.
MISSING = ("NA", "N/A", "null", "NULL")

#: A column and what becomes of it: itself (None), or one feature per category.
Columns = list[list[Any]]


def read_table(path: PathLike, format_: str, options: ReadOptions, *, need_labels: bool = True) -> Data:
    """A whole table."""
    name = os.fspath(path)
    header = options.header is not False
    with polars_errors(name):
        frame = _read_csv(name, format_, header) if format_ in SEPARATORS else _polars().read_parquet(name, glob=False)
        label = _label_column(frame.columns, options.label, name, need_labels)
        features = frame.drop(label) if label is not None else frame
        if features.width == 0 or frame.height == 0:
            raise ValueError(f"{name}: the table has {frame.height} rows and {features.width} columns of features")
        columns = _columns_of(features, name, options.one_hot)
        X, _ = _features(features, columns, name, options, first_row=0)
        y = None
        if label is not None:
            y, known = _labels(frame[label], name)
            if not known.all():
                raise ValueError(f"{name}: the label {label!r} is missing in row {int(np.argmin(known)) + 1}")
    source = {"label": label, "columns": columns, **({} if header else {"header": False})}
    return Data(X, y, feature_names=names_of(columns), source=source)


def iter_table(path: PathLike, format_: str, model: Model, options: ReadOptions) -> Iterator[Data]:
    """A table in blocks, with the columns the model was trained on, in its order."""
    name = os.fspath(path)
    columns: Columns | None = model.source.get("columns")
    if columns is None and model.feature_names is not None:
        columns = [[column, None] for column in model.feature_names]
    texts = {column for column, categories in columns or [] if categories is not None}
    if model.classes.dtype.kind in "UO" and model.source.get("label") is not None:
        texts.add(model.source["label"])  # labels that look like numbers in this file are texts all the same
    header = model.source.get("header", True) if options.header is None else options.header
    first_row = 0
    label: str | None = None
    with polars_errors(name):
        frames = _iter_csv(name, format_, header, texts) if format_ in SEPARATORS else _iter_parquet(name)
        for frame in frames:
            if first_row == 0:
                label = _label_to_compare(frame.columns, model, options, columns, name)
                columns = _columns_to_use(frame.columns, label, model, columns, name)
            assert columns is not None
            features = frame.select([column for column, _ in columns])
            X, dropped = _features(features, columns, name, options, first_row)
            y, known = (None, None) if label is None else _labels(frame[label], name)
            first_row += frame.height
            yield Data(X, y, dropped=dropped, known=known)


def _label_to_compare(
    present: list[str], model: Model, options: ReadOptions, columns: Columns | None, name: str
) -> str | None:
    """The column with the true labels, if there is one: as asked for, as in training, or by a usual name."""
    label = options.label
    if label is None and model.source.get("label") in present:
        label = model.source["label"]
    return _label_column(present, label, name, False, {column for column, _ in columns or []})


def _columns_to_use(present: list[str], label: str | None, model: Model, columns: Columns | None, name: str) -> Columns:
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
    return columns


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


@contextmanager
def polars_errors(name: str) -> Iterator[None]:
    """Turn what polars raises into a ``ValueError`` with the name of the file."""
    pl = _polars()
    try:
        yield
    except pl.exceptions.PolarsError as error:
        raise ValueError(f"{name}: the table cannot be read ({str(error).splitlines()[0][:300]})") from error


def _csv(text: bytes, format_: str, names: list[str] | None, kinds: dict[str, Any] | None) -> pl.DataFrame:
    """Lines of CSV as a table; the first one holds the names unless they are given."""
    frame: pl.DataFrame = _polars().read_csv(
        text,
        separator=SEPARATORS[format_],
        has_header=names is None,
        new_columns=names,
        infer_schema_length=None,
        schema_overrides=kinds or None,
        null_values=list(MISSING),
    )
    return frame


def _names(text: bytes, format_: str, header: bool, name: str) -> list[str]:
    """The names of the columns: in the first line, or their numbers."""
    frame = _polars().read_csv(text, separator=SEPARATORS[format_], has_header=False, infer_schema=False, n_rows=1)
    if not header:
        return [str(k) for k in range(frame.width)]
    names = ["" if cell is None else str(cell) for cell in frame.row(0)] if frame.height else []
    if names and all(_is_number(cell) for cell in names):
        raise ValueError(
            f"{name}: the first line holds numbers ({', '.join(names[:3])}, ...), not names; say --no-header "
            "if there are no names"
        )
    if len(set(names)) < len(names):
        twice = next(cell for k, cell in enumerate(names) if cell in names[:k])
        raise ValueError(f"{name}: there are several columns named {twice!r}")
    return names


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _read_csv(name: str, format_: str, header: bool) -> pl.DataFrame:
    with open(name, "rb") as file, clear_read_errors(name):
        text = decompressed(file).read()
    names = _names(text, format_, header, name)
    return _csv(text, format_, None if header else names, None)


def _iter_csv(name: str, format_: str, header: bool, texts: set[str]) -> Iterator[pl.DataFrame]:
    """A CSV file in blocks of lines, each with types of its own: numbers become floats in the end."""
    pl = _polars()
    names: list[str] | None = None
    with open(name, "rb") as file, clear_read_errors(name):
        for block in _csv_blocks(decompressed(file)):
            text = block
            if names is None:
                names = _names(text, format_, header, name)
                if header:
                    text = text[_end_of_record(text) :]
            if text.strip():
                kinds = {column: pl.String for column in texts if column in names}
                yield _csv(text, format_, names, kinds)


def _end_of_record(text: bytes) -> int:
    """Where the first record ends: a line end inside quotes does not end it."""
    end = 0
    while True:
        end = text.find(b"\n", end) + 1
        if end == 0:
            return len(text)
        if text.count(b'"', 0, end) % 2 == 0:
            return end


def _csv_blocks(file: Any) -> Iterator[bytes]:
    """Blocks of lines that do not end inside quotes, where a line end is part of a cell."""
    pieces: list[bytes] = []
    quotes = 0
    for block in line_blocks(file, BLOCK_BYTES):
        pieces.append(block)
        quotes += block.count(b'"')
        if quotes % 2 == 0:
            yield b"".join(pieces)
            pieces = []
    if pieces:
        yield b"".join(pieces)


def _iter_parquet(name: str) -> Iterator[pl.DataFrame]:
    pl = _polars()
    with open(name, "rb"):
        pass  # a missing file gets the usual error, not polars' own
    lazy = pl.scan_parquet(name, glob=False)
    rows = lazy.select(pl.len()).collect().item()
    for begin in range(0, rows, BLOCK_ROWS):
        yield lazy.slice(begin, BLOCK_ROWS).collect()


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
    indices = np.empty((rows, width), dtype=np.int32)
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
    return Csr(
        values.ravel(),
        indices.ravel(),
        np.arange(0, rows * width + 1, width, dtype=_pointer(rows * width)),
        (rows, start),
    ), dropped


def _pointer(values: int) -> Any:
    return np.int32 if values <= np.iinfo(np.int32).max else np.int64


def _labels(column: pl.Series, name: str) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """The labels, and which of them are there; the others are anything."""
    pl = _polars()
    known = column.is_not_null().to_numpy()
    if column.dtype in (pl.String, pl.Categorical, pl.Enum):
        return np.array(column.cast(pl.String).fill_null("").to_list(), dtype=str), known
    if column.dtype == pl.Boolean:
        return np.asarray(column.fill_null(False).to_numpy()), known
    if column.dtype.is_float():
        numbers = column.cast(pl.Float64).fill_null(0.0).to_numpy()
        if not np.all(np.isfinite(numbers)):
            raise ValueError(f"{name}: the label {column.name!r} is not finite in some rows")
        return np.asarray(numbers), known
    if column.dtype.is_integer():
        return np.asarray(column.fill_null(0).cast(pl.Int64).to_numpy()), known
    if column.dtype == pl.Null:
        return np.zeros(len(column)), known
    raise ValueError(f"{name}: labels must be numbers or text, but the column {column.name!r} holds {column.dtype}")
