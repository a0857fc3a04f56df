"""Several problems over one matrix at once: one-versus-rest training in threads.

The C++ solvers release the interpreter lock, so threads share ``X`` and its row norms without a copy. Each problem
has its own seed, which makes the result the same whatever the number of threads.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from typing import TypeVar

from maxmargin._core import StopFlag

Item = TypeVar("Item")
Result = TypeVar("Result")


def map_threads(work: Callable[[Item, StopFlag], Result], items: Sequence[Item], n_jobs: int) -> list[Result]:
    """``[work(item, stop) for item in items]`` in at most ``n_jobs`` threads.

    An exception, in a thread or by Ctrl-C in this one, sets ``stop``, waits for all threads to end, and is raised.
    """
    stop = StopFlag()
    if n_jobs == 1 or len(items) == 1:
        return [work(item, stop) for item in items]
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
