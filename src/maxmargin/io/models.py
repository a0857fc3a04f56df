"""Plain models from and to files: the library's own format, and LIBLINEAR's, told apart by their first bytes."""

from __future__ import annotations

import os

from maxmargin.io.files import PathLike
from maxmargin.io.liblinear_model import START, parse_liblinear, write_liblinear
from maxmargin.io.model_file import parse_model, write_model
from maxmargin.models.model import Model

FORMATS = ("maxmargin", "liblinear")


def read_any_model(path: PathLike) -> Model:
    """The model in a file of either kind."""
    with open(path, "rb") as file:
        contents = file.read()
    parse = parse_liblinear if contents.startswith(START) else parse_model
    return parse(contents, os.fspath(path))


def write_any_model(model: Model, path: PathLike, *, format: str = "maxmargin", dual: bool = False) -> None:  # noqa: A002
    """Write a model in either format."""
    if format not in FORMATS:
        raise ValueError(f"format={format!r} is unknown; choose from {list(FORMATS)}")
    if format == "liblinear":
        write_liblinear(model, path)
    else:
        write_model(model, path, dual=dual)
