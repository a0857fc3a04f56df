"""svmlight files: ``label [qid:q] index:value index:value ... # comment``, the format of LIBLINEAR and LIBSVM.

Plain files are mapped into memory and parsed by threads straight into CSR; compressed files and pipes come as blocks
of lines.
"""

from __future__ import annotations

import mmap
import os
import stat
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from maxmargin import _core
from maxmargin.csr import Csr
from maxmargin.io.files import (
    PathLike,
    check_suffix,
    clear_read_errors,
    decompressed,
    is_stream,
    line_blocks,
    open_to_write,
)
from maxmargin.losses import Floats
from maxmargin.one_versus_rest import count_threads

#: Bytes of text per block where a file is not mapped whole.
BLOCK = 1 << 25
_WRITE_VALUES = 1 << 20


class SvmlightError(ValueError):
    r"""Lines that are not svmlight; ``complaints`` holds (line, column, message) of each, counted from 1.

    Examples
    --------
    >>> import io
    >>> from maxmargin import load_svmlight
    >>> try:
    ...     load_svmlight(io.BytesIO(b"1 1:0.5\n1 2;3\n"))
    ... except ValueError as error:
    ...     print(error)
    <stream>, line 2, column 3: expected index:value with a whole number as index
      1 2;3
        ^
    """

    def __init__(self, name: str, complaints: list[tuple[int, int, str, str, int]]) -> None:
        self.name = name
        self.complaints = [complaint[:3] for complaint in complaints]
        super().__init__(
            "\n".join(
                f"{name}, line {line}, column {column}: {message}\n  {excerpt}\n  {' ' * caret}^"
                for line, column, message, excerpt, caret in complaints
            )
        )


class Parsed(NamedTuple):
    """One parsed text, or one block of it. Indices are zero-based."""

    X: Csr
    y: Any
    qid: NDArray[np.int64] | None
    zero_based: bool
    dropped: int


class _Options(NamedTuple):
    dtype: np.dtype[Any]
    qid: bool
    multilabel: bool
    max_errors: int
    threads: int


def load_svmlight(
    path_or_file: PathLike | Any,
    *,
    dtype: DTypeLike = np.float64,
    n_features: int | None = None,
    zero_based: bool | str = "auto",
    qid: bool = False,
    multilabel: bool = False,
    max_errors: int = 1,
    n_jobs: int | None = None,
) -> tuple[Any, ...]:
    r"""Read a file in svmlight format (that of LIBLINEAR) into a CSR matrix and labels.

    Comments (``#``), blank lines, either line ending, exponents and real-valued labels are understood; gzip, bzip2, xz
    and zstandard are recognised and unpacked. Every number becomes the double nearest to it.

    Parameters
    ----------
    path_or_file : path or binary file
        Plain files are mapped into memory; compressed files and streams are read in blocks.
    dtype : {numpy.float64, numpy.float32}, default=numpy.float64
        Type of the values. float32 halves the memory of the values and speeds up training.
    n_features : int, optional
        Number of columns; by default the largest index decides. A larger index is an error.
    zero_based : bool or "auto", default="auto"
        Whether the first column is 0 or 1 in the file. "auto" means one-based unless an index 0 appears.
    qid : bool, default=False
        Return the query numbers too. They are skipped otherwise.
    multilabel : bool, default=False
        Lines have any number of labels separated by commas; the labels are returned as a list of tuples.
    max_errors : int, default=1
        The error raised for bad lines lists up to this many of them.
    n_jobs : int, default=None
        Threads; None means 1, -1 all processors.

    Returns
    -------
    X : scipy.sparse.csr_matrix
        The rows.
    y : ndarray or list of tuples
        Labels, float64.
    qid : ndarray of int64
        Only with ``qid=True``.

    Raises
    ------
    ValueError
        A line that is not svmlight; the message has file, line, column and the text.

    Examples
    --------
    >>> import io
    >>> from maxmargin import load_svmlight
    >>> X, y = load_svmlight(io.BytesIO(b"+1 1:0.5 3:2e-1 # first\n-1 2:1\n"))
    >>> X.toarray()
    array([[0.5, 0. , 0.2],
           [0. , 1. , 0. ]])
    >>> y
    array([ 1., -1.])
    """
    parsed = read_svmlight(
        path_or_file,
        dtype=dtype,
        n_features=n_features,
        zero_based=zero_based,
        qid=qid,
        multilabel=multilabel,
        max_errors=max_errors,
        n_jobs=n_jobs,
    )
    from scipy.sparse import csr_matrix

    X = csr_matrix((parsed.X.data, parsed.X.indices, parsed.X.indptr), shape=parsed.X.shape)
    return (X, parsed.y, parsed.qid) if qid else (X, parsed.y)


