"""Training on blocks that do not fit within the memory limit: which method streams, and the model of what it found.

Few features: Newton's method, one pass a step, nothing kept of a row. Many features: dual coordinate descent, whose
dual variables stay in memory. Several classes at once: the sequential dual method. Ranking: cutting planes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxmargin._core import StopFlag, signed_variables
from maxmargin.io.blocks import Blocks
from maxmargin.models.model import NO_CLASSES, Model, PairSummary, Training, weight_rows
from maxmargin.problems.binary import LARGEST_C, SMALLEST_C
from maxmargin.problems.certificate import Certificate
from maxmargin.problems.csr import Csr
from maxmargin.problems.losses import LOSSES, Floats, Loss
from maxmargin.solvers.auto import MOST_NEWTON_FEATURES
from maxmargin.solvers.method import Method
from maxmargin.solvers.solution import Solution
from maxmargin.solvers.streamed.classes import solve_classes_streamed
from maxmargin.solvers.streamed.cuts import rank_streamed
from maxmargin.solvers.streamed.dual_descent import descend_streamed
from maxmargin.solvers.streamed.newton import newton_streamed
from maxmargin.solvers.streamed.stream import Limits, Margins, Piece
from maxmargin.training.block_stream import BlockStream
from maxmargin.training.classification import Listener, problems_of

#: Share of the memory for the dual variables of a model; beyond it they are left out.
DUAL_SHARE = 0.3
#: Share of the memory for the Hessians of Newton's method.
HESSIAN_SHARE = 0.4


def needs_loading(blocks: Blocks, what: str) -> ValueError:
    """The error for what does not stream."""
    return ValueError(
        f"{what} over blocks needs rows that fit within the memory limit: {blocks.nbytes / 2**20:,.0f} MB, of which "
        f"{blocks.spare_memory() / 2**20:,.0f} MB are free; raise the memory limit of open_blocks"
    )


def loaded(X: Any, y: Any, sample_weight: Any = None, qid: Any = None) -> tuple[Any, Any, Any, Any]:
    """Rows, labels, weights and query numbers: of blocks that fit their own, unless given; all else as it is."""
    if not isinstance(X, Blocks) or not X.fits:
        return X, y, sample_weight, qid
    y = X.y if y is None else y
    sample_weight = X.sample_weight if sample_weight is None else sample_weight
    qid = X.qid if qid is None else qid
    return X.load(), y, sample_weight, qid


def must_load(what: str, X: Any, y: Any, sample_weight: Any = None, qid: Any = None) -> tuple[Any, Any, Any, Any]:
    """The same, for what does not stream: blocks that do not fit are an error."""
    if isinstance(X, Blocks) and not X.fits:
        raise needs_loading(X, what)
    return loaded(X, y, sample_weight, qid)


def streamed_method(method: Method, blocks: Blocks, n_problems: int) -> str:
    """The method for problems of one score per row, "newton" or "dcd"; an error for one that does not stream."""
    _check_streams(method, "auto", "dcd", "newton")
    features = blocks.shape[1]
    few = features <= MOST_NEWTON_FEATURES
    cheap = 16 * n_problems * (features + 1) ** 2 <= HESSIAN_SHARE * blocks.spare_memory()
    name, asked, instead = method.name, "solver='newton'", "solver='dcd'"
    if name == "auto":
        dual = method.options()["dual"]
        name = "newton" if dual is False or (dual is None and few and cheap) else "dcd"
        asked, instead = "dual=False", "dual='auto'"
    if name == "newton" and not few:
        raise ValueError(
            f"{asked} over blocks is Newton's method, which takes up to {MOST_NEWTON_FEATURES} features, not "
            f"{features:,}; use {instead}"
        )
    return name


def _check_streams(method: Method, *names: str) -> None:
    """An error for a method, or an option of it, that does not stream."""
    where = "does not stream over blocks larger than memory"
    if method.name not in names:
        raise ValueError(f"solver={method.name!r} {where}; use {' or '.join(map(repr, names))}")
    usual = type(method)().options()
    for option, value in method.options().items():
        if option != "dual" and value != usual[option]:
            advice = "use tol" if option == "epsilon" else f"leave it at {usual[option]!r}"
            raise ValueError(f"{option}={value!r} of solver={method.name!r} {where}; {advice}")


def classes_of(blocks: Blocks, y: Any) -> NDArray[Any]:
    """The classes of labels that are given, or of those in the blocks."""
    if y is None:
        if not blocks.has_labels:
            raise ValueError(f"{blocks.path} has no labels; give them as y")
        if blocks.classes is None:
            raise ValueError(f"{blocks.path}: its labels are numbers to predict, too many different ones for classes")
        classes = blocks.classes
        if blocks.shape[0] < blocks.n_rows:  # a part of the rows may lack some of them
            seen = np.zeros(len(classes), dtype=bool)
            for block in blocks.blocks(ahead=0, sides_only=True):
                assert block.y is not None
                seen[np.searchsorted(classes, np.unique(block.y))] = True
            classes = classes[seen]
    else:
        classes = np.unique(np.asarray(y))
    if len(classes) < 2:
        raise ValueError(f"y holds one class only, {classes.tolist()[0]!r}; a classifier needs at least two classes")
    return classes


def train_classifier_on_blocks(
    blocks: Blocks,
    parameters: dict[str, Any],
    method: Method,
    classes: NDArray[Any],
    *,
    y: Any = None,
    sample_weight: Any = None,
    listeners: Sequence[Listener] | None = None,
    time_limit: float | None = None,
    seed: int = 0,
    stop: StopFlag | None = None,
    **others: Any,
) -> Model:
    """The model of a classification by rows read block by block; ``parameters`` are those of `LinearSVC`."""
    _refuse(parameters, blocks)
    stream = BlockStream(
        blocks,
        parameters["C"],
        y=y,
        sample_weight=sample_weight,
        classes=classes,
        class_weight=parameters["class_weight"],
    )
    positives = problems_of(parameters["multi_class"], len(classes))
    bias = parameters["intercept_scaling"] if parameters["fit_intercept"] else 0.0
    limits = _limits(parameters, listeners, time_limit, seed, stop)
    for listener in listeners or ():
        listener.begin()
    joint = parameters["multi_class"] != "ovr"
    support = np.zeros(len(classes), dtype=np.intp)
    if joint:
        _check_streams(method, "auto", "sdm")
        solutions = [solve_classes_streamed(stream, parameters["multi_class"], len(classes), bias, limits)]
    else:
        margins = Margins(positives, LOSSES[parameters["loss"]], bias)
        solutions = _solve_margins(stream, margins, method, limits, support)
    for listener in listeners or ():
        listener.end()
    weights = weight_rows([solution.weights for solution in solutions])
    dual_coef = _dual_of_classes(stream, positives, solutions, support, joint)
    return Model(
        estimator="LinearSVC",
        parameters=parameters,
        classes=classes,
        coef=weights[:, :-1],
        intercept=bias * weights[:, -1],
        training=_training(solutions, dual_coef, support),
        feature_names=blocks.feature_names,
        source=blocks.source,
        **others,
    )


def train_regression_on_blocks(
    blocks: Blocks,
    parameters: dict[str, Any],
    loss: Loss,
    method: Method,
    *,
    y: Any = None,
    sample_weight: Any = None,
    listeners: Sequence[Listener] | None = None,
    time_limit: float | None = None,
    seed: int = 0,
    stop: StopFlag | None = None,
) -> Model:
    """The model of a regression by rows read block by block; ``parameters`` are those of `LinearSVR`."""
    _refuse(parameters, blocks)
    stream = BlockStream(blocks, parameters["C"], y=y, sample_weight=sample_weight)
    bias = parameters["intercept_scaling"] if parameters["fit_intercept"] else 0.0
    limits = _limits(parameters, listeners, time_limit, seed, stop)
    for listener in listeners or ():
        listener.begin()
    support = np.zeros(1, dtype=np.intp)
    [solution] = _solve_margins(stream, Margins([None], loss, bias), method, limits, support)
    for listener in listeners or ():
        listener.end()
    dual_coef = None
    if solution.alpha is not None:
        support += np.count_nonzero(solution.alpha)
        dual_coef = Csr.of_rows([solution.alpha]) if _keeps_dual(blocks, 1) else None
    return Model(
        estimator="LinearSVR",
        parameters=parameters,
        classes=NO_CLASSES,
        coef=solution.weights[np.newaxis, :-1],
        intercept=bias * solution.weights[-1:],
        training=_training([solution], dual_coef, support),
        feature_names=blocks.feature_names,
        source=blocks.source,
    )


def train_ranker_on_blocks(
    blocks: Blocks,
    parameters: dict[str, Any],
    method: Method,
    *,
    y: Any = None,
    qid: Any = None,
    sample_weight: Any = None,
    listeners: Sequence[Listener] | None = None,
    time_limit: float | None = None,
    stop: StopFlag | None = None,
) -> Model:
    """The model of a ranking by rows read block by block; ``parameters`` are those of `LinearRankSVM`."""
    _refuse(parameters, blocks)
    _check_streams(method, "auto", "cutting_plane")
    stream = BlockStream(blocks, 1.0, y=y, sample_weight=sample_weight, qid=qid)
    limits = _limits(parameters, listeners, time_limit, 0, stop)
    for listener in listeners or ():
        listener.begin()
    solution, counts = rank_streamed(stream, float(parameters["C"]), limits, _keeps_dual(blocks, 1))
    for listener in listeners or ():
        listener.end()
    dual_coef = None if solution.alpha is None else Csr.of_rows([solution.alpha])
    pairs = PairSummary(counts.all, counts.swapped, counts.tied, counts.groups)
    return Model(
        estimator="LinearRankSVM",
        parameters=parameters,
        classes=NO_CLASSES,
        coef=solution.weights[np.newaxis, :-1],
        intercept=np.zeros(1),
        training=_training([solution], dual_coef, np.array([counts.support]), pairs),
        feature_names=blocks.feature_names,
        source=blocks.source,
    )


def _refuse(parameters: dict[str, Any], blocks: Blocks) -> None:
    """What the ordinary training honours and streams cannot."""
    if blocks.shape[0] == 0:
        raise ValueError(f"{blocks.path} has no rows")
    if not SMALLEST_C <= parameters["C"] <= LARGEST_C:
        raise ValueError(f"C must lie between {SMALLEST_C:g} and {LARGEST_C:g}, not {parameters['C']}")
    if parameters.get("penalty", "l2") != "l2":
        raise needs_loading(blocks, f"penalty={parameters['penalty']!r}")
    if not parameters.get("penalize_intercept", True):
        raise needs_loading(blocks, "an intercept outside the regulariser (penalize_intercept=False)")
    if parameters.get("warm_start"):
        raise needs_loading(blocks, "warm_start=True")
    if parameters.get("checkpoint") is not None:
        raise needs_loading(blocks, "a checkpoint")


def _limits(
    parameters: dict[str, Any],
    listeners: Sequence[Listener] | None,
    time_limit: float | None,
    seed: int,
    stop: StopFlag | None,
) -> Limits:
    callbacks = [listener.report if listener.listens else None for listener in listeners or ()]
    return Limits(parameters["tol"], parameters["max_iter"], time_limit, seed, stop or StopFlag(), callbacks)


def _keeps_dual(blocks: Blocks, n_problems: int) -> bool:
    return 20 * blocks.shape[0] * n_problems <= DUAL_SHARE * blocks.spare_memory()


def _solve_margins(
    stream: BlockStream, problems: Margins, method: Method, limits: Limits, support: NDArray[np.intp]
) -> list[Solution]:
    """The solutions; where memory does not allow dual variables, rows that have one are added to ``support``."""
    count = len(problems.positives)
    if streamed_method(method, stream.blocks, count) == "dcd":
        return descend_streamed(stream, problems, limits)
    keeps = _keeps_dual(stream.blocks, count)
    if keeps:
        solutions = newton_streamed(stream, problems, limits)
        if method.name == "auto" and any(solution.exit == "stalled" for solution in solutions):
            return _go_on(stream, problems, limits, solutions)
        return solutions

    def each(piece: Piece, alphas: list[Floats]) -> None:
        any_ = np.any(np.array(alphas) != 0, axis=0)
        labels = np.zeros(len(any_), dtype=np.intp) if piece.labels is None else piece.labels
        support[:] += np.bincount(labels[any_], minlength=len(support))

    return newton_streamed(stream, problems, limits, each)


def _go_on(stream: BlockStream, problems: Margins, limits: Limits, before: list[Solution]) -> list[Solution]:
    """Dual descent where Newton's method made no more progress, as with few rows per feature; the better of both."""
    left = None if limits.time_limit is None else max(limits.time_limit - before[0].seconds, 0.0)
    found = []
    for first, second in zip(before, descend_streamed(stream, problems, replace(limits, time_limit=left)), strict=True):
        weights, alpha = (
            min(first, second, key=lambda one: one.certificate.primal).weights,
            max(first, second, key=lambda one: one.certificate.dual).alpha,
        )
        certificate = Certificate(
            min(first.certificate.primal, second.certificate.primal),
            max(first.certificate.dual, second.certificate.dual),
        )
        found.append(
            replace(
                second,
                weights=weights,
                alpha=alpha,
                certificate=certificate,
                exit="converged" if certificate.gap <= limits.tol else second.exit,
                n_iter=first.n_iter + second.n_iter,
                solver=f"{first.solver}+{second.solver}",
                seconds=first.seconds + second.seconds,
                check_seconds=first.check_seconds + second.check_seconds,
                history=[*first.history, *second.history],
            )
        )
    return found


