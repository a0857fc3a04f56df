"""Options that several subcommands share."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from maxmargin.io.data import ReadOptions

F = TypeVar("F", bound=Callable[..., Any])

SOLVERS = ("auto", "dcd", "avsf", "online", "newton")
LOSSES = ("hinge", "squared_hinge", "least_squares")
DATA_FORMATS = ("svmlight", "npz", "npy", "csv", "tsv", "parquet")


def stacked(*decorators: Callable[[F], F]) -> Callable[[F], F]:
    """Several decorators as one, the first outermost."""

    def decorate(function: F) -> F:
        for decorator in reversed(decorators):
            function = decorator(function)
        return function

    return decorate


data_argument = click.argument("data", type=click.Path(exists=False, dir_okay=True, allow_dash=True))

#: How a data file is read.
reading = stacked(
    click.option(
        "--format", "format_", type=click.Choice(DATA_FORMATS), help="Format of DATA.  [default: by its suffix]"
    ),
    click.option("--dtype", type=click.Choice(["float32", "float64"]), help="Type of the values in memory."),
    click.option(
        "--zero-based",
        type=click.Choice(["yes", "no", "auto"]),
        help="svmlight: whether the first feature is number 0 or 1; auto means 1 unless a 0 appears.",
    ),
    click.option("--label", metavar="COLUMN", help="Tables and .npy: the column with the labels, by name or number."),
    click.option("--labels", type=click.Path(), metavar="FILE", help=".npy and .npz: a file with the labels."),
)

#: Who hears what.
talking = stacked(
    click.option("-q", "--quiet", is_flag=True, help="Say nothing but errors."),
    click.option("--json", "as_json", is_flag=True, help="Print one JSON object for machines."),
)

jobs = click.option(
    "-j",
    "--jobs",
    type=int,
    default=-1,
    show_default="all processors",
    help="Threads; the result does not depend on it.",
)


def read_options(**given: Any) -> ReadOptions:
    """What the options of `reading` ask for."""
    from maxmargin.io.data import ReadOptions

    words = {"yes": True, "no": False, "auto": "auto", None: None}
    return ReadOptions(
        format=given.get("format_"),
        dtype=given.get("dtype"),
        zero_based=words[given.get("zero_based")],
        n_features=given.get("n_features"),
        max_errors=given.get("max_errors", 1),
        label=given.get("label"),
        labels=given.get("labels"),
        one_hot=given.get("one_hot", False),
        n_jobs=given.get("jobs"),
    )


def source(data: str) -> Any:
    """A path as it is, or standard input for ``-``."""
    if data != "-":
        return data
    import sys

    return sys.stdin.buffer


def tidy(labels: Any) -> Any:
    """Whole numbers as integers: svmlight labels are read as floats, and 1 is a nicer label than 1.0."""
    import numpy as np

    if labels.dtype.kind == "f" and np.all(labels == np.round(labels)) and np.all(np.abs(labels) < 2**53):
        return labels.astype(np.int64)
    return labels


def label_text(label: Any) -> str:
    """A label as text, the way it is printed and given on the command line."""
    return repr(label) if isinstance(label, float) else str(label)
