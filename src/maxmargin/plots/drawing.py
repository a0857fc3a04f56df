"""What all pictures share: axes to draw in, a common look, and writing a figure to a file."""

from __future__ import annotations

import io
import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from maxmargin.io.files import PathLike, atomic_write

NEEDS_MATPLOTLIB = "to draw, the package matplotlib is needed: pip install 'maxmargin[plot]'"
#: Suffixes of the files that pictures are written to.
PICTURES = (".png", ".svg", ".pdf")
GRID = {"color": "0.9", "linewidth": 0.8}


def new_axes(ax: Any, columns: int = 1, rows: int = 1, size: tuple[float, float] = (6.0, 4.0)) -> list[Any]:
    """The axes that were given, or those of a new figure of pyplot; one for each panel.

    Where one was given and several panels are needed, they share its place.
    """
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError(NEEDS_MATPLOTLIB) from error
    panels = rows * columns
    if ax is None:
        width, height = size
        _, made = plt.subplots(
            rows, columns, figsize=(width * columns, height * rows), squeeze=False, layout="constrained"
        )
        return list(made.ravel())
    given = list(np.ravel(np.asarray(ax, dtype=object)))
    if len(given) == panels:
        return given
    if len(given) != 1:
        raise ValueError(f"ax holds {len(given)} axes, but the picture has {panels} panels; give one, or {panels}")
    given[0].set_axis_off()
    grid = given[0].get_subplotspec()
    if grid is None:
        raise ValueError(f"ax is not part of a grid of axes; give {panels} axes, one for each panel")
    inner = grid.subgridspec(rows, columns)
    figure = given[0].figure
    return [figure.add_subplot(inner[row, column]) for row in range(rows) for column in range(columns)]


def tidy_axes(ax: Any, xlabel: str, ylabel: str, title: str | None = None) -> None:
    """Names of the axes, a light grid and no box."""
    ax.set_xlabel(xlabel)
    ax.set_ylabel(ylabel)
    if title is not None:
        ax.set_title(title, fontsize="medium")
    ax.grid(True, **GRID)
    ax.set_axisbelow(True)
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)


def check_choice(name: str, value: Any, choices: Sequence[str]) -> None:
    """Refuse a word that is not one of some."""
    if value not in choices:
        raise ValueError(f"{name}={value!r} is unknown; choose from {list(choices)}")


def check_picture(path: PathLike) -> str:
    """The suffix of a file for a picture; an error if it is none."""
    suffix = os.path.splitext(os.fspath(path))[1].lower()
    if suffix not in PICTURES:
        raise ValueError(f"{os.fspath(path)}: pictures are written to {', '.join(PICTURES)} files")
    return suffix


def blank_figure(columns: int = 1, rows: int = 1, size: tuple[float, float] = (6.0, 4.0)) -> tuple[Any, list[Any]]:
    """A figure that no window knows of, with its axes: for the command."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError(NEEDS_MATPLOTLIB) from error
    figure = Figure(figsize=(size[0] * columns, size[1] * rows), layout="constrained")
    return figure, list(figure.subplots(rows, columns, squeeze=False).ravel())


def save_figure(figure: Any, path: PathLike) -> None:
    """Write a figure as PNG, SVG or PDF, whole or not at all; the same figure gives the same bytes."""
    import matplotlib

    suffix = check_picture(path)
    picture = io.BytesIO()
    date = {".png": {}, ".svg": {"Date": None}, ".pdf": {"CreationDate": None}}[suffix]
    with matplotlib.rc_context({"svg.hashsalt": "maxmargin"}):
        figure.savefig(picture, format=suffix[1:], dpi=150, metadata=date)
    with atomic_write(path) as file:
        file.write(picture.getvalue())
