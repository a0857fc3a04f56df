"""Files as streams of bytes: compressed ones open like plain ones, and writing replaces a file whole or not at all."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import IO, Any, cast

PathLike = str | os.PathLike[str]

#: Names of streams that belong to the process rather than to a folder.
STREAMS = ("/dev/stdout", "/dev/stderr", "/dev/fd/", "/proc/self/fd/")
#: How compressed files begin, by suffix.
MAGIC = {".gz": b"\x1f\x8b", ".bz2": b"BZh", ".xz": b"\xfd7zXZ\x00", ".zst": b"\x28\xb5\x2f\xfd"}


def compression_of(start: bytes) -> str | None:
    """The suffix that stands for the compression of a file with this beginning, or None."""
    return next((suffix for suffix, magic in MAGIC.items() if start.startswith(magic)), None)


def plain_suffix(path: PathLike) -> str:
    """The last suffix, in lower case, that is not that of a compression."""
    stem, suffix = os.path.splitext(os.path.basename(path))
    while suffix.lower() in MAGIC:
        stem, suffix = os.path.splitext(stem)
    return suffix.lower()


def open_compressed(file: Any, suffix: str, mode: str) -> IO[bytes]:
    """A stream that decompresses (``mode="rb"``) or compresses (``mode="wb"``) a binary file."""
    if suffix == ".gz":
        import gzip

        # No time stamp, so that the same data give the same bytes.
        return cast("IO[bytes]", gzip.GzipFile(fileobj=file, mode=mode, compresslevel=6, mtime=0))
    if suffix == ".bz2":
        import bz2

        return cast("IO[bytes]", bz2.BZ2File(file, mode))  # type: ignore[call-overload]
    if suffix == ".xz":
        import lzma

        return cast("IO[bytes]", lzma.LZMAFile(file, mode))
    try:
        from compression import zstd  # type: ignore[import-not-found,unused-ignore]  # Python 3.14
    except ImportError:
        from backports import zstd
    return cast("IO[bytes]", zstd.ZstdFile(file, mode))


class _Ahead:
    """A binary stream of which the first bytes have been read already."""

    def __init__(self, start: bytes, rest: Any) -> None:
        self.start = start
        self.rest = rest

    def read(self, size: int = -1) -> bytes:
        if 0 <= size <= len(self.start):
            start, self.start = self.start[:size], self.start[size:]
            return start
        start, self.start = self.start, b""
        return start + bytes(self.rest.read(size - len(start) if size >= 0 else -1))

    def seekable(self) -> bool:
        return False

    def readable(self) -> bool:
        return True


def decompressed(file: Any) -> Any:
    """A binary stream through what decompresses it, by its first bytes; a plain one to be read from the start."""
    start = file.read(8)
    if isinstance(start, str):
        raise TypeError("the file is open in text mode; open it in binary mode ('rb')")
    suffix = compression_of(start)
    ahead = _Ahead(start, file)
    return ahead if suffix is None else open_compressed(ahead, suffix, "rb")


def check_suffix(start: bytes, name: str) -> str | None:
    """The compression of a file with this beginning; an error if its name says another."""
    suffix = compression_of(start)
    claimed = os.path.splitext(name)[1].lower()
    if claimed in MAGIC and suffix != claimed:
        raise ValueError(f"{name}: the name says {claimed}, but the file is not compressed that way")
    return suffix


@contextmanager
def clear_read_errors(name: str) -> Iterator[None]:
    """Turn what a broken compressed file raises into a ``ValueError`` that names the file."""
    import zlib

    try:
        yield
    except (EOFError, zlib.error) as error:
        raise ValueError(f"{name}: the compressed data are damaged or cut off ({error})") from error
    except OSError as error:
        # gzip and bz2 report bad data as OSError without an error number; real failures of the system have one.
        if error.errno is not None:
            raise
        raise ValueError(f"{name}: the compressed data are damaged ({error})") from error
    except Exception as error:
        if type(error).__name__ not in ("LZMAError", "ZstdError"):
            raise
        raise ValueError(f"{name}: the compressed data are damaged ({error})") from error


@contextmanager
def atomic_write(path: PathLike, stem: str = "maxmargin") -> Iterator[IO[bytes]]:
    """Write a file under a temporary name beside it, sync it, and rename it when all went well.

    Until then, and for ever if anything fails, a file of that name stays as it was. Devices and pipes are written
    directly. The temporary name is ``.STEM-*.part``; only a process that is killed leaves such a file behind.

    Examples
    --------
    >>> import os, tempfile
    >>> from maxmargin.io.files import atomic_write
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with atomic_write(f"{folder}/a.txt") as file:
    ...         _ = file.write(b"whole")
    ...     os.listdir(folder)
    ['a.txt']
    """
    mode: int | None = None
    with suppress(FileNotFoundError):
        mode = os.stat(path).st_mode
    if mode is not None and stat.S_ISDIR(mode):
        raise IsADirectoryError(f"{os.fspath(path)} is a folder, not a file")
    # /dev/stdout may lead to an ordinary file that others write to as well
    if mode is not None and (not stat.S_ISREG(mode) or os.fspath(path).startswith(STREAMS)):
        with open(path, "wb") as file:
            yield file
        return
    target = os.path.realpath(path)
    folder = os.path.dirname(target)
    if not os.path.isdir(folder):
        raise FileNotFoundError(f"the folder {folder} does not exist")
    descriptor, temporary = _create_in(folder, stem)
    try:
        with os.fdopen(descriptor, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        if mode is not None:
            os.chmod(temporary, stat.S_IMODE(mode))
        os.replace(temporary, target)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary)
        raise
    _sync_folder(folder)


@contextmanager
def open_to_write(path: PathLike) -> Iterator[IO[bytes]]:
    """The same, compressed as the suffix says."""
    suffix = os.path.splitext(path)[1].lower()
    with atomic_write(path) as file:
        if suffix not in MAGIC:
            yield file
            return
        with open_compressed(file, suffix, "wb") as packed:
            yield packed


def _create_in(folder: str, stem: str) -> tuple[int, str]:
    for attempt in range(1000):
        temporary = os.path.join(folder, f".{stem}-{os.getpid()}-{attempt}.part")
        with suppress(FileExistsError):
            return os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666), temporary
    raise FileExistsError(f"{folder} is full of unfinished files named .{stem}-*.part; remove them")


def _sync_folder(folder: str) -> None:
    with suppress(OSError):  # not every system lets a folder be opened
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def line_blocks(file: Any, size: int) -> Iterator[bytes]:
    """A stream in blocks of at least one whole line and about ``size`` bytes."""
    pieces: list[bytes] = []
    while True:
        piece = file.read(size)
        if not piece:
            break
        cut = piece.rfind(b"\n") + 1
        if cut == 0:
            pieces.append(piece)  # a line longer than a block
            continue
        yield b"".join([*pieces, piece[:cut]])
        pieces = [piece[cut:]]
    rest = b"".join(pieces)
    if rest:
        yield rest


def is_stream(file: Any) -> bool:
    """Whether this is an open file rather than a path."""
    return hasattr(file, "read")
