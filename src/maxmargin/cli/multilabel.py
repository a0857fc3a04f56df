"""Files whose rows have any number of labels: recognising, training on and predicting them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from maxmargin.cli.loading import has_several_labels
from maxmargin.cli.options import label_text, tidy
from maxmargin.cli.training import class_weights, classifier_parameters, solver_options

if TYPE_CHECKING:
    from maxmargin.cli.output import Output
    from maxmargin.io.data import Data
    from maxmargin.models.model import Model

#: With more labels than this the table of labels is left to --json.
MOST_LABELS_SHOWN = 60


def recognise_labels(context: click.Context, data: str, given: dict[str, Any], output: Output) -> None:
    """Whether rows have several labels: asked for, or seen in the first rows; what does not go with it is an error."""
    if given["task"] != "classify":
        if given["multilabel"]:
            raise click.UsageError(f"--multilabel does not apply to --task {given['task']}", context)
        return
    if not given["multilabel"] and has_several_labels(data, given):
        given["multilabel"] = True
        output.note("rows have several labels, separated by commas: each label is trained by itself (--multilabel)")
    if given["multilabel"] and given["multi_class"] != "ovr":
        raise click.UsageError(
            f"--multilabel trains one label at a time; leave out --multi-class {given['multi_class']}"
        )
    if given["multilabel"] and (given.get("folds") or given.get("search")):
        raise click.UsageError("--multilabel: cross-validation knows rows with one label only", context)


def train_labels(data: Data, name: str, given: dict[str, Any], output: Output) -> Model:
    """The model of files with several labels for each row."""
    from dataclasses import replace

    import numpy as np

    from maxmargin.cli.output import Bar, TrainingBar
    from maxmargin.solvers.threads import count_threads
    from maxmargin.training.multilabel import Indicator, train_multilabel

    if data.X.shape[0] == 0:
        raise ValueError(f"{name}: there are no rows")
    assert data.y is not None
    names, indicator = Indicator.of_lists(data.y)  # type: ignore[arg-type]
    if len(names) == 0:
        raise ValueError(f"{name}: no row has a label")
    everywhere = np.flatnonzero(indicator.constant(None)).tolist()
    if everywhere:
        shown = ", ".join(label_text(names[label]) for label in everywhere[:10])
        output.note(f"every row has the label {shown}, and so will every prediction")
    parameters = classifier_parameters(given, class_weights(given["class_weight"], np.arange(2)))
    options = {name: value for name, value in solver_options(given).items() if name in ("solver", "tol", "max_iter")}
    with Bar(output, "training") as bar:
        model = train_multilabel(
            data.X,
            indicator,
            given["C"],
            parameters,
            tidy(names),
            sparse_output=True,
            listeners=lambda learned: TrainingBar(bar, len(learned), given["tol"]).listeners,
            time_limit=given["time_limit"],
            n_jobs=count_threads(given["jobs"]),
            seed=given["seed"],
            pack=not given["no_pack"],
            checkpoint=given["checkpoint"],
            checkpoint_interval=given["checkpoint_interval"],
            **options,
        )
    return replace(model, feature_names=data.feature_names, source=data.source)


def label_lines(scores: Any, names: list[str]) -> bytes:
    """One line for each row with the labels of positive scores, separated by commas."""
    return "".join(",".join(names[k] for k in row.nonzero()[0].tolist()) + "\n" for row in scores > 0).encode()


def training_fields(data: Data, model: Model) -> dict[str, Any]:
    """What the model makes of its training data."""
    tally = LabelTally(model)
    assert data.y is not None
    step = max(1, (1 << 20) // len(model.classes))
    for begin in range(0, len(data.y), step):
        end = min(begin + step, len(data.y))
        rows = data.X.rows(begin, end) if hasattr(data.X, "indptr") else data.X[begin:end]
        tally.add(data.y[begin:end], model.scores(rows))
    found = tally.fields()
    return {"labels": len(model.classes), "correct": found["correct"], "accuracy": found["accuracy"]} | {
        name: found[name] for name in ("micro_f1", "macro_f1")
    }


def training_lines(fields: dict[str, Any]) -> list[tuple[str, str]]:
    """The same as text."""
    right = f"{100 * fields['accuracy']:.4f} % ({fields['correct']:,} of {fields['rows']:,})"
    return [
        ("labels", f"{fields['labels']:,}"),
        ("rows with all labels right", right),
        ("F1, micro and macro", f"{fields['micro_f1']:.4f}, {fields['macro_f1']:.4f}"),
    ]


class LabelTally:
    """Counts of predicted against true labels, block by block."""

    def __init__(self, model: Model) -> None:
        import numpy as np

        self.names = model.classes.tolist()
        self.position = {label: k for k, label in enumerate(self.names)}
        self.hits, self.predicted, self.true = np.zeros((3, len(self.names)), dtype=np.int64)
        self.rows = self.correct = self.strange = 0

    def add(self, y: Any, scores: Any) -> None:
        """The labels of some rows, each a sequence, and their scores."""
        import numpy as np

        found, wanted = scores > 0, np.zeros(scores.shape, dtype=bool)
        whole = np.ones(len(y), dtype=bool)
        for row, labels in enumerate(y):
            for label in labels:
                place = self.position.get(label)
                if place is None:
                    whole[row] = False
                    self.strange += 1
                else:
                    wanted[row, place] = True
        self.rows += len(y)
        self.correct += int(np.count_nonzero(whole & (found == wanted).all(axis=1)))
        self.hits += (found & wanted).sum(axis=0)
        self.predicted += found.sum(axis=0)
        self.true += wanted.sum(axis=0)

    def fields(self) -> dict[str, Any]:
        """What there is to say, for JSON."""
        if self.rows == 0:
            return {}
        measures = [self._measures(*counts) for counts in self._counts()]
        return {
            "correct": self.correct,
            "accuracy": self.correct / self.rows,
            "micro_f1": self._measures(self.hits.sum(), self.predicted.sum(), self.true.sum() + self.strange)[2],
            "macro_f1": sum(f for _, _, f in measures) / len(measures),
            "classes": [
                {"label": label, "precision": p, "recall": r, "f1": f, "rows": int(true)}
                for label, (p, r, f), true in zip(self.names, measures, self.true, strict=True)
            ],
        }

    def _counts(self) -> Any:
        return zip(self.hits.tolist(), self.predicted.tolist(), self.true.tolist(), strict=True)

    @staticmethod
    def _measures(hits: int, predicted: int, true: int) -> tuple[float, float, float]:
        """Precision, recall and their harmonic mean."""
        both = predicted + true
        return (
            float(hits / predicted) if predicted else 0.0,
            float(hits / true) if true else 0.0,
            float(2 * hits / both) if both else 0.0,
        )

    def lines(self, rows: int, out: str | None, fields: dict[str, Any]) -> list[str]:
        """The same as text."""
        from maxmargin.cli.output import table

        lines = [f"{rows:,} rows predicted" + (f", written to {out}" if out not in (None, "-") else "")]
        if not fields:
            return lines
        lines += [
            f"all labels right {100 * fields['accuracy']:.4f} % ({self.correct:,} of {self.rows:,})",
            f"F1 {fields['micro_f1']:.4f} (micro), {fields['macro_f1']:.4f} (macro)",
        ]
        if len(self.names) <= MOST_LABELS_SHOWN:
            body = [
                [
                    label_text(own["label"]),
                    *(f"{own[name]:.4f}" for name in ("precision", "recall", "f1")),
                    f"{own['rows']:,}",
                ]
                for own in fields["classes"]
            ]
            lines += ["", *table(["label", "precision", "recall", "F1", "rows"], body)]
        return lines
