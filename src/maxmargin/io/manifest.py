"""The manifest of a folder of blocks: what it says, checked before anything of it is believed."""

from __future__ import annotations

import json
import os
import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

MANIFEST, JOURNAL = "manifest.json", "journal.jsonl"
KIND, VERSION = "maxmargin-blocks", 1


class BlocksError(ValueError):
    """A folder of blocks that is not whole, or not what its manifest says.

    Examples
    --------
    >>> from maxmargin import open_blocks
    >>> try:
    ...     open_blocks("nowhere.blocks")
    ... except ValueError as error:
    ...     print(error)
    nowhere.blocks is not a folder of blocks: it has no manifest.json
    """


def classes_of(manifest: dict[str, Any]) -> NDArray[Any] | None:
    """The labels by their numbers, unless they are too many to be classes."""
    if manifest["classes"] is None:
        return None
    kinds = {"text": np.str_, "int": np.int64, "float": np.float64, "bool": np.bool_}
    return np.array(manifest["classes"], dtype=kinds[manifest["labels"]])


def read_manifest(path: str) -> dict[str, Any]:
    """The checked manifest of a folder."""
    name = os.path.join(path, MANIFEST)
    try:
        with open(name, "rb") as file:
            manifest = json.load(file)
    except FileNotFoundError:
        if os.path.exists(os.path.join(path, JOURNAL)):
            raise BlocksError(
                f"{path} is not finished; run write_blocks or maxmargin convert again with the same source to go on"
            ) from None
        raise BlocksError(f"{path} is not a folder of blocks: it has no {MANIFEST}") from None
    except NotADirectoryError:
        raise BlocksError(f"{path} is a file, not a folder of blocks") from None
    except (ValueError, RecursionError) as error:
        raise BlocksError(f"{name} is damaged ({str(error)[:200]})") from error
    return check_manifest(manifest, name)


def check_manifest(manifest: Any, name: str) -> dict[str, Any]:
    """A manifest whose every field has the right type; nothing else is believed."""
    if not isinstance(manifest, dict) or manifest.get("kind") != KIND:
        raise BlocksError(f"{name} does not belong to a folder of blocks")
    if manifest.get("version") != VERSION:
        raise BlocksError(
            f"{name} has format version {manifest.get('version')}, and this library knows {VERSION} only; use a newer "
            "one"
        )
    count = manifest.get("blocks")
    if not (
        type(manifest.get("n_features")) is int
        and manifest["n_features"] >= 0
        and manifest.get("dtype") in ("float32", "float64")
        and manifest.get("labels") in (None, "int", "float", "text", "bool")
        and type(manifest.get("weights")) is bool
        and type(manifest.get("qid")) is bool
        and manifest.get("shift") in (0, 1)
        and isinstance(manifest.get("source"), dict)
        and (manifest.get("classes") is None or isinstance(manifest["classes"], list))
        and (manifest.get("counts") is None or isinstance(manifest["counts"], list))
        and (manifest.get("feature_names") is None or isinstance(manifest["feature_names"], list))
        and isinstance(count, list)
        and all(isinstance(entry, dict) and is_entry(entry) for entry in count)
    ):
        raise BlocksError(f"{name} is damaged: a field is missing or has the wrong type")
    if manifest["labels"] == "text" and manifest["classes"] is None:
        raise BlocksError(f"{name} is damaged: labels are texts, and there is no list of them")
    return manifest


def is_entry(entry: dict[str, Any]) -> bool:
    """Whether this is what a manifest or a journal says of a block; its file must lie in the folder."""
    return (
        re.fullmatch(r"block-\d+\.safetensors", str(entry.get("file"))) is not None
        and all(type(entry.get(key)) is int and entry[key] >= 0 for key in ("rows", "stored", "bytes"))
        and re.fullmatch(r"[0-9a-f]{64}", str(entry.get("sha256"))) is not None
    )
