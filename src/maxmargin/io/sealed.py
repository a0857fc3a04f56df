"""Sealed files: arrays and a JSON header in safetensors, under a checksum. Nothing in one is ever executed.

Sizes are checked against the file by safetensors, and a SHA-256 sum over header and arrays finds damage and careless
tampering. Models and checkpoints are such files; each checks every field of its header before it is used.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from numpy.typing import NDArray

#: The types of arrays, in the words of safetensors and of numpy.
DTYPES = {"F64": "<f8", "I64": "<i8", "I32": "<i4", "BOOL": "|b1"}


class SealError(ValueError):
    """A file that is not whole, not sealed, or sealed as something else."""


def seal(entry: str, header: dict[str, Any], tensors: dict[str, NDArray[Any]]) -> bytes:
    """A header and arrays as the contents of a file.

    The checksum, a space and the header are one entry of the metadata, because safetensors writes several in random
    order, and the same contents shall give the same bytes.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin.io.sealed import seal, unseal
    >>> unseal(seal("letter", {"to": "you"}, {"numbers": np.arange(2.0)}), "letter", "letter")
    ({'to': 'you'}, {'numbers': array([0., 1.])})
    """
    from safetensors.numpy import save

    text = json.dumps(header, allow_nan=False, separators=(",", ":"))
    arrays = {name: np.ascontiguousarray(array) for name, array in tensors.items()}
    return save(arrays, {entry: f"{checksum(text, arrays)} {text}"})


def unseal(contents: bytes, entry: str, kind: str) -> tuple[Any, dict[str, NDArray[Any]]]:
    """The header and the arrays of the contents of a file, for bytes nobody vouches for."""
    from safetensors import SafetensorError, deserialize

    try:
        entries = deserialize(contents)  # type: ignore[no-untyped-call]
        length = int.from_bytes(contents[:8], "little")
        metadata = json.loads(contents[8 : 8 + length])["__metadata__"]
        expected, _, text = metadata[entry].partition(" ")
    except (SafetensorError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise SealError(
            f"this is not a {kind} file, or it is cut off or damaged ({type(error).__name__}: {str(error)[:200]})"
        ) from error
    tensors = {}
    for name, array in entries:
        if array["dtype"] not in DTYPES:
            raise SealError(f"array {name[:60]!r} has the type {str(array['dtype'])[:20]}, which no {kind} has")
        tensors[name] = np.frombuffer(bytearray(array["data"]), dtype=DTYPES[array["dtype"]]).reshape(array["shape"])
    if checksum(text, tensors) != expected:
        raise SealError("its checksum is wrong: the file was damaged or changed after it was written")
    try:
        return json.loads(text, parse_constant=_refuse_constant), tensors
    except (ValueError, RecursionError) as error:
        raise SealError(f"its header is not JSON ({error})") from error


def checksum(text: str, tensors: dict[str, NDArray[Any]]) -> str:
    """SHA-256 of a header and arrays."""
    from hashlib import sha256

    total = sha256(text.encode("utf-8", "surrogatepass"))
    for name in sorted(tensors):
        array = tensors[name]
        total.update(f"{name} {array.dtype.str} {array.shape}".encode("utf-8", "surrogatepass"))
        total.update(array.tobytes())
    return total.hexdigest()


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is no number of JSON")
