"""What ``--task regression`` does in ``train``, ``predict`` and ``info``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from maxmargin.cli.options import REGRESSION_LOSSES, REGRESSION_SOLVERS
from maxmargin.cli.single import run_parameters, solve_with_bar
from maxmargin.cli.training import intercept_options

if TYPE_CHECKING:
    from maxmargin.cli.output import Output
    from maxmargin.io.data import Data
    from maxmargin.models.model import Model


def prepare_regression(context: click.Context, given: dict[str, Any]) -> None:
    """The loss of a regression; options of a classifier are an error."""
    for name in ("penalty", "multi_class", "class_weight", "nu"):
        if context.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE or (
            name == "class_weight" and given[name]
        ):
            raise click.UsageError(f"--{name.replace('_', '-')} does not apply to --task regression", context)
    given["loss"] = given["loss"] or "epsilon_insensitive"
    if given["loss"] not in REGRESSION_LOSSES:
        raise click.UsageError(
            f"--loss {given['loss']} is one of margins; --task regression takes {', '.join(REGRESSION_LOSSES)}", context
        )
    if given["solver"] not in REGRESSION_SOLVERS:
        raise click.UsageError(
            f"--task regression is solved by {', '.join(REGRESSION_SOLVERS)}, not by {given['solver']}", context
        )


def train_regressor(data: Data, name: str, given: dict[str, Any], output: Output) -> Model:
    """The model that predicts the labels as numbers."""
    from maxmargin.models.model import Model
    from maxmargin.problems.regression import RegressionProblem, regression_loss
    from maxmargin.training.method_choice import narrow_method

    method = narrow_method(
        given["solver"],
        "regression",
        regression_loss(given["loss"], given["epsilon"]),
        penalize_bias=not given["no_penalize_intercept"],
        shrinking=not given["no_shrinking"],
    )
    try:
        problem = RegressionProblem(
            data.X,
            numbers_of(data, name),
            given["C"],
            loss=given["loss"],
            epsilon=given["epsilon"],
            **intercept_options(given),
        )
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from error
    solution = solve_with_bar(problem, method, given, output)
    return Model.of_regression(
        problem, solution, regression_parameters(given), feature_names=data.feature_names, source=data.source
    )


def regression_parameters(given: dict[str, Any]) -> dict[str, Any]:
    """The same training as parameters of LinearSVR, for the model file."""
    return {
        "loss": given["loss"],
        "epsilon": given["epsilon"],
        "C": given["C"],
        "dual": "auto",
        "fit_intercept": not given["no_intercept"],
        "penalize_intercept": not given["no_penalize_intercept"],
        "intercept_scaling": given["intercept_scaling"],
        **run_parameters(given),
    }


def numbers_of(data: Data, name: str) -> Any:
    """The labels as numbers to predict."""
    import numpy as np

    assert data.y is not None  # read_data refuses files without labels
    if data.X.shape[0] == 0:
        raise ValueError(f"{name}: there are no rows")
    y = np.asarray(data.y)
    if y.dtype.kind not in "iufb":
        raise ValueError(f"{name}: labels to predict by regression must be numbers, not texts such as {str(y[0])!r}")
    return y.astype(np.float64)


def residual_fields(data: Data, model: Model) -> dict[str, Any]:
    """How well a model predicts its training data."""
    tally = ResidualTally()
    tally.add(numbers_of(data, "the data"), model.scores(data.X))
    return tally.measures()


def residual_lines(fields: dict[str, Any]) -> list[tuple[str, str]]:
    """The same as text."""
    r2, correlation = fields["r2"], fields["squared_correlation"]
    return [
        ("mean squared error", f"{fields['mean_squared_error']:.6g}"),
        ("R2", "not defined" if r2 is None else f"{r2:.6f}"),
        ("squared correlation", "not defined" if correlation is None else f"{correlation:.6f}"),
    ]


class ResidualTally:
    """How far predictions are from the true numbers; keeps both for all rows."""

    def __init__(self) -> None:
        self.blocks: list[tuple[Any, Any]] = []
        self.rows = 0

    def add(self, y: Any, scores: Any) -> None:
        """The true numbers and the predictions of some rows; labels that are no numbers cannot be compared."""
        if y.dtype.kind in "iufb":
            self.blocks.append((y.astype(float), scores.ravel()))
            self.rows += len(y)

    def measures(self) -> dict[str, Any]:
        """Mean squared error and R2 as in scikit-learn, squared correlation as in LIBLINEAR; None if not defined."""
        import numpy as np

        y, predicted = (np.concatenate([block[k] for block in self.blocks]) for k in (0, 1))
        residual = y - predicted
        spread, own = y - y.mean(), predicted - predicted.mean()
        total, others = float(spread @ spread), float(own @ own)
        return {
            "mean_squared_error": float(residual @ residual) / len(y),
            "mean_absolute_error": float(np.abs(residual).mean()),
            "r2": 1.0 - float(residual @ residual) / total if total > 0 else None,
            "squared_correlation": float(spread @ own) ** 2 / (total * others) if total > 0 and others > 0 else None,
        }

    def fields(self, output: Output) -> dict[str, Any]:
        """What there is to say, for JSON."""
        if self.rows == 0:
            output.note("there are no numbers to compare the predictions with")
            return {}
        return self.measures()

    def lines(self, rows: int, out: str | None, fields: dict[str, Any]) -> list[str]:
        """The same as text."""
        from maxmargin.cli.output import pairs

        where = f"{rows:,} rows predicted" + (f", written to {out}" if out not in (None, "-") else "")
        return [where, "", *pairs(residual_lines(fields))] if fields else [where]
