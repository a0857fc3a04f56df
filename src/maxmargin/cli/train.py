"""``maxmargin train``: from a data file to a model file."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Any

import click

from maxmargin.cli.loading import check_order, load
from maxmargin.cli.options import Positive, data_argument, label_text, reading, talking, tidy
from maxmargin.cli.pictures import draw, plot_option
from maxmargin.cli.ranking import pair_fields, pair_lines, refuse_classification, train_ranker
from maxmargin.cli.targets import model_target
from maxmargin.cli.training import (
    class_weights,
    classifier_parameters,
    labels_and_classes,
    liblinear_option,
    note_qid,
    solver_options,
    take_liblinear,
    task_option,
    training,
)

if TYPE_CHECKING:
    from maxmargin.cli.output import Output
    from maxmargin.io.data import Data
    from maxmargin.models.model import Model, Training


@click.command(short_help="Train a classifier or a ranking on a data file.")
@data_argument
@click.argument("model", type=click.Path(), required=False)
@task_option
@click.option(
    "-C", "C", type=Positive(), default=1.0, show_default=True, help="Weight of the losses: larger fits closer."
)
@training
@click.option(
    "--time-limit", type=Positive(), metavar="SECONDS", help="Stop training after this time with the best so far."
)
@reading
@click.option("--dual", is_flag=True, help="Keep the dual variables in the model file.")
@click.option("--checkpoint", type=click.Path(), metavar="FILE", help="Keep the state in FILE, to go on if killed.")
@click.option(
    "--checkpoint-interval",
    type=Positive(),
    default=60.0,
    show_default=True,
    metavar="SECONDS",
    help="How much of the training may be lost.",
)
@click.option("--resume", is_flag=True, help="Go on from the checkpoint, if it is there.")
@liblinear_option
@plot_option("the certified gap and the objectives against time")
@talking
@click.pass_context
def train(context: click.Context, /, data: str, model: str | None, **given: Any) -> int:
    """Train on DATA and write the model to MODEL.

    DATA is a file in svmlight format (that of LIBLINEAR, perhaps compressed), .npz, .npy, .csv, .tsv or .parquet,
    or - for svmlight on standard input. Without MODEL the model goes to the name of DATA with the suffix .mm, in the
    current folder. More than two classes are trained one against the rest, or by one problem over all of them
    (--multi-class).

    With --task rank a larger label means a higher rank, and only rows with the same qid: (svmlight, or an array qid in
    .npz) are compared.

    \b
    maxmargin train train.svm model.mm -C 10 --loss hinge
    maxmargin train flowers.csv --label species --tol 1e-6
    maxmargin train digits.svm --multi-class crammer_singer
    maxmargin train train.svm.gz --liblinear "-s 3 -c 1 -B 1"
    maxmargin train queries.svm --task rank -C 100
    """
    from maxmargin.cli.output import Output

    ranking = given["task"] == "rank"
    if ranking:
        refuse_classification(context, given)
    notes = take_liblinear(context, given)
    output = Output(given["quiet"], given["as_json"])
    for note in notes:
        output.note(note)
    if given.get("folds") or given.get("search"):
        from maxmargin.cli.cv import cross_validation

        given.setdefault("folds", 5)
        return cross_validation(context, data, model, None if given.get("search") else (given["C"],), given, output)
    if model is not None:
        check_order("train", data, model)
    target = model_target(data, model, given["labels"])
    _check_checkpoint(given, target, data)

    start = time.perf_counter()
    loaded = load(data, given, output, with_qid=ranking)
    note_qid(context, data, loaded, given, output)
    read = time.perf_counter()
    trained = (train_ranker if ranking else _train)(loaded, data, given, output)
    done = time.perf_counter()
    from maxmargin.io.model_file import write_model

    write_model(trained, target, dual=given["dual"])
    _draw(given["plot"], trained, given["tol"])
    times = {"reading": read - start, "training": done - read, "writing": time.perf_counter() - done}

    fields = _summary(loaded, trained, target, given["tol"], times)
    output.results(fields, _lines(fields))
    if trained.training is not None and not trained.training.converged:
        output.say(f"The model is written, but {_shortfall(loaded, trained.training, given)}")
        return 1
    if given["checkpoint"] is not None:
        os.unlink(given["checkpoint"])  # there is nothing left to go on with
    return 0


def _check_checkpoint(given: dict[str, Any], *others: str) -> None:
    path = given["checkpoint"]
    if path is None:
        if given["resume"]:
            raise ValueError("--resume needs --checkpoint FILE, the file to go on from")
        return
    if os.path.exists(path):
        if any(os.path.exists(other) and os.path.samefile(path, other) for other in others):
            raise ValueError(f"{path}: the checkpoint would overwrite another file; give it another name")
        if not given["resume"]:
            raise ValueError(f"{path} is there already; go on from it with --resume, or remove it")


def _draw(path: str | None, model: Model, tol: float) -> None:
    def plot(axes: list[Any]) -> None:
        from maxmargin.plots.history import HistoryDisplay

        assert model.training is not None
        histories = model.training.history
        names = [label_text(label) for label in model.classes.tolist()] if len(histories) > 1 else None
        HistoryDisplay(histories, names, tol).plot(ax=axes)

    draw(path, plot, columns=2)


def _shortfall(data: Data, training: Training, given: dict[str, Any]) -> str:
    from maxmargin.problems.scaling import describe_scales
    from maxmargin.solvers.solution import describe_shortfall

    scales = describe_scales(data.X, data.feature_names, first=0 if data.source.get("zero_based", True) else 1)
    limits = {
        "max_iter": f"raise --max-iter (now {given['max_iter']})",
        "time_limit": f"raise --time-limit (now {given['time_limit']} s)",
    }
    exit_, certificate = training.worst()
    text = describe_shortfall(exit_, certificate, given["tol"], limits, scales)
    return text or "the tolerance was not reached."


def _train(data: Data, name: str, given: dict[str, Any], output: Output) -> Model:
    from maxmargin.cli.output import Bar, TrainingBar
    from maxmargin.models.model import Model
    from maxmargin.solvers.threads import count_threads
    from maxmargin.training.classification import problems_of, train_classifier
    from maxmargin.training.weights import row_weights

    classes, labels = labels_and_classes(data, name)
    parameters = classifier_parameters(given, class_weights(given["class_weight"], classes))
    if given["liblinear"] and given["class_weight"] and len(classes) > 2 and given["multi_class"] == "ovr":
        from maxmargin.cli.liblinear_options import WEIGHTS_NOTE

        output.note(WEIGHTS_NOTE)
    with Bar(output, "training") as bar:
        problems, solutions = train_classifier(
            data.X,
            labels,
            len(classes),
            row_weights(given["C"], parameters["class_weight"], classes, labels),
            seed=given["seed"],
            listeners=TrainingBar(bar, len(problems_of(given["multi_class"], len(classes))), given["tol"]).listeners,
            time_limit=given["time_limit"],
            n_jobs=count_threads(given["jobs"]),
            checkpoint=given["checkpoint"],
            checkpoint_interval=given["checkpoint_interval"],
            **solver_options(given),
        )
    return Model.of_solutions(
        problems, solutions, classes, labels, parameters, feature_names=data.feature_names, source=data.source
    )


def _summary(data: Data, model: Model, target: str, tol: float, times: dict[str, float]) -> dict[str, Any]:
    training = model.training
    assert training is not None
    stored = data.X.data.size if hasattr(data.X, "indptr") else data.X.size
    return {
        "model": target,
        "rows": data.X.shape[0],
        "features": data.X.shape[1],
        "nonzeros": int(stored),
        **(pair_fields(model) if model.ranks else _accuracy(data, model)),
        "objective": float(training.primal.sum()),
        "gap": max(float(training.gap.max()), 0.0),
        "tol": tol,
        "converged": training.converged,
        "epochs": training.n_iter,
        "solver": training.solvers[0] if len(training.solvers) == 1 else training.solvers,
        "support_vectors": int(training.n_support.sum()),
        "seconds": times,
    }


def _accuracy(data: Data, model: Model) -> dict[str, Any]:
    """The classes, and how many of the training rows get their own."""
    import numpy as np

    assert data.y is not None
    correct = int(np.count_nonzero(model.predict(data.X) == tidy(data.y)))
    return {"classes": model.classes.tolist(), "correct": correct, "accuracy": correct / data.X.shape[0]}


def _lines(fields: dict[str, Any]) -> list[str]:
    from maxmargin.cli.output import pairs, seconds

    solvers = [fields["solver"]] if isinstance(fields["solver"], str) else sorted(set(fields["solver"]))
    if "pairs" in fields:
        goal = pair_lines(fields)
    else:
        classes = ", ".join(map(label_text, fields["classes"][:8])) + (", ..." if len(fields["classes"]) > 8 else "")
        right = f"{100 * fields['accuracy']:.4f} % ({fields['correct']:,} of {fields['rows']:,})"
        goal = [("classes", f"{len(fields['classes'])} ({classes})"), ("training accuracy", right)]
    return pairs(
        [
            ("rows", f"{fields['rows']:,}"),
            ("features", f"{fields['features']:,}"),
            *goal,
            ("objective", f"{fields['objective']:.10g}"),
            ("certified gap", f"{fields['gap']:.1e}" + ("" if fields["converged"] else f", not {fields['tol']:g}")),
            ("epochs", f"{fields['epochs']} ({', '.join(solvers)})"),
            ("support vectors", f"{fields['support_vectors']:,}"),
            *((head, seconds(value)) for head, value in fields["seconds"].items()),
            ("model", fields["model"]),
        ]
    )
