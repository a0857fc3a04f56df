"""What ``--task one_class`` does in ``train``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from maxmargin.cli.options import ONE_CLASS_SOLVERS
from maxmargin.cli.single import run_parameters, solve_with_bar

if TYPE_CHECKING:
    from maxmargin.cli.output import Output
    from maxmargin.io.data import Data
    from maxmargin.models.model import Model

#: Options of ``train`` that mean nothing without labels.
_SUPERVISED = (
    "C",
    "loss",
    "penalty",
    "epsilon",
    "multi_class",
    "no_intercept",
    "no_penalize_intercept",
    "intercept_scaling",
    "class_weight",
)


def refuse_supervision(context: click.Context, given: dict[str, Any]) -> None:
    """Options of a classifier or a regression are an error."""
    for name in _SUPERVISED:
        if context.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE:
            dashes = "-" if len(name) == 1 else "--"
            raise click.UsageError(f"{dashes}{name.replace('_', '-')} does not apply to --task one_class", context)
    if given["nu"] > 1:
        raise click.UsageError(f"--nu is a share of the rows, at most 1, not {given['nu']:g}", context)
    if given["solver"] not in ONE_CLASS_SOLVERS:
        raise click.UsageError(
            f"--task one_class is solved by {', '.join(ONE_CLASS_SOLVERS)}, not by {given['solver']}", context
        )


def train_one_class(data: Data, name: str, given: dict[str, Any], output: Output) -> Model:
    """The model that tells rows like those of the data from others."""
    from maxmargin.models.model import Model
    from maxmargin.problems.one_class import OneClassProblem
    from maxmargin.training.method_choice import narrow_method

    shrinking = not given["no_shrinking"]
    method = narrow_method(given["solver"], "one_class", OneClassProblem.loss, penalize_bias=False, shrinking=shrinking)
    if data.X.shape[0] == 0:
        raise ValueError(f"{name}: there are no rows")
    problem = OneClassProblem(data.X, given["nu"])
    solution = solve_with_bar(problem, method, given, output)
    if problem.vanishes(solution.certificate.dual):
        output.note("the origin lies among the rows, so that the best weights are zero and the model tells nothing")
    parameters = {"nu": given["nu"], **run_parameters(given)}
    return Model.of_one_class(problem, solution, parameters, feature_names=data.feature_names, source=data.source)


def outlier_fields(data: Data, model: Model) -> dict[str, Any]:
    """How many of its training rows a model takes for outliers."""
    return {"outliers": int((model.scores(data.X) < 0).sum()), "offset": -float(model.intercept[0])}


def outlier_lines(fields: dict[str, Any]) -> list[tuple[str, str]]:
    """The same as text."""
    share = 100 * fields["outliers"] / fields["rows"]
    return [("outliers", f"{fields['outliers']:,} ({share:.2f} %)"), ("offset", f"{fields['offset']:.6g}")]
