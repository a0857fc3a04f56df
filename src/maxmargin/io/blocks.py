"""Data larger than memory: a folder of CSR blocks, each a safetensors file under a checksum, and a manifest in JSON.

Nothing in a folder is ever executed. `open_blocks` looks at the manifest and the sizes of the files; the checksum of a
block is compared when it is first read. Blocks are read ahead by a thread, with positioned reads into memory that is
used where it lies (``block_writer.py`` writes the folders).
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from maxmargin.io.files import PathLike
from maxmargin.io.manifest import BlocksError, classes_of, read_manifest
from maxmargin.io.read_ahead import read_ahead
from maxmargin.problems.csr import Csr
from maxmargin.solvers.memory import free_memory, parse_memory, used_memory

#: The types of arrays, in the words of safetensors and of numpy.
DTYPES = {"F32": "<f4", "F64": "<f8", "I32": "<i4", "I64": "<i8", "BOOL": "|b1"}
#: Up to this share of the memory that is left, the rows are loaded and trained on as usual.
LOADED_SHARE = 0.6
#: The least memory that training works with, whatever the limit is.
LEAST_MEMORY = 16 << 20


class Block(NamedTuple):
    """Some rows of a folder: `Csr` rows, and what belongs to them."""

    X: Csr
    y: NDArray[Any] | None
    sample_weight: NDArray[np.float64] | None
    qid: NDArray[np.int64] | None
    begin: int  # the number of its first row

    @property
    def rows(self) -> range:
        """The numbers of its rows."""
        return range(self.begin, self.begin + self.X.shape[0])


def open_blocks(path: PathLike, memory: int | float | str | None = None) -> Blocks:
    """Open a folder of blocks as data to train on or to predict, of any size.

    Parameters
    ----------
    path : path
        A folder that `write_blocks` or ``maxmargin convert`` has written.
    memory : int or str, optional
        How much memory the process may take in all while it trains on these data: bytes, or text such as "2GB". By
        default, what the machine has free now. Rows that fit are loaded, and training is the ordinary one; else it
        streams over the blocks.

    Returns
    -------
    Blocks
        What every estimator's ``fit``, ``predict`` and ``score`` take as ``X``.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from maxmargin import LinearSVC, open_blocks, write_blocks
    >>> X, y = np.array([[2.0, 0.0], [0.0, 1.0], [-1.0, 0.0]]), np.array([1, 1, 0])
    >>> folder = tempfile.TemporaryDirectory()
    >>> blocks = write_blocks((X, y), folder.name + "/data.blocks")
    >>> LinearSVC().fit(open_blocks(folder.name + "/data.blocks", memory="1GB")).predict(X).tolist()
    [1, 1, 0]
    >>> folder.cleanup()
    """
    return Blocks(path, memory)


class Blocks:
    """Rows in a folder of blocks. See `open_blocks`.

    ``blocks[rows]`` with numbers of rows or a mask is a part of them, without a copy: folds of a cross-validation are
    such parts. ``for X, y, sample_weight, qid in blocks`` iterates over the blocks.

    Attributes
    ----------
    path : str
        The folder.
    shape : tuple of int
        Rows and features.
    n_blocks : int
        The number of blocks.
    classes : ndarray or None
        The different labels in rising order, unless they are too many to be classes.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from maxmargin import write_blocks
    >>> folder = tempfile.TemporaryDirectory()
    >>> blocks = write_blocks((np.eye(4), [0, 1, 1, 0]), folder.name + "/data.blocks")
    >>> blocks.shape, blocks.y.tolist(), blocks[[1, 2]].y.tolist()
    ((4, 4), [0, 1, 1, 0], [1, 1])
    >>> folder.cleanup()
    """

    def __init__(self, path: PathLike, memory: int | float | str | None = None) -> None:
        self.path = os.fspath(path)
        self.memory = None if memory is None else parse_memory(memory)
        self.manifest = read_manifest(self.path)
        self._entries: list[dict[str, Any]] = self.manifest["blocks"]
        self._starts = np.concatenate([[0], np.cumsum([entry["rows"] for entry in self._entries], dtype=np.int64)])
        self._picked: NDArray[np.int64] | None = None
        self._verified: set[int] = set()
        self.n_features: int = self.manifest["n_features"]
        self.n_blocks = len(self._entries)
        self.n_rows = int(self._starts[-1])  # of the whole folder
        self.dtype = np.dtype(self.manifest["dtype"])
        self.feature_names: list[str] | None = self.manifest["feature_names"]
        self.source: dict[str, Any] = self.manifest["source"]
        names = classes_of(self.manifest)
        self._texts = names  # by the numbers that stand for texts
        self.classes: NDArray[Any] | None = None if names is None else np.sort(names)
        for entry in self._entries:
            self._check_size(entry)

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and features."""
        return (int(self._starts[-1]) if self._picked is None else len(self._picked), self.n_features)

    def __len__(self) -> int:
        return self.shape[0]

    def __repr__(self) -> str:
        rows, features = self.shape
        return f"<{rows:,} x {features:,} blocks in {self.path}, {self.nbytes / 2**20:,.1f} MB>"

    @property
    def nbytes(self) -> int:
        """Bytes of the rows in memory, if they were loaded."""
        stored = sum(entry["stored"] for entry in self._entries)
        total = stored * (self.dtype.itemsize + 4) + 40 * int(self._starts[-1])
        return int(total * self.shape[0] / max(int(self._starts[-1]), 1))

    @property
    def largest(self) -> int:
        """Bytes of the largest block."""
        return max((entry["bytes"] for entry in self._entries), default=0)

    @property
    def stored(self) -> int:
        """Stored values; of a part of the rows, about."""
        stored = sum(entry["stored"] for entry in self._entries)
        return int(stored * self.shape[0] / max(int(self._starts[-1]), 1))

    def spare_memory(self) -> int:
        """Bytes that may still be taken: the limit, less what the process has in memory now."""
        spare = 0.8 * free_memory() if self.memory is None else self.memory - used_memory()
        return max(int(spare), LEAST_MEMORY)

    @property
    def fits(self) -> bool:
        """Whether the rows may be loaded within the memory limit."""
        return self.nbytes <= LOADED_SHARE * self.spare_memory()

    @property
    def y(self) -> Any:
        """The labels of all rows; None without labels."""
        return self._column("y", self.manifest["labels"] is not None)

    @property
    def sample_weight(self) -> Any:
        """The weights of all rows; None if there are none."""
        return self._column("sample_weight", self.manifest["weights"])

    @property
    def qid(self) -> Any:
        """The query numbers of all rows; None if there are none."""
        return self._column("qid", self.manifest["qid"])

    @property
    def has_labels(self) -> bool:
        """Whether there are labels."""
        return self.manifest["labels"] is not None

    def load(self) -> Any:
        """All rows as one ``scipy.sparse.csr_array``, whatever the memory limit is."""
        from scipy.sparse import csr_array

        parts = [block.X for block in self.blocks()]
        starts = np.concatenate([[0], np.cumsum([part.indptr[-1] for part in parts])]) if parts else np.zeros(1, int)
        wide = starts[-1] > np.iinfo(np.int32).max or any(part.indices.dtype == np.int64 for part in parts)
        index = np.dtype(np.int64 if wide else np.int32)
        data, indices = np.empty(starts[-1], self.dtype), np.empty(starts[-1], index)
        indptr = np.zeros(self.shape[0] + 1, dtype=index)
        row = 0
        for k, part in enumerate(parts):
            data[starts[k] : starts[k + 1]] = part.data
            indices[starts[k] : starts[k + 1]] = part.indices
            indptr[row + 1 : row + part.shape[0] + 1] = part.indptr[1:] + starts[k]
            row += part.shape[0]
            parts[k] = part._replace(data=part.data[:0], indices=part.indices[:0])  # its memory is free again
        return csr_array((data, indices, indptr), shape=self.shape)

    def __iter__(self) -> Iterator[tuple[Any, Any, Any, Any]]:
        for block in self.blocks():
            yield block.X.to_scipy(), block.y, block.sample_weight, block.qid

    def __getitem__(self, rows: Any) -> Blocks:
        """A part of the rows, by their numbers or a mask, in the order in which they lie in the blocks."""
        if isinstance(rows, tuple):
            if len(rows) != 2 or not (rows[1] is Ellipsis or rows[1] == slice(None)):
                raise IndexError("blocks are cut by rows only: blocks[rows]")
            rows = rows[0]
        count = self.shape[0]
        picked = np.arange(count)[rows if isinstance(rows, slice) else np.asarray(rows)]
        if picked.ndim != 1:
            raise IndexError("blocks[rows] takes numbers of rows, a mask or a slice")
        if len(picked) > 1 and np.any(np.diff(picked) <= 0):
            raise IndexError("blocks[rows] needs rising numbers of rows: blocks are read in the order they have")
        part = object.__new__(Blocks)
        part.__dict__.update(self.__dict__)
        part._picked = picked if self._picked is None else self._picked[picked]
        return part

    def blocks(self, ahead: int = 1, *, order: Any = None, sides_only: bool = False) -> Iterator[Block]:
        """The blocks with any rows of this part; the next ones are read by a thread meanwhile.

        They come in their own order, or in that of the numbers in ``order``. With ``sides_only`` rows are not read, and
        ``X`` has nothing but a shape.
        """
        counts = [self._count_in(k) for k in range(self.n_blocks)]
        begins = np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])
        wanted = [int(k) for k in (range(self.n_blocks) if order is None else order) if counts[k] > 0]
        read = self._read_sides if sides_only else self.read
        for k, block in zip(wanted, read_ahead(wanted, read, ahead), strict=True):
            yield block._replace(begin=int(begins[k]))

    def _read_sides(self, k: int) -> Block:
        names = [
            name
            for name, present in (
                ("y", self.has_labels),
                ("sample_weight", self.manifest["weights"]),
                ("qid", self.manifest["qid"]),
            )
            if present
        ]
        sides: dict[str, Any] = {name: self._side(k, self._tensors(k, only=name), name) for name in names}
        if self._picked is not None:
            low, high = self._range_in(k)
            chosen = self._picked[low:high] - self._starts[k]
            sides = {name: side[chosen] for name, side in sides.items()}
        nothing = np.zeros(0, dtype=np.int32)
        X = Csr(np.zeros(0, self.dtype), nothing, nothing, (self._count_in(k), self.n_features))
        return Block(X, sides.get("y"), sides.get("sample_weight"), sides.get("qid"), begin=0)

    def _range_in(self, k: int) -> tuple[int, int]:
        assert self._picked is not None
        low, high = np.searchsorted(self._picked, [self._starts[k], self._starts[k + 1]])
        return int(low), int(high)

    def _count_in(self, k: int) -> int:
        if self._picked is None:
            return int(self._entries[k]["rows"])
        low, high = self._range_in(k)
        return high - low

    def read(self, k: int) -> Block:
        """Block ``k``, or those of its rows that belong to this part."""
        tensors = self._tensors(k)
        entry = self._entries[k]
        rows = entry["rows"]
        data: Any = tensors.get("data")
        indices: Any = tensors.get("indices")
        indptr: Any = tensors.get("indptr")
        if not (
            {"data", "indices", "indptr"} <= tensors.keys()
            and data.ndim == indices.ndim == indptr.ndim == 1
            and len(indptr) == rows + 1
            and len(data) == len(indices) == entry["stored"]
            and indptr[0] == 0
            and indptr[-1] == entry["stored"]
            and np.all(np.diff(indptr) >= 0)
        ):
            raise BlocksError(f"{self._file(entry)}: the arrays of the block do not fit together")
        if self.manifest["shift"]:
            indices = indices + indices.dtype.type(self.manifest["shift"])
        X = Csr(data, indices, indptr, (rows, self.n_features))
        y, weight, qid = (self._side(k, tensors, name) for name in ("y", "sample_weight", "qid"))
        if self._picked is not None:
            low, high = self._range_in(k)
            if high - low < rows:
                chosen = self._picked[low:high] - self._starts[k]
                X = _rows_of(X, chosen)
                y, weight, qid = (None if side is None else side[chosen] for side in (y, weight, qid))
        return Block(X, y, weight, qid, begin=0)

    def _side(self, k: int, tensors: dict[str, Any], name: str) -> Any:
        """Labels, weights or query numbers of a whole block."""
        wanted = {"y": self.has_labels, "sample_weight": self.manifest["weights"], "qid": self.manifest["qid"]}[name]
        if not wanted:
            return None
        values = tensors.get(name)
        if values is None or values.shape != (self._entries[k]["rows"],):
            raise BlocksError(f"{self._file(self._entries[k])}: the block has no proper {name!r}")
        if name == "y" and self.manifest["labels"] == "text":
            assert self._texts is not None
            if len(values) and (values.min() < 0 or values.max() >= len(self._texts)):
                raise BlocksError(f"{self._file(self._entries[k])}: a label is none of those in the manifest")
            return self._texts[values]
        return values

    def _column(self, name: str, present: bool) -> Any:
        if not present:
            return None
        parts = [self._side(k, self._tensors(k, only=name), name) for k in range(self.n_blocks)]
        column = np.concatenate(parts) if parts else np.zeros(0)
        return column if self._picked is None else column[self._picked]

    def _file(self, entry: dict[str, Any]) -> str:
        return os.path.join(self.path, entry["file"])

    def _check_size(self, entry: dict[str, Any]) -> None:
        name = self._file(entry)
        try:
            size = os.stat(name).st_size
        except FileNotFoundError:
            raise BlocksError(f"{name} is missing; copy the folder again, or write it anew") from None
        if size != entry["bytes"]:
            raise BlocksError(
                f"{name} has {size:,} bytes instead of {entry['bytes']:,}: it is cut off or was changed; copy the "
                "folder again, or write it anew"
            )

    def _tensors(self, k: int, only: str | None = None) -> dict[str, NDArray[Any]]:
        entry = self._entries[k]
        name = self._file(entry)
        self._check_size(entry)
        first = k not in self._verified
        with open(name, "rb", buffering=0) as file:
            if only is not None and not first:
                head = os.pread(file.fileno(), 8, 0)
                length = int.from_bytes(head, "little")
                header = os.pread(file.fileno(), min(length, entry["bytes"]), 8)
                place = _places(header, name, entry["bytes"] - 8 - length).get(only)
                if place is None:
                    return {}
                dtype, shape, begin, end = place
                raw = _read_at(file.fileno(), 8 + length + begin, end - begin, name)
                return {only: raw.view(dtype).reshape(shape)}
            contents = _read_at(file.fileno(), 0, entry["bytes"], name)
        if first:
            from hashlib import sha256

            if sha256(contents.data).hexdigest() != entry["sha256"]:
                raise BlocksError(
                    f"{name}: its checksum is wrong: the file was damaged or changed after it was written"
                )
            self._verified.add(k)
        length = int.from_bytes(contents[:8].tobytes(), "little")
        header = contents[8 : 8 + min(length, len(contents))].tobytes()
        places = _places(header, name, len(contents) - 8 - length)
        tensors = {
            key: contents[8 + length + begin : 8 + length + end].view(dtype).reshape(shape)
            for key, (dtype, shape, begin, end) in places.items()
        }
        if first and "data" in tensors and not np.isfinite(tensors["data"]).all():
            raise BlocksError(f"{name}: X contains NaN or infinity; write the folder anew without such rows")
        return tensors


