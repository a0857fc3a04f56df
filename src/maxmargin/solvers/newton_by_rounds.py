"""Newton's method in the primal, by rounds.

With the slacks ``z_i`` and ``a_i = clip(z_i / D_i, L_i, U_i)``, the slope of the loss, the gradient is
``w - sum_i a_i sign_i x_i`` and the Hessian ``I + sum over unclipped ("curved") rows of x_i x_i' / D_i``: sums over
blocks. The ``a_i`` are dual feasible, so every evaluation comes with both bounds, and blocks have no state that lasts:
the variables of a row follow from the weights.

With few features a step takes one round, for gradient and matrix together. With many, the linear system is solved by
conjugate gradients, a round for each product with the Hessian, whatever the number of blocks is.

A loss without curvature is smoothed with a width that is driven down, and the Hessian is a matrix. Blocks answer for
the next width as well, so that going over to it takes no round: the step there is the first one at that width.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve

from maxmargin.problems.certificate import Certificate
from maxmargin.problems.losses import Floats, Loss
from maxmargin.solvers.block import Learning, Part
from maxmargin.solvers.round_watch import Found, Watch
from maxmargin.solvers.rounds import Request, RoundMethod, Summary

#: Up to this many features the Hessian is a matrix.
MOST_DENSE = 1024
#: The steps at which the line of a Newton step is evaluated.
STEPS = 2.0 ** -np.array([0, 1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 18, 22, 26, 30.0])
#: The residual of conjugate gradients, relative, and the most products for one step.
CG_RESIDUAL, CG_PRODUCTS = 0.3, 30
#: By how much a width shrinks, and the least one in first ones. Half a width keeps so many of the curved rows that
#: whole Newton steps are good ones.
NARROWING, LEAST_WIDTH = 0.5, 1e-9
#: Rows of which a dense copy is made at once.
CHUNK = 4096


@dataclass(frozen=True)
class _Point:
    """Weights to evaluate, with a smoothed loss, and the line that led there."""

    weights: Floats
    origin: Floats
    loss: Loss
    narrower: Loss | None
    dense: bool


def slopes(part: Part, loss: Loss, scores: Floats) -> tuple[Floats, NDArray[np.bool_]]:
    """``a_i`` of rows, and which rows are curved."""
    slack = part.target - part.sign * scores
    outside = slack - np.clip(slack, -loss.epsilon, loss.epsilon)
    ratio = outside / loss.diagonal_times_C
    inside = (ratio > loss.lower_per_C) & (ratio < loss.upper_per_C)
    if loss.epsilon > 0:
        inside &= ratio != 0
    return part.C * np.clip(ratio, loss.lower_per_C, loss.upper_per_C), inside & (part.C > 0)


def _evaluate(part: Part, state: Any, point: _Point) -> tuple[Any, Summary]:  # noqa: ARG001
    """Both bounds, gradient and curvature at the weights, and the smoothed losses on the line that led there."""
    scores, before = part.scores(point.weights), part.scores(point.origin)
    a, curved = slopes(part, point.loss, scores)
    line = [
        float(point.loss.primal(part.target - part.sign * (before + t * (scores - before)), part.C).sum())
        for t in (*STEPS, 0.0)
    ]
    rows, inverse = _curved(part, point.loss, curved)
    answer: Summary = {
        "losses": part.losses(scores),
        "line": np.array(line),
        "terms": part.dual_terms(a),
        "smooth_terms": float(point.loss.dual_terms(a, part.C, part.target).sum()),
        "weights": part.weights(a),
        "curved": len(rows),
        "curvature": _matrix(part, rows, inverse) if point.dense else _diagonal(part, rows, inverse),
    }
    if point.narrower is not None:
        next_a, next_curved = slopes(part, point.narrower, scores)
        answer["next_weights"] = part.weights(next_a)
        answer["next_curvature"] = _matrix(part, *_curved(part, point.narrower, next_curved))
    return (rows, inverse), answer


def _curved(part: Part, loss: Loss, curved: NDArray[np.bool_]) -> tuple[NDArray[np.intp], Floats]:
    """The curved rows, and ``1 / D_i`` of each."""
    rows = np.flatnonzero(curved)
    return rows, part.C[rows] / loss.diagonal_times_C


def _matrix(part: Part, rows: NDArray[np.intp], inverse: Floats) -> Floats:
    size = part.features + 1
    total = np.zeros((size, size))
    for begin in range(0, len(rows), CHUNK):
        some = rows[begin : begin + CHUNK]
        X = part.block.X[some]
        X = np.column_stack([X.toarray() if hasattr(X, "toarray") else X, np.full(len(some), part.bias)])
        X = X.astype(np.float64, copy=False)
        total += X.T @ (X * inverse[begin : begin + CHUNK, np.newaxis])
    return total


def _diagonal(part: Part, rows: NDArray[np.intp], inverse: Floats) -> Floats:
    X, factors = part.block.X, np.zeros(len(part.C))
    factors[rows] = inverse
    if hasattr(X, "indptr"):
        squares = X.data.astype(np.float64) ** 2 * np.repeat(factors, np.diff(X.indptr))
        squared = np.bincount(X.indices, weights=squares, minlength=part.features)
    else:
        squared = factors @ np.square(X, dtype=np.float64)
    return np.append(squared, part.bias**2 * factors.sum())


def _multiply(part: Part, state: tuple[NDArray[np.intp], Floats], direction: Floats) -> tuple[Any, Summary]:
    """The product of the Hessian, without the regulariser, with a direction."""
    rows, inverse = state
    a = np.zeros(len(part.C))
    a[rows] = inverse * part.scores(direction)[rows]
    return state, {"product": part.weights(part.sign * a)}


def _finish(part: Part, state: Any, message: tuple[Floats, Floats | None, Loss]) -> tuple[Any, Summary]:  # noqa: ARG001
    """Both bounds once more; the state tells support vectors from other rows."""
    best, origin, loss = message
    a = np.zeros(len(part.C)) if origin is None else slopes(part, loss, part.scores(origin))[0]
    support = a != 0
    return support, {
        "losses": part.losses(part.scores(best)),
        "terms": part.dual_terms(a),
        "weights": part.weights(a),
    }


def newton_by_rounds(learning: Learning, features: int, watch: Watch, *, width: float = 2.0) -> RoundMethod:
    """The method for one problem; returns a `Found`.

    Parameters
    ----------
    learning : Learning
        What is learned.
    features : int
        Columns of the data.
    watch : Watch
        Keeps the bounds and says when to end.
    width : float
        The first width of a smoothed loss: twice the mean loss of a row when all weights are zero, so that its rows
        are curved there.
    """
    smoothing = not learning.loss.is_curved
    loss = replace(learning.loss, diagonal_times_C=width) if smoothing else learning.loss
    narrower = _narrowed(loss) if smoothing else None
    dense = features <= MOST_DENSE
    origin = w = np.zeros(features + 1)
    dual_at: tuple[Floats | None, Loss] = (None, loss)
    while True:
        told = yield Request(_evaluate, _Point(w, origin, loss, narrower, dense), fresh=True)
        primal, v = 0.5 * w @ w + told["losses"], told["weights"]
        dual = told["terms"] - 0.5 * v @ v
        watch.offer_primal(w, primal)
        if watch.offer_dual(dual):
            dual_at = (w, loss)
        if watch.ended(told["curved"]):
            break
        if w is not origin:
            step = _best_step(origin, w, told["line"])
            if step == 0.0 and not smoothing:
                watch.give_up()
                break
            if step < 1.0:
                w = origin + step * (w - origin)
                if step > 0.0:
                    continue
        smooth_primal = 0.5 * w @ w + told["line"][0 if w is not origin else -1]
        stuck = w is not origin and step == 0.0
        smooth_gap = smooth_primal - (told["smooth_terms"] - 0.5 * v @ v)
        if smoothing and (stuck or smooth_gap < 0.5 * (primal - dual)):
            if loss.diagonal_times_C < LEAST_WIDTH * width:
                watch.give_up()
                break
            assert narrower is not None
            loss, narrower = narrower, _narrowed(narrower)
            direction = _solve(told["next_curvature"], told["next_weights"] - w)
        elif dense:
            direction = _solve(told["curvature"], v - w)
        else:
            direction = yield from _conjugate_gradients(told["curvature"], v - w, watch)
        origin, w = w, w + direction
    told = yield Request(_finish, (watch.weights, *dual_at), fresh=True)
    best, v = watch.weights, told["weights"]
    certificate = Certificate(0.5 * best @ best + told["losses"], max(0.0, told["terms"] - 0.5 * v @ v))
    return Found(certificate, watch)


def _narrowed(loss: Loss) -> Loss:
    return replace(loss, diagonal_times_C=NARROWING * loss.diagonal_times_C)


def _best_step(origin: Floats, w: Floats, losses: Floats) -> float:
    """The whole step where it does half of what the best one does, else the best one; 0 if none is better than none."""
    values = [
        0.5 * point @ point + loss
        for point, loss in zip((origin + t * (w - origin) for t in (*STEPS, 0.0)), losses, strict=True)
    ]
    start, best = values[-1], int(np.argmin(values[:-1]))
    if not values[best] < start:
        return 0.0
    return 1.0 if start - values[0] >= 0.5 * (start - values[best]) else float(STEPS[best])


def _solve(scatter: Floats, right: Floats) -> Floats:
    matrix = scatter.copy()
    matrix[np.diag_indices_from(matrix)] += 1.0
    return np.asarray(cho_solve(cho_factor(matrix), right))


def _conjugate_gradients(squares: Floats, right: Floats, watch: Watch) -> Any:
    """The Newton direction, by products of all blocks with the Hessian; the diagonal is the preconditioner."""
    diagonal = 1.0 + squares
    residual, x = right.copy(), np.zeros_like(right)
    p = residual / diagonal
    rho = first = residual @ p
    for _ in range(CG_PRODUCTS):
        told = yield Request(_multiply, p, keeps=True)
        Hp = p + told["product"]
        step = rho / (p @ Hp)
        x += step * p
        residual -= step * Hp
        scaled = residual / diagonal
        before, rho = rho, residual @ scaled
        if not rho > CG_RESIDUAL**2 * first or watch.ended():
            break
        p = scaled + rho / before * p
    return x
