"""svmlight files: ``label [qid:q] index:value index:value ... # comment``, the format of LIBLINEAR and LIBSVM.

Plain files are mapped into memory and parsed by threads straight into CSR; compressed files and pipes come as blocks
of lines.
"""

from __future__ import annotations

import mmap
import os
import stat
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

from maxmargin import _core
from maxmargin.io.files import (
    PathLike,
    check_suffix,
    clear_read_errors,
    decompressed,
    is_stream,
    line_blocks,
)
from maxmargin.problems.csr import Csr
from maxmargin.solvers.threads import count_threads

#: Bytes of text per block where a file is not mapped whole.
BLOCK = 1 << 25


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
    qid: bool | None
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
    qid: bool | None = False,
    multilabel: bool = False,
    max_errors: int = 1,
    n_jobs: int | None = None,
    progress: Callable[[float | None], object] | None = None,
) -> Parsed:
    """`load_svmlight` without scipy: the rows as `Csr`, and whether the text was zero-based.

    ``qid=None`` returns the query numbers if there are any; then every row must have one. ``progress`` is called now
    and then with the share that has been read, or with None where that is not known.
    """
    if not isinstance(zero_based, str):
        zero_based = bool(zero_based)
    options = _check(dtype, n_features, zero_based, qid, multilabel, max_errors, n_jobs)
    # With "auto" the base is known only in the end: let the larger one pass here and look again below.
    limit = None if n_features is None else n_features - (zero_based is True)
    allow_zero = zero_based is not False
    base = 0 if zero_based is True else 1
    name = _name(path_or_file)
    results = [
        _parse(text, name, first_line, options, limit, allow_zero, base, progress=progress if whole else None)
        for text, first_line, whole in _texts(path_or_file, name, None, progress)
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
            if result["largest"] > np.iinfo(result["indices"].dtype).max:
                result["indices"] = result["indices"].astype(np.int64)
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
        None if qid is False else _query_numbers(results, name),
        based,
        0,
    )


def iter_svmlight(
    path_or_file: PathLike | Any,
    *,
    n_features: int,
    zero_based: bool,
    dtype: DTypeLike,
    qid: bool | None = False,
    multilabel: bool = False,
    n_jobs: int | None = None,
    block: int = BLOCK,
) -> Iterator[tuple[Parsed, int]]:
    """Blocks of rows of a file that may be larger than memory, each with the bytes of text it took.

    Values of features beyond ``n_features`` are left out and counted in ``dropped``.
    """
    options = _check(dtype, n_features, zero_based, qid, multilabel, 1, n_jobs)
    name = _name(path_or_file)
    limit = n_features - (zero_based is True)
    for text, first_line, _ in _texts(path_or_file, name, block):
        result = _parse(text, name, first_line, options, limit, zero_based, int(not zero_based), drop_larger=True)
        X = Csr(result["data"], result["indices"], result["indptr"], (len(result["indptr"]) - 1, n_features))
        numbers = None if qid is False else _query_numbers([result], name)
        y: Any = list(_label_tuples(result)) if multilabel else result["labels"]
        yield Parsed(X, y, numbers, zero_based, result["dropped"]), len(text)


def iter_text_blocks(
    path: PathLike,
    *,
    dtype: DTypeLike,
    n_features: int | None,
    zero_based: bool | str,
    max_errors: int = 1,
    n_jobs: int | None = None,
    skip: int = 0,
    block: int = BLOCK,
) -> Iterator[tuple[Parsed | None, int, int | None]]:
    """Blocks of rows of a file of which neither the number of features nor the base need be known.

    Each comes with the bytes of text it took, and with the smallest index in it (None without any). With
    ``zero_based="auto"`` text is taken for one-based, so that an index 0 becomes -1. The first ``skip`` blocks are not
    parsed and come as None. The number of columns is that of the block alone, unless it is given.
    """
    options = _check(dtype, n_features, zero_based, None, False, max_errors, n_jobs)
    name = _name(path)
    limit = None if n_features is None else n_features - (zero_based is True)
    base = int(zero_based is not True)
    for number, (text, first_line, _) in enumerate(_texts(path, name, block)):
        if number < skip:
            yield None, len(text), None
            continue
        result = _parse(text, name, first_line, options, limit, zero_based is not False, base)
        columns = result["largest"] + 1 - base if n_features is None else n_features
        X = Csr(result["data"], result["indices"], result["indptr"], (len(result["indptr"]) - 1, max(columns, 0)))
        smallest = result["smallest"] if len(result["data"]) else None
        yield Parsed(X, result["labels"], _query_numbers([result], name), base == 0, 0), len(text), smallest


def _check(
    dtype: DTypeLike,
    n_features: int | None,
    zero_based: bool | str,
    qid: bool | None,
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


def _texts(
    source: Any, name: str, block: int | None, progress: Callable[[float | None], object] | None = None
) -> Iterator[tuple[Any, int, bool]]:
    """The text in blocks of whole lines, with the number of the first line of each, and whether it is all there is.

    A plain file is mapped into memory and, without ``block``, comes in one piece. Of others ``progress`` hears between
    two blocks.
    """
    if is_stream(source):
        with clear_read_errors(name):
            for text, line in _stream_blocks(decompressed(source), block or BLOCK):
                if progress is not None:
                    progress(None)
                yield text, line, False
        return
    with open(source, "rb") as file, clear_read_errors(name):
        size = 0
        if stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            size = os.fstat(file.fileno()).st_size
            packed = check_suffix(file.read(8), name)
            file.seek(0)
            if packed is None and size > 0:
                mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
                for text, line in _mapped_blocks(mapped, block):
                    yield text, line, block is None
                return
        for text, line in _stream_blocks(decompressed(file), block or BLOCK):
            if progress is not None:
                progress(file.tell() / size if size else None)
            yield text, line, False


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
    progress: Callable[[float | None], object] | None = None,
) -> dict[str, Any]:
    result = _core.read_svmlight(
        text,
        single=options.dtype == np.float32,
        multilabel=options.multilabel,
        qid=options.qid is not False,
        need_qid=options.qid is True,
        largest_index=limit,
        drop_larger=drop_larger,
        allow_zero=allow_zero,
        base=base,
        max_complaints=options.max_errors,
        threads=options.threads,
        progress=progress,
    )
    if result["complaints"]:
        raise SvmlightError(name, [(line + first_line - 1, *rest) for line, *rest in result["complaints"]])
    return result


def _concatenate(arrays: list[Any], dtype: Any) -> Any:
    if len(arrays) == 1:
        return arrays[0]
    return np.concatenate(arrays) if arrays else np.zeros(0, dtype)


def _query_numbers(results: list[dict[str, Any]], name: str) -> NDArray[np.int64] | None:
    numbers: NDArray[np.int64] = _concatenate([result["qid"] for result in results], np.int64)
    present = numbers >= 0
    if present.all():
        return numbers
    if present.any():
        raise ValueError(f"{name}: some rows have a qid: and others have none")
    return None


def _label_tuples(result: dict[str, Any]) -> Iterator[tuple[float, ...]]:
    labels, starts = result["labels"].tolist(), result["label_starts"].tolist()
    for begin, end in pairwise(starts):
        yield tuple(labels[begin:end])
