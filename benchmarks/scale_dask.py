"""Training over a Dask cluster on this machine: rounds, time, and workers killed by signal.

    python -m benchmarks.scale_dask rounds            rounds and seconds to a gap of 1e-3, 8 and 32 blocks, both losses
    python -m benchmarks.scale_dask kills [COUNT]     random kills of workers over all methods; all results must agree
    python -m benchmarks.scale_dask costs             what a round costs beside its arithmetic
    python -m benchmarks.scale_dask spark [SETS]      Spark's LinearSVC beside ours (needs pyspark and a JVM)

Two worker processes of one thread each. ``rounds`` counts what ``n_iter_`` does: for "newton" an evaluation or a
product with the Hessian, one exchange each; for "dcd" a local solve and its step in the plane, two exchanges.
"""

from __future__ import annotations

import argparse
import itertools
import os
import random
import shutil
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import dask
import dask.array as da
import numpy as np
from dask.distributed import Client, LocalCluster

from benchmarks.datasets import load_binary
from maxmargin import BinaryProblem, solve
from maxmargin.dask import LinearRankSVM, LinearSVC, LinearSVR
from maxmargin.dask.cluster import DaskBlocks

SETS = ("imdb", "blogs150k", "covtype")
LOSSES = ("squared_hinge", "hinge")
BLOCKS = (8, 32)
GRID = (3e-2, 1e-2, 3e-3, 1e-3, 3e-4, 1e-4, 3e-5, 1e-5)


@contextmanager
def cluster(workers: int = 2) -> Iterator[LocalCluster]:
    options: dict[str, Any] = {"threads_per_worker": 1, "dashboard_address": ":0", "silence_logs": 60}
    found = LocalCluster(n_workers=workers, **options)
    try:
        with Client(found):
            yield found
    finally:
        with suppress(KeyError):  # where workers were killed LocalCluster may miss one of them as it closes
            found.close()


def blocks_of(X: Any, y: np.ndarray, count: int) -> tuple[list[Any], list[Any]]:
    edges = np.linspace(0, len(y), count + 1).astype(int)
    cuts = list(itertools.pairwise(edges))
    return [dask.delayed(X[a:b]) for a, b in cuts], [dask.delayed(y[a:b]) for a, b in cuts]


def rounds(sets: list[str], most: int) -> None:
    print("set         loss            blocks   rounds   seconds   gap       objective / optimum - 1")
    for name in sets:
        found = load_binary(name, "float64")
        if found is None:
            print(f"{name}: not there")
            continue
        X, y = found
        for loss in LOSSES:
            best = solve(BinaryProblem(X, y, 1.0, loss=loss), tol=1e-5).certificate.dual
            for count in BLOCKS:
                with cluster():
                    begin = time.perf_counter()
                    model = LinearSVC(loss, fit_intercept=False, max_iter=most).fit(*blocks_of(X, y, count))
                    seconds = time.perf_counter() - begin
                over = model.primal_objective_ / best - 1
                print(
                    f"{name:<11} {loss:<15} {count:>6} {model.n_iter_:>8} {seconds:>9.1f}   {model.duality_gap_:.1e}   "
                    f"{over:.1e}",
                    flush=True,
                )


