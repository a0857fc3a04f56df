"""Instructions of the inner loops on fixed inputs, by callgrind: the same on a busy machine as on an idle one.

    python -m benchmarks.instructions            # compare with what is kept, within 2 %
    python -m benchmarks.instructions --write    # keep what is counted now

The compiled core is run under ``valgrind --tool=callgrind``, which counts only while a method is at work: a few lines
of C, compiled here, turn it on and off. Counts depend on the compiler, and so its version is kept with them; with
another one they are shown and not compared. After a change in the core that is meant to be, write them anew.
"""

from __future__ import annotations

import argparse
import ctypes
import gc
import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
KEPT = ROOT / "benchmarks" / "results" / "instructions.json"
#: A change by more than this is one.
WITHIN = 0.02
SWITCH = """
#include <valgrind/callgrind.h>
void start(void) { CALLGRIND_START_INSTRUMENTATION; CALLGRIND_ZERO_STATS; }
void stop(const char *name) { CALLGRIND_DUMP_STATS_AT(name); CALLGRIND_STOP_INSTRUMENTATION; }
"""


def inputs() -> dict[str, tuple[Any, str, int]]:
    """Problems, methods and numbers of epochs; the same bits every time."""
    import numpy as np

    from maxmargin import BinaryProblem, MulticlassProblem, RankingProblem
    from maxmargin.problems.csr import Csr

    rng = np.random.default_rng(0)
    rows, features, per_row = 600, 2_000, 20
    columns = np.sort(rng.permuted(np.tile(np.arange(features), (rows, 1)), axis=1)[:, :per_row], axis=1)
    values = rng.random(rows * per_row)
    sparse = Csr(values, columns.ravel().astype(np.int32), np.arange(rows + 1) * per_row, (rows, features))
    dense = rng.normal(size=(500, 24))
    signs = np.where(rng.random(rows) > 0.5, 1, -1)
    dense_signs = np.where(dense[:, 0] + rng.normal(size=500) > 0, 1, -1)
    classes = np.arange(rows) % 7
    return {
        "dcd, hinge, CSR": (BinaryProblem(sparse, signs, 1.0, loss="hinge"), "dcd", 20),
        "dcd, squared hinge, CSR": (BinaryProblem(sparse, signs, 1.0), "dcd", 20),
        "avsf, hinge, CSR": (BinaryProblem(sparse, signs, 1.0, loss="hinge"), "avsf", 20),
        "dcd, hinge, dense": (BinaryProblem(dense, dense_signs, 1.0, loss="hinge", bias=1.0), "dcd", 20),
        "newton, squared hinge, dense": (BinaryProblem(dense, dense_signs, 1.0, bias=1.0), "newton", 5),
        "pcd, squared hinge, CSR": (BinaryProblem(sparse, signs, 1.0), "pcd", 10),
        "sdm, Crammer-Singer, CSR": (MulticlassProblem(sparse, classes, 1.0), "sdm", 10),
        "sdm, Weston-Watkins, CSR": (
            MulticlassProblem(sparse, classes, 1.0, formulation="weston_watkins"),
            "sdm",
            10,
        ),
        "cutting_plane, hinge, CSR": (BinaryProblem(sparse, signs, 1.0, loss="hinge"), "cutting_plane", 10),
        "cutting_plane, ranking, CSR": (
            RankingProblem(sparse, (classes % 3).astype(float), 100.0),
            "cutting_plane",
            10,
        ),
    }


def work(library: str) -> None:
    """Run all methods, each between the two switches; this runs inside valgrind."""
    from maxmargin import solve

    switch = ctypes.CDLL(library)
    gc.disable()  # when it would run depends on what was loaded before
    for name, (problem, method, epochs) in inputs().items():
        # A first run loads what is loaded once; certificates by the clock are none of the loops.
        solve(problem, method, tol=0.0, max_iter=1, pack=False)
        switch.start()
        solve(problem, method, tol=0.0, max_iter=epochs, pack=False)
        switch.stop(name.encode())


def count() -> dict[str, int]:
    """Instructions by name."""
    with tempfile.TemporaryDirectory() as folder:
        library = Path(folder) / "switch.so"
        source = Path(folder) / "switch.c"
        source.write_text(SWITCH)
        subprocess.run(["cc", "-shared", "-fPIC", "-O1", str(source), "-o", str(library)], check=True)
        out = Path(folder) / "out"
        command = ["valgrind", "--tool=callgrind", "--instr-atstart=no", f"--callgrind-out-file={out}"]
        code = f"from benchmarks.instructions import work; work({str(library)!r})"
        paths = os.pathsep.join(filter(None, [os.environ.get("PYTHONPATH", ""), str(ROOT)]))
        environment = {**os.environ, "PYTHONHASHSEED": "0", "OPENBLAS_NUM_THREADS": "1", "PYTHONPATH": paths}
        done = subprocess.run([*command, sys.executable, "-c", code], env=environment, capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(f"valgrind ended with code {done.returncode}:\n{done.stderr[-3000:]}")
        counts = {}
        for path in Path(folder).glob("out.*"):
            text = path.read_text(errors="replace")
            name = re.search(r"^desc: Trigger: Client Request: (.*)$", text, flags=re.MULTILINE)
            total = re.search(r"^(?:totals|summary): (\d+)", text, flags=re.MULTILINE)
            if name and total:
                counts[name.group(1)] = int(total.group(1))
        return counts


def compiler() -> str:
    """The compiler of the core, as the machine has it, and the kind of processor."""
    told = subprocess.run(["c++", "--version"], capture_output=True, text=True, check=True).stdout.splitlines()[0]
    return f"{told}, {sysconfig.get_platform()}"


def changes(counts: dict[str, int], kept: dict[str, int]) -> list[str]:
    """What has changed beyond noise, in words.

    Examples
    --------
    >>> changes({"a": 101, "b": 150}, {"a": 100, "b": 100, "c": 1})
    ['b: 150 instructions, 1.500 times those kept', 'c: no longer counted']
    """
    told = []
    for name in sorted({*counts, *kept}):
        if name not in counts:
            told.append(f"{name}: no longer counted")
        elif name not in kept:
            told.append(f"{name}: {counts[name]} instructions, none kept")
        elif abs(counts[name] / kept[name] - 1) > WITHIN:
            told.append(f"{name}: {counts[name]} instructions, {counts[name] / kept[name]:.3f} times those kept")
    return told


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="keep what is counted now")
    options = parser.parse_args()
    if shutil.which("valgrind") is None:
        sys.exit("valgrind is not installed")
    counts = count()
    for name, number in counts.items():
        print(f"{number:>14,}  {name}")
    if options.write:
        KEPT.write_text(json.dumps({"compiler": compiler(), "counts": dict(sorted(counts.items()))}, indent=1) + "\n")
        return
    kept = json.loads(KEPT.read_text())
    if kept["compiler"] != compiler():
        print(f"kept with another compiler, not compared: {kept['compiler']}")
        return
    told = changes(counts, kept["counts"])
    print("\n".join(told) or f"all within {WITHIN:.0%} of what is kept")
    sys.exit(1 if told else 0)


if __name__ == "__main__":
    main()
