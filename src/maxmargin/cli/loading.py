"""Data files as the subcommands read them: with a bar for large ones, and a word about what looks like a mistake."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any

from maxmargin.cli.options import read_options, source

if TYPE_CHECKING:
    from maxmargin.cli.output import Output
    from maxmargin.io.data import Data

#: Bytes at the beginning of a file that are looked at.
PEEK = 1 << 16


def load(data: str, given: dict[str, Any], output: Output, **options: Any) -> Data:
    """Read a data file, with a bar if it takes long; ``options`` are those of ``read_data``."""
    from maxmargin.cli.output import Bar
    from maxmargin.io.data import read_data

    with Bar(output, "reading") as bar:
        return read_data(source(data), read_options(**given), progress=lambda share: bar.show(share, data), **options)


def is_model(path: str) -> bool:
    """Whether a file begins like a model rather than like data."""
    if path == "-" or not os.path.isfile(path):
        return False  # what cannot be read twice is taken for data; what is not there is told so later
    from maxmargin.io.liblinear_model import START

    with open(path, "rb") as file:
        start = file.read(32)
    return start.startswith(START) or (len(start) > 9 and start[4:8] == bytes(4) and start[8:10] == b'{"')


def check_order(command: str, data: str, model: str, *others: str) -> None:
    """Data and model in the wrong order are an error that has the right one."""
    if is_model(data) and os.path.isfile(model) and not is_model(model):
        words = " ".join([command, model, data, *others])
        raise ValueError(f"{data} is a model and {model} is not; DATA comes first:  maxmargin {words}")
    if is_model(data):
        raise ValueError(f"{data} is a model; DATA comes first, then MODEL")


def has_qid(data: str, given: dict[str, Any]) -> bool:
    """Whether svmlight text has query numbers, by its first row."""
    for words in first_words(data, given)[:1]:
        return len(words) > 1 and words[1].startswith(b"qid:")
    return False


def has_several_labels(data: str, given: dict[str, Any]) -> bool:
    """Whether the first rows of svmlight text have numbers separated by commas where a label stands."""
    return any(re.fullmatch(rb"[-+.\deE]+(,[-+.\deE]+)+", words[0]) for words in first_words(data, given))


def first_words(data: str, given: dict[str, Any]) -> list[list[bytes]]:
    """The words of the first rows of svmlight text; none of other formats, and of what cannot be read twice."""
    if not os.path.isfile(data) or read_options(**given).format_of(source(data)) != "svmlight":
        return []
    from maxmargin.io.files import clear_read_errors, decompressed

    with open(data, "rb") as file, clear_read_errors(data):
        start = decompressed(file).read(PEEK)
    rows = (line.split(b"#", 1)[0].split() for line in start.splitlines())
    return [words for words in rows if words]
