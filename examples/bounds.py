"""Draw how the two bounds of a fit close in on the optimum: the picture of the README.

Run it with ``python examples/bounds.py``; it writes ``bounds.svg`` beside itself, and ``bounds-dark.svg`` for dark
pages. The SVG is written by hand, so that no plotting library is needed.
"""

import math
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits

from maxmargin import BinaryProblem, solve

WIDTH, HEIGHT, LEFT, TOP, RIGHT, BOTTOM = 760, 300, 60, 46, 20, 46
EPOCHS, HIGHEST = 300, 2600
METHODS = {"dcd": ("#4477aa", "dual coordinate descent"), "avsf": ("#cc6644", "the same with adaptive frequencies")}


def x_of(epoch: float) -> float:
    """Horizontal place of an epoch, on a logarithmic scale."""
    return LEFT + (WIDTH - LEFT - RIGHT) * math.log(epoch) / math.log(EPOCHS)


def y_of(value: float) -> float:
    """Vertical place of an objective."""
    return TOP + (HEIGHT - TOP - BOTTOM) * (1 - min(value, HIGHEST) / HIGHEST)


def text(x: float, y: float, words: str, anchor: str = "middle", color: str = "#333333") -> str:
    """Words at a place."""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{color}">{words}</text>'


def points(history: list, name: str) -> list[str]:
    """The corners of the line of one bound."""
    return [f"{x_of(report.epoch):.1f},{y_of(getattr(report, name)):.1f}" for report in history]


digits, labels = load_digits(return_X_y=True)
problem = BinaryProblem(digits / 16, np.where(labels == 8, 1, -1), C=10.0, loss="hinge", bias=1.0)
shapes = []
for tick in (1, 3, 10, 30, 100, 300):
    x, bottom = x_of(tick), HEIGHT - BOTTOM
    shapes.append(f'<line x1="{x:.1f}" y1="{TOP}" x2="{x:.1f}" y2="{bottom}" stroke="#e0e0e0"/>')
    shapes.append(text(x, bottom + 18, str(tick)))
for tick in (0, 1000, 2000):
    y = y_of(tick)
    shapes.append(f'<line x1="{LEFT}" y1="{y:.1f}" x2="{WIDTH - RIGHT}" y2="{y:.1f}" stroke="#e0e0e0"/>')
    shapes.append(text(LEFT - 8, y + 4, f"{tick:,}", "end"))
for place, (name, (color, words)) in enumerate(METHODS.items()):
    history = solve(problem, name, tol=0.0, max_iter=EPOCHS, report_passes=1).history
    upper, lower = points(history, "primal"), points(history, "dual")
    shapes.append(f'<polygon points="{" ".join(upper + lower[::-1])}" fill="{color}" fill-opacity="0.18"/>')
    for line in (upper, lower):
        shapes.append(f'<polyline points="{" ".join(line)}" fill="none" stroke="{color}" stroke-width="2"/>')
    shapes.append(text(WIDTH - RIGHT, 18 + 18 * place, f'{words} ("{name}")', "end", color))
optimum = solve(problem, "newton", tol=1e-9).certificate.primal
shapes.append(
    f'<line x1="{LEFT}" y1="{y_of(optimum):.1f}" x2="{WIDTH - RIGHT}" y2="{y_of(optimum):.1f}" stroke="#333333" '
    'stroke-dasharray="5 4"/>'
)
shapes.append(text(LEFT + 6, y_of(optimum) - 6, "optimum", "start"))
shapes.append(text(LEFT + 6, y_of(2150), "primal objective: an upper bound", "start"))
shapes.append(text(LEFT + 6, y_of(160), "dual objective: a lower bound", "start"))
shapes.append(text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 8, "epochs"))
drawing = (
    f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" font-size="13">\n'
    f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>\n' + "\n".join(shapes) + "\n</svg>\n"
)
Path(__file__).with_name("bounds.svg").write_text(drawing)
for light, dark in (("#ffffff", "#14181e"), ("#333333", "#d5d9de"), ("#e0e0e0", "#333a42"), ("#4477aa", "#66a3dd")):
    drawing = drawing.replace(light, dark)
Path(__file__).with_name("bounds-dark.svg").write_text(drawing)
