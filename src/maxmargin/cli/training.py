"""What the subcommands that train have in common: options, and what they mean."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from maxmargin.cli.loading import has_qid
from maxmargin.cli.options import (
    CLASSIFICATION_SOLVERS,
    LOSSES,
    MULTI_CLASS,
    PENALTIES,
    REGRESSION_LOSSES,
    Positive,
    jobs,
    label_text,
    stacked,
    tidy,
)

if TYPE_CHECKING:
    from maxmargin.cli.output import Output
    from maxmargin.io.data import Data

task_option = click.option(
    "--task",
    type=click.Choice(["classify", "regression", "rank"]),
    default="classify",
    show_default=True,
    help="Tell classes apart, predict numbers, or order the rows of each query (qid) by their labels.",
)
liblinear_option = click.option(
    "--liblinear", metavar="OPTIONS", help="LIBLINEAR's options in its own words, such as '-s 3 -c 1 -B 1'."
)
losses = stacked(
    click.option(
        "--loss",
        type=click.Choice(tuple(dict.fromkeys((*LOSSES, *REGRESSION_LOSSES)))),
        help="Loss of a margin, or for regression of a residual.  [default: squared_hinge; epsilon_insensitive]",
    ),
    click.option(
        "--epsilon",
        type=Positive(zero=True),
        default=0.0,
        show_default=True,
        help="Regression: residuals up to this cost nothing.",
    ),
)

#: How to train, but for the loss.
training = stacked(
    click.option(
        "--penalty",
        type=click.Choice(PENALTIES),
        default="l2",
        show_default=True,
        help="Regulariser: l1 makes most weights zero, and is not for the hinge.",
    ),
    click.option(
        "--tol",
        type=Positive(zero=True),
        default=1e-3,
        show_default=True,
        help="Certified relative duality gap to reach.",
    ),
    click.option(
        "--multi-class",
        type=click.Choice(MULTI_CLASS),
        default="ovr",
        show_default=True,
        help="Each class against the rest, or one problem over all classes (then --loss has no meaning).",
    ),
    click.option(
        "--solver", type=click.Choice(CLASSIFICATION_SOLVERS), default="auto", show_default=True, help="Method."
    ),
    click.option(
        "--max-iter", type=click.IntRange(1), default=10_000, show_default=True, help="Most epochs per class and stage."
    ),
    click.option("--no-intercept", is_flag=True, help="Fit no intercept."),
    click.option("--no-penalize-intercept", is_flag=True, help="Leave the intercept out of the regulariser."),
    click.option(
        "--intercept-scaling",
        type=Positive(),
        default=1.0,
        show_default=True,
        help="Larger regularises the intercept less.",
    ),
    click.option(
        "--class-weight",
        multiple=True,
        metavar="LABEL=WEIGHT",
        help="Weight of a class, for example 1=5; may be repeated. 'balanced' makes all classes count alike.",
    ),
    click.option("--no-shrinking", is_flag=True, help="Let 'dcd' and 'sdm' visit all rows in every epoch."),
    click.option("--no-pack", is_flag=True, help="Make no packed copy of sparse rows, which saves time."),
    click.option("--seed", type=click.IntRange(0, 2**32 - 1), default=0, show_default=True, help="Seed."),
    jobs,
)


def prepare_classification(context: click.Context, given: dict[str, Any]) -> None:
    """The loss of a classifier; options of other tasks are an error."""
    given["loss"] = given["loss"] or "squared_hinge"
    if given["loss"] not in LOSSES:
        raise click.UsageError(f"--loss {given['loss']} needs --task regression", context)
    if given["epsilon"] != 0:
        raise click.UsageError("--epsilon needs --task regression", context)
    if given.get("nu", 0.5) != 0.5:
        raise click.UsageError("--nu needs --task one_class", context)


def solver_options(given: dict[str, Any]) -> dict[str, Any]:
    """What the options of `training` mean to ``train_classifier``."""
    from maxmargin.training.classification import choose_method

    context = click.get_current_context()
    loss_given = context.get_parameter_source("loss") is click.core.ParameterSource.COMMANDLINE
    if given["multi_class"] != "ovr" and given["loss"] != "hinge" and loss_given:
        raise click.UsageError(f"--multi-class {given['multi_class']} is a hinge loss; leave out --loss", context)
    method = choose_method(
        given["solver"],
        given["multi_class"],
        given["loss"],
        penalize_bias=not given["no_penalize_intercept"],
        shrinking=not given["no_shrinking"],
        penalty=given["penalty"],
    )
    return {
        **intercept_options(given),
        "multi_class": given["multi_class"],
        "loss": given["loss"],
        "penalty": given["penalty"],
        "solver": method,
        "tol": given["tol"],
        "max_iter": given["max_iter"],
        "pack": not given["no_pack"],
    }


def intercept_options(given: dict[str, Any]) -> dict[str, Any]:
    """What the options of the intercept mean to a problem."""
    for name in ("no_intercept", "no_penalize_intercept"):
        if given[name] and given["intercept_scaling"] != 1.0:
            raise ValueError(f"--intercept-scaling has no meaning with --{name.replace('_', '-')}")
    if given["no_intercept"] and given["no_penalize_intercept"]:
        raise ValueError("--no-penalize-intercept has no meaning with --no-intercept")
    return {
        "bias": 0.0 if given["no_intercept"] else given["intercept_scaling"],
        "penalize_bias": not given["no_penalize_intercept"],
    }


def labels_and_classes(data: Data, name: str) -> tuple[Any, Any]:
    """The classes, and which of them each row has; an error when there is nothing to tell apart."""
    import numpy as np

    assert data.y is not None  # read_data refuses files without labels
    if data.X.shape[0] == 0:
        raise ValueError(f"{name}: there are no rows")
    classes, labels = np.unique(tidy(data.y), return_inverse=True)
    if len(classes) < 2:
        raise ValueError(
            f"{name}: all labels are {label_text(classes.tolist()[0])}; a classifier needs at least two classes"
        )
    if classes.dtype.kind == "f" and len(classes) > 100 and len(classes) > len(labels) / 3:
        raise ValueError(
            f"{name}: there are {len(classes)} different labels in {len(labels)} rows: these look like numbers to "
            "predict, which --task regression does and a classifier does not"
        )
    return classes, labels


def class_weights(words: tuple[str, ...], classes: Any) -> dict[Any, float] | str | None:
    """What ``--class-weight`` asks for, by the labels themselves."""
    if not words:
        return None
    if words == ("balanced",):
        return "balanced"
    by_text = {label_text(label): label for label in classes.tolist()}
    weights: dict[Any, float] = {}
    for word in words:
        label, equals, number = word.rpartition("=")
        try:
            weight = float(number)
        except ValueError:
            equals = ""
            weight = 0.0
        if not equals:
            raise ValueError(f"--class-weight {word}: expected LABEL=WEIGHT, such as 1=5, or balanced on its own")
        if label not in by_text:
            shown = ", ".join(list(by_text)[:20])
            raise ValueError(f"--class-weight {word}: there is no class {label!r}; the classes are {shown}")
        if by_text[label] in weights:
            raise ValueError(f"--class-weight names the class {label!r} twice")
        if not 0 <= weight < float("inf"):
            raise ValueError(f"--class-weight {word}: a weight is a finite number that is not negative")
        weights[by_text[label]] = weight
    return weights


def given_on_the_line(context: click.Context, name: str) -> bool:
    """Whether an option was given, rather than left at its default."""
    return context.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE


def note_qid(context: click.Context, data: str, loaded: Data, given: dict[str, Any], output: Output) -> None:
    """A word to those who may have meant to rank."""
    if given_on_the_line(context, "task") or given["task"] != "classify":
        return
    if loaded.qid is not None or (data != "-" and has_qid(data, given)):
        output.note(
            f"{data} has query numbers (qid), which a classifier does not look at; --task rank puts the rows of each "
            "query in the order of their labels"
        )


def take_liblinear(context: click.Context, given: dict[str, Any]) -> list[str]:
    """Put the options of a LIBLINEAR string in place; both at once for the same thing is an error."""
    if given["liblinear"] is None:
        return []
    from maxmargin.cli.liblinear_options import parse_liblinear

    options, notes = parse_liblinear(given["liblinear"])

    for name, value in options.items():
        if given_on_the_line(context, name):
            raise click.UsageError(f"--liblinear sets {name.replace('_', '-')} too; give it once only", context)
        given[name] = value
    if "no_intercept" not in options:
        if given_on_the_line(context, "intercept_scaling"):
            raise click.UsageError("--liblinear fits no intercept without -B; give its scaling there", context)
        given["no_intercept"] = True  # LIBLINEAR's default
    return notes


def classifier_parameters(given: dict[str, Any], class_weight: Any) -> dict[str, Any]:
    """The same training as parameters of LinearSVC, for the model file."""
    return {
        "loss": given["loss"],
        "penalty": given["penalty"],
        "dual": "auto",
        "C": given["C"],
        "multi_class": given["multi_class"],
        "solver": given["solver"],
        "tol": given["tol"],
        "max_iter": given["max_iter"],
        "fit_intercept": not given["no_intercept"],
        "penalize_intercept": not given["no_penalize_intercept"],
        "intercept_scaling": given["intercept_scaling"],
        "class_weight": class_weight,
        "shrinking": not given["no_shrinking"],
        "warm_start": False,
        "n_jobs": given["jobs"],
        "pack": not given["no_pack"],
        "time_limit": given.get("time_limit"),
        "random_state": given["seed"],
        "verbose": 0,
    }
