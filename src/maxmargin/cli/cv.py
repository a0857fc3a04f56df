"""``maxmargin cv``: which C predicts best what was not trained on."""

from __future__ import annotations

import time
from typing import Any

import click

from maxmargin.cli.options import Positive, data_argument, read_options, reading, source, talking
from maxmargin.cli.training import (
    class_weights,
    classification_loss,
    labels_and_classes,
    solver_options,
    training,
)

DEFAULT_CS = (0.01, 0.1, 1.0, 10.0, 100.0)


@click.command(short_help="Compare values of C by cross-validation.")
@data_argument
@click.option(
    "-C",
    "Cs",
    type=Positive(),
    multiple=True,
    help="A weight of the losses to try; may be repeated.  [default: 0.01, 0.1, 1, 10, 100]",
)
@click.option("--folds", type=click.IntRange(2), default=5, show_default=True, help="Parts to leave out in turn.")
@classification_loss
@training
@reading
@talking
def cv(data: str, Cs: tuple[float, ...], folds: int, **given: Any) -> int:
    """Train on all but one part of DATA, test on that part, for each part and each C, and compare.

    The parts are random, of equal size, and have their share of every class. The best C, of highest mean accuracy and
    smallest among equals, is the one to train with.

    \b
    maxmargin cv train.svm
    maxmargin cv train.svm -C 0.5 -C 1 -C 2 --folds 10
    """
    from maxmargin.cli.output import Bar, Output, table
    from maxmargin.io.data import read_data
    from maxmargin.solvers.threads import count_threads
    from maxmargin.training.cross_validation import cross_validate

    output = Output(given["quiet"], given["as_json"])
    Cs = tuple(sorted(set(Cs or DEFAULT_CS)))
    loaded = read_data(source(data), read_options(**given))
    classes, labels = labels_and_classes(loaded, data)
    start = time.perf_counter()
    with Bar(output, "cross-validating") as bar:
        finished: list[int] = []

        def on_fold(fold: int) -> None:
            finished.append(fold)
            bar.show(len(finished) / folds, f"{len(finished)} of {folds} folds")

        scores = cross_validate(
            loaded.X,
            labels,
            classes,
            Cs,
            folds=folds,
            seed=given["seed"],
            class_weight=class_weights(given["class_weight"], classes),
            n_jobs=count_threads(given["jobs"]),
            on_fold=on_fold,
            **solver_options(given),
        )
    means, deviations = scores.accuracy.mean(axis=1), scores.accuracy.std(axis=1)
    best = int(means.argmax())
    reached = bool((scores.gap <= given["tol"]).all())
    fields = {
        "best_C": Cs[best],
        "accuracy": float(means[best]),
        "results": [
            {"C": C, "accuracy": mean, "deviation": deviation, "folds": row, "gap": gap}
            for C, mean, deviation, row, gap in zip(
                Cs, means, deviations, scores.accuracy, scores.gap.max(axis=1), strict=True
            )
        ],
        "converged": reached,
        "seconds": time.perf_counter() - start,
    }
    rows = [
        [f"{C:g}", f"{100 * mean:.3f} %", f"{100 * deviation:.3f} %", f"{max(gap, 0.0):.1e}"]
        for C, mean, deviation, gap in zip(Cs, means, deviations, scores.gap.max(axis=1), strict=True)
    ]
    output.results(
        fields,
        [
            *table(["C", "accuracy", "deviation", "worst gap"], rows),
            "",
            f"best C {Cs[best]:g}: {100 * means[best]:.3f} % over {folds} folds, {fields['seconds']:.3g} s",
        ],
    )
    if not reached:
        output.say("The tolerance was not reached in every fold; raise --max-iter, scale the features, or lower -C.")
    return 0 if reached else 1
