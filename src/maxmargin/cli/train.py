"""``maxmargin train``: from a data file to a model file."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Any

import click

from maxmargin.cli.blocks import streamed_blocks, train_on_blocks
from maxmargin.cli.loading import check_order, load
from maxmargin.cli.multilabel import recognise_labels, train_labels, training_fields, training_lines
from maxmargin.cli.one_class import outlier_fields, outlier_lines, refuse_supervision, train_one_class
from maxmargin.cli.options import (
    Positive,
    data_argument,
    label_text,
    memory,
    reading,
    talking,
    tidy,
)
from maxmargin.cli.pictures import draw, plot_option
from maxmargin.cli.ranking import pair_fields, pair_lines, refuse_classification, train_ranker
from maxmargin.cli.regression import prepare_regression, residual_fields, residual_lines, train_regressor
from maxmargin.cli.targets import model_target
from maxmargin.cli.training import (
    class_weights,
    classifier_parameters,
    labels_and_classes,
    liblinear_option,
    losses,
    note_qid,
    prepare_classification,
    solver_options,
    take_liblinear,
    training,
)

if TYPE_CHECKING:
    from maxmargin.cli.output import Output
    from maxmargin.io.data import Data
    from maxmargin.models.model import Model, Training


@click.command(short_help="Train a classifier, a regression, an outlier detector or a ranking on a data file.")
@data_argument
@click.argument("model", type=click.Path(), required=False)
@click.option(
    "--task",
    type=click.Choice(["classify", "regression", "one_class", "rank"]),
    default="classify",
    show_default=True,
    help="Tell classes apart, predict numbers, tell outliers, or order the rows of each query (qid) by their labels.",
)
@losses
@click.option(
    "--nu",
    type=Positive(),
    default=0.5,
    show_default=True,
    help="One class: about the share of the rows that become outliers, at most 1.",
)
@click.option(
    "-C", "C", type=Positive(), default=1.0, show_default=True, help="Weight of the losses: larger fits closer."
)
@training
@click.option(
    "--time-limit", type=Positive(), metavar="SECONDS", help="Stop training after this time with the best so far."
)
@reading
@memory
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
@click.option(
    "--multilabel",
    is_flag=True,
    help="svmlight: rows have any number of labels, separated by commas.  [default: if the first rows do]",
)
@click.option("--resume", is_flag=True, help="Go on from the checkpoint, if it is there.")
@liblinear_option
@plot_option("the certified gap and the objectives against time")
@talking
@click.pass_context
def train(context: click.Context, /, data: str, model: str | None, **given: Any) -> int:
    """Train on DATA and write the model to MODEL.

    DATA is a file in svmlight format (that of LIBLINEAR, perhaps compressed), .npz, .npy, .csv, .tsv or .parquet,
    or - for svmlight on standard input; or a folder of blocks, for data of any size. Without MODEL the model goes to
    the name of DATA with the suffix .mm, in the current folder. More than two classes are trained one against the
    rest, or by one problem over all of them (--multi-class).

    Rows of svmlight files may have any number of labels, separated by commas (--multilabel): each label is trained by
    itself, and predictions are such lists.

    With --task regression the labels are numbers to predict.

    With --task one_class labels have no meaning: the model tells rows like those of DATA (+1) from others (-1).

    With --task rank a larger label means a higher rank, and only rows with the same qid: (svmlight, or an array qid in
    .npz) are compared.

    \b
    maxmargin train train.svm model.mm -C 10 --loss hinge
    maxmargin train flowers.csv --label species --tol 1e-6
    maxmargin train digits.svm --multi-class crammer_singer
    maxmargin train words.svm --penalty l1 -C 0.1
    maxmargin train topics.svm --multilabel --jobs -1
    maxmargin train train.svm.gz --liblinear "-s 3 -c 1 -B 1"
    maxmargin train houses.csv --task regression --label price --epsilon 1000 --no-penalize-intercept
    maxmargin train normal.svm --task one_class --nu 0.05
    maxmargin train queries.svm --task rank -C 100
    maxmargin train train.blocks model.mm --memory 2GB
    """
    from maxmargin.cli.output import Output

    if given["task"] == "rank":
        refuse_classification(context, given)
    if given["task"] == "one_class":
        refuse_supervision(context, given)
    notes = take_liblinear(context, given)
    if given["task"] == "regression":
        prepare_regression(context, given)
    elif given["task"] == "classify":
        prepare_classification(context, given)
    output = Output(given["quiet"], given["as_json"])
    for note in notes:
        output.note(note)
    recognise_labels(context, data, given, output)
    if given.get("folds") or given.get("search"):
        from maxmargin.cli.cv import cross_validation

        given.setdefault("folds", 5)
        return cross_validation(context, data, model, None if given.get("search") else (given["C"],), given, output)
    if model is not None:
        check_order("train", data, model)
    target = model_target(data, model, given["labels"])
    _check_checkpoint(given, target, data)

    start = time.perf_counter()
    blocks = streamed_blocks(data, given)
    if blocks is not None:
        return train_on_blocks(blocks, target, given, output)
    loaded = load(data, given, output, with_qid=given["task"] == "rank")
    note_qid(context, data, loaded, given, output)
    read = time.perf_counter()
    trainers = {"classify": _train, "regression": train_regressor, "one_class": train_one_class, "rank": train_ranker}
    trainer = train_labels if given["multilabel"] else trainers[given["task"]]
    trained = trainer(loaded, data, given, output)
    done = time.perf_counter()
    from maxmargin.io.model_file import write_model

    write_model(trained, target, dual=given["dual"])
    _draw(given["plot"], trained, given["tol"])
    times = {"reading": read - start, "training": done - read, "writing": time.perf_counter() - done}

    fields = _summary(loaded, trained, target, given["tol"], times)
    output.results(fields, summary_lines(fields))
    if trained.training is not None and not trained.training.converged:
        output.say(f"The model is written, but {shortfall(trained.training, given, loaded)}")
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


def shortfall(training: Training, given: dict[str, Any], data: Data | None) -> str:
    """Why a training fell short, and what would help, by a look at the columns of the data if they are at hand."""
    from maxmargin.problems.scaling import describe_scales
    from maxmargin.solvers.solution import describe_shortfall

    scales = None
    if data is not None:
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
        **_goal(data, model),
        "objective": float(training.primal.sum()),
        "gap": max(float(training.gap.max()), 0.0),
        "tol": tol,
        "converged": training.converged,
        "epochs": training.n_iter,
        "solver": training.solvers[0] if len(training.solvers) == 1 else training.solvers,
        "support_vectors": int(training.n_support.sum()),
        "seconds": times,
    }


def _goal(data: Data, model: Model) -> dict[str, Any]:
    """What the model makes of its training data, or what it tells apart."""
    if model.ranks:
        return pair_fields(model)
    if model.predicts_numbers:
        return residual_fields(data, model)
    if model.estimator == "OneClassSVM":
        return outlier_fields(data, model)
    if model.multilabel is not None:
        return training_fields(data, model)
    return _accuracy(data, model)


def _accuracy(data: Data, model: Model) -> dict[str, Any]:
    """The classes, and how many of the training rows get their own."""
    import numpy as np

    assert data.y is not None
    correct = int(np.count_nonzero(model.predict(data.X) == tidy(data.y)))
    return {"classes": model.classes.tolist(), "correct": correct, "accuracy": correct / data.X.shape[0]}


def summary_lines(fields: dict[str, Any]) -> list[str]:
    """What there is to say about a training, as text."""
    from maxmargin.cli.output import pairs, seconds

    solvers = [fields["solver"]] if isinstance(fields["solver"], str) else sorted(set(fields["solver"]))
    if "pairs" in fields:
        goal = pair_lines(fields)
    elif "mean_squared_error" in fields:
        goal = residual_lines(fields)
    elif "outliers" in fields:
        goal = outlier_lines(fields)
    elif "micro_f1" in fields:
        goal = training_lines(fields)
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
