"""What an item of the reproduction is: a table or figure of a paper, its claim, and a function that measures it.

A result is plain data, written as JSON: panels (figures), tables, cells (single statements that hold or do not) and the
verdict that follows from the cells. The rule is the same for all items:

confirmed            every statement holds, on the paper's own data, all of them
confirmed in ratio   every statement holds, but on a part of the data, on stand-ins, or only as an order or a ratio
not confirmed        some statement does not hold; the reason names it
incomplete           every statement that was measured holds, but a program that the claim is about is not installed
not run              nothing could be measured, because data or programs are missing
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection
from dataclasses import asdict, dataclass, field
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from benchmarks.reproduce.context import Context

VERDICTS = ("confirmed", "confirmed in ratio", "not confirmed", "not run", "incomplete")


@dataclass
class Line:
    """One curve of a panel."""

    name: str
    x: list[float]
    y: list[float]


@dataclass
class Panel:
    """One pair of axes."""

    title: str
    x_label: str
    y_label: str
    lines: list[Line]
    x_log: bool = True
    y_log: bool = True
    #: A horizontal, dotted line, such as the stopping value of a paper.
    level: float | None = None


@dataclass
class Table:
    """Rows under a head; all cells are text."""

    title: str
    head: list[str]
    rows: list[list[str]]


@dataclass
class Cell:
    """One statement of a claim, on one data set: whether it holds, and the numbers."""

    name: str
    holds: bool
    numbers: str
    #: Whether it was measured on the paper's own data, in full.
    own: bool = False
    #: What another run can be compared with: our time, steps or cuts over those of the other, where both are known.
    ratio: float | None = None


def ratio(ours: float, theirs: float) -> float | None:
    """One over the other; None where either did not end."""
    return ours / theirs if math.isfinite(ours) and 0 < theirs < math.inf else None


@dataclass
class Result:
    """What an item has measured."""

    settings: str
    panels: list[Panel] = field(default_factory=list)
    tables: list[Table] = field(default_factory=list)
    cells: list[Cell] = field(default_factory=list)

    def to_json(self, absent: Collection[str] = ()) -> dict[str, Any]:
        """Plain data, with the verdict; ``absent`` are programs of the claim that are not installed."""
        verdict, reason = judge(self.cells, absent)
        return asdict(self) | {"verdict": verdict, "reason": reason}


@dataclass(frozen=True)
class Item:
    """A table or figure: where it is, what it claims, and how it is measured."""

    name: str
    paper: str
    title: str
    claim: str
    run: Callable[[Context], Result]


def judge(cells: list[Cell], absent: Collection[str] = ()) -> tuple[str, str]:
    """The verdict and its reason."""
    without = f" Incomplete: {', '.join(sorted(absent))} not installed." if absent else ""
    if not cells:
        return "not run", f"No statement could be measured.{without}"
    failed = [cell for cell in cells if not cell.holds]
    if failed:
        named = "; ".join(f"{cell.name} ({cell.numbers})" for cell in failed)
        return "not confirmed", f"{len(cells) - len(failed)} of {len(cells)} statements hold. Not so: {named}.{without}"
    if without:
        return "incomplete", f"All {len(cells)} statements that could be measured hold.{without}"
    if all(cell.own for cell in cells):
        return "confirmed", f"All {len(cells)} statements hold on the paper's data."
    return (
        "confirmed in ratio",
        f"All {len(cells)} statements hold; {sum(cell.own for cell in cells)} of them on the paper's own data in full.",
    )


def all_items() -> dict[str, Item]:
    """The items by name: every module beside this one that has an ``ITEM``, in the order of papers."""
    package = __name__.rpartition(".")[0]
    names = sorted(module.name for module in iter_modules([str(Path(__file__).parent)]) if "_" in module.name)
    modules = [import_module(f"{package}.{name}") for name in names if not name.startswith("_")]
    return {module.ITEM.name: module.ITEM for module in modules if hasattr(module, "ITEM")}


def chosen(names: list[str]) -> list[Item]:
    """Items by name or by the beginning of their names, such as ``paper000``; all without names."""
    items = all_items()
    unknown = [name for name in names if not any(item.startswith(name) for item in items)]
    if unknown:
        raise ValueError(f"{unknown[0]!r} is no table or figure; there are {', '.join(items)}")
    return [item for name, item in items.items() if not names or any(name.startswith(start) for start in names)]