def read_svmlight(
    path_or_file: PathLike | Any,
    *,
    dtype: DTypeLike = np.float64,
    n_features: int | None = None,
    zero_based: bool | str = "auto",
    qid: bool = False,
    multilabel: bool = False,
    max_errors: int = 1,
    n_jobs: int | None = None,
) -> Parsed:
    """`load_svmlight` without scipy: the rows as `Csr`, and whether the text was zero-based."""
    options = _check(dtype, n_features, zero_based, qid, multilabel, max_errors, n_jobs)
    # With "auto" the base is known only in the end: let the larger one pass here and look again below.
    limit = None if n_features is None else n_features - (zero_based is True)
    allow_zero = zero_based is not False
    base = 0 if zero_based is True else 1
    name = _name(path_or_file)
    results = [
        _parse(text, name, first_line, options, limit, allow_zero, base)
        for text, first_line in _texts(path_or_file, name, None)
    ]
    found_zero = any(result["smallest"] == 0 for result in results)
    based = found_zero if zero_based == "auto" else bool(zero_based)
    largest = max((result["largest"] for result in results), default=-1) - (not based)
    if n_features is not None and largest >= n_features:
        raise ValueError(
            f"{name}: the file is zero-based (index 0 appears) and its largest index is {largest}, so it has at least "
            f"{largest + 1} features, not {n_features}"
        )
    columns = max(largest + 1, 0) if n_features is None else n_features
    if based and base == 1:  # taken for one-based until a 0 appeared
        for result in results:
            result["indices"] += 1
    if options.multilabel:
        y: Any = [labels for result in results for labels in _label_tuples(result)]
    else:
        y = _concatenate([result["labels"] for result in results], np.float64)
    starts, total = [np.zeros(1, np.int64)], 0
    for result in results:
        starts.append(result["indptr"][1:] + total if total else result["indptr"][1:])
        total += len(result["data"])
    indptr = results[0]["indptr"] if len(results) == 1 else np.concatenate(starts)
    indices = _concatenate([result["indices"] for result in results], np.int32)
    # scipy wants both index arrays alike, and would copy the larger of the two to get there
    if total <= np.iinfo(np.int32).max and indices.dtype == np.int32:
        indptr = indptr.astype(np.int32)
    return Parsed(
        Csr(
            _concatenate([result["data"] for result in results], options.dtype),
            indices,
            indptr,
            (len(indptr) - 1, columns),
        ),
        y,
        _concatenate([result["qid"] for result in results], np.int64) if qid else None,
        based,
        0,
    )


def has_qid(path_or_file: PathLike | Any) -> bool:
    """Whether the first row of a file has a query number; false for streams, which could not be read again."""
    if is_stream(path_or_file) or not os.path.isfile(path_or_file):
        return False
    for text, _ in _texts(path_or_file, _name(path_or_file), 1 << 16):
        for line in bytes(text).splitlines():
            words = line.partition(b"#")[0].split(maxsplit=2)
            if words:
                return any(word.startswith(b"qid:") for word in words[:2])
    return False


def iter_svmlight(
    path_or_file: PathLike | Any,
    *,
    n_features: int,
    zero_based: bool,
    dtype: DTypeLike,
    n_jobs: int | None = None,
    block: int = BLOCK,
) -> Iterator[tuple[Parsed, int]]:
    """Blocks of rows of a file that may be larger than memory, each with the bytes of text it took.

    Values of features beyond ``n_features`` are left out and counted in ``dropped``.
    """
    options = _check(dtype, n_features, zero_based, False, False, 1, n_jobs)
    name = _name(path_or_file)
    limit = n_features - (zero_based is True)
    for text, first_line in _texts(path_or_file, name, block):
        result = _parse(text, name, first_line, options, limit, zero_based, int(not zero_based), drop_larger=True)
        X = Csr(result["data"], result["indices"], result["indptr"], (len(result["indptr"]) - 1, n_features))
        yield Parsed(X, result["labels"], None, zero_based, result["dropped"]), len(text)


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
    rows = _rows_to_write(X)
    size = rows.shape[0]
    labels, label_starts = _labels_to_write(y, size, multilabel)
    if label_starts is not None:
        bare = np.flatnonzero((np.diff(label_starts) == 0) & (np.diff(rows.indptr) == 0))
        if bare.size:
            raise ValueError(f"row {bare[0]} has neither labels nor features, which would be a blank line")
    queries = None
    if qid is not None:
        queries = np.ascontiguousarray(qid)
        if queries.shape != (size,) or queries.dtype.kind not in "iu" or np.any(queries < 0):
            raise ValueError(f"qid must hold {size} whole numbers that are not negative, one per row of X")
        queries = queries.astype(np.int64, copy=False)
    if is_stream(path_or_file):
        _write_rows(path_or_file, rows, labels, label_starts, queries, zero_based, comment)
        return
    with open_to_write(path_or_file) as file:
        _write_rows(file, rows, labels, label_starts, queries, zero_based, comment)


