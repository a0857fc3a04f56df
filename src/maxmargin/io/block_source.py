"""What becomes blocks: files, arrays or an iterator, as chunks of rows with a position from which to go on.

A chunk comes with the number of its file and its own number in it. `chunks(start)` begins again at such a position: of
text files the chunks before it are skipped without being parsed, of iterators they are taken and dropped.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, NamedTuple

import numpy as np

from maxmargin.io.data import Data, ReadOptions, read_data
from maxmargin.io.files import PathLike, is_stream, plain_suffix
from maxmargin.io.svmlight import iter_text_blocks
from maxmargin.problems.csr import Csr

Position = tuple[int, int]


class Chunk(NamedTuple):
    """Rows of a source: CSR, labels, weights and query numbers as they come."""

    X: Csr
    y: Any
    sample_weight: Any
    qid: Any
    position: Position
    name: str
    smallest: int | None = None  # the smallest index in text, where it decides whether text is zero-based
    done: float | None = None  # share of the source
    offset: int = 0  # of its first row within the chunk it was cut from


@dataclass
class Source:
    """A source of chunks: what it is, by a fingerprint, and how it was read."""

    fingerprint: dict[str, Any]
    #: Text, of which the number of features and the base are known in the end only.
    is_text: bool = False

    def __post_init__(self) -> None:
        self.feature_names: list[str] | None = None
        self.read_as: dict[str, Any] = {}

    def chunks(self, start: Position) -> Iterator[Chunk]:
        """The chunks from a position on."""
        raise NotImplementedError


class FileSource(Source):
    """One or several data files. svmlight text is read in pieces; other formats whole, one file at a time."""

    def __init__(self, paths: Sequence[PathLike], options: ReadOptions) -> None:
        if not paths:
            raise ValueError("there are no files to read")
        formats = {options.format_of(path) for path in paths}
        if len(formats) > 1:
            raise ValueError(
                f"the files have different formats ({', '.join(sorted(formats))}); convert them one by one"
            )
        self.options, self.paths = options, [os.fspath(path) for path in paths]
        stats = [os.stat(path) for path in self.paths]
        self.sizes = [info.st_size for info in stats]
        shown = [options.format, str(options.dtype), options.zero_based, options.n_features, options.label]
        files = [
            [os.path.abspath(path), info.st_size, info.st_mtime_ns]
            for path, info in zip(self.paths, stats, strict=True)
        ]
        super().__init__({"files": files, "options": shown}, is_text=formats == {"svmlight"})

    def chunks(self, start: Position) -> Iterator[Chunk]:
        """The chunks from a position on."""
        total, before = max(sum(self.sizes), 1), 0
        for number, path in enumerate(self.paths):
            if number >= start[0]:
                skip = start[1] if number == start[0] else 0
                if self.is_text:
                    yield from self._text(number, path, skip, before, total)
                elif skip == 0:
                    yield self._whole(number, path, (before + self.sizes[number]) / total)
            before += self.sizes[number]

    def _text(self, number: int, path: str, skip: int, before: int, total: int) -> Iterator[Chunk]:
        options, read = self.options, 0
        packed = plain_suffix(path) != os.path.splitext(path)[1].lower()
        for index, (parsed, size, smallest) in enumerate(
            iter_text_blocks(
                path,
                dtype=np.float64 if options.dtype is None else options.dtype,
                n_features=options.n_features,
                zero_based="auto" if options.zero_based is None else options.zero_based,
                max_errors=options.max_errors,
                n_jobs=options.n_jobs,
                skip=skip,
            )
        ):
            read += size
            if parsed is not None:
                done = None if packed else min((before + read) / total, 1.0)
                yield Chunk(parsed.X, parsed.y, None, parsed.qid, (number, index), path, smallest, done)

    def _whole(self, number: int, path: str, done: float) -> Chunk:
        data = read_data(path, self.options, with_qid=True)
        if number == 0:
            self.feature_names, self.read_as = data.feature_names, data.source
        elif data.feature_names != self.feature_names:
            raise ValueError(f"{path} has other columns than {self.paths[0]}")
        return _chunk_of_data(data, (number, 0), path, done)


class ArraySource(Source):
    """``(X, y[, sample_weight][, qid])`` in memory, cut into pieces of rows."""

    def __init__(self, parts: Sequence[Any], piece_bytes: int) -> None:
        self.parts, self.piece_bytes = _four(parts, "source"), piece_bytes
        X = self.parts[0]
        if not hasattr(X, "tocsr") and not isinstance(X, Csr):
            X = np.asarray(X)
            if X.ndim != 2:
                raise ValueError(f"X must have two dimensions, not {X.ndim}")
        elif not isinstance(X, Csr):
            X = X.tocsr()
        self.X = X
        print_ = sha256()
        values = X if isinstance(X, np.ndarray) else X.data
        for array in (values, self.parts[1], self.parts[2], self.parts[3]):
            if array is not None:
                flat = np.asarray(array).ravel()
                print_.update(f"{flat.dtype} {len(flat)}".encode())
                step = max(len(flat) // 4096, 1)
                print_.update(flat[::step].astype("U" if flat.dtype == object else flat.dtype).tobytes())
        super().__init__({"array": [*X.shape, print_.hexdigest()]})

    def chunks(self, start: Position) -> Iterator[Chunk]:
        """The chunks from a position on."""
        rows = self.X.shape[0]
        stored = self.X.size if isinstance(self.X, np.ndarray) else len(self.X.data)
        size = max(int(rows * self.piece_bytes / (12.0 * max(stored, 1))), 1)
        for index, begin in enumerate(range(0, rows, size)):
            if index >= start[1]:
                end = min(begin + size, rows)
                y, weight, qid = (None if side is None else np.asarray(side)[begin:end] for side in self.parts[1:])
                X = self.X.rows(begin, end) if isinstance(self.X, Csr) else csr_of(self.X[begin:end])
                yield Chunk(X, y, weight, qid, (0, index), f"rows {begin} to {end - 1}", done=end / rows)


class IteratorSource(Source):
    """An iterator of ``(X, y[, sample_weight][, qid])``."""

    def __init__(self, iterable: Any) -> None:
        self.iterable = iterable
        super().__init__({"iterator": True})

    def chunks(self, start: Position) -> Iterator[Chunk]:  # noqa: ARG002
        """All chunks: what an iterator has given before can only be compared with what it gives now."""
        for index, parts in enumerate(self.iterable):
            X, y, weight, qid = _four(parts, f"chunk {index}")
            yield Chunk(csr_of(X), y, weight, qid, (0, index), f"chunk {index}")


def source_of(source: Any, options: ReadOptions | None, piece_bytes: int) -> Source:
    """What the first argument of ``write_blocks`` stands for."""
    if isinstance(source, (str, os.PathLike)):
        return FileSource([source], options or ReadOptions())
    if is_stream(source):
        raise TypeError("write_blocks takes paths, arrays or iterators; save a stream to a file first")
    if isinstance(source, (list, tuple)) and source and all(isinstance(part, (str, os.PathLike)) for part in source):
        return FileSource(source, options or ReadOptions())
    if options is not None:
        raise ValueError("options of reading apply to files only")
    if isinstance(source, tuple) and len(source) in (2, 3, 4) and hasattr(source[0], "shape"):
        return ArraySource(source, piece_bytes)
    if hasattr(source, "__iter__") and not hasattr(source, "shape"):
        return IteratorSource(source)
    raise TypeError(
        "write_blocks takes a path, a list of paths, a tuple (X, y[, sample_weight][, qid]) or an iterator of such "
        f"tuples, not {type(source).__name__}"
    )


def csr_of(X: Any) -> Csr:
    """Rows of any kind as CSR, in float32 or float64."""
    if isinstance(X, Csr):
        return X
    if hasattr(X, "tocsr"):
        rows = X.tocsr()
        if not rows.has_canonical_format:
            rows = rows.copy()
            rows.sum_duplicates()
        data = rows.data if rows.data.dtype in (np.float32, np.float64) else _floats(rows.data)
        return Csr(data, rows.indices, rows.indptr, (rows.shape[0], rows.shape[1]))
    dense = np.asarray(X)
    if dense.ndim != 2:
        raise ValueError(f"X must have two dimensions, not {dense.ndim}")
    dense = dense if dense.dtype in (np.float32, np.float64) else _floats(dense)
    present = dense != 0
    indptr = np.concatenate([[0], np.cumsum(present.sum(axis=1, dtype=np.int64))])
    columns = np.nonzero(present)[1]
    return Csr(dense[present], columns.astype(np.int32), indptr, (dense.shape[0], dense.shape[1]))


def _floats(values: Any) -> Any:
    if values.dtype.kind not in "iufb":
        try:
            return values.astype(np.float64)
        except (TypeError, ValueError) as error:
            raise ValueError(f"X must hold numbers ({error})") from error
    return values.astype(np.float64)


def _chunk_of_data(data: Data, position: Position, name: str, done: float) -> Chunk:
    return Chunk(csr_of(data.X), data.y, None, data.qid, position, name, done=done)


def _four(parts: Any, name: str) -> tuple[Any, Any, Any, Any]:
    """``(X, y, sample_weight, qid)`` from a tuple of which the last ones may be missing."""
    if not isinstance(parts, (tuple, list)) or not 2 <= len(parts) <= 4:
        raise ValueError(f"{name} must be a tuple (X, y[, sample_weight][, qid]), with None for what is left out")
    X, y, sample_weight, qid = [*parts, None, None][:4]
    return X, y, sample_weight, qid
