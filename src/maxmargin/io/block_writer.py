"""Writing folders of blocks: atomically block by block, with a journal from which an interrupted conversion goes on.

Rows of any chunks are grouped anew into blocks of about the same size. Every block is written under a temporary name,
synced and renamed, and then a line of the journal says what it holds and at which position of the source it ends. The
manifest is written last; a folder without it is not opened. Blocks of rows with query numbers end where a query does,
if the rows of a query follow each other.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from contextlib import suppress
from hashlib import sha256
from typing import Any

import numpy as np

from maxmargin.io.block_source import Chunk, Position, Source, source_of
from maxmargin.io.blocks import Blocks
from maxmargin.io.data import ReadOptions
from maxmargin.io.files import PathLike, atomic_write
from maxmargin.io.manifest import JOURNAL, KIND, MANIFEST, VERSION, is_entry
from maxmargin.problems.csr import Csr
from maxmargin.solvers.memory import parse_memory

#: Bytes of a block.
BLOCK_BYTES = 8 << 20
#: With more different labels than this they are numbers to predict rather than classes.
MOST_CLASSES = 4096
#: What the manifest says of a block.
ENTRY = ("file", "rows", "stored", "bytes", "sha256")
#: What belongs to rows.
SIDES = ("y", "sample_weight", "qid")


def write_blocks(
    source: Any,
    path: PathLike,
    *,
    dtype: Any = None,
    block_bytes: int | str = BLOCK_BYTES,
    options: ReadOptions | None = None,
    progress: Callable[[float | None], object] | None = None,
) -> Blocks:
    """Write data as a folder of blocks, from which any amount of rows can be trained on.

    A conversion that was interrupted goes on where it stopped when it is called again with the same source.

    Parameters
    ----------
    source : path, list of paths, tuple of arrays, or iterator of tuples
        Data files (svmlight text is read in pieces, packed or not; other formats whole, file by file); or
        ``(X, y[, sample_weight][, qid])`` with ``X`` dense or sparse; or an iterator of such tuples, all with the same
        number of columns. ``y`` may be None.
    path : path
        The folder, which is made. A finished one is never overwritten.
    dtype : {numpy.float32, numpy.float64}, optional
        Type of the values; by default that of the first chunk.
    block_bytes : int or str, default=8 MB
        About how large a block is. Training holds some blocks in memory, as many as its limit allows.
    options : ReadOptions, optional
        How files are read.
    progress : callable, optional
        Called after each chunk with the share that is done, or None where that is not known.

    Returns
    -------
    Blocks
        The folder, opened.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from maxmargin import write_blocks
    >>> folder = tempfile.TemporaryDirectory()
    >>> chunks = ((np.full((2, 3), k), [k % 2, 1]) for k in range(1, 4))
    >>> write_blocks(chunks, folder.name + "/data.blocks").shape
    (6, 3)
    >>> folder.cleanup()
    """
    size = parse_memory(block_bytes)
    kind = None if dtype is None else np.dtype(dtype)
    if kind is not None and kind not in (np.float32, np.float64):
        raise ValueError(f"dtype must be float32 or float64, not {kind}")
    folder = os.fspath(path)
    if os.path.exists(os.path.join(folder, MANIFEST)):
        raise FileExistsError(f"{folder} is a finished folder of blocks; remove it, or choose another name")
    if os.path.isdir(folder) and os.listdir(folder) and not os.path.exists(os.path.join(folder, JOURNAL)):
        raise FileExistsError(f"{folder} is there already and is no folder of blocks; choose another name")
    chunks = source_of(source, options, size)
    os.makedirs(folder, exist_ok=True)
    with _Writer(folder, chunks, kind, size) as writer:
        for chunk in chunks.chunks(writer.start):
            writer.add(chunk)
            if progress is not None:
                progress(chunk.done)
        writer.finish()
    return Blocks(folder)


class _Writer:
    """Groups rows into blocks and writes them."""

    def __init__(self, folder: str, source: Source, dtype: Any, size: int) -> None:
        self.folder, self.source, self.dtype, self.size = folder, source, dtype, size
        self.entries: list[dict[str, Any]] = []
        self.labels = _Labels()
        self.columns: int | None = None
        self.smallest: int | None = None
        self.has: list[bool] | None = None  # labels, weights, query numbers
        self.pending: list[Chunk] = []
        self.pending_bytes = 0
        self.skip = 0  # rows of the first chunk that are in blocks already
        self.start: Position = (0, 0)
        self.replayed = 0  # blocks of the journal that an iterator has to give again
        name = os.path.join(folder, JOURNAL)
        fresh = not os.path.exists(name) or not self._resume(name)
        self.journal = open(name, "w" if fresh else "r+", encoding="utf-8")  # noqa: SIM115
        if fresh:
            self._log({"version": VERSION, "source": source.fingerprint, "dtype": str(dtype), "size": size})
        else:
            self.journal.seek(self.end)
            self.journal.truncate()  # a line that was cut off

    def __enter__(self) -> _Writer:
        return self

    def __exit__(self, *_: object) -> None:
        self.journal.close()

    def _resume(self, name: str) -> bool:
        """Take what the journal says is done; False if it says nothing yet."""
        with open(name, "rb") as file:
            contents = file.read()
        self.end = contents.rfind(b"\n") + 1
        lines = contents[: self.end].splitlines()
        if not lines:
            return False
        try:
            head, *entries = [json.loads(line) for line in lines]
            proper = all(is_entry(entry) for entry in entries) and isinstance(head, dict)
        except (ValueError, AttributeError) as error:
            raise ValueError(f"{name} is damaged ({error}); remove the folder and start again") from error
        if not proper:
            raise ValueError(f"{name} is damaged; remove the folder and start again")
        wanted = {"version": VERSION, "source": self.source.fingerprint, "dtype": str(self.dtype), "size": self.size}
        if head != json.loads(json.dumps(wanted)):
            raise ValueError(
                f"{self.folder} holds an unfinished conversion of another source, or of files that have changed since, "
                "or with other options; remove the folder and start again"
            )
        for entry in entries:
            block = os.path.join(self.folder, entry["file"])
            if not os.path.exists(block) or os.stat(block).st_size != entry["bytes"]:
                raise ValueError(f"{block} is missing or cut off; remove the folder and start again")
        self.entries = entries
        if "iterator" in self.source.fingerprint:
            self.entries, self.known, self.replayed = [], entries, len(entries)
            return True
        for entry in entries:
            self._note(entry)
        if entries:
            (number, index), self.skip = entries[-1]["position"], entries[-1]["offset"]
            self.start = (number, index)
            self.source.feature_names, self.source.read_as = entries[-1]["names"], entries[-1]["read_as"]
        return True

    def _note(self, entry: dict[str, Any]) -> None:
        """What a written block says about all of the data."""
        self.labels.add_counts(entry["label_kind"], entry["labels"])
        self.columns = max(self.columns or 0, entry["columns"])
        self.dtype = np.dtype(entry["dtype"])
        self.has = entry["has"]
        if entry["smallest"] is not None:
            self.smallest = entry["smallest"] if self.smallest is None else min(self.smallest, entry["smallest"])

    def add(self, chunk: Chunk) -> None:
        """Take the rows of a chunk, and write the blocks that become full."""
        chunk = self._checked(chunk)
        rows = chunk.X.shape[0]
        begin = min(self.skip, rows)
        self.skip -= begin
        limit = self.size
        while begin < rows:
            end = _rows_within(chunk.X, begin, limit - self.pending_bytes, at_least_one=not self.pending)
            if end > begin:
                self.pending.append(_cut(chunk, begin, end))
                self.pending_bytes += _bytes_of(self.pending[-1].X)
            if end < rows:
                limit = self.size if self._flush(chunk.position, end) else limit + self.size
            begin = end

    def finish(self) -> None:
        """Write the last block and the manifest."""
        while self.pending:
            self._flush((1 << 60, 0), 0, last=True)
        if self.replayed > len(self.entries):
            raise ValueError(f"the iterator gave fewer rows than {self.folder} holds already; remove the folder")
        if self.entries == []:
            raise ValueError("the source has no rows")
        based_on_zero = self.smallest == 0
        shift = int(self.source.is_text and based_on_zero and not self._zero_based_given())
        columns = (self.columns or 0) + shift
        if self.source.is_text:
            self.source.read_as = {"zero_based": bool(based_on_zero or self._zero_based_given())}
        classes, counts = self.labels.classes()
        manifest = {
            "kind": KIND,
            "version": VERSION,
            "n_features": columns,
            "dtype": str(np.dtype(self.dtype)),
            "labels": self.labels.kind,
            "classes": classes,
            "counts": counts,
            "weights": bool(self.has and self.has[1]),
            "qid": bool(self.has and self.has[2]),
            "shift": shift,
            "feature_names": self.source.feature_names,
            "source": self.source.read_as,
            "blocks": [{key: entry[key] for key in ENTRY} for entry in self.entries],
        }
        with atomic_write(os.path.join(self.folder, MANIFEST)) as file:
            file.write(json.dumps(manifest, indent=1).encode())
        self.journal.close()
        with suppress(OSError):
            os.unlink(os.path.join(self.folder, JOURNAL))

    def _zero_based_given(self) -> bool:
        options = getattr(self.source, "options", None)
        return options is not None and options.zero_based is True

    def _checked(self, chunk: Chunk) -> Chunk:
        """A chunk of the same columns, types and sides as those before it."""
        X, rows = chunk.X, chunk.X.shape[0]
        if self.dtype is None:
            self.dtype = X.data.dtype
        if X.data.dtype != self.dtype:
            X = X._replace(data=X.data.astype(self.dtype))
        if not self.source.is_text and self.columns is not None and X.shape[1] != self.columns:
            raise ValueError(f"{chunk.name} has {X.shape[1]} columns, but the rows before it have {self.columns}")
        if len(X.data) and not np.isfinite(X.data).all():
            place = int(np.flatnonzero(~np.isfinite(X.data))[0])
            row = int(np.searchsorted(X.indptr, place, side="right")) - 1
            raise ValueError(f"{chunk.name}: X contains NaN or infinity in row {row} of the chunk (counted from 0)")
        self.columns = max(self.columns or 0, X.shape[1])
        sides = []
        for name, side in (("y", chunk.y), ("sample_weight", chunk.sample_weight), ("qid", chunk.qid)):
            values = None if side is None else np.asarray(side)
            if values is not None and values.shape != (rows,):
                raise ValueError(f"{chunk.name}: {name} has the shape {values.shape}, but X has {rows} rows")
            sides.append(values)
        if rows == 0:
            return chunk._replace(X=X, y=None, sample_weight=None, qid=None)
        has = [side is not None for side in sides]
        if self.has is not None and has != self.has:
            which = next(name for name, a, b in zip(SIDES, has, self.has, strict=True) if a != b)
            raise ValueError(f"{chunk.name}: either all chunks have {which} or none")
        self.has = has
        if sides[1] is not None:
            sides[1] = sides[1].astype(np.float64)
            if not np.all((sides[1] >= 0) & np.isfinite(sides[1])):
                raise ValueError(f"{chunk.name}: sample_weight must be finite and not negative")
        if sides[2] is not None:
            if sides[2].dtype.kind not in "iu":
                raise ValueError(f"{chunk.name}: qid must hold whole numbers, not {sides[2].dtype}")
            sides[2] = sides[2].astype(np.int64)
        return chunk._replace(X=X, y=sides[0], sample_weight=sides[1], qid=sides[2])

    def _flush(self, position: Position, offset: int, last: bool = False) -> bool:
        """Write the pending rows as a block, up to the end of a query; the source goes on at a position.

        False where all of them belong to one query, so that the block has to grow.
        """
        block: list[Chunk] = self.pending
        rest: list[Chunk] = []
        if block[0].qid is not None and not last:
            ends = np.flatnonzero(np.diff(np.concatenate([part.qid for part in block]))) + 1
            if len(ends) == 0:
                return False
            block, rest = _split(block, int(ends[-1]))
        if rest:
            position, offset = rest[0].position, rest[0].offset
        self._write(_join(block), position, offset)
        self.pending, self.pending_bytes = rest, sum(_bytes_of(part.X) for part in rest)
        return True

    def _write(self, block: Chunk, position: Position, offset: int) -> None:
        from safetensors.numpy import save

        X = block.X
        narrow = X.shape[1] <= np.iinfo(np.int32).max
        arrays = {
            "data": np.ascontiguousarray(X.data),
            "indices": np.ascontiguousarray(X.indices, dtype=np.int32 if narrow else np.int64),
            "indptr": np.ascontiguousarray(X.indptr, dtype=np.int64),
        }
        kind, codes, counts = self.labels.encode(block.y)
        if codes is not None:
            arrays["y"] = codes
        if block.sample_weight is not None:
            arrays["sample_weight"] = block.sample_weight
        if block.qid is not None:
            arrays["qid"] = block.qid
        contents = save(arrays)
        entry = {
            "file": f"block-{len(self.entries):06d}.safetensors",
            "rows": X.shape[0],
            "stored": len(X.data),
            "bytes": len(contents),
            "sha256": sha256(contents).hexdigest(),
            "columns": X.shape[1],
            "smallest": block.smallest,
            "dtype": str(X.data.dtype),
            "has": self.has,
            "label_kind": kind,
            "labels": counts,
            "position": list(position),
            "offset": offset,
            "names": self.source.feature_names,
            "read_as": self.source.read_as,
        }
        if len(self.entries) < self.replayed:
            if self.known[len(self.entries)]["sha256"] != entry["sha256"]:
                raise ValueError(
                    f"the iterator gives other rows than those in {self.folder}/{entry['file']}; remove the folder and "
                    "start again"
                )
        else:
            with atomic_write(os.path.join(self.folder, str(entry["file"]))) as file:
                file.write(contents)
            self._log(entry)
        self._note(entry)
        self.entries.append(entry)

    def _log(self, line: dict[str, Any]) -> None:
        self.journal.write(json.dumps(line) + "\n")
        self.journal.flush()
        os.fsync(self.journal.fileno())


class _Labels:
    """Labels of all blocks: their kind, how often each comes, and texts as numbers."""

    def __init__(self) -> None:
        self.kind: str | None = None
        self.texts: dict[str, int] = {}
        self.counts: dict[Any, int] | None = {}

    def encode(self, y: Any) -> tuple[str | None, Any, list[Any] | None]:
        """The kind of these labels, the array of a block, and their counts; texts get numbers as they come."""
        if y is None:
            return None, None, None
        kinds = {"i": "int", "u": "int", "f": "float", "b": "bool"}
        kind = kinds.get(y.dtype.kind, "text")
        if kind == "text":
            if not all(isinstance(label, str) for label in y.tolist()):
                raise ValueError("labels must be numbers or texts, and all of one kind")
            names, index, counts = np.unique(y.astype(str), return_inverse=True, return_counts=True)
            numbers = np.array([self.texts.setdefault(name, len(self.texts)) for name in names.tolist()], np.int32)
            return kind, numbers[index], list(zip(names.tolist(), counts.tolist(), strict=True))
        if kind == "float" and not np.isfinite(y).all():
            raise ValueError("labels must be finite numbers, not NaN or infinity")
        types = {"int": np.int64, "float": np.float64, "bool": np.bool_}
        values: Any = np.ascontiguousarray(y, dtype=types[kind])
        names, counts = np.unique(values, return_counts=True)
        few = len(names) <= MOST_CLASSES
        return kind, values, list(zip(names.tolist(), counts.tolist(), strict=True)) if few else None

    def add_counts(self, kind: str | None, counts: list[Any] | None) -> None:
        """What a block has."""
        if self.kind is not None and kind != self.kind:
            raise ValueError(f"labels are of the kind {self.kind} in the first block and {kind} in a later one")
        self.kind = kind
        if kind is None:
            return
        if counts is None or self.counts is None:
            self.counts = None
            return
        for label, count in counts:
            if kind == "text":
                self.texts.setdefault(label, len(self.texts))
            self.counts[label] = self.counts.get(label, 0) + count
        if kind != "text" and len(self.counts) > MOST_CLASSES:
            self.counts = None

    def classes(self) -> tuple[list[Any] | None, list[int] | None]:
        """The different labels and how often each comes; None where they are too many to be classes.

        Texts are listed in the order of their numbers, others in rising order.
        """
        if self.kind is None or self.counts is None:
            return None, None
        names = list(self.texts) if self.kind == "text" else sorted(self.counts)
        return names, [self.counts.get(name, 0) for name in names]


def _bytes_of(X: Csr) -> int:
    return len(X.data) * (X.data.dtype.itemsize + 4) + 16 * X.shape[0]


def _rows_within(X: Csr, begin: int, room: int, at_least_one: bool) -> int:
    """The end of the rows from ``begin`` on that fit into so many bytes."""
    starts = X.indptr[begin:]
    sizes = (starts - starts[0]) * (X.data.dtype.itemsize + 4) + 16 * np.arange(len(starts))
    count = int(np.searchsorted(sizes, room, side="right")) - 1
    return min(begin + max(count, int(at_least_one)), X.shape[0])


def _cut(chunk: Chunk, begin: int, end: int) -> Chunk:
    sides = [None if side is None else side[begin:end] for side in (chunk.y, chunk.sample_weight, chunk.qid)]
    X, offset = chunk.X.rows(begin, end), chunk.offset + begin
    return chunk._replace(X=X, y=sides[0], sample_weight=sides[1], qid=sides[2], offset=offset)


def _split(parts: list[Chunk], rows: int) -> tuple[list[Chunk], list[Chunk]]:
    """The first rows, and the others."""
    first, rest = [], []
    for part in parts:
        count = part.X.shape[0]
        inside = min(max(rows, 0), count)
        if inside > 0:
            first.append(_cut(part, 0, inside))
        if inside < count:
            rest.append(_cut(part, inside, count))
        rows -= count
    return first, rest


def _join(parts: list[Chunk]) -> Chunk:
    if len(parts) == 1:
        return parts[0]
    starts = np.cumsum([0, *(part.X.indptr[-1] for part in parts)])
    pointers = [part.X.indptr[1:] + start for part, start in zip(parts, starts, strict=False)]
    columns = max(part.X.shape[1] for part in parts)
    indices = [part.X.indices for part in parts]
    X = Csr(
        np.concatenate([part.X.data for part in parts]),
        np.concatenate(indices),
        np.concatenate([[0], *pointers]).astype(np.int64),
        (sum(part.X.shape[0] for part in parts), columns),
    )
    sides = [
        None if getattr(parts[0], name) is None else np.concatenate([getattr(part, name) for part in parts])
        for name in SIDES
    ]
    known = [part.smallest for part in parts if part.smallest is not None]
    return parts[0]._replace(
        X=X, y=sides[0], sample_weight=sides[1], qid=sides[2], smallest=min(known) if known else None
    )
