"""``maxmargin bench [NAME] --out DIR``: the papers' tables and figures, by the scripts of the source tree.

They are not a part of the installed package: data, rivals and figures of papers are nothing a program needs at run
time. The command looks for the tree that it was installed from (an editable install, as ``make`` does it), and for the
folder it is run in.
"""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from typing import Any

from maxmargin.cli.output import Bar, Output, table

#: What a source tree is known by.
MARK = Path("benchmarks") / "reproduce" / "runner.py"


def source_tree() -> Path:
    """The folder with the scripts; ``ValueError`` that says where to get it."""
    candidates = [Path(__file__).resolve().parents[3], Path.cwd()]
    for folder in candidates:
        if (folder / MARK).is_file():
            return folder
    raise ValueError(
        "bench --out: the scripts of the papers' tables and figures are in the source tree, not in the installed "
        "package; run it in the folder of the sources, as `pip download --no-deps --no-binary :all: maxmargin` has it"
    )


def reproduce(names: list[str], out: str, quick: bool, output: Output) -> int:
    """Measure, show how far it is, and print the verdicts; the exit code is 1 if anything failed."""
    folder = str(source_tree())
    if folder not in sys.path:
        sys.path.insert(0, folder)
    runner: Any = import_module("benchmarks.reproduce.runner")
    with Bar(output, "bench") as bar:
        path, results = runner.reproduce(names, Path(out), quick, bar.show)
    rows = [[name, result["verdict"], f"{result['seconds']:.0f} s"] for name, result in results.items()]
    fields = {
        "report": str(path),
        "verdicts": {name: {key: result[key] for key in ("verdict", "reason")} for name, result in results.items()},
    }
    output.results(fields, [*table(["table or figure", "verdict", "runs took"], rows), f"report: {path}"])
    return 1 if any(result.get("failed") for result in results.values()) else 0
