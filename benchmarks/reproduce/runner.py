"""Run items one after the other, keep their results, and write the report; a run that was ended goes on."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import subprocess
import time
import traceback
from collections.abc import Callable
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from benchmarks.report import describe_machine
from benchmarks.reproduce.context import Context
from benchmarks.reproduce.items import Item, Result, all_items, chosen
from benchmarks.reproduce.page import page
from benchmarks.reproduce.peers import PEERS

PACKAGES = ("maxmargin", "numpy", "scipy")
#: Packages that are installed by another name than they are imported by.
DISTRIBUTIONS = {
    "liblinear": "liblinear-official",
    "lightning": "sklearn-contrib-lightning",
    "sklearn": "scikit-learn",
}
ROOT = Path(__file__).resolve().parents[2]


def reproduce(
    names: list[str], out: Path, quick: bool, show: Callable[[float, str], None] = lambda _, __: None
) -> tuple[Path, dict[str, dict[str, Any]]]:
    """Measure what has no result of these sources and this mode yet; the report's path, and all results by name.

    ``show`` is told how far it is, from 0 to 1, and what is being measured.
    """
    # One thread, also for what rivals call.
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(name, "1")
    items, folder = chosen(names), out / ("quick" if quick else "full") / sources()
    measured: dict[str, dict[str, Any]] = {}
    for number, item in enumerate(items):
        share = number / len(items)
        show(share, item.name)
        path = folder / f"{item.name}.json"
        if path.is_file():
            kept = json.loads(path.read_text())
            # A program that was missing may be there now; the runs of the others are kept.
            if not kept["absent"]:
                measured[item.name] = kept
                continue
        context = Context(folder, quick, lambda text, share=share, item=item: show(share, f"{item.name}: {text}"))
        try:
            measured[item.name] = measure(item, context)
        except Exception as error:  # the others may work all the same; it is not kept, and so tried again next time
            traceback.print_exc()
            failed = Result("").to_json() | {"seconds": 0.0, "missing": context.missing}
            measured[item.name] = failed | {"reason": f"It failed: {type(error).__name__}: {error}", "failed": True}
        else:
            folder.mkdir(parents=True, exist_ok=True)
            write(path, json.dumps(measured[item.name]))
            with open(out / "results.jsonl", "a") as history:
                history.write(json.dumps(summary(measured[item.name])) + "\n")
        write_report(out, folder, quick, measured)
    report = write_report(out, folder, quick, measured)
    show(1.0, "done")
    return report, measured


def measure(item: Item, context: Context) -> dict[str, Any]:
    """The result of an item, with what it was measured by; its seconds are those of its runs, old and new."""
    result = item.run(context).to_json(context.absent)
    return result | {
        "item": item.name,
        "seconds": context.worked,
        "missing": context.missing,
        "absent": sorted(context.absent),
        "commit": commit(),
        "machine": describe_machine(),
        "mode": "quick" if context.quick else "full",
    }


def write_report(out: Path, folder: Path, quick: bool, measured: dict[str, dict[str, Any]]) -> Path:
    """All items, those of earlier runs of these sources and this mode too; a mode does not replace the other's."""
    items, results = all_items(), dict(measured)
    for name in items:
        path = folder / f"{name}.json"
        if name not in results and path.is_file():
            results[name] = json.loads(path.read_text())
    missing = {name: used for result in results.values() for name, used in result["missing"].items()}
    out.mkdir(parents=True, exist_ok=True)
    path = out / ("report-quick.html" if quick else "report.html")
    write(path, page(list(items.values()), results, facts(quick), missing))
    return path


def summary(result: dict[str, Any]) -> dict[str, Any]:
    """A line of the history: what a later run can be compared with."""
    names = ("item", "commit", "machine", "mode", "verdict", "seconds", "cells")
    return {name: result[name] for name in names}


def write(path: Path, text: str) -> None:
    """Whole or not at all."""
    part = path.with_name(path.name + ".part")
    part.write_text(text)
    part.replace(path)


@cache
def commit() -> str:
    """The commit of the source tree when the run began; changes that are not committed are a part of the name."""
    try:
        name = _git("rev-parse", "--short=10", "HEAD").strip()
        changes = _git("diff", "HEAD")
    except (OSError, subprocess.CalledProcessError):
        return f"version-{_version('maxmargin')}"
    return f"{name}-{hashlib.sha1(changes.encode()).hexdigest()[:8]}" if changes else name


@cache
def sources(root: Path = ROOT) -> str:
    """A hash of all that can change a result: the library and the benchmarks, committed or not."""
    digest = hashlib.sha1()
    for folder in ("src", "benchmarks"):
        for path in sorted((root / folder).rglob("*")):
            if path.suffix in (".py", ".cpp", ".hpp"):
                digest.update(f"{path.relative_to(root)} {hashlib.sha1(path.read_bytes()).hexdigest()} ".encode())
    return digest.hexdigest()[:12]


def _git(*words: str) -> str:
    return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=True).stdout


def facts(quick: bool) -> dict[str, str]:
    """Machine, versions and mode, for the head of the report."""
    mode = "quick: parts of the data, short limits" if quick else "full"
    packages = dict.fromkeys([*PACKAGES, *(peer.package for peer in PEERS.values() if peer.is_here())])
    names = [DISTRIBUTIONS.get(package, package) for package in packages]
    versions = ", ".join(f"{name} {_version(name)}" for name in names)
    return {
        "mode": mode,
        "machine": describe_machine(),
        "versions": versions,
        "commit": commit(),
        "system": f"{platform.system()} {platform.machine()}",
        "day": time.strftime("%Y-%m-%d"),
    }


def _version(name: str) -> str:
    if name == "maxmargin":
        from maxmargin import __version__

        return __version__
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"
