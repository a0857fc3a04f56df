"""``maxmargin predict``: labels or scores of a file of any size, and how good they are."""

from __future__ import annotations

import os
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import click

from maxmargin.cli.loading import check_order
from maxmargin.cli.multilabel import LabelTally, label_lines
from maxmargin.cli.options import (
    data_argument,
    jobs,
    label_text,
    read_options,
    reading_to_predict,
    source,
    talking,
    tidy,
)
from maxmargin.cli.pictures import draw, plot_option
from maxmargin.cli.ranking import RankTally
from maxmargin.cli.regression import ResidualTally

if TYPE_CHECKING:
    from maxmargin.models.model import Model

#: With more classes than this the table of classes is left to --json.
MOST_CLASSES_SHOWN = 60
#: Scores in memory at once.
MOST_SCORES = 1 << 20


@click.command(short_help="Predict a data file with a model.")
@data_argument
@click.argument("model", type=click.Path())
@click.argument("out", type=click.Path(allow_dash=True), required=False)
@click.option("--scores", is_flag=True, help="Write scores instead of labels: one, or one per class, on each line.")
@click.option(
    "--proba", is_flag=True, help="Write the probability of each class instead of labels; the model must know them."
)
@reading_to_predict
@jobs
@plot_option("which classes are taken for which")
@talking
def predict(data: str, model: str, out: str | None, scores: bool, proba: bool, **given: Any) -> int:
    """Predict the rows of DATA with MODEL (a file of maxmargin or LIBLINEAR) and write them to OUT.

    OUT gets one line per row; - is standard output. Without OUT only the accuracy is shown. DATA is read in
    blocks, so that it may be larger than memory (.npz excepted).

    With --scores and two classes, a positive score means the second class; `maxmargin info MODEL` lists the classes.
    With --proba a line has the probability of each class, in that order; `maxmargin cv DATA MODEL --calibrate sigmoid`
    trains such models. A model that ranks always writes scores, and shows how many pairs of rows of one query are in
    order. A regression writes the predicted numbers, and shows their mean squared error and R2. A multilabel model
    writes the labels of a row with commas between them.

    \b
    maxmargin predict test.svm model.mm
    maxmargin predict test.svm model.mm labels.txt
    """
    import numpy as np

    from maxmargin import _core
    from maxmargin.cli.output import Bar, Output
    from maxmargin.io.data import iter_data
    from maxmargin.io.models import read_any_model

    output = Output(given["quiet"], given["as_json"])
    if scores and proba:
        raise ValueError("give either --scores or --proba")
    if (scores or proba) and out is None:
        name = "--proba" if proba else "--scores"
        raise ValueError(f"{name} needs OUT, a file to write them to, or - for standard output")
    check_order("predict", data, model, *([out] if out else []))
    trained = read_any_model(model)
    if proba and trained.calibration is None:
        raise ValueError(_why_no_probabilities(trained, model))
    if given["plot"] is not None and not len(trained.classes):
        does = "predicts numbers" if trained.predicts_numbers else "ranks"
        raise ValueError(f"--plot draws which classes are taken for which, but {model} {does}")
    _check_target(out, data, model, *([given["labels"]] if given["labels"] else []))
    if given["plot"] is not None and trained.multilabel is not None:
        raise ValueError(f"--plot draws which classes are taken for which, but {model} gives rows several labels")
    tally = Tally(trained, with_pairs=given["plot"] is not None)
    labels = LabelTally(trained)
    ranked = RankTally()
    residuals = ResidualTally()
    names = [label_text(label) for label in trained.classes.tolist()]
    rows = dropped = 0
    with ExitStack() as stack:
        bar = stack.enter_context(Bar(output, "predicting"))
        write = _writer(out, stack)
        for block in iter_data(source(data), trained, read_options(**given)):
            for begin, end in _pieces(block.X.shape[0], len(trained.intercept)):
                values = trained.scores(_rows(block.X, begin, end))
                index = trained.label_index(values)
                if write is not None and proba:
                    assert trained.calibration is not None
                    write(_core.write_numbers(np.ascontiguousarray(trained.calibration.probabilities(values))))
                elif write is not None:
                    if scores or not names:
                        write(_core.write_numbers(values))
                    else:
                        write(_lines_of(index, names) if trained.multilabel is None else label_lines(values, names))
                if block.y is None:
                    continue
                if trained.multilabel is not None:
                    if isinstance(block.y, list):  # of formats with one label for each row there is nothing to compare
                        labels.add(block.y[begin:end], values)
                    continue
                known = slice(None) if block.known is None else block.known[begin:end]
                y = block.y[begin:end][known]
                if trained.predicts_numbers:
                    residuals.add(y, values[known])
                elif trained.ranks:
                    ranked.add(y, values[known], None if block.qid is None else block.qid[begin:end][known])
                else:
                    tally.add(tidy(y), index[known], values[known])
            rows += block.X.shape[0]
            dropped += block.dropped
            bar.show(block.done, f"{rows:,} rows")
        if rows == 0:
            raise ValueError(f"{data}: there are no rows")
        if tally.rows + ranked.rows + residuals.rows + labels.rows == 0 and out is None:
            raise ValueError(f"{data}: there are no labels to compare with; name a file to write the predictions to")
    if given["plot"] is not None:
        tally.draw(given["plot"])
    if dropped:
        output.note(f"{dropped:,} values belong to features that the model does not know; they were left out")
    if trained.predicts_numbers:
        found = residuals.fields(output)
        lines = residuals.lines(rows, out, found)
    elif trained.ranks:
        found = ranked.fields(output)
        lines = ranked.lines(rows, out, found)
    elif trained.multilabel is not None:
        found = labels.fields()
        lines = labels.lines(rows, out, found)
        if labels.strange:
            output.note(f"the model does not know {labels.strange:,} labels of rows; they count as not found")
    else:
        found = tally.fields(output)
        lines = tally.lines(rows, out)
    output.results({"rows": rows, "model": model, "out": out, **found}, lines, err=out == "-")
    return 0


