"""From blocks on a cluster to what was found: which method, how many rounds, and the sums that estimators need."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxmargin.dask.cluster import DaskBlocks
from maxmargin.models.model import PairSummary, Training
from maxmargin.problems.losses import Floats
from maxmargin.solvers.block import Block, Learning, Part
from maxmargin.solvers.deadline import Deadline
from maxmargin.solvers.descent_by_rounds import column_scales, descend_by_rounds
from maxmargin.solvers.newton_by_rounds import MOST_DENSE, newton_by_rounds
from maxmargin.solvers.round_watch import Found, Watch
from maxmargin.solvers.rounds import Summary, run_methods

#: The methods by rounds, by name.
SOLVERS = ("auto", "newton", "dcd")
#: Rows that mixtures of weights are looked for on: of one problem, and at least.
SAMPLE, LEAST_SAMPLE = 8192, 1024


def check_solver(solver: Any, dual: bool | str) -> str:
    """The method by rounds that parameters ask for."""
    if solver not in SOLVERS:
        raise ValueError(f"solver={solver!r} does not work on a cluster; choose from {list(SOLVERS)}")
    if (solver == "newton" and dual is True) or (solver == "dcd" and dual is False):
        raise ValueError(f"solver={solver!r} contradicts dual={dual!r}; use dual='auto'")
    if solver == "auto" and dual != "auto":
        return "dcd" if dual else "newton"
    return str(solver)


def refuse(estimator: Any, defaults: dict[str, Any]) -> None:
    """An error for parameters that have no meaning on a cluster, unless they have their defaults."""
    for name, default in defaults.items():
        value = getattr(estimator, name)
        if value != default:
            raise ValueError(f"{name}={value!r} does not work on a cluster; leave it at {default!r}")


def describe_block(block: Block) -> Summary:
    """Rows and columns of a block, and the weight of its labels."""
    weight = np.ones(len(block.y)) if block.weight is None else block.weight
    return {
        "rows": len(block.y),
        "columns": [block.X.shape[1]],
        "weight": float(weight.sum()),
        "number": [block.number],
    }


def describe_labels(block: Block) -> Summary:
    """The labels of a block, and how much the rows of each weigh."""
    labels, index = np.unique(block.y, return_inverse=True)
    return {"labels": [labels] if len(labels) else [], "shares": [np.bincount(index, weights=block.weight)]}


def describe_columns(block: Block) -> Summary:
    """Which columns a block has, and the sums of their squares."""
    X, columns = block.X, block.X.shape[1]
    if hasattr(X, "indptr"):
        squares = np.bincount(X.indices, weights=X.data.astype(np.float64) ** 2, minlength=columns)
    else:
        squares = np.square(X, dtype=np.float64).sum(axis=0)
    return {"present": (squares > 0).astype(np.float64), "squares": squares}


def describe_losses(block: Block) -> Summary:
    """The weights of rows in each problem, and the losses of weights that are all zero."""
    assert block.learning is not None
    parts = [Part(block, number) for number in range(block.learning.problems)]
    return {
        "C": np.array([part.C.sum() for part in parts]),
        "losses": np.array([part.losses(np.zeros(len(part.C))) for part in parts]),
    }


def count_support(block: Block, states: dict[int, NDArray[np.bool_]]) -> Summary:
    """Rows with a nonzero variable in any problem, by class, or in all."""
    assert block.learning is not None
    support = np.any(list(states.values()), axis=0)
    classes = block.learning.classes
    if len(classes) == 0:
        return {"support": np.array([int(support.sum())])}
    labels = np.searchsorted(classes, block.y)
    return {"support": np.bincount(labels[support], minlength=len(classes))}


def check_blocks(blocks: DaskBlocks) -> tuple[int, int]:
    """Rows and columns in all; an error where the blocks do not fit together."""
    told = blocks.total(describe_block)
    columns = dict(zip(told["number"], told["columns"], strict=True))
    first = told["number"][0]
    for number, count in columns.items():
        if count != columns[first]:
            raise ValueError(
                f"block {number} of X has {count} columns, but block {first} has {columns[first]}; "
                "all blocks must have the same columns"
            )
    if told["rows"] == 0 or columns[first] == 0:
        raise ValueError(f"X is empty: it has {told['rows']} rows and {columns[first]} features")
    if told["weight"] <= 0:
        raise ValueError("sample_weight is zero for all rows; at least one must be positive")
    return told["rows"], columns[first]


def fit_blocks(
    blocks: DaskBlocks,
    learning: Learning,
    rows: int,
    features: int,
    *,
    solver: str,
    tol: float,
    max_iter: int,
    deadline: Deadline,
    seed: int,
    listeners: Sequence[Any],
) -> list[Found]:
    """Solve the problems of what is learned, all in the same rounds."""
    name = solver
    if solver == "auto":
        name = "newton" if features <= MOST_DENSE or learning.loss.is_curved else "dcd"
    if name == "newton" and features > MOST_DENSE and not learning.loss.is_curved:
        raise ValueError(
            f"solver='newton' takes the loss {learning.loss.name!r} with up to {MOST_DENSE} features, and X has "
            f"{features}; use solver='dcd' or a squared loss"
        )
    scales = None
    if name == "dcd" and not learning.loss.is_curved:
        told = blocks.total(describe_columns)
        scales = column_scales(told["present"], told["squares"], learning.C, learning.bias, rows, len(blocks))
    blocks.bind(learning, scales)
    told = blocks.total(describe_losses)
    stop: list[bool] = []

    def heard(listener: Any) -> Any:
        def callback(report: Any, weights: Floats) -> bool:
            if listener.listens and listener.report(report, weights):
                stop.append(True)
            return bool(stop)

        return callback

    watches = [
        Watch(
            name,
            features,
            float(loss),
            tol=tol,
            max_iter=max_iter,
            deadline=deadline,
            callback=heard(listener),
            stopped=lambda: bool(stop),
        )
        for loss, listener in zip(told["losses"], listeners, strict=True)
    ]
    for listener in listeners:
        listener.begin()
    if name == "newton":
        widths = [2.0 * float(loss / C) or 1.0 for loss, C in zip(told["losses"], told["C"], strict=True)]
        methods = [
            newton_by_rounds(learning, features, watch, width=width)
            for watch, width in zip(watches, widths, strict=True)
        ]
    else:
        sample = max(LEAST_SAMPLE, SAMPLE // len(watches))
        methods = [
            descend_by_rounds(learning, features, len(blocks), watch, seed=seed + k, sample=sample)
            for k, watch in enumerate(watches)
        ]
    found: list[Found] = run_methods(methods, blocks)
    for listener in listeners:
        listener.end()
    return found


def training_of(blocks: DaskBlocks, found: list[Found], pairs: PairSummary | None = None) -> Training:
    """How a model came about. The dual variables stay on the cluster, and are gone with the fit."""
    support = blocks.total(count_support, with_states=True)["support"]
    return Training(
        primal=np.array([each.certificate.primal for each in found]),
        dual=np.array([each.certificate.dual for each in found]),
        converged=all(each.watch.exit == "converged" for each in found),
        n_iter=max(each.watch.rounds for each in found),
        solvers=[f"{each.watch.name} by rounds" for each in found],
        n_support=support,
        history=[each.watch.history for each in found],
        exits=[each.watch.exit for each in found],
        pairs=pairs,
    )
