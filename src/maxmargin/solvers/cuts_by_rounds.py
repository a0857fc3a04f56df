"""Ranking by rounds: cutting planes, with the oracle of Joachims (2006) per block of whole groups.

The risk ``R(w)``, the loss of all pairs, is the sum over blocks, and so is a cut ``R(v) >= b - a.v`` that touches it at
``w``. A round evaluates the risk along the line from the best weights so far to those of the master problem, and makes
cuts at some points of that line (as OCAS does, Franc & Sonnenburg 2008). The master problem, over the shares of cuts,
is solved where the method runs; its value is the lower bound.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from maxmargin.problems.certificate import Certificate
from maxmargin.problems.losses import Floats
from maxmargin.problems.ranking import NothingToRankError
from maxmargin.solvers.block import Part
from maxmargin.solvers.round_watch import Found, Watch
from maxmargin.solvers.rounds import Request, RoundMethod, Summary

#: Where on the line the risk is evaluated, and at the first of them cuts are made.
POINTS, CUTS = (1.0, 0.5, 0.2, 0.75, 0.35, 0.1, 0.05), 3
#: Most cuts that are kept; those that have no share go first.
MOST_CUTS = 300


def _oracle(part: Part, scores: Floats) -> tuple[float, Floats]:
    """``b``, and the coefficients of rows in ``a``, in the true weights of pairs."""
    try:
        ranks = part.ranks
    except NothingToRankError:
        return 0.0, np.zeros(len(scores))
    unit = ranks.n_pairs / ranks.pairs.total()
    violated, coefficients = ranks.pairs.violated(np.ascontiguousarray(scores))
    return violated * unit, coefficients * unit


def _evaluate(part: Part, state: Any, line: tuple[Floats, Floats]) -> tuple[Any, Summary]:
    begin, end = (part.scores(w) for w in line)
    answer: Summary = {}
    risks = []
    for k, t in enumerate(POINTS):
        scores = begin + t * (end - begin)
        b, coefficients = _oracle(part, scores)
        risks.append(b - coefficients @ scores)
        if k < CUTS:
            answer[f"a{k}"], answer[f"b{k}"] = part.weights(coefficients), b
    answer["risks"] = np.array(risks)
    return state, answer


def _finish(part: Part, state: Any, message: tuple[Floats, list[Floats], Floats]) -> tuple[Any, Summary]:  # noqa: ARG001
    """The risk and the order of pairs once more; the state tells rows in use from others."""
    best, points, shares = message
    scores = part.scores(best)
    b, coefficients = _oracle(part, scores)
    alpha = np.zeros(len(scores))
    for point, share in zip(points, shares, strict=True):
        alpha += share * _oracle(part, part.scores(point))[1]
    counts = np.zeros(4)
    if _has_pairs(part):
        found = part.ranks.count(scores)
        counts[:] = found.all.sum(), found.swapped.sum(), found.tied.sum(), len(found.groups)
    return alpha != 0, {"risk": b - coefficients @ scores, "counts": counts}


def _has_pairs(part: Part) -> bool:
    try:
        return part.ranks.n_pairs > 0
    except NothingToRankError:
        return False


def count_pairs_of(part: Part, state: Any, message: None) -> tuple[Any, Summary]:  # noqa: ARG001
    """The weight of all pairs of a block."""
    return state, {"pairs": part.ranks.n_pairs if _has_pairs(part) else 0.0}


def master(G: Floats, b: Floats, C: float, u: Floats) -> Floats:
    """Maximise ``b'u - 1/2 u'Gu`` with ``u >= 0`` and ``sum u = C``, by steps along pairs of cuts."""
    u, gradient = u.copy(), b - G @ u
    for _ in range(20_000):
        up = int(np.argmax(gradient))
        used = np.flatnonzero(u > 0)
        down = int(used[np.argmin(gradient[used])])
        gain = gradient[up] - gradient[down]
        if gain <= 1e-10 * max(1.0, abs(b).max()):
            break
        curvature = G[up, up] + G[down, down] - 2.0 * G[up, down]
        step = u[down] if curvature <= 0 else min(u[down], gain / curvature)
        u[up] += step
        u[down] = 0.0 if step == u[down] else u[down] - step
        gradient -= step * (G[:, up] - G[:, down])
    return np.asarray(u * (C / u.sum()))


def cut_by_rounds(C: float, features: int, pairs: float, watch: Watch) -> RoundMethod:
    """The method; returns a `Found` and the counts of pairs.

    Parameters
    ----------
    C : float
        Weight of the mean loss of a pair.
    features : int
        Columns of the data.
    pairs : float
        The weight of all pairs.
    watch : Watch
        Keeps the bounds and says when to end.
    """
    # The risk is never negative: a cut of zeros.
    A, b = np.zeros((1, features + 1)), np.zeros(1)
    points, u = [np.zeros(features + 1)], np.array([C])
    best = w = np.zeros(features + 1)
    value = watch.primal
    while True:
        told = yield Request(_evaluate, (best, w), fresh=True, keeps=True)
        line = [best + t * (w - best) for t in POINTS]
        values = [0.5 * v @ v + C * risk / pairs for v, risk in zip(line, told["risks"], strict=True)]
        least = int(np.argmin(values))
        if values[least] < value:
            best, value = line[least], values[least]
            watch.offer_primal(best, value)
        new = range(1 if w is points[0] else CUTS)
        A = np.vstack([A, *(told[f"a{k}"] / pairs for k in new)])
        b = np.append(b, [told[f"b{k}"] / pairs for k in new])
        points += [line[k] for k in new]
        u = np.append(u, np.zeros(len(new)))
        if len(b) > MOST_CUTS:
            kept = np.sort(np.argsort(-u, kind="stable")[: MOST_CUTS // 2])
            kept = np.union1d(kept, [0, *range(len(b) - CUTS, len(b))])
            A, b, u, points = A[kept], b[kept], u[kept], [points[k] for k in kept]
        u = master(A @ A.T, b, C, u)
        w = u @ A
        watch.offer_dual(float(b @ u - 0.5 * w @ w))
        if watch.ended(int(np.sum(u > 0))):
            break
    used = [k for k in np.flatnonzero(u > 0).tolist() if k > 0]
    told = yield Request(_finish, (watch.weights, [points[k] for k in used], u[used]), fresh=True)
    certificate = Certificate(0.5 * watch.weights @ watch.weights + C * told["risk"] / pairs, watch.dual)
    return Found(certificate, watch), told["counts"]
