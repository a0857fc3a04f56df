"""Any data file as rows and labels, by its suffix: svmlight, .npz, .npy, CSV, Parquet; and folders of blocks.

`read_data` reads a file to train on; `iter_data` reads a file to predict in blocks of rows, the way the model's own
training data were read.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from maxmargin.io.files import MAGIC, PathLike, plain_suffix
from maxmargin.models.model import Model

#: Format by suffix; everything else is svmlight.
SUFFIXES = {
    ".npz": "npz",
    ".npy": "npy",
    ".csv": "csv",
    ".tsv": "tsv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".blocks": "blocks",
}
FORMATS = ("svmlight", "npz", "npy", "csv", "tsv", "parquet", "blocks")


@dataclass(frozen=True)
class Data:
    """Rows and labels of a file, or of one block of it.

    Attributes
    ----------
    X : ndarray or Csr
        The rows.
    y : ndarray or None
        The labels, if there are any; a list of tuples where rows have any number of them.
    feature_names : list of str or None
        Names of the columns.
    source : dict
        How the file was read; goes into the model (see ``Model.source``).
    done : float or None
        Share of the file read so far, where it is known.
    dropped : int
        Values left out because the model does not know their feature or category.
    known : ndarray of bool or None
        Which rows have a label, where some of a file to predict have none.
    qid : ndarray or None
        The query (group) of each row, if there are any.
    """

    X: Any
    y: NDArray[Any] | None
    feature_names: list[str] | None = None
    source: dict[str, Any] = field(default_factory=dict)
    done: float | None = None
    dropped: int = 0
    known: NDArray[np.bool_] | None = None
    qid: NDArray[Any] | None = None


@dataclass(frozen=True)
class ReadOptions:
    """How to read a file; what does not apply to its format must be left alone.

    Attributes
    ----------
    format : str or None
        One of `FORMATS`; by default the suffix decides.
    dtype : dtype or None
        float32 or float64. By default svmlight and tables become float64, and float arrays stay as they are.
    zero_based : bool or "auto" or None
        For svmlight.
    n_features : int or None
        For svmlight.
    max_errors : int
        For svmlight: how many bad lines to list.
    label : str or None
        For tables and .npy: name or number of the column with the labels.
    labels : path or None
        For .npy and .npz: a file with the labels.
    one_hot : bool
        For tables: turn columns of text into one feature per category.
    header : bool or None
        For CSV and TSV: whether the first line holds the names of the columns.
    n_jobs : int or None
        Threads, for svmlight.
    multilabel : bool
        For svmlight: rows have any number of labels; ``Data.y`` is then a list of tuples.
    memory : int, str or None
        For blocks: the memory limit.
    """

    format: str | None = None
    dtype: DTypeLike | None = None
    zero_based: bool | str | None = None
    n_features: int | None = None
    max_errors: int = 1
    label: str | None = None
    labels: PathLike | None = None
    one_hot: bool = False
    header: bool | None = None
    n_jobs: int | None = None
    multilabel: bool = False
    memory: int | str | None = None

    def format_of(self, path: PathLike | Any) -> str:
        """The format of a file, with an error for options that it cannot honour."""
        known = self.format or ("svmlight" if hasattr(path, "read") else SUFFIXES.get(plain_suffix(path), "svmlight"))
        if known not in FORMATS:
            raise ValueError(f"format {known!r} is unknown; choose from {', '.join(FORMATS)}")
        if hasattr(path, "read"):
            if known != "svmlight":
                raise ValueError(f"standard input is read as svmlight only, not as {known}")
        elif known in ("npz", "npy", "parquet") and os.path.splitext(path)[1].lower() in MAGIC:
            raise ValueError(f"{path}: unpack it first; only text files are read packed")
        given = {
            "zero_based": self.zero_based is not None,
            "n_features": self.n_features is not None,
            "max_errors": self.max_errors != 1,
            "label": self.label is not None,
            "labels": self.labels is not None,
            "one_hot": self.one_hot,
            "header": self.header is not None,
            "multilabel": self.multilabel,
            "memory": self.memory is not None,
        }
        works = {
            "svmlight": {"zero_based", "n_features", "max_errors", "multilabel"},
            "npz": {"labels"},
            "npy": {"label", "labels"},
            "parquet": {"label", "one_hot"},
            "blocks": {"memory"},
        }.get(known, {"label", "one_hot", "header"})
        if known == "blocks" and self.dtype is not None:
            raise ValueError("--dtype does not apply to blocks data, which have the type that they were written with")
        for option, is_given in given.items():
            if is_given and option not in works:
                words = {"header": "--no-header"}.get(option, f"--{option.replace('_', '-')}")
                if option == "memory":
                    raise ValueError(f"{words} applies to folders of blocks, not to {path}; see  maxmargin convert")
                raise ValueError(f"{words} does not apply to {known} data")
        return known


def read_data(
    path: PathLike | Any,
    options: ReadOptions | None = None,
    *,
    need_labels: bool = True,
    with_qid: bool = False,
    progress: Callable[[float | None], object] | None = None,
) -> Data:
    r"""Rows and labels of a whole file.

    Parameters
    ----------
    path : path or binary stream
        The file. Streams are svmlight.
    options : ReadOptions
        How to read it.
    need_labels : bool, default=True
        Whether a file without labels is an error.
    with_qid : bool, default=False
        Whether to keep the query numbers of svmlight files that have them.
    progress : callable, optional
        Called now and then while text in svmlight format is read, with the share that is done, or None where that is
        not known.

    Examples
    --------
    >>> import io
    >>> from maxmargin.io.data import read_data
    >>> read_data(io.BytesIO(b"1 1:2 2:3\n-1 2:1\n")).X.shape
    (2, 2)
    """
    options = options or ReadOptions()
    known = options.format_of(path)
    if known == "svmlight":
        from maxmargin.io.svmlight import read_svmlight

        parsed = read_svmlight(
            path,
            qid=None if with_qid else False,
            dtype=np.float64 if options.dtype is None else options.dtype,
            n_features=options.n_features,
            zero_based="auto" if options.zero_based is None else options.zero_based,
            max_errors=options.max_errors,
            multilabel=options.multilabel,
            n_jobs=options.n_jobs,
            progress=progress,
        )
        return Data(parsed.X, parsed.y, source={"zero_based": parsed.zero_based}, qid=parsed.qid)
    if known == "blocks":
        return _read_blocks(path, options, need_labels)
    if known in ("npz", "npy"):
        from maxmargin.io.arrays import read_npy, read_npz

        data = (read_npz if known == "npz" else read_npy)(path, options)
        if data.y is None and need_labels:
            raise ValueError(
                f"{path}: there are no labels; "
                + ("store them as 'y', or give a file" if known == "npz" else "give the column (--label) or a file")
                + " with --labels"
            )
        return data
    from maxmargin.io.tables import read_table

    return read_table(path, known, options, need_labels=need_labels)


def iter_data(path: PathLike | Any, model: Model, options: ReadOptions) -> Iterator[Data]:
    """Blocks of rows of a file to predict, with the features the model knows."""
    known = options.format_of(path)
    features = model.coef.shape[1]
    if known == "svmlight":
        yield from _iter_svmlight(path, model, options)
    elif known == "npz":
        from maxmargin.io.arrays import read_npz

        data = read_npz(path, options)
        if hasattr(data.X, "indptr"):
            X, dropped = data.X.with_columns(features)
            yield replace(data, X=X, dropped=dropped)
        elif data.X.shape[1] != features:
            raise ValueError(f"{path}: the data have {data.X.shape[1]} features, the model {features}")
        else:
            yield data
    elif known == "blocks":
        from maxmargin.io.blocks import Blocks

        blocks = Blocks(path)
        for block in blocks.blocks(ahead=2):
            X, dropped = block.X.with_columns(features)
            done = (block.begin + X.shape[0]) / blocks.shape[0]
            yield Data(X, block.y, done=done, dropped=dropped, qid=block.qid)
    elif known == "npy":
        from maxmargin.io.arrays import iter_npy

        yield from iter_npy(path, model, options)
    else:
        from maxmargin.io.tables import iter_table

        yield from iter_table(path, known, model, options)


def _read_blocks(path: Any, options: ReadOptions, need_labels: bool) -> Data:
    """All rows of a folder of blocks, if they fit within the memory limit."""
    from maxmargin.io.blocks import Blocks
    from maxmargin.problems.csr import Csr

    blocks = Blocks(path, options.memory)
    if need_labels and not blocks.has_labels:
        raise ValueError(f"{path}: there are no labels")
    if blocks.manifest["weights"]:
        raise ValueError(f"{path} has weights of rows, which only 'train' and the estimators of Python take")
    if not blocks.fits:
        raise ValueError(
            f"{path} has {blocks.nbytes / 2**20:,.0f} MB of rows, which do not fit within the memory limit; 'train', "
            "'predict' and the estimators of Python take data of any size"
        )
    X = blocks.load()
    rows = Csr(X.data, X.indices, X.indptr, blocks.shape)
    return Data(rows, blocks.y, blocks.feature_names, blocks.source, qid=blocks.qid)


def _iter_svmlight(path: Any, model: Model, options: ReadOptions) -> Iterator[Data]:
    from maxmargin.io.svmlight import iter_svmlight

    zero_based = options.zero_based
    if zero_based is None:
        zero_based = model.source.get("zero_based", False)
    total = 0 if hasattr(path, "read") else os.stat(path).st_size
    compressed = hasattr(path, "read") or plain_suffix(path) != os.path.splitext(path)[1].lower()
    read = 0
    for parsed, size in iter_svmlight(
        path,
        n_features=model.coef.shape[1],
        zero_based=bool(zero_based),
        dtype=np.float64 if options.dtype is None else options.dtype,
        qid=None if model.ranks else False,
        multilabel=model.multilabel is not None,
        n_jobs=options.n_jobs,
    ):
        read += size
        done = None if compressed or total == 0 else min(read / total, 1.0)
        yield Data(parsed.X, parsed.y, done=done, dropped=parsed.dropped, qid=parsed.qid)
