"""``maxmargin predict``: labels or scores of a file of any size, and how good they are."""

from __future__ import annotations

import os
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import click

from maxmargin.cli.options import (
    data_argument,
    jobs,
    label_text,
    read_options,
    reading,
    source,
    talking,
    tidy,
)

if TYPE_CHECKING:
    from maxmargin.model import Model

#: With more classes than this the table of classes is left to --json.
MOST_CLASSES_SHOWN = 60


@click.command(short_help="Predict a data file with a model.")
@data_argument
@click.argument("model", type=click.Path())
@click.argument("out", type=click.Path(allow_dash=True), required=False)
@click.option("--scores", is_flag=True, help="Write scores instead of labels: one, or one per class, on each line.")
@reading
@jobs
@talking
def predict(data: str, model: str, out: str | None, scores: bool, **given: Any) -> int:
    """Predict the rows of DATA with MODEL (a file of maxmargin or LIBLINEAR) and write them to OUT.

    OUT gets one line per row; - is standard output. Without OUT only the accuracy is shown. DATA is read in
    blocks, so that it may be larger than memory (.npz excepted).

    With --scores and two classes, a positive score means the second class; `maxmargin info MODEL` lists the classes.

    \b
    maxmargin predict test.svm model.mm
    maxmargin predict test.svm model.mm labels.txt
    """
    from maxmargin.cli.output import Bar, Output
    from maxmargin.io.data import iter_data
    from maxmargin.io.models import read_any_model

    output = Output(given["quiet"], given["as_json"])
    trained = read_any_model(model)
    _check_target(out, data, model)
    tally = Tally(trained)
    rows = dropped = 0
    with ExitStack() as stack:
        bar = stack.enter_context(Bar(output, "predicting"))
        write = _writer(out, stack)
        for block in iter_data(source(data), trained, read_options(**given)):
            values = trained.scores(block.X)
            from maxmargin.model import labels_of_scores

            found = labels_of_scores(values, trained.classes)
            if write is not None:
                write(_text(values if scores else found, scores))
            if block.y is not None:
                tally.add(tidy(block.y), found)
            rows += block.X.shape[0]
            dropped += block.dropped
            bar.show(block.done, f"{rows:,} rows")
        if rows == 0:
            raise ValueError(f"{data}: there are no rows")
        if tally.rows == 0 and out is None:
            raise ValueError(f"{data}: there are no labels to compare with; name a file to write the predictions to")
    if dropped:
        output.note(f"{dropped:,} values belong to features that the model does not know; they were left out")
    fields = {"rows": rows, "model": model, "out": out, **tally.fields(output)}
    output.results(fields, tally.lines(rows, out), err=out == "-")
    return 0


def _check_target(out: str | None, *sources: str) -> None:
    for path in sources:
        if out not in (None, "-") and os.path.exists(out) and os.path.exists(path) and os.path.samefile(out, path):
            raise ValueError(f"{out}: the predictions would overwrite {path}; give them another name")


def _writer(out: str | None, stack: ExitStack) -> Any:
    if out is None:
        return None
    if out == "-":
        import sys

        return sys.stdout.write
    from maxmargin.io.files import open_to_write

    file = stack.enter_context(open_to_write(out))
    return lambda text: file.write(text.encode())


def _text(values: Any, scores: bool) -> str:
    if not scores:
        return "".join(f"{label_text(label)}\n" for label in values.tolist())
    return "".join(f"{' '.join(map(repr, row))}\n" for row in values.tolist())


class Tally:
    """Counts of predicted against true labels, block by block."""

    def __init__(self, model: Model) -> None:
        self.classes = model.classes.tolist()
        self.position = {label: k for k, label in enumerate(self.classes)}
        self.hits = [0] * len(self.classes)
        self.predicted = [0] * len(self.classes)
        self.true = [0] * len(self.classes)
        self.rows = self.strange = 0

    def add(self, y: Any, found: Any) -> None:
        """The true and the predicted labels of some rows."""
        import numpy as np

        def counts(labels: Any) -> dict[Any, int]:
            values, numbers = np.unique(labels, return_counts=True)
            return dict(zip(values.tolist(), numbers.tolist(), strict=True))

        self.rows += len(y)
        same_kind = (y.dtype.kind in "UO") == (found.dtype.kind in "UO")
        hits = counts(found[found == y]) if same_kind else {}
        predicted = counts(found)
        true = counts(y)
        for label, k in self.position.items():
            self.hits[k] += hits.get(label, 0)
            self.predicted[k] += predicted.get(label, 0)
            self.true[k] += true.pop(label, 0)
        self.strange += sum(true.values())

    @property
    def comparable(self) -> bool:
        """Whether any true label is a class of the model."""
        return self.rows > self.strange

    def fields(self, output: Any) -> dict[str, Any]:
        """What there is to say, for JSON."""
        if self.rows == 0:
            return {}
        if not self.comparable:
            output.note("no label of the data is a class of the model, so there is no accuracy")
            return {}
        if self.strange:
            output.note(f"{self.strange:,} rows have labels that the model does not know; they count as wrong")
        return {
            "correct": sum(self.hits),
            "accuracy": sum(self.hits) / self.rows,
            "classes": [
                {"label": label, "precision": p, "recall": r, "f1": f, "rows": self.true[k]}
                for k, label in enumerate(self.classes)
                for p, r, f in [self._measures(k)]
            ],
        }

    def _measures(self, k: int) -> tuple[float, float, float]:
        precision = self.hits[k] / self.predicted[k] if self.predicted[k] else 0.0
        recall = self.hits[k] / self.true[k] if self.true[k] else 0.0
        f1 = 2 * precision * recall / (precision + recall) if precision + recall else 0.0
        return precision, recall, f1

    def lines(self, rows: int, out: str | None) -> list[str]:
        """The same as text."""
        from maxmargin.cli.output import table

        where = f"{rows:,} rows predicted" + (f", written to {out}" if out not in (None, "-") else "")
        if not self.comparable:
            return [where]
        lines = [where, f"accuracy {100 * sum(self.hits) / self.rows:.4f} % ({sum(self.hits):,} of {self.rows:,})"]
        if len(self.classes) <= MOST_CLASSES_SHOWN:
            body = [
                [label_text(label), *(f"{value:.4f}" for value in self._measures(k)), f"{self.true[k]:,}"]
                for k, label in enumerate(self.classes)
            ]
            lines += ["", *table(["class", "precision", "recall", "F1", "rows"], body)]
        return lines
