"""Training on blocks within a memory limit: peak memory, passes beside those in memory, time beside the read rate.

    python -m benchmarks.blocks [SET ...] [--limit 500MB] [--times 10] [--folder DIR] [--memory-too]

A set is copied until its rows are so many times the limit. Each fit runs in a process of its own, whose peak memory the
system tells. With ``--memory-too`` the same copies are trained on in memory, for the number of passes, which takes as
much memory as they have bytes.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from maxmargin.solvers.memory import parse_memory

LOSSES = ("squared_hinge", "hinge")


def copies(name: str, target: int) -> tuple[object, object, int]:
    """Rows and labels of a set, and how many copies of it have so many bytes."""
    from benchmarks.datasets import load_binary

    found = load_binary(name, "float64")
    if found is None:
        raise SystemExit(f"{name}: the data are missing; see benchmarks/datasets.py")
    X, y = found
    return X, y, -(-target // (12 * X.nnz + 24 * X.shape[0]))


def write(name: str, folder: Path, target: int) -> Path:
    """The copies as a folder of blocks, unless they are there already."""
    from maxmargin import write_blocks

    path = folder / f"{name}-{target >> 20}.blocks"
    if not (path / "manifest.json").exists():
        X, y, count = copies(name, target)
        begin = time.perf_counter()
        write_blocks(((X, y) for _ in range(count)), path)
        print(f"{name}: {count} copies written in {time.perf_counter() - begin:.0f} s", flush=True)
    return path


def read_rate(path: Path) -> float:
    """Bytes per second of reading the blocks and doing nothing else, checksums left out."""
    names = sorted(path.glob("block-*.safetensors"))
    begin, total = time.perf_counter(), 0
    buffer = bytearray(64 << 20)
    for name in names:
        with open(name, "rb", buffering=0) as file:
            total += file.readinto(memoryview(buffer))
    return total / (time.perf_counter() - begin)


def fit_blocks(path: str, limit: str, loss: str) -> dict[str, object]:
    """One fit over blocks; to be called in a process of its own."""
    from maxmargin import LinearSVC, open_blocks

    blocks = open_blocks(path, memory=limit)
    begin, processor = time.perf_counter(), time.process_time()
    model = LinearSVC(loss).fit(blocks)
    return {
        "seconds": time.perf_counter() - begin,
        "processor": time.process_time() - processor,
        "passes": model.n_iter_,
        "gap": float(model.duality_gap_),
        "objective": float(model.primal_objective_),
        "solver": model.solver_used_,
        "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
        "bytes": sum(entry["bytes"] for entry in blocks.manifest["blocks"]),
    }


def fit_memory(name: str, target: int, loss: str) -> dict[str, object]:
    """The same in memory."""
    import numpy as np
    import scipy.sparse as sp

    from maxmargin import LinearSVC

    X, y, count = copies(name, target)
    X, y = sp.vstack([X] * count, format="csr"), np.tile(y, count)
    begin = time.perf_counter()
    model = LinearSVC(loss, pack=False).fit(X, y)
    return {
        "seconds": time.perf_counter() - begin,
        "passes": model.n_iter_,
        "gap": float(model.duality_gap_),
        "objective": float(model.primal_objective_),
        "solver": model.solver_used_,
    }


def in_child(*words: str) -> dict[str, object]:
    """What a fit in a process of its own tells."""
    ended = subprocess.run(
        [sys.executable, "-m", "benchmarks.blocks", "--child", *words], capture_output=True, text=True, check=False
    )
    if ended.returncode:
        raise SystemExit(ended.stderr)
    found: dict[str, object] = json.loads(ended.stdout.splitlines()[-1])
    return found


def main() -> None:
    """All sets and losses, a line for each."""
    if sys.argv[1:2] == ["--child"]:
        kind, *words = sys.argv[2:]
        found = fit_blocks(*words) if kind == "blocks" else fit_memory(words[0], int(words[1]), words[2])
        print(json.dumps(found))
        return
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="*", default=["blogs150k", "covtype"])
    parser.add_argument("--limit", default="500MB")
    parser.add_argument("--times", type=float, default=10.0)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--memory-too", action="store_true")
    parser.add_argument("--losses", nargs="*", default=list(LOSSES))
    given = parser.parse_args()
    limit = parse_memory(given.limit)
    target = int(given.times * limit)
    with tempfile.TemporaryDirectory() as temporary:
        folder = given.folder or Path(temporary)
        os.makedirs(folder, exist_ok=True)
        for name in given.sets:
            path = write(name, folder, target)
            rate = read_rate(path)
            for loss in given.losses:
                found = in_child("blocks", str(path), given.limit, loss)
                reading = found["passes"] * found["bytes"] / rate
                line = (
                    f"{name} {loss}: {found['bytes'] / 2**30:.2f} GB, gap {found['gap']:.1e}, {found['solver']}, "
                    f"{found['passes']} passes, {found['seconds']:.0f} s ({found['processor']:.0f} s of processor, "
                    f"{reading:.0f} s to read at {rate / 2**20:,.0f} MB/s), peak {found['peak'] / 2**20:.0f} MB"
                )
                print(line, flush=True)
                if given.memory_too:
                    same = in_child("memory", name, str(target), loss)
                    print(
                        f"  in memory: {same['solver']}, {same['passes']} passes, {same['seconds']:.0f} s, objective "
                        f"{found['objective'] / same['objective'] - 1:+.1e}",
                        flush=True,
                    )


if __name__ == "__main__":
    main()
