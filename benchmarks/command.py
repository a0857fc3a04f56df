"""From a text file to a written model: `maxmargin train` against `liblinear-train`, whole processes, one thread each.

LIBLINEAR (Debian's liblinear-tools) runs with its default stopping rule; maxmargin with the loosest tolerance out of
3e-1, 1e-1, 3e-2, ... whose model has an objective as low as LIBLINEAR's. The start of the interpreter counts.

python -m benchmarks.command [--repeats 5] [--markdown FILE]
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from benchmarks.report import Table, describe_machine
from benchmarks.text import plain_environment, text_file
from maxmargin import BinaryProblem, load_model, load_svmlight

SETS = ("covtype", "imdb", "news20", "a9a")
LOSSES = {1: "squared_hinge", 3: "hinge"}
TOLERANCES = [mantissa * 10.0**-k for k in range(1, 8) for mantissa in (3, 1)]


def seconds(words: list[str]) -> float:
    start = time.perf_counter()
    done = subprocess.run(words, capture_output=True, env=plain_environment(), check=False)
    elapsed = time.perf_counter() - start
    assert done.returncode == 0, done.stderr.decode()
    return elapsed


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--sets", nargs="+", default=SETS)
    parser.add_argument("--markdown", type=Path)
    options = parser.parse_args()
    if shutil.which("liblinear-train") is None:
        sys.exit("liblinear-train is missing: install Debian's package liblinear-tools")
    ours = [sys.executable, "-m", "maxmargin", "train"]
    table = Table(["data", "loss", "LIBLINEAR", "maxmargin", "ratio", "its error", "tol", "reading", "training"])
    with tempfile.TemporaryDirectory() as folder:
        theirs_file, ours_file = f"{folder}/liblinear.model", f"{folder}/model.mm"
        for name in options.sets:
            path = text_file(name)
            if path is None:
                print(f"{name}: missing, left out")
                continue
            X, y = load_svmlight(path)
            for solver, loss in LOSSES.items():
                theirs = ["liblinear-train", "-q", "-s", str(solver), "-B", "1", str(path), theirs_file]
                seconds(theirs)
                model = load_model(theirs_file)
                problem = BinaryProblem(X, y.astype(np.int8), 1.0, loss=loss, bias=1.0)
                objective = problem.primal(np.append(model.coef_[0], model.intercept_) * model.classes_[1])
                words = [*ours, str(path), ours_file, "-j", "1", "--loss", loss, "--json"]
                for tol in TOLERANCES:
                    run = subprocess.run(
                        [*words, "--tol", str(tol)], capture_output=True, env=plain_environment(), check=True
                    )
                    fields = json.loads(run.stdout)
                    if fields["objective"] <= objective * (1 + 1e-9):
                        break
                best = json.loads(
                    subprocess.run(
                        [*words, "--tol", "1e-7"], capture_output=True, env=plain_environment(), check=True
                    ).stdout
                )
                their_times, our_times = [], []
                for _ in range(options.repeats):
                    our_times.append(seconds([*words, "--tol", str(tol)]))
                    their_times.append(seconds(theirs))
                their_time, our_time = statistics.median(their_times), statistics.median(our_times)
                error = max(objective / best["objective"] - 1, 0.0)
                table.add(
                    [
                        name,
                        loss,
                        their_time,
                        our_time,
                        f"{their_time / our_time:.1f}x",
                        f"{error:.0e}",
                        f"{tol:.0e}",
                        fields["seconds"]["reading"],
                        fields["seconds"]["training"],
                    ]
                )
    if options.markdown:
        options.markdown.write_text(
            f"""# From text file to written model

`python -m benchmarks.command`. {describe_machine()} Medians of whole processes in seconds, C = 1, with an intercept.
LIBLINEAR is Debian's `liblinear-train` with its default stopping rule; maxmargin runs with the loosest `--tol` out of
3e-1, 1e-1, 3e-2, ... that gives an objective as low as LIBLINEAR's. The error is how far LIBLINEAR's objective is above
the optimum.

{table.markdown()}
"""
        )


if __name__ == "__main__":
    main()
