"""Dual coordinate descent by rounds, for many features.

A round has two exchanges. In the first every block sweeps over its rows a few times against the weights ``w`` of all
rows, as if the others stood still (CoCoA+, Ma et al. 2015), and answers with the change of its weights. In the second
the dual is maximised over the plane of that change ``s`` and of the step ``p`` before it, and over the space of ``s``
and the last four steps: a few unknowns, from a few inner products. Both points are brought within the bounds of the
variables by each block and evaluated exactly; the better one is taken if it is better than the best one on the line of
``s`` alone, whose value is known.

Blocks agree on the columns that all of them have, and so overshoot there by their number. Such columns get a larger
quadratic term, `column_scales`.

The dual value gets near the optimum long before the weights ``w(alpha)`` have a low primal value. So better weights are
looked for among the mixtures of the last ones, on a sample of the rows; the next round evaluates them on all rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxmargin.problems.certificate import Certificate
from maxmargin.problems.losses import Floats
from maxmargin.solvers.block import Learning, Part
from maxmargin.solvers.mixture import Mixtures
from maxmargin.solvers.round_watch import Found, Watch
from maxmargin.solvers.rounds import Request, RoundMethod, Summary

#: Sweeps over a block in each round.
LOCAL_PASSES = 5
#: How many earlier steps are remembered, and how many of them are in the spaces that the dual is maximised over. More
#: of them promise more, but are cut off by the bounds of the variables more often.
REMEMBERED, SPACES = 4, (1, 4)
#: A round that promises less than this share of the objective is lost in rounding errors.
ROUNDING = 1e-15


def column_scales(present: Floats, squares: Floats, C: float, bias: float, rows: float, blocks: int) -> Floats:
    """Factors for the columns, the constant one last: powers of two whose squares are about 1 to the number of blocks.

    ``present`` counts the blocks that have a column, and ``squares`` are the sums of its squared values. Where ``C``
    times that sum is small beside the regulariser, blocks that overshoot do not matter.
    """
    present = np.append(present, float(blocks) if bias else 1.0)
    stiffness = C * np.append(squares, bias**2 * rows)
    wanted = 1.0 + np.maximum(present - 1.0, 0.0) * stiffness / (1.0 + stiffness)
    return np.asarray(2.0 ** np.rint(np.log2(wanted) / 2.0))


@dataclass(frozen=True)
class _Step:
    """How the variables move: along ``s`` and the steps before it, the last one first, and then back within bounds."""

    along_change: float = 0.0
    along_last: tuple[float, ...] = ()


@dataclass(frozen=True)
class _Local:
    """Take a step, evaluate weights, and sweep."""

    step: _Step
    weights: Floats
    mixture: Floats | None
    passes: int
    seed: tuple[int, int]
    sample: int


class _State:
    """The variables of a part, the change its sweeps propose and the steps before, the last one first."""

    def __init__(self, alpha: Floats, change: Floats, last: list[Floats]) -> None:
        self.alpha, self.change, self.last = alpha, change, last

    def moved(self, part: Part, step: _Step) -> Floats:
        moved = self.alpha + step.along_change * self.change
        for share, last in zip(step.along_last, self.last, strict=False):
            moved += share * last
        return part.clip(moved)


def _sweep(part: Part, state: _State | None, message: _Local) -> tuple[_State, Summary]:
    """The first exchange of a round."""
    size = len(part.C)
    if state is None:
        alpha, last = np.zeros(size), [np.zeros(size)] * REMEMBERED
    else:
        alpha = state.moved(part, message.step)
        last = [alpha - state.alpha, *state.last[:-1]]
    scores = part.scores(message.weights)
    rows = sample_of(size, message.sample)
    answer: Summary = {
        "losses": part.losses(scores),
        "mixture_losses": 0.0 if message.mixture is None else part.losses(part.scores(message.mixture)),
        "terms": part.dual_terms(alpha),
        "sample_scores": [scores[rows]],
    }
    rng = np.random.default_rng([*message.seed, part.block.number])
    after, answer["weights"] = part.sweep(alpha, message.weights, message.passes, rng)
    change = after - alpha
    slope = part.target - part.diagonal * alpha
    tube = part.loss.epsilon
    steps, signs = np.array(last), np.sign(alpha)
    along_change = change @ slope - tube * float(np.abs(after).sum() - np.abs(alpha).sum())
    answer["slopes"] = np.array([along_change, *(steps @ (slope - tube * signs))])
    directions = np.vstack([change, steps])
    answer["curvatures"] = (part.diagonal * directions) @ directions.T
    return _State(alpha, change, last), answer


def _try(part: Part, state: _State, steps: list[_Step]) -> tuple[_State, Summary]:
    """The second exchange: what some steps are worth."""
    points = [state.moved(part, step) for step in steps]
    return state, {
        "weights": np.array([part.weights(alpha) for alpha in points]),
        "terms": np.array([part.dual_terms(alpha) for alpha in points]),
    }


def sample_of(size: int, count: int) -> NDArray[np.intp]:
    """Some rows of a block, evenly spread."""
    return np.unique(np.linspace(0, size - 1, min(count, size)).astype(np.intp)) if size else np.zeros(0, dtype=np.intp)


def _draw_sample(part: Part, state: Any, count: int) -> tuple[Any, Summary]:
    """Signs, targets and weights of the sampled rows, which stand for all."""
    rows = sample_of(len(part.C), count)
    share = len(part.C) / max(len(rows), 1)
    return state, {"sample": [np.array([part.sign[rows], part.target[rows], share * part.C[rows]])]}


def _finish(part: Part, state: _State, message: tuple[_Step, Floats]) -> tuple[NDArray[np.bool_], Summary]:
    """Both bounds once more from the data; the state tells support vectors from other rows."""
    step, w = message
    alpha = state.moved(part, step)
    answer: Summary = {
        "weights": part.weights(alpha),
        "terms": part.dual_terms(alpha),
        "losses": part.losses(part.scores(w)),
    }
    return alpha != 0, answer


def best_in_space(slopes: Floats, curvatures: Floats) -> _Step:
    """The step to the largest dual value where no bounds are."""
    shares = np.linalg.lstsq(curvatures, slopes, rcond=1e-12)[0]
    return _Step(float(shares[0]), tuple(shares[1:].tolist()))


def descend_by_rounds(
    learning: Learning, features: int, blocks: int, watch: Watch, *, seed: int = 0, sample: int = 8192
) -> RoundMethod:
    """The method for one problem; returns a `Found`.

    Parameters
    ----------
    learning : Learning
        What is learned.
    features : int
        Columns of the data.
    blocks : int
        How many blocks there are.
    watch : Watch
        Keeps the bounds and says when to end.
    seed : int
        Of the order of rows.
    sample : int
        How many rows of all blocks are looked at for mixtures.
    """
    each = max(1, sample // blocks)
    drawn = yield Request(_draw_sample, each, fresh=True, keeps=True)
    mixtures = Mixtures(learning, np.concatenate(drawn["sample"], axis=1))
    w = np.zeros(features + 1)
    step, mixture, last = _Step(), None, [np.zeros(features + 1)] * REMEMBERED
    while True:
        local = _Local(step, w, mixture, LOCAL_PASSES, (seed, watch.rounds), each)
        told = yield Request(_sweep, local)
        step = _Step()
        scores = np.concatenate(told["sample_scores"])
        watch.offer_primal(w, 0.5 * w @ w + told["losses"])
        mixtures.evaluated(w, scores, 0.5 * w @ w + told["losses"])
        if mixture is not None:
            value = 0.5 * mixture @ mixture + told["mixture_losses"]
            watch.offer_primal(mixture, value)
            mixtures.tried(value)
        dual = told["terms"] - 0.5 * w @ w
        watch.offer_dual(dual)
        if watch.ended():
            break
        mixture = mixtures.best()
        directions = np.vstack([told["weights"], last])
        slopes = told["slopes"] - directions @ w
        curvatures = told["curvatures"] + directions @ directions.T
        if slopes[0] <= ROUNDING * abs(watch.primal):
            watch.give_up()
            break
        bent = float(curvatures[0, 0])
        line = float(np.clip(slopes[0] / bent, 0.0, 1.0)) if bent > 0 else 1.0
        line_dual = dual + line * slopes[0] - 0.5 * line * line * bent
        step, after = _Step(line), w + line * directions[0]
        steps = [best_in_space(slopes[: size + 1], curvatures[: size + 1, : size + 1]) for size in SPACES]
        tried = yield Request(_try, steps, keeps=True)
        duals = tried["terms"] - 0.5 * np.square(tried["weights"]).sum(axis=1)
        best = int(np.argmax(duals))
        if duals[best] > line_dual:
            step, after = steps[best], tried["weights"][best]
        last, w = [after - w, *last[:-1]], after
    told = yield Request(_finish, (step, watch.weights))
    w = told["weights"]
    certificate = Certificate(
        0.5 * watch.weights @ watch.weights + told["losses"], max(0.0, told["terms"] - 0.5 * w @ w)
    )
    return Found(certificate, watch)
