"""What ``cv`` and ``path`` learn from a file, a classifier, a regression or a ranking, whatever C is."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from maxmargin.cli.options import F
from maxmargin.cli.ranking import check_ranks, ranker_parameters, refuse_classification
from maxmargin.cli.regression import numbers_of, prepare_regression, regression_parameters
from maxmargin.cli.training import (
    class_weights,
    classifier_parameters,
    intercept_options,
    labels_and_classes,
    prepare_classification,
    solver_options,
)

if TYPE_CHECKING:
    from maxmargin.cli.output import Output
    from maxmargin.io.data import Data
    from maxmargin.models.model import Model


class Values(click.ParamType):  # type: ignore[type-arg,unused-ignore]
    """Positive finite numbers, separated by commas."""

    name = "numbers"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[float, ...]:
        """The numbers."""
        if isinstance(value, tuple):
            return value
        try:
            numbers = tuple(float(word) for word in value.split(","))
        except ValueError:
            self.fail(f"{value!r} is not a number or several with commas between them, such as 0.1,1,10.", param, ctx)
        if not all(0 < number < float("inf") for number in numbers):
            self.fail(f"{value} must hold positive finite numbers.", param, ctx)
        return numbers


def values_option(default: str) -> Callable[[F], F]:
    """``-C 0.1,1,10``, perhaps repeated."""
    return click.option(
        "-C",
        "Cs",
        type=Values(),
        multiple=True,
        metavar="C,...",
        help=f"Weights of the losses to try, such as 0.1,1,10; may be repeated.  [default: {default}]",
    )


def flat(Cs: tuple[tuple[float, ...], ...]) -> tuple[float, ...]:
    """All values that were given, in increasing order, each once."""
    return tuple(sorted({C for values in Cs for C in values}))


def percent(share: float) -> str:
    """A share of rows or pairs."""
    return f"{100 * share:.3f} %"


def random_folds(rows: int, count: int, seed: int) -> list[Any]:
    """Parts of equal size."""
    import numpy as np

    from maxmargin.training.cross_validation import check_count, fold_numbers, folds_of

    return folds_of(fold_numbers(np.zeros(rows, dtype=np.intp), check_count(count, rows), seed))


class Classify:
    """Telling classes apart."""

    score_name = "accuracy"
    text = staticmethod(percent)
    default_Cs = (0.01, 0.1, 1.0, 10.0, 100.0)

    def __init__(self, data: Data, name: str, given: dict[str, Any], _: Output) -> None:
        from maxmargin.training.tasks import Classification

        self.data, self.given = data, given
        self.classes, self.labels = labels_and_classes(data, name)
        self.class_weight = class_weights(given["class_weight"], self.classes)
        options = solver_options(given)
        self.what = {name: options.pop(name) for name in ("multi_class", "loss", "penalty", "bias", "penalize_bias")}
        self.options = {**options, "seed": given["seed"]}
        self.task = Classification(
            data.X, self.labels, len(self.classes), class_weight=self.class_weight, classes=self.classes, **self.what
        )

    @property
    def targets(self) -> Any:
        """The label of each row."""
        return self.classes[self.labels]

    def path_options(self) -> dict[str, Any]:
        """What ``svm_path`` needs beside rows and targets."""
        own = {"penalty": self.what["penalty"], "multi_class": self.what["multi_class"]}
        return {**own, "class_weight": self.class_weight, **_margin_options(self)}

    def folds(self, count: int, seed: int) -> list[Any]:
        """Parts with their share of every class."""
        from maxmargin.training.cross_validation import check_count, fold_numbers, folds_of

        return folds_of(fold_numbers(self.labels, check_count(count, len(self.labels)), seed))

    def model(self, solved: Any) -> Model:
        """The model of one C."""
        from maxmargin.models.model import Model

        parameters = classifier_parameters({**self.given, "C": solved.C}, self.class_weight)
        return Model.of_solutions(
            solved.problems,
            solved.solutions,
            self.classes,
            self.labels,
            parameters,
            feature_names=self.data.feature_names,
            source=self.data.source,
        )


class Rank:
    """Putting rows in order."""

    score_name = "in order"
    text = staticmethod(percent)
    default_Cs = (1.0, 10.0, 100.0, 1000.0, 10000.0)

    def __init__(self, data: Data, name: str, given: dict[str, Any], output: Output) -> None:
        from maxmargin.problems.matrix import Matrix
        from maxmargin.training.tasks import Ranking

        check_ranks(data, name, output)
        self.data, self.given = data, given
        self.options = {name: given[name] for name in ("solver", "tol", "max_iter")}
        assert data.y is not None
        self.targets = data.y
        self.task = Ranking(Matrix.of(data.X), data.y, data.qid)

    def path_options(self) -> dict[str, Any]:
        """What ``svm_path`` needs beside rows and targets."""
        return {"task": "rank", "qid": self.data.qid, **self.options}

    def folds(self, count: int, seed: int) -> list[Any]:
        """Parts of whole queries, or of rows where there are none."""
        from maxmargin.training.cross_validation import folds_of, group_fold_numbers

        if self.data.qid is not None:
            return folds_of(group_fold_numbers(self.data.qid, count, seed))
        return random_folds(self.data.X.shape[0], count, seed)

    def model(self, solved: Any) -> Model:
        """The model of one C."""
        from maxmargin.models.model import Model

        [problem], [solution] = solved.problems, solved.solutions
        parameters = ranker_parameters({**self.given, "C": solved.C})
        names, how = self.data.feature_names, self.data.source
        return Model.of_ranking(problem, solution, parameters, feature_names=names, source=how)


class Regress:
    """Predicting numbers."""

    score_name = "R2"
    default_Cs = (0.01, 0.1, 1.0, 10.0, 100.0)

    def __init__(self, data: Data, name: str, given: dict[str, Any], _: Output) -> None:
        from maxmargin.problems.matrix import Matrix
        from maxmargin.training.tasks import Regression

        self.data, self.given = data, given
        self.targets = numbers_of(data, name)
        self.what = {"loss": given["loss"], "epsilon": given["epsilon"]}
        self.task = Regression(Matrix.of(data.X), self.targets, **self.what, **intercept_options(given))
        self.options = {
            "solver": self._method(),
            "tol": given["tol"],
            "max_iter": given["max_iter"],
            "pack": not given["no_pack"],
            "seed": given["seed"],
        }

    def _method(self) -> Any:
        from maxmargin.problems.regression import regression_loss
        from maxmargin.training.method_choice import narrow_method

        return narrow_method(
            self.given["solver"],
            "regression",
            regression_loss(**self.what),
            penalize_bias=not self.given["no_penalize_intercept"],
            shrinking=not self.given["no_shrinking"],
        )

    def path_options(self) -> dict[str, Any]:
        """What ``svm_path`` needs beside rows and targets."""
        return {"task": "regression", "epsilon": self.what["epsilon"], **_margin_options(self)}

    @staticmethod
    def text(score: float) -> str:
        """A share of the squared deviation."""
        return f"{score:.5f}"

    def folds(self, count: int, seed: int) -> list[Any]:
        """Random parts."""
        return random_folds(self.data.X.shape[0], count, seed)

    def model(self, solved: Any) -> Model:
        """The model of one C."""
        from maxmargin.models.model import Model

        [problem], [solution] = solved.problems, solved.solutions
        parameters = regression_parameters({**self.given, "C": solved.C})
        names, how = self.data.feature_names, self.data.source
        return Model.of_regression(problem, solution, parameters, feature_names=names, source=how)


Job = Classify | Rank | Regress


def _margin_options(job: Classify | Regress) -> dict[str, Any]:
    """The options of ``svm_path`` for problems of one loss and an intercept."""
    given = job.given
    return {
        "loss": job.what["loss"],
        "fit_intercept": not given["no_intercept"],
        "penalize_intercept": not given["no_penalize_intercept"],
        "intercept_scaling": given["intercept_scaling"],
        **job.options,
    }


def prepare(context: click.Context, given: dict[str, Any]) -> None:
    """Options of other tasks than the one that is asked for are an error."""
    if given["task"] == "rank":
        refuse_classification(context, given)
    elif given["task"] == "regression":
        prepare_regression(context, given)
    else:
        prepare_classification(context, given)


def make_job(data: Data, name: str, given: dict[str, Any], output: Output) -> Job:
    """What ``--task`` asks for."""
    jobs: dict[str, Any] = {"classify": Classify, "regression": Regress, "rank": Rank}
    job: Job = jobs[given["task"]](data, name, given, output)
    return job
