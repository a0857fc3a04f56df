"""Threads: how many, and work spread over them. The C++ core releases the interpreter lock, so they share all data."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from numbers import Integral
from typing import TypeVar

from maxmargin._core import StopFlag

Item = TypeVar("Item")
Result = TypeVar("Result")


def count_threads(n_jobs: int | None) -> int:
    """Threads by scikit-learn's convention: None is 1, -1 all processors, -2 all but one."""
    if n_jobs is None:
        return 1
    if not isinstance(n_jobs, Integral) or isinstance(n_jobs, bool) or n_jobs == 0:
        raise ValueError(f"n_jobs={n_jobs!r} has no meaning; use a positive number, or -1 for all processors")
    return n_jobs if n_jobs > 0 else max(1, (os.cpu_count() or 1) + 1 + n_jobs)


def map_threads(
    work: Callable[[Item, StopFlag], Result], items: Sequence[Item], n_jobs: int, stop: StopFlag | None = None
) -> list[Result]:
    """``[work(item, stop) for item in items]`` in at most ``n_jobs`` threads.

    An exception, in a thread or by Ctrl-C in this one, sets ``stop``, waits for all threads to end, and is raised.
    """
    stop = stop or StopFlag()
    if n_jobs == 1 or len(items) == 1:
        return [work(item, stop) for item in items]
    # Imported here: it takes a tenth as long as numpy, and one thread does not need it.
    from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait

    with ThreadPoolExecutor(max_workers=min(n_jobs, len(items))) as pool:
        futures = [pool.submit(work, item, stop) for item in items]
        try:
            wait(futures, return_when=FIRST_EXCEPTION)
            return [future.result() for future in futures]
        except BaseException:
            stop.set()
            for future in futures:
                future.cancel()
            raise
