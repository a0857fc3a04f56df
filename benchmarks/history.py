"""Compare two files of results, JSON lines with commit and machine: what is slower or faster beyond noise.

    python -m benchmarks.history OLD.jsonl NEW.jsonl [--noise 1.3]

Lines are those of `benchmarks.speed` and its like (``key``, ``seconds``, ``rival_seconds``), or of the reproduction
(``item``, ``seconds``, ``cells`` with their ratios). Where a rival was measured beside, the ratio to it is compared as
it is, because another machine hardly changes it; else seconds, after the median change of all lines, which is the pace
of the machine. A change is told if it is beyond a factor and beyond three times the usual deviation around the median;
one beyond `CERTAIN` is always told. The median changes are printed too. Of a reproduction, statements that have changed
are told as well. The exit code is 1 if anything is slower or no longer holds.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

#: A factor that is no noise, however much the lines scatter.
CERTAIN = 1.5
#: From fewer times than this no pace of a machine can be told: they are compared as they are.
FEW = 5


@dataclass(frozen=True)
class Change:
    """A line that has changed: the factor by which it takes longer."""

    name: str
    factor: float

    def __str__(self) -> str:
        return f"{self.name}: {self.factor:.2f} times as long"


def read(path: Path) -> dict[str, dict[str, Any]]:
    """The last line of each name."""
    lines = [json.loads(line) for line in path.read_text().splitlines() if line.strip()]
    return {name_of(line): line for line in lines}


def name_of(line: dict[str, Any]) -> str:
    """What a line is about."""
    if "item" in line:
        return f"{line['item']}, {line['mode']}"
    return ", ".join(str(value) for value in line["key"].values())


def costs(lines: dict[str, dict[str, Any]]) -> dict[bool, dict[str, float]]:
    """What is compared, by name: ratios to rivals (True), and seconds (False)."""
    found: dict[bool, dict[str, float]] = {True: {}, False: {}}
    for name, line in lines.items():
        if line.get("rival_seconds"):
            found[True][name] = line["seconds"] / line["rival_seconds"]
        else:
            found[False][name] = line["seconds"]
        for cell in line.get("cells", []):
            if cell.get("ratio") is not None:
                found[True][f"{name}: {cell['name']}"] = cell["ratio"]
    return found


def logarithms(old: dict[str, dict[str, Any]], new: dict[str, dict[str, Any]]) -> dict[bool, dict[str, float]]:
    """Logarithms of the factors by which common lines take longer: of ratios (True), and of seconds (False)."""
    logs: dict[bool, dict[str, float]] = {}
    before, after = costs(old), costs(new)
    for relative in (True, False):
        common = {
            name: (before[relative][name], after[relative][name])
            for name in before[relative]
            if name in after[relative]
        }
        logs[relative] = {
            name: math.log(now / then)
            for name, (then, now) in common.items()
            if 0 < then < math.inf and 0 < now < math.inf
        }
    return logs


def compare(old: dict[str, dict[str, Any]], new: dict[str, dict[str, Any]], noise: float) -> list[Change]:
    """Changes beyond noise, the largest first."""
    changes = []
    for relative, values in logarithms(old, new).items():
        if not values:
            continue
        # Where one half of the lines has become slower, the other half is the pace.
        middle = statistics.median_low(values.values())
        spread = statistics.median(abs(value - middle) for value in values.values())
        # 1.48 times the median deviation is the standard deviation of a normal distribution.
        beyond = max(math.log(noise), min(3 * 1.48 * spread, math.log(CERTAIN)))
        base = 0.0 if relative or len(values) < FEW else middle
        changes += [Change(n, math.exp(v - base)) for n, v in values.items() if abs(v - base) > beyond]
    return sorted(changes, key=lambda change: -abs(math.log(change.factor)))


def medians(old: dict[str, dict[str, Any]], new: dict[str, dict[str, Any]]) -> list[str]:
    """The median change of ratios and of seconds, in words."""
    names = {True: "ratios to other programs", False: "times without another program beside"}
    return [
        str(Change(f"median of {len(values)} {names[relative]}", math.exp(statistics.median(values.values()))))
        for relative, values in logarithms(old, new).items()
        if values
    ]


def statements(old: dict[str, dict[str, Any]], new: dict[str, dict[str, Any]]) -> tuple[list[str], list[str]]:
    """Statements of the reproduction that no longer hold, and those that now do."""
    lost, won = [], []
    for name in sorted(old.keys() & new.keys()):
        before, after = ({c["name"]: c["holds"] for c in lines[name].get("cells", [])} for lines in (old, new))
        for statement in before.keys() & after.keys():
            if before[statement] != after[statement]:
                (won if after[statement] else lost).append(f"{name}: {statement}")
    return sorted(lost), sorted(won)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old", type=Path)
    parser.add_argument("new", type=Path)
    parser.add_argument("--noise", type=float, default=1.3, help="factors below this are noise (default: %(default)s)")
    options = parser.parse_args()
    old, new = read(options.old), read(options.new)
    common = len(old.keys() & new.keys())
    changes, (lost, won) = compare(old, new, options.noise), statements(old, new)
    for lines, path in ((old, options.old), (new, options.new)):
        about = sorted({(line.get("commit", "?"), line.get("machine", "?")) for line in lines.values()})
        print(f"{path}: {len(lines)} results of {len(about)} commits and machines, the last {' on '.join(about[-1])}")
    for line in medians(old, new):
        print(line)
    slower = [change for change in changes if change.factor > 1]
    faster = [change for change in changes if change.factor < 1]
    for title, told in (
        ("slower", slower),
        ("faster", faster),
        ("no longer holds", lost),
        ("holds now", won),
    ):
        for change in told:
            print(f"{title:<16}{change}")
    print(f"{common} results in both; {len(slower)} slower, {len(faster)} faster, {len(lost)} statements lost.")
    sys.exit(1 if slower or lost else 0)


if __name__ == "__main__":
    main()
