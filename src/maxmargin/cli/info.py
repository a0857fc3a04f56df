"""``maxmargin info``: what is in a model file or in a data file."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from maxmargin.cli.loading import has_several_labels, is_model, load
from maxmargin.cli.options import jobs, label_text, read_options, reading, refuse_reading, source, talking, tidy
from maxmargin.cli.pictures import draw, plot_option
from maxmargin.cli.ranking import pair_fields

if TYPE_CHECKING:
    from maxmargin.cli.output import Output
    from maxmargin.models.model import Model

#: Classes whose features are listed; --json has them all.
MOST_CLASSES_SHOWN = 20


@click.command(short_help="Show what is in a model or data file.")
@click.argument("file", type=click.Path(allow_dash=True))
@click.option(
    "--top", type=click.IntRange(0), default=5, show_default=True, help="Models: features of largest weight, per class."
)
@reading
@jobs
@plot_option("the features of largest weight of a model")
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
        model = read_any_model(file)
        fields = describe_model(model)
        tops = largest_weights(model, given["top"])
        lines = pairs((head.replace("_", " "), _shown(value)) for head, value in fields.items())
        _draw(given["plot"], model, given["top"])
        output.results({**fields, "top_features": tops}, [*lines, *_top_lines(tops)])
        return 0
    if given["plot"] is not None:
        raise ValueError(f"--plot draws the weights of a model, and {file} is none")
    fields = describe_data(file, given, output)
    output.results(fields, pairs((head.replace("_", " "), _shown(value)) for head, value in fields.items()))
    return 0


def feature_names(model: Model) -> list[str]:
    """Names of the features, or their numbers as in the file the model was trained on."""
    if model.feature_names is not None:
        return model.feature_names
    first = 0 if model.source.get("zero_based", True) else 1
    return [str(j + first) for j in range(model.coef.shape[1])]


def largest_weights(model: Model, count: int) -> list[dict[str, Any]]:
    """What speaks most for each class, or for a higher and a lower rank or number."""
    from maxmargin.models.model import top_features

    names = feature_names(model)

    def entry(what: dict[str, Any], weights: Any, features: list[int]) -> dict[str, Any]:
        return {**what, "features": [{"feature": names[j], "weight": float(weights[j])} for j in features]}

    if model.coef.shape[0] == 1 and model.multilabel is None:
        top = top_features(model.coef[0], count)
        goal = "number" if model.predicts_numbers else "rank"
        low, high = model.classes.tolist() or (f"lower {goal}", f"higher {goal}")
        return [entry({"for": high}, model.coef[0], top.positive), entry({"for": low}, model.coef[0], top.negative)]
    return [
        entry({"for": label}, weights, top_features(weights, count).positive)
        for label, weights in zip(model.classes.tolist(), _weight_rows(model), strict=True)
    ]


def _weight_rows(model: Model) -> Iterator[Any]:
    """The weights of one class after the other, dense."""
    if not hasattr(model.coef, "indptr"):
        yield from model.coef
        return
    import numpy as np

    for label in range(model.coef.shape[0]):
        row, weights = model.coef.rows(label, label + 1), np.zeros(model.coef.shape[1])
        weights[row.indices] = row.data
        yield weights


def _top_lines(tops: list[dict[str, Any]]) -> list[str]:
    shown = [top for top in tops[:MOST_CLASSES_SHOWN] if top["features"]]
    if not shown:
        return []
    from maxmargin.cli.output import pairs

    more = [f"... and {len(tops) - MOST_CLASSES_SHOWN} classes more"] if len(tops) > MOST_CLASSES_SHOWN else []
    return [
        "",
        "largest weights for",
        *pairs(
            (
                f"  {label_text(top['for'])}",
                ", ".join(f"{each['feature']} {each['weight']:+.4g}" for each in top["features"]),
            )
            for top in shown
        ),
        *more,
    ]


def _draw(path: str | None, model: Model, count: int) -> None:
    if path is None:
        return
    from maxmargin.plots.features import TopFeaturesDisplay

    if hasattr(model.coef, "indptr"):
        raise ValueError(f"--plot draws few classes; this model has {len(model.classes):,} labels")
    display = TopFeaturesDisplay(model.coef, model.classes.tolist(), feature_names(model))
    count = count or 5
    height = 0.9 + 0.25 * count * (2 if len(model.coef) == 1 else 1)
    columns, rows = display.panels
    draw(path, lambda axes: display.plot(n_features=count, ax=axes), columns, rows, size=(5.0, height))


def describe_model(model: Model) -> dict[str, Any]:
    """The facts about a model."""
    import numpy as np

    parameters = model.parameters
    fields: dict[str, Any] = {
        "kind": f"model, {model.estimator}",
        **({"classes": model.classes.tolist()} if len(model.classes) else {}),
        **({} if model.multilabel is None else {"labels_per_row": "any number"}),
        "features": model.coef.shape[1],
        "nonzero_weights": int(np.count_nonzero(model.coef.data if hasattr(model.coef, "indptr") else model.coef)),
        "intercept": model.intercept.tolist(),
    }
    if model.feature_names is not None:
        fields["feature_names"] = model.feature_names
    if model.calibration is not None:
        fields["probabilities"] = model.calibration.kind
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


def describe_data(path: str, given: dict[str, Any], output: Output) -> dict[str, Any]:
    """The facts about a data file."""
    import numpy as np

    several = has_several_labels(path, given)
    data = load(path, {**given, "multilabel": several}, output, need_labels=False, with_qid=True)
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
    labels = np.array([label for own in data.y for label in own]) if several and data.y is not None else data.y
    if several:
        fields["labels_per_row"] = (0 if labels is None else labels.size) / max(rows, 1)
    if labels is not None and labels.size:
        classes, counts = np.unique(tidy(labels), return_counts=True)
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
