"""atheris target: any bytes as a model file, of maxmargin or LIBLINEAR.

The checksum would keep a fuzzer out, so two of three inputs get one that fits: a header of any text over proper arrays,
and proper text over any arrays. Whatever is not refused by ``ValueError`` must be a model that predicts.

python fuzz/model_loader.py [libFuzzer options]
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import atheris
import numpy as np
from safetensors.numpy import load, save

from maxmargin.io import model_file
from maxmargin.io.liblinear_model import parse_liblinear
from maxmargin.io.sealed import checksum


def parts(name: str) -> tuple[str, dict[str, np.ndarray]]:
    """The header and the arrays of a model file."""
    contents = (Path(__file__).parent.parent / "tests" / "data" / name).read_bytes()
    entry = json.loads(contents[8 : 8 + int.from_bytes(contents[:8], "little")])["__metadata__"][model_file.ENTRY]
    return entry.partition(" ")[2], dict(load(contents))


SEEDS = [parts("model-v1.mm"), parts("ranking-v2.mm"), parts("classes-v3.mm")]


def with_checksum(text: str, arrays: dict[str, np.ndarray]) -> bytes:
    """A file of these parts that nobody can find fault with by its checksum."""
    return save(arrays, {model_file.ENTRY: f"{checksum(text, arrays)} {text}"})


def changed_arrays(data: bytes, seed: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The arrays of the seed, one of them replaced by bytes in some shape and type."""
    provider = atheris.FuzzedDataProvider(data)
    arrays = dict(seed)
    name = provider.PickValueInList(sorted(arrays))
    if provider.ConsumeBool():
        del arrays[name]
    kind = np.dtype(provider.PickValueInList(["<f8", "<i8", "<i4", "|b1", "<f4"]))
    columns = provider.ConsumeIntInRange(1, 4)
    rest = provider.ConsumeBytes(256)
    values = np.frombuffer(rest[: len(rest) // kind.itemsize * kind.itemsize], dtype=kind)
    arrays[name] = values[: len(values) // columns * columns].reshape(-1, columns) if provider.ConsumeBool() else values
    return arrays


def some_value(provider: atheris.FuzzedDataProvider) -> object:
    """A JSON value of any kind."""
    kind = provider.ConsumeIntInRange(0, 9)
    text = provider.ConsumeUnicodeNoSurrogates(12)
    number = provider.ConsumeIntInRange(-(2**70), 2**70)
    return [None, True, number, number % 5, 0.5, text, [], {}, [text, None], [[text, [text]]]][kind]


def changed_header(data: bytes, seed: str) -> str:
    """The header of the seed with one value replaced or removed, or a piece of its text, or any text at all."""
    provider = atheris.FuzzedDataProvider(data)
    how = provider.ConsumeIntInRange(0, 7)
    if how == 0:
        return provider.ConsumeUnicodeNoSurrogates(4096)
    if how == 1:
        begin = provider.ConsumeIntInRange(0, len(seed))
        end = provider.ConsumeIntInRange(begin, min(begin + 40, len(seed)))
        return seed[:begin] + provider.ConsumeUnicodeNoSurrogates(60) + seed[end:]
    header = json.loads(seed)
    for _ in range(provider.ConsumeIntInRange(1, 2)):
        node = header
        while True:
            keys = sorted(node) if isinstance(node, dict) else list(range(len(node)))
            if not keys:
                break
            key = provider.PickValueInList(keys)
            if isinstance(node[key], (dict, list)) and node[key] and provider.ConsumeBool():
                node = node[key]
                continue
            if provider.ConsumeIntInRange(0, 9) == 0:
                del node[key]
            else:
                node[key] = some_value(provider)
            break
    return json.dumps(header)


def one_input(data: bytes) -> None:
    """One file."""
    header, arrays = SEEDS[data[1] % len(SEEDS) if len(data) > 1 else 0]
    try:
        match data[:1]:
            case b"\x00":
                model = model_file.from_bytes(data[1:])
            case b"\x01":
                model = parse_liblinear(data[1:], "fuzz")
            case b"\x02":
                model = model_file.from_bytes(with_checksum(header, changed_arrays(data[2:], arrays)))
            case _:
                model = model_file.from_bytes(with_checksum(changed_header(data[2:], header), arrays))
    except ValueError:
        return
    if model.coef.shape[1] <= 100_000:
        assert len(model.predict(np.zeros((2, model.coef.shape[1])))) == 2


if __name__ == "__main__":
    atheris.instrument_all()  # not instrument_imports: it does not see packages in editable installs
    atheris.Setup(sys.argv, one_input)
    atheris.Fuzz()