def _why_no_probabilities(trained: Model, name: str) -> str:
    if trained.multilabel is not None:
        return f"{name} gives rows several labels, and only models of one label for each row have probabilities"
    if trained.ranks:
        return f"{name} ranks, and ranks have no probabilities"
    if trained.estimator != "LinearSVC":
        what = "is a regression" if trained.predicts_numbers else "is a one-class model"
        return f"{name} {what}, and only classifiers have probabilities"
    return f"{name} has no probabilities; train it by  maxmargin cv DATA {name} --calibrate sigmoid"


def _check_target(out: str | None, *sources: str) -> None:
    for path in sources:
        if out not in (None, "-") and os.path.exists(out) and os.path.exists(path) and os.path.samefile(out, path):
            raise ValueError(f"{out}: the predictions would overwrite {path}; give them another name")


def _writer(out: str | None, stack: ExitStack) -> Any:
    if out is None:
        return None
    if out == "-":
        import sys

        return lambda text: sys.stdout.write(text.decode())
    from maxmargin.io.files import open_to_write

    file = stack.enter_context(open_to_write(out))
    return file.write


def _pieces(rows: int, columns: int) -> list[tuple[int, int]]:
    """Ranges of rows with at most a million scores."""
    step = max(1, MOST_SCORES // columns)
    return [(begin, min(begin + step, rows)) for begin in range(0, rows, step)]


def _rows(X: Any, begin: int, end: int) -> Any:
    return X.rows(begin, end) if hasattr(X, "indptr") else X[begin:end]


def _lines_of(index: Any, names: list[str]) -> bytes:
    return "".join(f"{names[k]}\n" for k in index.tolist()).encode()


class Tally:
    """Counts of predicted against true labels, block by block."""

    def __init__(self, model: Model, with_pairs: bool = False) -> None:
        import numpy as np

        self.classes = model.classes.tolist()
        self.position = {label: k for k, label in enumerate(self.classes)}
        self.hits, self.predicted, self.true = np.zeros((3, len(self.classes)), dtype=np.int64)
        self.rows = self.strange = 0
        self.confusion = np.zeros((len(self.classes),) * 2, dtype=np.int64) if with_pairs else None
        self.scored: list[Any] = []  # of two classes: scores, and whether the label is the second class

    def add(self, y: Any, index: Any, scores: Any) -> None:
        """The true labels of some rows, the numbers of the classes predicted for them, and their scores."""
        import numpy as np

        labels, true = np.unique(y, return_inverse=True)
        # labels that are no classes share one more place
        places = np.array([self.position.get(label, len(self.classes)) for label in labels.tolist()], dtype=np.intp)
        true = places[true]
        if len(self.classes) == 2 and scores.shape[1] == 1:
            self.scored.append((scores.ravel()[true < 2], true[true < 2] == 1))
        size = len(self.classes) + 1
        self.rows += len(y)
        self.hits += np.bincount(true[true == index], minlength=size)[:-1]
        self.predicted += np.bincount(index, minlength=size)[:-1]
        counts = np.bincount(true, minlength=size)
        self.true += counts[:-1]
        self.strange += int(counts[-1])
        if self.confusion is not None:
            known = true < len(self.classes)
            np.add.at(self.confusion, (true[known], index[known]), 1)

    def draw(self, path: str) -> None:
        """Which classes are taken for which."""
        if self.confusion is None or not self.comparable:
            raise ValueError("--plot needs labels to compare with, and the data have none that the model knows")
        from maxmargin.plots.confusion import ConfusionDisplay

        display = ConfusionDisplay(self.confusion, [label_text(label) for label in self.classes])
        side = min(2.5 + 0.5 * len(self.classes), 10.0)
        draw(path, lambda axes: display.plot(ax=axes[0]), size=(side + 0.8, side))

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
            "correct": int(self.hits.sum()),
            "accuracy": float(self.hits.sum() / self.rows),
            **({} if self.break_even() is None else {"prbep": self.break_even()}),
            "classes": [
                {"label": label, "precision": p, "recall": r, "f1": f, "rows": int(self.true[k])}
                for k, label in enumerate(self.classes)
                for p, r, f in [self._measures(k)]
            ],
        }

    def break_even(self) -> float | None:
        """Precision, which is recall, of the second class where as many rows are called so as are; None if none is.

        Of rows with one score at that place, each counts by the share of them that is taken.
        """
        import numpy as np

        if not self.scored:
            return None
        scores, positive = (np.concatenate(parts) for parts in zip(*self.scored, strict=True))
        count = int(positive.sum())
        if count == 0:
            return None
        last = np.partition(scores, len(scores) - count)[len(scores) - count]
        above, tied = scores > last, scores == last
        share = (count - above.sum()) / tied.sum()
        return float((positive[above].sum() + share * positive[tied].sum()) / count)

    def _measures(self, k: int) -> tuple[float, float, float]:
        precision = float(self.hits[k] / self.predicted[k]) if self.predicted[k] else 0.0
        recall = float(self.hits[k] / self.true[k]) if self.true[k] else 0.0
        f1 = 2 * precision * recall / (precision + recall) if precision + recall else 0.0
        return precision, recall, f1

    def lines(self, rows: int, out: str | None) -> list[str]:
        """The same as text."""
        from maxmargin.cli.output import table

        where = f"{rows:,} rows predicted" + (f", written to {out}" if out not in (None, "-") else "")
        if not self.comparable:
            return [where]
        lines = [where, f"accuracy {100 * self.hits.sum() / self.rows:.4f} % ({self.hits.sum():,} of {self.rows:,})"]
        point = self.break_even()
        if point is not None:
            lines.append(f"precision / recall break-even point {100 * point:.4f} %")
        if len(self.classes) <= MOST_CLASSES_SHOWN:
            body = [
                [label_text(label), *(f"{value:.4f}" for value in self._measures(k)), f"{self.true[k]:,}"]
                for k, label in enumerate(self.classes)
            ]
            lines += ["", *table(["class", "precision", "recall", "F1", "rows"], body)]
        return lines
