"""``maxmargin convert``: models between maxmargin and LIBLINEAR, data between svmlight and ``.npz``, and to blocks."""

from __future__ import annotations

import os
from typing import Any

import click

from maxmargin.cli.loading import is_model, load
from maxmargin.cli.options import jobs, read_options, reading, refuse_reading, talking


@click.command(short_help="Convert models and data between formats.")
@click.argument("source_files", metavar="IN...", type=click.Path(allow_dash=True), nargs=-1, required=True)
@click.argument("target", metavar="OUT", type=click.Path())
@click.option(
    "--to",
    type=click.Choice(["maxmargin", "liblinear", "onnx", "svmlight", "npz", "blocks"]),
    help="Format of OUT.  [default: models: maxmargin for .mm, onnx for .onnx, else liblinear; data: npz for .npz, "
    "blocks for .blocks, else svmlight]",
)
@click.option(
    "--block-size", default="8MB", show_default=True, metavar="SIZE", help="Blocks: about how large each of them is."
)
@reading
@jobs
@talking
@click.pass_context
def convert(context: click.Context, /, source_files: tuple[str, ...], target: str, to: str | None, **given: Any) -> int:
    """Convert IN, a model or data, to another format and write it to OUT.

    An OUT that ends in .blocks becomes a folder of blocks, for data of any size, from one IN or several; a conversion
    that was interrupted goes on when it is called again.

    \b
    maxmargin convert model.mm liblinear.model
    maxmargin convert model.mm model.onnx
    maxmargin convert train.svm.gz train.npz
    maxmargin convert part-*.svm.xz train.blocks
    """
    from maxmargin.cli.output import Output

    output = Output(given["quiet"], given["as_json"])
    source_file = source_files[0]
    if to == "blocks" or (to is None and _suffix(target) == ".blocks"):
        return _convert_to_blocks(source_files, target, given, output)
    if len(source_files) > 1:
        raise ValueError(f"{target}: several files become one folder of blocks only; name it {target}.blocks")
    if context.get_parameter_source("block_size") is click.core.ParameterSource.COMMANDLINE:
        raise ValueError("--block-size applies to folders of blocks only")
    if os.path.exists(source_file) and os.path.exists(target) and os.path.samefile(source_file, target):
        raise ValueError(f"{target}: IN and OUT are the same file")
    if target == "-":
        raise ValueError("OUT is a file; standard output cannot be one")
    model = is_model(source_file)
    to = to or _format_of(target, model)
    if model != (to in ("maxmargin", "liblinear", "onnx")):
        raise ValueError(f"{source_file} holds {'a model' if model else 'data'}, which cannot become {to}")
    if model:
        refuse_reading(given, source_file)
        from maxmargin.io.models import read_any_model, write_any_model

        trained = read_any_model(source_file)
        if to == "onnx":
            from maxmargin.io.files import atomic_write
            from maxmargin.io.onnx_model import onnx_graph

            try:
                contents = onnx_graph(trained).SerializeToString()
            except ImportError as error:
                raise ValueError(str(error)) from error
            with atomic_write(target) as file:
                file.write(contents)
        else:
            write_any_model(trained, target, format=to, dual=True)
    else:
        _convert_data(source_file, target, to, given, output)
    output.results({"in": source_file, "out": target, "format": to}, [f"{target} written ({to})"])
    return 0


def _suffix(target: str) -> str:
    return os.path.splitext(target.rstrip("/"))[1].lower()


def _convert_to_blocks(sources: tuple[str, ...], target: str, given: dict[str, Any], output: Any) -> int:
    from maxmargin.cli.output import Bar
    from maxmargin.io.block_writer import write_blocks

    for name in sources:
        if is_model(name):
            raise ValueError(f"{name} holds a model, which cannot become blocks")
        if name == "-":
            raise ValueError("blocks are made of files, since what is interrupted must be read again; save it first")
    options = read_options(**given)
    with Bar(output, "converting") as bar:
        blocks = write_blocks(
            list(sources),
            target,
            dtype=options.dtype,
            block_bytes=given["block_size"],
            options=options,
            progress=lambda share: bar.show(share, target),
        )
    fields = {
        "in": list(sources) if len(sources) > 1 else sources[0],
        "out": target,
        "format": "blocks",
        "rows": blocks.shape[0],
        "features": blocks.shape[1],
        "blocks": blocks.n_blocks,
    }
    rows, features = blocks.shape
    output.results(fields, [f"{target} written ({blocks.n_blocks:,} blocks, {rows:,} rows, {features:,} features)"])
    return 0


def _format_of(target: str, model: bool) -> str:
    """What the name of OUT asks for."""
    from maxmargin.io.data import SUFFIXES
    from maxmargin.io.files import MAGIC, plain_suffix

    suffix = plain_suffix(target)
    if os.path.splitext(target)[1].lower() in MAGIC and (model or suffix == ".npz"):
        raise ValueError(f"{target}: only svmlight text is written packed")
    if model and suffix not in (*SUFFIXES, ".svm"):
        return {".mm": "maxmargin", ".onnx": "onnx"}.get(suffix, "liblinear")
    if suffix == ".blocks":
        raise ValueError(f"{target}: a model cannot become blocks")
    if not model and (suffix == ".npz" or suffix not in (*SUFFIXES, ".mm", ".onnx")):
        return "npz" if suffix == ".npz" else "svmlight"
    kinds = "models to .mm or LIBLINEAR's format or .onnx" if model else "data to svmlight or .npz"
    raise ValueError(f"{target}: convert turns {kinds}, not to {suffix}; --to overrides the suffix")


def _convert_data(source_file: str, target: str, to: str, given: dict[str, Any], output: Any) -> None:
    import numpy as np

    from maxmargin.io.files import atomic_write

    data = load(source_file, given, output, with_qid=True)
    if to == "svmlight":
        from maxmargin.io.svmlight_writer import save_svmlight

        y = data.y
        assert y is not None
        if y.dtype.kind in "UO":
            classes, y = np.unique(y, return_inverse=True)
            output.note(f"labels were numbered: {', '.join(f'{label} = {k}' for k, label in enumerate(classes))}")
        save_svmlight(data.X, y, target, qid=data.qid, zero_based=data.source.get("zero_based", False))
        return
    X = data.X
    arrays = (
        {
            "data": X.data,
            "indices": X.indices,
            "indptr": X.indptr,
            "shape": np.array(X.shape),
            "format": np.array("csr"),
        }
        if hasattr(X, "indptr")
        else {"X": X}
    )
    if data.qid is not None:
        arrays["qid"] = data.qid
    assert data.y is not None
    with atomic_write(target) as file:
        np.savez_compressed(file, y=data.y, **arrays)
