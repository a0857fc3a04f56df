"""Where a model goes, checked before the work begins."""

from __future__ import annotations

import os

from maxmargin.cli.loading import is_model

#: Suffixes that say that a file is data and nothing more.
TEXT_SUFFIXES = (".svm", ".svmlight", ".libsvm", ".txt", ".dat", ".data")


def model_target(data: str, model: str | None, labels: str | None) -> str:
    """The name of the model file; an error where nothing can or should be written."""
    if model is None:
        if data == "-":
            raise ValueError("name the MODEL to write when DATA is standard input")
        model = default_name(data)
    if model == "-":
        raise ValueError("a model is written to a file, not to standard output")
    for path in (data, labels):
        if path is not None and os.path.exists(path) and os.path.exists(model) and os.path.samefile(path, model):
            raise ValueError(f"{model}: the model would overwrite the data; give it another name")
    folder = os.path.dirname(os.path.realpath(model))
    if os.path.isdir(model):
        raise ValueError(f"{model} is a folder; give the model a file name")
    if not os.path.isdir(folder):
        raise ValueError(f"{model}: the folder {folder} does not exist")
    if not os.access(folder, os.W_OK):
        raise ValueError(f"{model}: the folder {folder} is not writable")
    if os.path.isfile(model) and os.path.getsize(model) > 0 and not is_model(model):
        raise ValueError(f"{model} is there already and is no model; remove it, or give the model another name")
    return model


def default_name(data: str) -> str:
    """The name of the data in the current folder, with the suffix of models in place of that of data."""
    from maxmargin.io.data import SUFFIXES
    from maxmargin.io.files import MAGIC

    name, suffix = os.path.splitext(os.path.basename(data))
    if suffix.lower() in MAGIC:
        name, suffix = os.path.splitext(name)
    return f"{name if suffix.lower() in (*SUFFIXES, *TEXT_SUFFIXES) else name + suffix}.mm"
