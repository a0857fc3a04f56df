"""Options that several subcommands share."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from maxmargin.io.data import ReadOptions

F = TypeVar("F", bound=Callable[..., Any])

# Written out here, since the library's own tables take as long to import as all else; a test compares them.
CLASSIFICATION_SOLVERS = (
    "auto",
    "dcd",
    "avsf",
    "online",
    "newton",
    "pcd",
    "cutting_plane",
    "pegasos",
    "sdm",
    "eg",
    "working_sets",
)
RANKING_SOLVERS = ("auto", "cutting_plane")
MULTI_CLASS = ("ovr", "crammer_singer", "weston_watkins")
PENALTIES = ("l2", "l1")
LOSSES = ("hinge", "squared_hinge", "least_squares")
REGRESSION_LOSSES = ("epsilon_insensitive", "squared_epsilon_insensitive", "least_squares")
ONE_CLASS_SOLVERS = ("auto", "dcd", "avsf", "online", "newton", "active_set")
REGRESSION_SOLVERS = ("auto", "dcd", "avsf", "online", "newton", "pcd")
DATA_FORMATS = ("svmlight", "npz", "npy", "csv", "tsv", "parquet", "blocks")


def stacked(*decorators: Callable[[F], F]) -> Callable[[F], F]:
    """Several decorators as one, the first outermost."""

    def decorate(function: F) -> F:
        for decorator in reversed(decorators):
            function = decorator(function)
        return function

    return decorate


data_argument = click.argument("data", type=click.Path(exists=False, dir_okay=True, allow_dash=True))

_format = click.option(
    "--format", "format_", type=click.Choice(DATA_FORMATS), help="Format of DATA.  [default: by its suffix]"
)
_dtype = click.option(
    "--dtype",
    type=click.Choice(["float32", "float64"]),
    help="Type of the values in memory.  [default: float64; arrays of numpy as they are]",
)
_label = click.option(
    "--label", metavar="COLUMN", help="Tables and .npy: the column with the labels, by name or by number from 0."
)
_labels = click.option("--labels", type=click.Path(), metavar="FILE", help=".npy and .npz: a file with the labels.")
_no_header = click.option(
    "--no-header", is_flag=True, help="CSV and TSV: the first line is data; columns are named 0, 1, ..."
)

#: How a data file is read.
reading = stacked(
    _format,
    _dtype,
    click.option(
        "--zero-based",
        type=click.Choice(["yes", "no", "auto"]),
        help="svmlight: whether the first feature is number 0 or 1.  [default: auto, which is 1 unless a 0 appears]",
    ),
    click.option(
        "--n-features",
        type=click.IntRange(1),
        metavar="N",
        help="svmlight: number of features.  [default: the largest index]",
    ),
    click.option(
        "--max-errors",
        type=click.IntRange(1),
        default=1,
        show_default=True,
        help="svmlight: how many bad lines to list.",
    ),
    _label,
    _labels,
    _no_header,
    click.option("--one-hot", is_flag=True, help="Tables: one feature per category for columns of text."),
)

#: How much memory may be taken.
memory = click.option(
    "--memory",
    metavar="SIZE",
    help="Folders of blocks: how much memory may be taken in all, such as 2GB.  [default: what is free]",
)

#: How a data file to predict is read; the rest is known from the model.
reading_to_predict = stacked(
    _format,
    _dtype,
    click.option(
        "--zero-based",
        type=click.Choice(["yes", "no"]),
        help="svmlight: whether the first feature is number 0 or 1.  [default: as in training]",
    ),
    _label,
    _labels,
    _no_header,
)

#: Who hears what.
talking = stacked(
    click.option("-q", "--quiet", is_flag=True, help="Say nothing but errors."),
    click.option("--json", "as_json", is_flag=True, help="Print one JSON object for machines."),
)


def _check_jobs(_: click.Context, __: click.Parameter, value: int) -> int:
    if value == 0:
        raise click.BadParameter("no work is done by 0 threads; -1 means all processors")
    return value


jobs = click.option(
    "-j",
    "--jobs",
    type=int,
    default=-1,
    callback=_check_jobs,
    show_default="all processors",
    help="Threads; the result does not depend on it.",
)


# generic in some versions of click only, hence the type comment
class Positive(click.ParamType):  # type: ignore[type-arg,unused-ignore]
    """A finite number above zero, or from zero on."""

    name = "float"

    def __init__(self, zero: bool = False) -> None:
        self.zero = zero

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """The number."""
        number = click.FLOAT.convert(value, param, ctx)
        if not ((number >= 0 if self.zero else number > 0) and number < float("inf")):
            self.fail(
                f"{value} is not a {'finite number from 0 on' if self.zero else 'positive finite number'}.", param, ctx
            )
        return float(number)


def refuse_reading(given: dict[str, Any], path: str) -> None:
    """A model is not read like data: options that say how are an error."""
    names = {"format_": "format"}
    for name in ("format_", "dtype", "zero_based", "n_features", "label", "labels", "no_header", "one_hot"):
        if given.get(name):
            raise ValueError(f"--{names.get(name, name).replace('_', '-')} does not apply to {path}, which is a model")


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
        header=False if given.get("no_header") else None,
        n_jobs=given.get("jobs"),
        multilabel=bool(given.get("multilabel")),
        memory=given.get("memory"),
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
    if isinstance(label, bool):
        return "true" if label else "false"
    return repr(label) if isinstance(label, float) else str(label)
