"""``maxmargin train`` on a folder of blocks: rows that fit within the memory limit are loaded, others are streamed."""

from __future__ import annotations

import os
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from maxmargin.cli.options import read_options, tidy
from maxmargin.cli.ranking import ONE_GROUP, pair_fields, ranker_parameters
from maxmargin.cli.regression import regression_parameters
from maxmargin.cli.training import class_weights, classifier_parameters, intercept_options, solver_options

if TYPE_CHECKING:
    from maxmargin.cli.output import Bar, Output
    from maxmargin.io.blocks import Blocks
    from maxmargin.models.model import Model


def streamed_blocks(data: str, given: dict[str, Any]) -> Blocks | None:
    """The blocks of a folder that have to be streamed: they do not fit, or have weights of rows. None for all else."""
    if data == "-" or not os.path.isdir(data) or read_options(**given).format_of(data) != "blocks":
        if given["memory"] is not None:
            raise ValueError(f"--memory applies to folders of blocks, not to {data}; see  maxmargin convert")
        return None
    from maxmargin.io.blocks import Blocks

    blocks = Blocks(data, given["memory"])
    if not blocks.has_labels and given["task"] != "one_class":
        raise ValueError(f"{data}: there are no labels")
    return None if blocks.fits and not blocks.manifest["weights"] else blocks


def train_on_blocks(blocks: Blocks, target: str, given: dict[str, Any], output: Output) -> int:
    """Train by rows that are read block by block, write the model, and say how it went."""
    from maxmargin.cli.output import Bar
    from maxmargin.cli.train import shortfall, summary_lines
    from maxmargin.io.model_file import write_model

    trainers = {"classify": _classify, "regression": _regress, "rank": _rank}
    if given["task"] not in trainers:
        from maxmargin.training.streaming import needs_loading

        raise needs_loading(blocks, "--task one_class")
    if given["checkpoint"] is not None:
        raise ValueError("--checkpoint does not go with blocks that do not fit within the memory limit")
    if given["task"] == "rank" and not blocks.manifest["qid"]:
        output.note(ONE_GROUP)
    start = time.perf_counter()
    with Bar(output, "training") as bar:
        model = trainers[given["task"]](blocks, given, bar)
    done = time.perf_counter()
    training = model.training
    assert training is not None
    if given["dual"] and training.dual_coef is None:
        output.note("the dual variables do not fit within the memory limit; they are left out of the model")
    write_model(model, target, dual=given["dual"])
    fields = {
        "model": target,
        "rows": blocks.shape[0],
        "features": blocks.shape[1],
        "nonzeros": blocks.stored,
        **(pair_fields(model) if model.ranks else _measures(blocks, model)),
        "objective": float(training.primal.sum()),
        "gap": max(float(training.gap.max()), 0.0),
        "tol": given["tol"],
        "converged": training.converged,
        "epochs": training.n_iter,
        "solver": training.solvers[0] if len(training.solvers) == 1 else training.solvers,
        "support_vectors": int(training.n_support.sum()),
        "seconds": {"training": done - start, "writing": time.perf_counter() - done},
    }
    output.results(fields, summary_lines(fields))
    if not training.converged:
        output.say(f"The model is written, but {shortfall(training, given, None)}")
        return 1
    return 0


def _classify(blocks: Blocks, given: dict[str, Any], bar: Bar) -> Model:
    from maxmargin.cli.output import TrainingBar
    from maxmargin.training.classification import problems_of
    from maxmargin.training.streaming import classes_of, train_classifier_on_blocks

    classes = classes_of(blocks, None)
    method = solver_options(given)["solver"]
    parameters = classifier_parameters(given, class_weights(given["class_weight"], tidy(classes)))
    listeners = TrainingBar(bar, len(problems_of(given["multi_class"], len(classes))), given["tol"]).listeners
    model = train_classifier_on_blocks(
        blocks, parameters, method, classes, listeners=listeners, time_limit=given["time_limit"], seed=given["seed"]
    )
    return replace(model, classes=tidy(model.classes))


def _regress(blocks: Blocks, given: dict[str, Any], bar: Bar) -> Model:
    from maxmargin.cli.output import TrainingBar
    from maxmargin.problems.regression import regression_loss
    from maxmargin.training.method_choice import narrow_method
    from maxmargin.training.streaming import train_regression_on_blocks

    intercept_options(given)
    loss = regression_loss(given["loss"], given["epsilon"])
    method = narrow_method(
        given["solver"],
        "regression",
        loss,
        penalize_bias=not given["no_penalize_intercept"],
        shrinking=not given["no_shrinking"],
    )
    return train_regression_on_blocks(
        blocks,
        regression_parameters(given),
        loss,
        method,
        listeners=TrainingBar(bar, 1, given["tol"]).listeners,
        time_limit=given["time_limit"],
        seed=given["seed"],
    )


def _rank(blocks: Blocks, given: dict[str, Any], bar: Bar) -> Model:
    from maxmargin.cli.output import TrainingBar
    from maxmargin.training.method_choice import narrow_method
    from maxmargin.training.streaming import train_ranker_on_blocks

    return train_ranker_on_blocks(
        blocks,
        ranker_parameters(given),
        narrow_method(given["solver"], "ranking", None),
        listeners=TrainingBar(bar, 1, given["tol"]).listeners,
        time_limit=given["time_limit"],
    )


def _measures(blocks: Blocks, model: Model) -> dict[str, Any]:
    """What the model makes of its training data, by one more pass."""
    import numpy as np

    if not model.predicts_numbers:
        correct = 0
        for block in blocks.blocks(ahead=2):
            assert block.y is not None
            correct += int(np.count_nonzero(model.predict(block.X) == block.y))
        return {"classes": model.classes.tolist(), "correct": correct, "accuracy": correct / blocks.shape[0]}
    # Sums about the first target, so that those of large ones lose nothing.
    count, shift = 0, None
    sums = np.zeros(7)
    for block in blocks.blocks(ahead=2):
        assert block.y is not None
        shift = float(block.y[0]) if shift is None else shift
        y, p = block.y.astype(float) - shift, model.scores(block.X).ravel() - shift
        residual = y - p
        count += len(y)
        sums += [y.sum(), p.sum(), y @ y, p @ p, y @ p, residual @ residual, np.abs(residual).sum()]
    y, p, yy, pp, yp, squares, absolute = (sums / count).tolist()
    total, others, both = yy - y * y, pp - p * p, yp - y * p
    return {
        "mean_squared_error": squares,
        "mean_absolute_error": absolute,
        "r2": 1.0 - squares / total if total > 0 else None,
        "squared_correlation": both**2 / (total * others) if total > 0 and others > 0 else None,
    }