def _check(
    dtype: DTypeLike,
    n_features: int | None,
    zero_based: bool | str,
    qid: bool,
    multilabel: bool,
    max_errors: int,
    n_jobs: int | None,
) -> _Options:
    kind = np.dtype(dtype)
    if kind not in (np.float32, np.float64):
        raise ValueError(f"dtype must be float32 or float64, not {kind}")
    if n_features is not None and n_features < 1:
        raise ValueError(f"n_features must be at least 1, not {n_features}")
    if zero_based not in (True, False, "auto"):
        raise ValueError(f"zero_based must be True, False or 'auto', not {zero_based!r}")
    if max_errors < 1:
        raise ValueError(f"max_errors must be at least 1, not {max_errors}")
    return _Options(kind, qid, multilabel, max_errors, count_threads(n_jobs))


def _name(source: Any) -> str:
    if not is_stream(source):
        return str(os.fspath(source))
    name = getattr(source, "name", None)
    return name if isinstance(name, str) else "<stream>"


def _texts(source: Any, name: str, block: int | None) -> Iterator[tuple[Any, int]]:
    """The text in blocks of whole lines, with the number of the first line of each.

    A plain file is mapped into memory and, without ``block``, comes in one piece.
    """
    if is_stream(source):
        with clear_read_errors(name):
            yield from _stream_blocks(decompressed(source), block or BLOCK)
        return
    with open(source, "rb") as file, clear_read_errors(name):
        if stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            packed = check_suffix(file.read(8), name)
            file.seek(0)
            if packed is None and os.fstat(file.fileno()).st_size > 0:
                yield from _mapped_blocks(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ), block)
                return
        yield from _stream_blocks(decompressed(file), block or BLOCK)


def _mapped_blocks(mapped: mmap.mmap, block: int | None) -> Iterator[tuple[Any, int]]:
    text = np.frombuffer(mapped, dtype=np.uint8)  # keeps the map alive
    begin, line = 0, 1
    while begin < len(text):
        end = len(text)
        if block is not None and begin + block < end:
            end = mapped.rfind(b"\n", begin, begin + block) + 1
            if end == 0:  # a line longer than a block
                end = mapped.find(b"\n", begin) + 1 or len(text)
        yield text[begin:end], line
        if end < len(text):
            line += int(np.count_nonzero(text[begin:end] == ord("\n")))
        begin = end


def _stream_blocks(file: Any, block: int) -> Iterator[tuple[Any, int]]:
    line = 1
    for text in line_blocks(file, block):
        yield np.frombuffer(text, dtype=np.uint8), line
        line += text.count(b"\n")


def _parse(
    text: Any,
    name: str,
    first_line: int,
    options: _Options,
    limit: int | None,
    allow_zero: bool,
    base: int,
    drop_larger: bool = False,
) -> dict[str, Any]:
    result = _core.read_svmlight(
        text,
        single=options.dtype == np.float32,
        multilabel=options.multilabel,
        qid=options.qid,
        largest_index=limit,
        drop_larger=drop_larger,
        allow_zero=allow_zero,
        base=base,
        max_complaints=options.max_errors,
        threads=options.threads,
    )
    if result["complaints"]:
        raise SvmlightError(name, [(line + first_line - 1, *rest) for line, *rest in result["complaints"]])
    return result


def _concatenate(arrays: list[Any], dtype: Any) -> Any:
    if len(arrays) == 1:
        return arrays[0]
    return np.concatenate(arrays) if arrays else np.zeros(0, dtype)


def _label_tuples(result: dict[str, Any]) -> Iterator[tuple[float, ...]]:
    labels, starts = result["labels"].tolist(), result["label_starts"].tolist()
    for begin, end in pairwise(starts):
        yield tuple(labels[begin:end])


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
                rows.indices[first:last],
                rows.indptr[begin : end + 1] - rows.indptr.dtype.type(first),
                labels[begin:end] if label_starts is None else labels,
                None if label_starts is None else label_starts[begin : end + 1],
                None if qid is None else qid[begin:end],
                0 if zero_based else 1,
            )
        )
        begin = end