def _rows_of(X: Csr, rows: NDArray[np.int64]) -> Csr:
    """Some rows, copied."""
    counts = np.diff(X.indptr)[rows]
    indptr = np.concatenate([[0], np.cumsum(counts)])
    places = np.arange(indptr[-1]) + np.repeat(X.indptr[:-1][rows] - indptr[:-1], counts)
    return Csr(X.data[places], X.indices[places], indptr.astype(X.indptr.dtype), (len(rows), X.shape[1]))


def _read_at(descriptor: int, begin: int, size: int, name: str) -> NDArray[np.uint8]:
    """Bytes of a file from a position on, into memory of their own."""
    contents = np.empty(size, dtype=np.uint8)
    done = 0
    while done < size:
        count = os.preadv(descriptor, [contents[done:].data], begin + done)
        if count == 0:
            raise BlocksError(f"{name}: the file ends early; it was cut off while it was being read")
        done += count
    return contents


def _places(header: bytes, name: str, size: int) -> dict[str, tuple[np.dtype[Any], list[int], int, int]]:
    """Type, shape and position of each array in a safetensors file of which nobody vouches for the header."""
    try:
        entries = json.loads(header)
        places = {}
        for key, entry in entries.items():
            if key == "__metadata__":
                continue
            dtype, shape = np.dtype(DTYPES[entry["dtype"]]), [int(n) for n in entry["shape"]]
            begin, end = (int(place) for place in entry["data_offsets"])
            fits = 0 <= begin <= end <= size and begin % dtype.itemsize == 0
            if not fits or min(shape, default=0) < 0 or end - begin != dtype.itemsize * math.prod(shape):
                raise ValueError(f"array {key[:40]!r} does not lie within the file")
            places[key] = (dtype, shape, begin, end)
        return places
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, OverflowError) as error:
        raise BlocksError(f"{name}: this is no block, or it is damaged ({str(error)[:200]})") from error
