"""``maxmargin cv``: which C predicts best what was not trained on, and the model of that C if it is wanted."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import click

from maxmargin.cli.jobs import flat, make_job, prepare, values_option
from maxmargin.cli.loading import check_order, load
from maxmargin.cli.options import data_argument, memory, reading, talking
from maxmargin.cli.pictures import draw, plot_option
from maxmargin.cli.targets import model_target
from maxmargin.cli.training import liblinear_option, losses, note_qid, take_liblinear, task_option, training

#: Written out here for the sake of a quick start; a test compares them with those of the library.
CALIBRATIONS = ("sigmoid", "isotonic", "temperature")

if TYPE_CHECKING:
    from maxmargin.cli.jobs import Job
    from maxmargin.cli.output import Output
    from maxmargin.training.cross_validation import CrossValidation


@click.command(short_help="Compare values of C by cross-validation.")
@data_argument
@click.argument("model", type=click.Path(), required=False)
@task_option
@values_option("0.01,0.1,1,10,100; to rank 1,10,100,1000,10000")
@click.option("--folds", type=click.IntRange(2), default=5, show_default=True, help="Parts to leave out in turn.")
@click.option(
    "--one-standard-error",
    is_flag=True,
    help="Take the smallest C whose mean is within one standard error of the best one's.",
)
@click.option(
    "--calibrate",
    type=click.Choice(CALIBRATIONS),
    help="Fit probabilities to the scores of the rows left out, and keep them in MODEL for predict --proba.",
)
@losses
@training
@reading
@memory
@liblinear_option
@plot_option("the scores against C, with error bars")
@talking
@click.pass_context
def cv(context: click.Context, /, data: str, model: str | None, Cs: tuple[tuple[float, ...], ...], **given: Any) -> int:
    """Train on all but one part of DATA, test on that part, for each part and each C, and compare.

    The parts are random, of equal size, and have their share of every class; with --task rank they consist of whole
    queries, and a regression is judged by R2. The best C, of highest mean score and smallest among equals, is the one
    to train with. If MODEL is named, a model is trained with it on all rows and written there.

    \b
    maxmargin cv train.svm
    maxmargin cv train.svm model.mm -C 0.5,1,2 --folds 10 --plot scores.svg
    maxmargin cv queries.svm --task rank -C 10,100,1000
    maxmargin cv houses.csv --task regression --label price
    """
    from maxmargin.cli.output import Output

    if given["task"] != "classify" and given["calibrate"] is not None:
        raise click.UsageError(f"--calibrate does not apply to --task {given['task']}", context)
    if given["calibrate"] is not None and model is None:
        raise click.UsageError("--calibrate needs MODEL, the file that keeps the probabilities", context)
    if given["task"] == "rank":
        prepare(context, given)  # which refuses --liblinear
    notes = take_liblinear(context, given)
    prepare(context, given)
    output = Output(given["quiet"], given["as_json"])
    for note in notes:
        output.note(note)
    values = flat(Cs)
    if "C" in given and not given.get("search"):
        if values:
            raise click.UsageError("--liblinear sets C too; give it once only", context)
        values = (given["C"],)
    return cross_validation(context, data, model, values or None, given, output)


def cross_validation(
    context: click.Context,
    data: str,
    model: str | None,
    Cs: tuple[float, ...] | None,
    given: dict[str, Any],
    output: Output,
) -> int:
    """Do it, with the options of `cv`; ``train`` comes here when LIBLINEAR's words ask for it."""
    from maxmargin.cli.output import Bar
    from maxmargin.solvers.threads import count_threads
    from maxmargin.training.cross_validation import cross_validate

    if given["task"] == "one_class":
        raise ValueError("a one-class model has no labels to be cross-validated by; use  maxmargin train")
    if model is not None:
        check_order("cv", data, model)
        model = model_target(data, model, given["labels"])
    ranking = given["task"] == "rank"
    loaded = load(data, given, output, with_qid=ranking)
    note_qid(context, data, loaded, given, output)
    job = make_job(loaded, data, given, output)
    start = time.perf_counter()
    if Cs is None:
        Cs = _liblinear_values(loaded.X, given) if given.get("search") else job.default_Cs
    folds = job.folds(given["folds"], given.get("seed", 0))
    with Bar(output, "cross-validating") as bar:
        steps, finished = len(folds) * len(Cs), [0]

        def on_step(held: Any, score: float) -> None:
            finished[0] += 1
            where = f"fold {held.fold + 1} of {len(folds)}, C {held.solved.C:g}: {job.text(score)} {job.score_name}"
            bar.show(finished[0] / steps, f"{finished[0]} of {steps}, {where}")

        found = cross_validate(
            job.task,
            Cs,
            folds,
            n_jobs=count_threads(given["jobs"]),
            on_step=on_step,
            keep_scores=given.get("calibrate") is not None,
            **job.options,
        )
    best = found.best("one_standard_error" if given.get("one_standard_error") else "best")
    note = found.note(best)
    if note is not None:
        output.note(note)
    converged = bool(found.converged.all())
    fields = _fields(found, best, job, converged, time.perf_counter() - start)
    if model is not None:
        converged &= _write(job, found, best, model, given.get("calibrate"), fields)
    _draw(given.get("plot"), found, best, job)
    output.results(fields, _lines(fields, len(folds), job, model))
    if not converged:
        output.say("The tolerance was not reached in every fold; raise --max-iter, scale the features, or lower -C.")
    return 0 if converged else 1


