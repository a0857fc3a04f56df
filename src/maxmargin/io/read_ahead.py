"""Read ahead: a thread that fetches the next pieces while the present one is worked on."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from queue import Queue
from typing import Any, TypeVar

Key = TypeVar("Key")
Piece = TypeVar("Piece")


def read_ahead(keys: Sequence[Key], read: Callable[[Key], Piece], ahead: int = 1) -> Iterator[Piece]:
    """``read(key)`` of all keys in their order, of which up to ``ahead`` are read before they are asked for.

    The thread ends with the iteration, also where that is left early; errors of ``read`` are raised in their place.

    Examples
    --------
    >>> from maxmargin.io.read_ahead import read_ahead
    >>> list(read_ahead([1, 2, 3], str, ahead=2))
    ['1', '2', '3']
    """
    if ahead < 1 or len(keys) < 2:
        yield from map(read, keys)
        return
    # A permit is taken before a piece is read and given back when the next one is asked for, so that there are never
    # more than `ahead` pieces beside the one in use.
    permits = threading.Semaphore(ahead)
    pieces: Queue[tuple[Any, BaseException | None]] = Queue()
    stop = threading.Event()

    def work() -> None:
        for key in keys:
            permits.acquire()
            if stop.is_set():
                return
            try:
                pieces.put((read(key), None))
            except BaseException as error:
                pieces.put((None, error))
                return

    thread = threading.Thread(target=work, name="maxmargin-read-ahead", daemon=True)
    thread.start()
    try:
        for _ in keys:
            piece, error = pieces.get()
            if error is not None:
                raise error
            permits.release()
            yield piece
            piece = None  # its memory must not outlive its turn
    finally:
        stop.set()
        permits.release()
        thread.join()
