"""Tables for the terminal, line by line as they are measured, and for Markdown."""

from __future__ import annotations

import math
import os
import platform
from collections.abc import Callable
from typing import Any


class Table:
    """Rows that are printed when they are added, unless quiet."""

    def __init__(self, heads: list[str], quiet: bool = False) -> None:
        self.heads = heads
        self.quiet = quiet
        self.rows: list[list[str]] = []
        self.widths = [max(len(head), 7) for head in heads]
        self._print(heads)

    def add(self, cells: list[Any]) -> None:
        """Add and print one row; numbers are seconds."""
        row = [self._text(cell) for cell in cells]
        self.rows.append(row)
        self._print(row)

    def _print(self, row: list[str]) -> None:
        if not self.quiet:
            print("  ".join(cell.rjust(width) for cell, width in zip(row, self.widths, strict=True)), flush=True)

    def markdown(self) -> str:
        """The whole table."""
        lines = [self.heads, ["---"] * len(self.heads), *self.rows]
        return "\n".join(f"| {' | '.join(line)} |" for line in lines)

    @staticmethod
    def _text(cell: Any) -> str:
        if isinstance(cell, float):
            return "-" if math.isinf(cell) else f"{cell:.3g}"
        return str(cell)


def geometric_mean(values: list[float]) -> float:
    """The exponential of the mean logarithm."""
    return math.exp(sum(map(math.log, values)) / len(values))


def best_of(repeats: int, run: Callable[[], tuple[float, Any]], long: float = 2.0) -> tuple[float, Any]:
    """The fastest of several runs; those that take ``long`` seconds are not repeated."""
    results = [run()]
    while len(results) < repeats and results[0][0] < long:
        results.append(run())
    return min(results, key=lambda result: result[0])


def describe_machine() -> str:
    """The machine in general terms."""
    vendor = "unknown processor"
    try:
        with open("/proc/cpuinfo") as info:
            vendor = next(line.split(":")[1].strip() for line in info if line.startswith("model name"))
    except (OSError, StopIteration):
        vendor = platform.processor() or vendor
    return f"{vendor}, {os.cpu_count()} cores, {platform.system()}, Python {platform.python_version()}; one thread."
