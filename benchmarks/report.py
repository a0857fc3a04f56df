"""Tables for the terminal, line by line as they are measured, and for Markdown."""

from __future__ import annotations

import math
import os
import platform
from typing import Any


class Table:
    """Rows that are printed when they are added."""

    def __init__(self, heads: list[str]) -> None:
        self.heads = heads
        self.rows: list[list[str]] = []
        self.widths = [max(len(head), 7) for head in heads]
        print("  ".join(head.rjust(width) for head, width in zip(heads, self.widths, strict=True)), flush=True)

    def add(self, cells: list[Any]) -> None:
        """Add and print one row; numbers are seconds."""
        row = [self._text(cell) for cell in cells]
        self.rows.append(row)
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


def describe_machine() -> str:
    """The machine in general terms."""
    vendor = "unknown processor"
    try:
        with open("/proc/cpuinfo") as info:
            vendor = next(line.split(":")[1].strip() for line in info if line.startswith("model name"))
    except (OSError, StopIteration):
        vendor = platform.processor() or vendor
    return f"{vendor}, {os.cpu_count()} cores, {platform.system()}, Python {platform.python_version()}; one thread."
