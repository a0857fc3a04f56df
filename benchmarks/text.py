"""The benchmark sets as svmlight text, written once into a folder that is kept until the machine is tidied up."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from benchmarks import datasets


def text_file(name: str) -> Path | None:
    """The binary form of a set, as scikit-learn writes it (one-based); None when the data are missing."""
    home = Path(os.environ.get("MAXMARGIN_TEXT", Path(tempfile.gettempdir()) / "maxmargin-text"))
    home.mkdir(parents=True, exist_ok=True)
    path = home / f"{name}.svm"
    if not path.exists():
        found = datasets.load_binary(name)
        if found is None:
            return None
        from sklearn.datasets import dump_svmlight_file

        unfinished = path.with_suffix(".part")
        dump_svmlight_file(*found, str(unfinished), zero_based=False)
        unfinished.rename(path)
    return path


def plain_environment() -> dict[str, str]:
    """The environment of a user: compiled bytecode is kept, as it is after any installation."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
