"""Panels as SVG, written by hand: no plotting library is needed, and colours follow the page."""

from __future__ import annotations

import math
from html import escape

from benchmarks.reproduce.curves import thinned
from benchmarks.reproduce.items import Panel

WIDTH, HEIGHT, LEFT, TOP, RIGHT, BOTTOM = 460, 330, 62, 30, 14, 46
#: Okabe and Ito's colours, which most people can tell apart, and dashes for those who cannot.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8c6d31", "#7f7f7f", "#b22222", "#4b0082")
DASHES = ("", "6 3", "2 3", "8 3 2 3", "12 4", "1 2", "4 1", "10 2 2 2", "3 6", "5 5")


class Axis:
    """Numbers to places, on a straight or logarithmic scale, with ticks."""

    def __init__(self, values: list[float], log: bool, low: float, high: float) -> None:
        finite = [value for value in values if math.isfinite(value) and (value > 0 or not log)]
        self.log, self.low, self.high = log and bool(finite), low, high
        first, last = (min(finite), max(finite)) if finite else (0.0, 1.0)
        if self.log:
            first, last = math.log10(first), math.log10(last)
        margin = 0.04 * (last - first) or (0.5 if self.log else abs(last) or 1.0) * 0.2
        self.first, self.last = first - margin, last + margin

    def place(self, value: float) -> float:
        """Where a number is drawn; what a logarithmic axis cannot show is at its end."""
        if self.log:
            value = math.log10(value) if value > 0 else self.first
        share = (value - self.first) / (self.last - self.first)
        return self.low + (self.high - self.low) * min(max(share, 0.0), 1.0)

    def ticks(self) -> list[float]:
        """Round numbers, some four to eight."""
        if self.log and self.last - self.first >= 1:
            step = max(1, round((self.last - self.first) / 6))
            return [10.0**k for k in range(max(math.ceil(self.first), -300), min(math.floor(self.last), 300) + 1, step)]
        first, last = (10**self.first, 10**self.last) if self.log else (self.first, self.last)
        unit = 10 ** math.floor(math.log10((last - first) / 4))
        step = next(m * unit for m in (1, 2, 5, 10) if (last - first) / (m * unit) <= 6)
        return [k * step for k in range(math.ceil(first / step), math.floor(last / step) + 1) if k or not self.log]


def label(value: float) -> str:
    """A tick in few letters."""
    if value and (abs(value) >= 1e5 or abs(value) < 1e-3):
        return f"{value:.0e}".replace("e-0", "e-").replace("e+0", "e")
    return f"{value:,.6g}"


def svg(panel: Panel) -> str:
    """The panel, with a legend below it."""
    lines = [line for line in panel.lines if line.x]
    level = [] if panel.level is None else [panel.level]
    x = Axis([value for line in lines for value in line.x], panel.x_log, LEFT, WIDTH - RIGHT)
    y = Axis([value for line in lines for value in line.y] + level, panel.y_log, HEIGHT - BOTTOM, TOP)
    legend_rows = math.ceil(len(lines) / 2)
    height = HEIGHT + 18 * legend_rows
    shapes = [_text(WIDTH / 2, 16, panel.title, weight="600")]
    for tick in x.ticks():
        place = x.place(tick)
        shapes.append(f'<line class="grid" x1="{place:.1f}" x2="{place:.1f}" y1="{TOP}" y2="{HEIGHT - BOTTOM}"/>')
        shapes.append(_text(place, HEIGHT - BOTTOM + 16, label(tick)))
    for tick in y.ticks():
        place = y.place(tick)
        shapes.append(f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{place:.1f}" y2="{place:.1f}"/>')
        shapes.append(_text(LEFT - 6, place + 4, label(tick), "end"))
    shapes.append(_text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 10, panel.x_label))
    middle = (TOP + HEIGHT - BOTTOM) / 2
    shapes.append(
        f'<text x="14" y="{middle}" text-anchor="middle" transform="rotate(-90 14 {middle})">'
        f"{escape(panel.y_label)}</text>"
    )
    for value in level:
        place = y.place(value)
        shapes.append(f'<line class="level" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{place:.1f}" y2="{place:.1f}"/>')
    for number, line in enumerate(lines):
        pairs = [pair for pair in zip(*thinned(line.x, line.y), strict=True) if all(map(math.isfinite, pair))]
        points = " ".join(f"{x.place(a):.1f},{y.place(b):.1f}" for a, b in pairs)
        colour, dash = COLOURS[number % len(COLOURS)], DASHES[number % len(DASHES)]
        style = f'fill="none" stroke="{colour}" stroke-width="2" stroke-dasharray="{dash}"'
        shapes.append(
            f'<polyline class="curve" points="{points}" {style}><title>{escape(line.name)}</title></polyline>'
        )
        if len(pairs) <= 12:
            for a, b in pairs:
                shapes.append(f'<circle cx="{x.place(a):.1f}" cy="{y.place(b):.1f}" r="3" fill="{colour}"/>')
        left, top = LEFT + (WIDTH - LEFT) / 2 * (number % 2), HEIGHT + 18 * (number // 2) + 4
        shapes.append(f'<line x1="{left}" x2="{left + 26}" y1="{top}" y2="{top}" {style}/>')
        shapes.append(_text(left + 32, top + 4, line.name, "start"))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" '
        f'aria-label="{escape(panel.title)}">{"".join(shapes)}</svg>'
    )


def _text(x: float, y: float, words: str, anchor: str = "middle", weight: str = "400") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-weight="{weight}">{escape(words)}</text>'