def _write(
    job: Job, found: CrossValidation, best: int, model: str, calibrate: str | None, fields: dict[str, Any]
) -> bool:
    """The model of the best C on all rows; whether it reached its tolerance."""
    from dataclasses import replace

    from maxmargin.io.model_file import write_model

    options = dict(job.options)
    method = job.task.method(options.pop("solver"))
    solved = job.task.solve(float(found.Cs[best]), method, None, **options)
    trained = job.model(solved)
    if calibrate is not None:
        from maxmargin.models.calibration import fit_calibration

        assert found.held_out is not None
        labels = job.labels  # type: ignore[union-attr]
        calibration = fit_calibration(calibrate, found.held_out[best], labels, len(trained.classes))
        trained = replace(trained, calibration=calibration)
    write_model(trained, model, dual=False)
    fields.update({"model": model, "gap": solved.gap, "objective": sum(s.certificate.primal for s in solved.solutions)})
    return solved.converged


def _liblinear_values(X: Any, given: dict[str, Any]) -> tuple[float, ...]:
    """The grid of LIBLINEAR's -C: powers of two from where the model is all but zero, or from -c, up to 1024."""
    import math

    if given["loss"] != "squared_hinge" or given["multi_class"] != "ovr":
        raise ValueError("--liblinear: -C goes with -s 2 only; give the values to  maxmargin cv -C  instead")
    first = given.get("C", 1.0)
    if not given.get("first_C"):
        bias = 0.0 if given["no_intercept"] else given["intercept_scaling"]
        first = 2.0 ** math.floor(-math.log2(2 * X.shape[0] * (_largest_square(X) + bias**2) or 1.0))
    count = max(int(math.log2(1024.0 / first)), 0) + 1
    return tuple(first * 2.0**k for k in range(count))


def _largest_square(X: Any) -> float:
    """The square of the longest row."""
    import numpy as np

    if not hasattr(X, "indptr"):
        return float(np.einsum("ij,ij->i", X, X, dtype=np.float64).max())
    row_of = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
    return float(np.bincount(row_of, weights=X.data.astype(np.float64) ** 2, minlength=1).max())


def _fields(found: CrossValidation, best: int, job: Job, converged: bool, seconds: float) -> dict[str, Any]:
    name = job.score_name.replace(" ", "_")
    order = found.Cs.argsort(kind="stable")
    return {
        "best_C": float(found.Cs[best]),
        name: float(found.means[best]),
        "results": [
            {
                "C": float(found.Cs[k]),
                name: float(found.means[k]),
                "deviation": float(found.deviations[k]),
                "folds": found.scores[k],
                "gap": float(found.gaps[k].max()),
                "seconds": float(found.fit_seconds[k].sum()),
            }
            for k in order
        ],
        "converged": converged,
        "seconds": seconds,
    }


def _lines(fields: dict[str, Any], folds: int, job: Job, model: str | None) -> list[str]:
    from maxmargin.cli.output import table

    name = job.score_name.replace(" ", "_")
    rows = [
        [
            f"{result['C']:g}" + (" *" if result["C"] == fields["best_C"] else ""),
            job.text(result[name]),
            job.text(result["deviation"]),
            f"{max(result['gap'], 0.0):.1e}",
            f"{result['seconds']:.3g}",
        ]
        for result in fields["results"]
    ]
    best = f"best C {fields['best_C']:g}: {job.text(fields[name])} over {folds} folds, {fields['seconds']:.3g} s"
    return [
        *table(["C", job.score_name, "deviation", "worst gap", "seconds"], rows),
        "",
        *([] if model is None else [f"model of the best C written to {model}, certified gap {fields['gap']:.1e}"]),
        best,
    ]


def _draw(path: str | None, found: CrossValidation, best: int, job: Job) -> None:
    def plot(axes: list[Any]) -> None:
        from maxmargin.plots.paths import ScoreDisplay

        ScoreDisplay(found.Cs, found.scores, float(found.Cs[best]), job.score_name).plot(ax=axes[0])

    draw(path, plot)
