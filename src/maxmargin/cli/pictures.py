"""``--plot FILE``: pictures from the command, which opens no window."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import click

from maxmargin.cli.options import F


def plot_option(what: str) -> Callable[[F], F]:
    """The option, with what it draws."""
    return click.option(
        "--plot", type=click.Path(), metavar="FILE", callback=_check, help=f"Draw {what} (.png, .svg or .pdf)."
    )


def _check(_: click.Context, __: click.Parameter, path: str | None) -> str | None:
    """A picture that cannot be drawn is told before the work begins."""
    if path is None:
        return None
    from importlib.util import find_spec

    from maxmargin.plots.drawing import NEEDS_MATPLOTLIB, check_picture

    check_picture(path)
    if find_spec("matplotlib") is None:
        raise ValueError(f"--plot: {NEEDS_MATPLOTLIB}")
    folder = os.path.dirname(os.path.realpath(path))
    if not os.path.isdir(folder):
        raise ValueError(f"{path}: the folder {folder} does not exist")
    return path


def draw(path: str | None, plot: Callable[..., Any], columns: int = 1, rows: int = 1, **size: Any) -> None:
    """Let ``plot(axes)`` draw into the panels of a new figure, and write it; nothing without a path."""
    if path is None:
        return
    from maxmargin.plots.drawing import blank_figure, save_figure

    figure, axes = blank_figure(columns, rows, **size)
    plot(axes)
    save_figure(figure, path)
