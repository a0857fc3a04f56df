"""``maxmargin bench``: the solvers side by side on the user's own data, and scikit-learn's LinearSVC beside them.

With ``--out`` it draws the papers' tables and figures instead (``cli/reproduction.py``).
"""

from __future__ import annotations

import time
from typing import Any

import click

from maxmargin.cli.loading import load
from maxmargin.cli.options import (
    CLASSIFICATION_SOLVERS,
    LOSSES,
    MULTI_CLASS,
    Positive,
    reading,
    talking,
)
from maxmargin.cli.training import labels_and_classes


@click.command(short_help="Time the solvers on a data file, or reproduce the papers.")
@click.argument("data", type=click.Path(exists=False, allow_dash=True), required=False, metavar="[DATA | NAME]")
@click.option(
    "--out",
    type=click.Path(file_okay=False),
    metavar="DIR",
    help="Reproduce the papers instead: results and report.html (with --quick report-quick.html) go here, and what is "
    "there is not measured again.",
)
@click.option("--quick", is_flag=True, help="With --out: parts of the data, minutes instead of hours.")
@click.option("--loss", type=click.Choice(LOSSES), default="squared_hinge", show_default=True, help="Loss of a margin.")
@click.option(
    "--multi-class",
    type=click.Choice(MULTI_CLASS),
    default="ovr",
    show_default=True,
    help="Each class against the rest, or one problem over all classes (then --loss has no meaning).",
)
@click.option("-C", "C", type=Positive(), default=1.0, show_default=True, help="Weight of the losses.")
@click.option(
    "--tol", type=Positive(zero=True), default=1e-3, show_default=True, help="Certified relative duality gap to reach."
)
@click.option(
    "--solver",
    "solvers",
    type=click.Choice(CLASSIFICATION_SOLVERS),
    multiple=True,
    help="Solver to time; may be repeated.  [default: all]",
)
@click.option(
    "--time-limit", type=Positive(), default=60.0, show_default=True, metavar="SECONDS", help="For each solver."
)
@click.option("--scikit-learn/--no-scikit-learn", default=True, help="Time scikit-learn's LinearSVC too.")
@reading
@talking
def bench(
    data: str | None, out: str | None, quick: bool, scikit_learn: bool, solvers: tuple[str, ...], **given: Any
) -> int:
    """Time the solvers on DATA, one thread each, and compare the objectives they reach.

    The error is how far an objective is above the best lower bound that any solver proved.

    With --out DIR: measure the tables and figures of the papers, all or those whose names begin with NAME (such as
    paper000 or paper000_table2), and write a report with the papers' claims and the verdicts.
    """
    from maxmargin.cli.output import Bar, Output, table
    from maxmargin.problems.matrix import Matrix
    from maxmargin.training.classification import choose_method

    output = Output(given["quiet"], given["as_json"])
    if out is not None:
        from maxmargin.cli.reproduction import reproduce

        return reproduce([] if data is None else [data], out, quick, output)
    if data is None:
        raise click.UsageError("Missing argument 'DATA': a data file, or --out DIR for the papers' tables and figures.")
    if quick:
        raise click.UsageError("--quick is for --out DIR, the papers' tables and figures.")
    solvers = solvers or _all_solvers(given["multi_class"], given["loss"])
    for solver in solvers:
        choose_method(solver, given["multi_class"], given["loss"])
    loaded = load(data, given, output)
    classes, labels = labels_and_classes(loaded, data)
    matrix = Matrix(loaded.X)
    results: list[dict[str, Any]] = []
    bound = float("-inf")
    with Bar(output, "bench") as bar:
        for k, solver in enumerate(solvers):
            bar.show(k / (len(solvers) + 1), solver)
            result = _ours(matrix, labels, len(classes), solver, given)
            bound = max(bound, result.pop("dual"))
            results.append(result)
        if scikit_learn and given["loss"] != "least_squares" and given["multi_class"] != "weston_watkins":
            bar.show(len(solvers) / (len(solvers) + 1), "scikit-learn")
            try:
                results.append(_scikit_learn(loaded.X, labels, len(classes), given))
            except ValueError as error:  # it knows fewer kinds of matrices
                output.note(f"scikit-learn refuses these data: {error}")
    for result in results:
        result["error"] = max((result["objective"] - bound) / abs(result["objective"]), 0.0)
    rows = [
        [
            result["solver"],
            f"{result['seconds']:.3g}",
            str(result["epochs"]),
            f"{result['objective']:.10g}",
            f"{result['error']:.1e}",
            "-" if result["gap"] is None else f"{max(result['gap'], 0.0):.1e}",
        ]
        for result in results
    ]
    output.results(
        {"results": results, "tol": given["tol"]},
        table(["solver", "seconds", "epochs", "objective", "error", "certified gap"], rows),
    )
    return 0