def small_fits() -> dict[str, Any]:
    """A small fit for each method."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4000, 10))
    y = (X @ rng.normal(size=10) + rng.normal(size=4000) > 0).astype(int)
    wide = rng.normal(size=(800, 1200)) * (rng.random((800, 1200)) < 0.02)
    signs = (wide @ rng.normal(size=1200) + 0.1 * rng.normal(size=800) > 0).astype(int)
    dX, dy = da.from_array(X, chunks=(500, -1)), da.from_array(y, chunks=500)
    dW, ds = da.from_array(wide, chunks=(100, -1)), da.from_array(signs, chunks=100)
    classes = da.from_array(np.arange(4000) % 3, chunks=500)
    groups = da.from_array(np.repeat(np.arange(80), 50), chunks=500)
    return {
        "newton, squared hinge": lambda: LinearSVC().fit(dX, dy),
        "newton, hinge": lambda: LinearSVC("hinge").fit(dX, dy),
        "newton by products": lambda: LinearSVC().fit(dW, ds),
        "dcd": lambda: LinearSVC("hinge", tol=1e-2).fit(dW, ds),
        "several classes": lambda: LinearSVC().fit(dX, classes),
        "regression": lambda: LinearSVR("squared_epsilon_insensitive", epsilon=0.1).fit(dX, dX[:, 0] * 3.0 + dy),
        "ranking": lambda: LinearRankSVM(tol=1e-2).fit(dX, dy, qid=groups),
    }


def bits(model: Any) -> bytes:
    return b"".join(np.asarray(part).tobytes() for part in (model.coef_, model.intercept_, model.dual_objective_))


def kills(count: int) -> None:
    """Random kills; a cluster that has not replaced a worker in time makes way for a new one."""
    chosen, fits = random.Random(0), small_fits()
    original, exchanges, plan = DaskBlocks._sum, [0], [0]
    expected: dict[str, bytes] = {}
    lengths: dict[str, int] = {}
    same = killed = done = 0
    while done < count:
        with cluster() as found:

            def counting(self: DaskBlocks, level: list[Any], found: LocalCluster = found) -> Any:
                exchanges[0] += 1
                if exchanges[0] == plan[0]:
                    time.sleep(chosen.random() * 0.02)
                    # A worker that dies while it starts is given up by its nanny.
                    known = {address: nanny for nanny in found.workers.values() if (address := nanny.worker_address)}
                    started = sorted(known.keys() & found.scheduler.workers.keys())
                    os.kill(known[chosen.choice(started)].pid, signal.SIGKILL)
                return original(self, level)

            DaskBlocks._sum = counting  # type: ignore[method-assign]
            for name, fit in fits.items():
                if name not in expected:
                    exchanges[0], plan[0] = 0, 0
                    expected[name] = bits(fit())
                    lengths[name] = exchanges[0]
            while done < count:
                try:
                    found.wait_for_workers(2, timeout=30)
                except TimeoutError:
                    break
                name = list(fits)[done % len(fits)]
                exchanges[0], plan[0] = 0, chosen.randint(1, lengths[name])
                same += bits(fits[name]()) == expected[name]
                killed += exchanges[0] >= plan[0]
                done += 1
                print(
                    f"{done:>3}  {name:<22} killed in exchange {plan[0]:>3} of {lengths[name]:>3}  same so far: {same}",
                    flush=True,
                )
            DaskBlocks._sum = original  # type: ignore[method-assign]
    print(f"{killed} kills, {same} of {count} results identical to those without")


def costs() -> None:
    """Seconds per exchange on blocks of almost no rows, by the number of blocks."""
    with cluster():
        for count in (2, 8, 32, 128):
            X, y = np.random.default_rng(0).normal(size=(10 * count, 3)), np.arange(10 * count) % 2
            fit = LinearSVC("hinge", tol=0.0, max_iter=20, C=100.0)
            pieces = blocks_of(X, y, count)
            with np.errstate(all="ignore"):
                fit.fit(*pieces)
            first, last = fit.history_[1], fit.history_[-1]
            each = (last.seconds - first.seconds) / (last.epoch - first.epoch)
            print(f"{count:>4} blocks: {1000 * each:.1f} ms an exchange, {1000 * each / count:.2f} ms a block")


def spark(sets: list[str]) -> None:
    if shutil.which("java") is None:
        print("Spark's LinearSVC needs a JVM, and there is no `java` here: not run")
        return
    try:
        from pyspark.ml.classification import LinearSVC as SparkSVC
        from pyspark.ml.linalg import SparseVector
        from pyspark.sql import SparkSession
    except ImportError:
        print("Spark's LinearSVC needs pyspark (pip install pyspark): not run")
        return
    session = SparkSession.builder.master("local[2]").getOrCreate()
    for name in sets:
        found = load_binary(name, "float64")
        if found is None:
            continue
        X, y = found
        rows = [
            (float(y[i] > 0), SparseVector(X.shape[1], X.indices[a:b], X.data[a:b]))
            for i, (a, b) in enumerate(zip(X.indptr[:-1], X.indptr[1:], strict=True))
        ]
        frame = session.createDataFrame(rows, ["label", "features"]).repartition(8).cache()
        frame.count()
        # Spark minimises the mean loss plus regParam / 2 |w|^2.
        model = SparkSVC(regParam=1.0 / len(y), standardization=False, fitIntercept=False, maxIter=1000, tol=1e-6)
        begin = time.perf_counter()
        theirs = model.fit(frame)
        other = time.perf_counter() - begin
        problem = BinaryProblem(X, y, 1.0, loss="hinge")
        value = problem.primal(np.append(theirs.coefficients.toArray(), 0.0))
        with cluster():
            for tol in GRID:  # as a user would stop it, at Spark's objective or a lower one
                begin = time.perf_counter()
                ours = LinearSVC("hinge", fit_intercept=False, tol=tol, max_iter=1000).fit(*blocks_of(X, y, 8))
                own = time.perf_counter() - begin
                if ours.primal_objective_ <= value:
                    break
        print(
            f"{name}: ours {own:.1f} s, objective {ours.primal_objective_:.6g}; Spark {other:.1f} s, objective "
            f"{value:.6g}; {other / own:.1f}x" + ("" if ours.primal_objective_ <= value else ", not at its objective"),
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["rounds", "kills", "costs", "spark"])
    parser.add_argument("arguments", nargs="*")
    parser.add_argument("--most", type=int, default=150, help="most rounds")
    given = parser.parse_args()
    if given.what == "rounds":
        rounds(given.arguments or list(SETS), given.most)
    elif given.what == "kills":
        kills(int(given.arguments[0]) if given.arguments else 50)
    elif given.what == "costs":
        costs()
    else:
        spark(given.arguments or ["covtype", "imdb"])


if __name__ == "__main__":
    main()