def _dual_of_classes(
    stream: BlockStream,
    positives: Sequence[int | None],
    solutions: list[Solution],
    support: NDArray[np.intp],
    joint: bool,
) -> Csr | None:
    """Signed dual variables, where memory allows them; how many rows of each class have one is added to ``support``."""
    n_classes = len(support)
    if solutions[0].alpha is None:
        return None
    if joint:
        alpha = solutions[0].alpha
        has = np.diff(alpha.indptr) > 0
        labels = np.zeros(stream.shape[0], dtype=np.int32)
        for piece in stream.sides():
            assert piece.labels is not None
            labels[piece.numbers] = piece.labels
        support += np.bincount(labels[has], minlength=n_classes)
        if not _keeps_dual(stream.blocks, 2):
            return None
        coef = Csr(*signed_variables(alpha[:3], labels, n_classes), (n_classes, stream.shape[0]))
        if n_classes == 2:
            second = coef.rows(1, 2)
            coef = second._replace(data=2 * second.data)
        return coef
    for piece in stream.sides():
        assert piece.labels is not None
        any_ = np.zeros(len(piece.C), dtype=bool)
        for positive, solution in zip(positives, solutions, strict=True):
            own = solution.alpha[piece.numbers]
            any_ |= own != 0
            solution.alpha[piece.numbers] = piece.sides(positive)[0] * own
        support += np.bincount(piece.labels[any_], minlength=n_classes)
    if not _keeps_dual(stream.blocks, len(solutions)):
        return None
    return Csr.of_rows([solution.alpha for solution in solutions])


def _training(
    solutions: list[Solution], dual_coef: Csr | None, n_support: NDArray[Any], pairs: PairSummary | None = None
) -> Training:
    return Training(
        primal=np.array([solution.certificate.primal for solution in solutions]),
        dual=np.array([solution.certificate.dual for solution in solutions]),
        converged=all(solution.converged for solution in solutions),
        n_iter=max(solution.n_iter for solution in solutions),
        solvers=[solution.solver for solution in solutions],
        n_support=n_support,
        history=[solution.history for solution in solutions],
        exits=[solution.exit for solution in solutions],
        dual_coef=dual_coef,
        pairs=pairs,
    )
