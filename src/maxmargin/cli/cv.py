"""``maxmargin cv``: which C predicts best what was not trained on."""

from __future__ import annotations

import time
from typing import Any

import click

from maxmargin.cli.options import Positive, data_argument, read_options, reading, source, talking
from maxmargin.cli.training import class_weights, labels_and_classes, solver_options, training

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
    from maxmargin.training.cross_validation import check_count, cross_validate, fold_numbers, folds_of
    from maxmargin.training.tasks import Classification

    output = Output(given["quiet"], given["as_json"])
    Cs = tuple(sorted(set(Cs or DEFAULT_CS)))
    loaded = read_data(source(data), read_options(**given))
    classes, labels = labels_and_classes(loaded, data)
    start = time.perf_counter()
    options = solver_options(given)
    task = Classification(
        loaded.X,
        labels,
        len(classes),
        class_weight=class_weights(given["class_weight"], classes),
        classes=classes,
        **{name: options.pop(name) for name in ("multi_class", "loss", "bias", "penalize_bias")},
    )
    numbers = fold_numbers(labels, check_count(folds, len(labels)), given["seed"])
    with Bar(output, "cross-validating") as bar:
        steps, finished = folds * len(Cs), [0]

        def on_step(*_: Any) -> None:
            finished[0] += 1
            bar.show(finished[0] / steps, f"{finished[0]} of {steps} trainings")

        scores = cross_validate(
            task,
            Cs,
            folds_of(numbers),
            seed=given["seed"],
            n_jobs=count_threads(given["jobs"]),
            on_step=on_step,
            **options,
        )
    means, deviations = scores.means, scores.deviations
    best = scores.best()
    reached = bool(scores.converged.all())
    fields = {
        "best_C": Cs[best],
        "accuracy": float(means[best]),
        "results": [
            {"C": C, "accuracy": mean, "deviation": deviation, "folds": row, "gap": gap}
            for C, mean, deviation, row, gap in zip(
                Cs, means, deviations, scores.scores, scores.gaps.max(axis=1), strict=True
            )
        ],
        "converged": reached,
        "seconds": time.perf_counter() - start,
    }
    rows = [
        [f"{C:g}", f"{100 * mean:.3f} %", f"{100 * deviation:.3f} %", f"{max(gap, 0.0):.1e}"]
        for C, mean, deviation, gap in zip(Cs, means, deviations, scores.gaps.max(axis=1), strict=True)
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
