"""``maxmargin info``: what is in a model file or in a data file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from maxmargin.cli.options import jobs, label_text, read_options, reading, refuse_reading, source, talking, tidy
from maxmargin.cli.ranking import pair_fields

if TYPE_CHECKING:
    from maxmargin.models.model import Model


@click.command(short_help="Show what is in a model or data file.")
@click.argument("file", type=click.Path(allow_dash=True))
@reading
@jobs
@talking
def info(file: str, **given: Any) -> int:
    """Show what is in FILE, a model (of maxmargin or LIBLINEAR) or data.

    \b
    maxmargin info model.mm
    maxmargin info train.svm
    """
    from maxmargin.cli.output import Output, pairs

    output = Output(given["quiet"], given["as_json"])
    if is_model(file):
        from maxmargin.io.models import read_any_model

        refuse_reading(given, file)
        fields = describe_model(read_any_model(file))
    else:
        fields = describe_data(file, given)
    output.results(fields, pairs((head.replace("_", " "), _shown(value)) for head, value in fields.items()))
    return 0


def is_model(path: str) -> bool:
    """Whether a file begins like a model rather than like data."""
    import os

    if path == "-" or not os.path.isfile(path):
        return False  # what cannot be read twice is taken for data; what is not there is told so later
    from maxmargin.io.liblinear_model import START

    with open(path, "rb") as file:
        start = file.read(32)
    return start.startswith(START) or (len(start) > 9 and start[4:8] == bytes(4) and start[8:10] == b'{"')


def describe_model(model: Model) -> dict[str, Any]:
    """The facts about a model."""
    import numpy as np

    parameters = model.parameters
    fields: dict[str, Any] = {
        "kind": f"model, {model.estimator}",
        **({"classes": model.classes.tolist()} if len(model.classes) else {}),
        "features": model.coef.shape[1],
        "nonzero_weights": int(np.count_nonzero(model.coef)),
        "intercept": model.intercept.tolist(),
    }
    if model.feature_names is not None:
        fields["feature_names"] = model.feature_names
    training = model.training
    if training is None:
        fields["trained"] = "by another program"
        fields["loss"] = parameters.get("loss")
        return fields
    wanted = ("loss", "epsilon", "nu", "C", "multi_class", "solver", "tol", "class_weight")
    fields.update({name: parameters[name] for name in wanted if parameters.get(name) is not None})
    fields.update(
        {
            "objective": float(training.primal.sum()),
            "dual_objective": float(training.dual.sum()),
            "certified_gap": max(float(training.gap.max()), 0.0),
            "converged": training.converged,
            "epochs": training.n_iter,
            "solver_used": sorted(set(training.solvers)),
            "support_vectors": int(training.n_support.sum()),
            "dual_variables": "kept" if training.dual_coef is not None else "not kept",
        }
    )
    if training.pairs is not None:
        fields.update(pair_fields(model))
    return fields


def describe_data(path: str, given: dict[str, Any]) -> dict[str, Any]:
    """The facts about a data file."""
    import numpy as np

    from maxmargin.io.data import read_data

    data = read_data(source(path), read_options(**given), need_labels=False, with_qid=True)
    values = data.X.data if hasattr(data.X, "indptr") else data.X.ravel()
    rows, features = data.X.shape
    nonzeros = int(np.count_nonzero(values))
    fields: dict[str, Any] = {
        "kind": f"data, {read_options(**given).format_of(source(path))}",
        "rows": rows,
        "features": features,
        "nonzeros": nonzeros,
        "density": nonzeros / max(rows * features, 1),
        "nonzeros_per_row": nonzeros / max(rows, 1),
    }
    if values.size:
        fields["values"] = [float(values.min()), float(values.max())]
    if "zero_based" in data.source:
        fields["first_feature"] = 0 if data.source["zero_based"] else 1
    if data.y is not None and data.y.size:
        classes, counts = np.unique(tidy(data.y), return_counts=True)
        if len(classes) <= 100:
            fields["labels"] = dict(zip(map(label_text, classes.tolist()), counts.tolist(), strict=True))
        else:
            fields["labels"] = f"{len(classes):,} different ones, from {classes[0]} to {classes[-1]}"
    if data.qid is not None:
        fields["queries"] = len(np.unique(data.qid))
    if data.feature_names is not None:
        fields["feature_names"] = data.feature_names
    return fields


def _shown(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key}: {_shown(entry)}" for key, entry in value.items())
    if isinstance(value, list):
        return ", ".join(map(_shown, value[:20])) + (f", ... ({len(value)} in all)" if len(value) > 20 else "")
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:.6g}" if isinstance(value, float) else str(value)