def _all_solvers(multi_class: str, loss: str) -> tuple[str, ...]:
    from maxmargin.problems.losses import LOSSES as FAMILY
    from maxmargin.solvers.methods import solvers_for

    kind = "binary" if multi_class == "ovr" else multi_class
    return tuple(solvers_for(kind, FAMILY[loss] if kind == "binary" else None))


def _ours(X: Any, labels: Any, n_classes: int, solver: str, given: dict[str, Any]) -> dict[str, Any]:
    from maxmargin.training.classification import train_classifier

    start = time.perf_counter()
    _, solutions = train_classifier(
        X,
        labels,
        n_classes,
        given["C"],
        multi_class=given["multi_class"],
        loss=given["loss"],
        time_limit=given["time_limit"],
        solver=solver,
        tol=given["tol"],
    )
    return {
        "solver": solver,
        "seconds": time.perf_counter() - start,
        "epochs": max(solution.n_iter for solution in solutions),
        "objective": sum(solution.certificate.primal for solution in solutions),
        "dual": sum(solution.certificate.dual for solution in solutions),
        "gap": max(solution.certificate.gap for solution in solutions),
    }


def _scikit_learn(X: Any, labels: Any, n_classes: int, given: dict[str, Any]) -> dict[str, Any]:
    import warnings

    import numpy as np
    from sklearn.svm import LinearSVC

    from maxmargin.models.model import linear_scores
    from maxmargin.problems.losses import LOSSES as FAMILY
    from maxmargin.problems.multiclass import MulticlassProblem, first_and_second
    from maxmargin.training.classification import positive_classes

    rival = LinearSVC(loss=given["loss"], C=given["C"], multi_class=given["multi_class"], random_state=0)
    matrix = X.to_scipy() if hasattr(X, "to_scipy") else X
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        rival.fit(matrix, labels)
    seconds = time.perf_counter() - start
    if given["multi_class"] != "ovr":
        weights = np.column_stack([rival.coef_, rival.intercept_])
        if n_classes == 2:  # the second class minus the first
            weights = first_and_second(weights)
        problem = MulticlassProblem(matrix, labels, given["C"], n_classes=n_classes, bias=1.0)
        return _result_of_rival(seconds, rival, problem.primal(weights))
    scores = linear_scores(X, np.ascontiguousarray(rival.coef_, dtype=np.float64), rival.intercept_)
    objective = 0.5 * float((rival.coef_**2).sum() + (rival.intercept_**2).sum())
    for column, positive in enumerate(positive_classes(n_classes)):
        slack = 1.0 - np.where(labels == positive, scores[:, column], -scores[:, column])
        objective += float(FAMILY[given["loss"]].primal(slack, np.full(len(slack), given["C"])).sum())
    return _result_of_rival(seconds, rival, objective)


def _result_of_rival(seconds: float, rival: Any, objective: float) -> dict[str, Any]:
    import numpy as np

    return {
        "solver": "scikit-learn",
        "seconds": seconds,
        "epochs": int(np.max(rival.n_iter_)),
        "objective": objective,
        "gap": None,
    }
