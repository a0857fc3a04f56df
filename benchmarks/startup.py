"""How long ``import maxmargin`` and the start of every command take, against ``import numpy``: fresh processes.

The commands do their work on a file of two lines, so that little but their start is measured.

python -m benchmarks.startup [--repeats 15]
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
import time

from benchmarks.text import plain_environment

COMMANDS = {
    "import numpy": ["-c", "import numpy"],
    "import maxmargin": ["-c", "import maxmargin"],
    "import maxmargin; maxmargin.solve": ["-c", "import maxmargin; maxmargin.solve"],
    "import maxmargin; maxmargin.LinearSVC": ["-c", "import maxmargin; maxmargin.LinearSVC"],
    "maxmargin --version": ["-m", "maxmargin", "--version"],
    "maxmargin train --help": ["-m", "maxmargin", "train", "--help"],
    "maxmargin train": ["-m", "maxmargin", "train", "tiny.svm", "tiny.mm", "-q"],
    "maxmargin predict": ["-m", "maxmargin", "predict", "tiny.svm", "tiny.mm", "out.txt", "-q"],
    "maxmargin info": ["-m", "maxmargin", "info", "tiny.mm", "-q"],
    "maxmargin convert": ["-m", "maxmargin", "convert", "tiny.mm", "tiny.liblinear", "-q"],
    "maxmargin bench --no-scikit-learn": ["-m", "maxmargin", "bench", "tiny.svm", "--no-scikit-learn", "-q"],
}


def seconds(words: list[str], folder: str) -> float:
    start = time.perf_counter()
    subprocess.run([sys.executable, *words], check=True, stdout=subprocess.DEVNULL, cwd=folder, env=plain_environment())
    return time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=15)
    repeats = parser.parse_args().repeats
    times: dict[str, list[float]] = {name: [] for name in COMMANDS}
    with tempfile.TemporaryDirectory() as folder:
        with open(f"{folder}/tiny.svm", "w") as file:
            file.write("1 1:1\n-1 1:-1 2:1\n")
        for _ in range(repeats + 1):
            for name, words in COMMANDS.items():
                times[name].append(seconds(words, folder))
    medians = {name: statistics.median(values[1:]) for name, values in times.items()}  # the first fills the caches
    for name, median in medians.items():
        print(f"{name:40} {1000 * median:7.1f} ms   {median / medians['import numpy']:.2f}x numpy")


if __name__ == "__main__":
    main()
