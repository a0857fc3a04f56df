"""How long a fit takes to end after Ctrl-C, in the middle of an epoch over a large matrix.

python -m benchmarks.interrupt
"""

from __future__ import annotations

import os
import signal
import threading
import time

import numpy as np
import scipy.sparse as sp

from maxmargin import LinearSVC


def main() -> None:
    rng = np.random.default_rng(0)
    rows, per_row, features = 1_000_000, 50, 100_000
    indices = np.sort(rng.integers(features, size=(rows, per_row), dtype=np.int32), axis=1).ravel()
    values = np.ones(rows * per_row, dtype=np.float32)
    X = sp.csr_matrix((values, indices, np.arange(rows + 1, dtype=np.int32) * per_row), shape=(rows, features))
    y = rng.integers(3, size=rows)
    for solver in ("dcd", "avsf", "online", "newton"):
        for n_jobs in (1, 2):
            sent = []

            def interrupt(sent: list[float] = sent) -> None:
                sent.append(time.perf_counter())
                os.kill(os.getpid(), signal.SIGINT)

            timer = threading.Timer(3.0, interrupt)
            timer.start()
            try:
                LinearSVC("hinge", solver=solver, C=100, tol=1e-12, n_jobs=n_jobs).fit(X, y)
            except KeyboardInterrupt:
                seconds = time.perf_counter() - sent[0]
                print(
                    f"{solver:7} n_jobs={n_jobs}: {seconds:.2f} s, {threading.active_count()} thread left", flush=True
                )


if __name__ == "__main__":
    main()
