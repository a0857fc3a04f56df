"""Newton's method over blocks, for few features: a pass adds up gradient, Hessian and both bounds, and keeps no row.

With the slacks ``z_i`` and ``a_i = clip(z_i / D_i)``, the slope of the loss, the gradient is ``w - sum_i a_i s_i x_i``
and the Hessian ``I + sum of x_i x_i' / D_i`` over the curved rows, as in ``src/core/binary/newton.cpp``. The ``a_i``
are dual feasible, so that each pass comes with a certificate. A pass is made at the end of a full step, which is nearly
always taken; then a step costs one pass, and each shorter one that has to be tried another. The hinge is smoothed by a
width that is driven down; the certificate is always that of the true problem.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from maxmargin import _core
from maxmargin.problems.losses import Floats
from maxmargin.solvers.solution import Solution
from maxmargin.solvers.streamed.stream import (
    Bounds,
    Interrupted,
    Limits,
    Margins,
    Piece,
    Stream,
    Watch,
    half_square,
    losses_at_zero,
    scores_of,
)

NAME = "newton over blocks"
#: What a step must gain, as a share of what its slope promises.
ENOUGH = 1e-3
#: The least and the most that a step which gained too little is shortened to.
SHORTER = (0.1, 0.5)
#: The hinge's next width, as a share of the one before: where many rows stay curved for each feature, and else.
NARROWING, CAREFUL = 0.25, 0.5
#: So many are many.
MANY = 16
#: Passes in a row without much gain, after which no more is to be expected.
MOST_IDLE = 30
#: Gaps below this are those at which rounding errors are in the way.
ROUNDING = 1e-8
#: A share of the smooth objective that is not much.
LITTLE = 1e-3


def newton_streamed(
    stream: Stream, problems: Margins, limits: Limits, each: Callable[[Piece, list[Floats]], None] | None = None
) -> list[Solution]:
    """Solve the problems to a certified gap, with rows read piece by piece.

    With ``each`` dual variables are not kept, so that no memory grows with the number of rows; it is called with every
    piece and the variables of its rows, one array for each problem.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin import LOSSES, Matrix
    >>> from maxmargin.solvers.streamed.newton import newton_streamed
    >>> from maxmargin.solvers.streamed.stream import Limits, Margins, Piece
    >>> class Rows:
    ...     shape = (2, 1)
    ...     def pieces(self):
    ...         for row, label in ((0, 1), (1, 0)):
    ...             X = np.array([[1.0 - 2.0 * row]])
    ...             yield Piece(Matrix(X), row, np.ones(1), np.array([label]), None)
    ...     sides = pieces
    >>> [solution] = newton_streamed(Rows(), Margins([1], LOSSES["squared_hinge"], 0.0), Limits(tol=1e-9))
    >>> solution.converged, round(solution.certificate.primal, 6)
    (True, 0.4)
    """
    return _Newton(stream, problems, limits).run(each)


class _Problem:
    """One problem on its way: weights, the step from them, and what the last pass has found at its end."""

    def __init__(self, positive: int | None, features: int) -> None:
        self.positive = positive
        self.w = np.zeros(features + 1)
        self.step = np.zeros(features + 1)
        self.trial = self.w
        self.length = 1.0
        self.start: float | None = None  # the smooth objective at w, where it is known for this width
        self.slope = 0.0  # of it along the step
        self.width = 0.0
        self.bounds = Bounds(np.inf, self.w)
        self.best_alpha = (self.w, 1.0)  # weights and width that the best dual variables follow from
        self.idle = 0
        self.lowest = np.inf  # the smooth objective, for this width
        self.done = False
        self.forget_curved()

    def forget_curved(self) -> None:
        """No row is curved, and the sum over those that are is zero."""
        self.outer = np.zeros((len(self.w), len(self.w)))
        self.bits: dict[int, NDArray[np.uint8]] = {}  # by the first row of a piece

    def begin_pass(self) -> None:
        size = len(self.w)
        self.losses = self.smooth_losses = self.start_losses = self.terms = self.smooth_terms = 0.0
        self.sums, self.curved_sums = np.zeros(size), np.zeros(size)
        self.curved = 0


class _Newton:
    def __init__(self, stream: Stream, problems: Margins, limits: Limits) -> None:
        self.stream, self.loss, self.bias, self.limits = stream, problems.loss, problems.bias, limits
        self.problems = [_Problem(positive, stream.shape[1]) for positive in problems.positives]
        self.watch = Watch(NAME, limits)

    def run(self, each: Callable[[Piece, list[Floats]], None] | None) -> list[Solution]:
        watch = self.watch
        for problem in self.problems:
            problem.width = self.loss.diagonal_times_C if self.loss.is_curved else self.first_width(problem)
        for round_ in range(1, self.limits.max_iter + 1):
            watch.rounds = round_
            working = [problem for problem in self.problems if not problem.done]
            try:
                self.pass_(working)
            except Interrupted:
                for problem in working:
                    if round_ == 1:
                        problem.bounds.primal = losses_at_zero(self.stream, problem.positive, self.loss)
                break
            for number, problem in enumerate(self.problems):
                if not problem.done:
                    self.judge(problem)
                    watch.report(number, problem.bounds, problem.curved)
                    problem.done = problem.bounds.exit is not None
            if all(problem.done for problem in self.problems) or watch.exit is not None:
                break
        if each is not None:
            for piece, own in self.alphas():
                each(piece, own)
            return [watch.solution(problem.bounds, None) for problem in self.problems]
        found = [np.zeros(self.stream.shape[0]) for _ in self.problems]
        for piece, own in self.alphas():
            for alpha, part in zip(found, own, strict=True):
                alpha[piece.rows] = part
        return [watch.solution(problem.bounds, alpha) for problem, alpha in zip(self.problems, found, strict=True)]

    def first_width(self, problem: _Problem) -> float:
        """The scale of targets and scores: 1 for margins, the mean distance from the tube for a regression."""
        if problem.positive is not None:
            return 1.0
        total, count = 0.0, 0
        for piece in self.stream.sides():
            assert piece.targets is not None
            total += float(np.maximum(np.abs(piece.targets) - self.loss.epsilon, 0.0).sum())
            count += len(piece.targets)
        return total / count if total > 0 else 1.0

    def pass_(self, working: list[_Problem]) -> None:
        """Add up over all rows what there is at the end of the step of each problem."""
        for problem in working:
            problem.begin_pass()
        unknown = [problem for problem in working if problem.start is None]
        for piece in self.stream.pieces():
            points = [problem.trial for problem in working] + [problem.w for problem in unknown]
            scores = scores_of(piece.matrix, np.array(points), self.bias)
            for number, problem in enumerate(working):
                self.add(piece, problem, scores[:, number])
            for number, problem in enumerate(unknown):
                slack = self.slack_of(piece, problem, scores[:, len(working) + number])
                smooth = replace(self.loss, diagonal_times_C=problem.width)
                problem.start_losses += float(smooth.primal(slack, piece.C).sum())
            self.watch.look()
        for problem in unknown:
            problem.start = half_square(problem.w) + problem.start_losses

    def slack_of(self, piece: Piece, problem: _Problem, scores: Floats) -> Floats:
        signs, targets = piece.sides(problem.positive)
        return (1.0 if targets is None else targets) - signs * scores

    def add(self, piece: Piece, problem: _Problem, scores: Floats) -> None:
        loss, width, C = self.loss, problem.width, piece.C
        signs, targets = piece.sides(problem.positive)
        target = 1.0 if targets is None else targets
        slack = target - signs * scores
        smooth = replace(loss, diagonal_times_C=width)
        outside = slack - np.clip(slack, -loss.epsilon, loss.epsilon) if loss.epsilon else slack
        free = outside * (C / width)
        alpha = np.clip(free, smooth.lower(C), smooth.upper(C))
        curved = (free == alpha) & (free != 0.0) & (C > 0)
        # The loss is what its conjugate adds at the best variable.
        squares = 0.5 * width * float(np.divide(alpha * alpha, C, out=np.zeros_like(alpha), where=C > 0).sum())
        linear = float(np.sum(target * alpha)) - loss.epsilon * float(np.abs(alpha).sum())
        problem.smooth_losses += float(alpha @ outside) - squares
        problem.smooth_terms += linear - squares
        if not loss.is_curved:
            problem.losses += float(loss.primal(slack, C).sum())
            problem.terms += linear
            self.add_rows(piece, signs * alpha * curved, problem.curved_sums)
        self.add_rows(piece, signs * alpha, problem.sums)
        # The Hessian changes by the rows that become curved or cease to be: one bit of each row is remembered.
        before = problem.bits.get(piece.begin)
        changed = curved if before is None else curved ^ np.unpackbits(before, count=len(C)).astype(bool)
        if np.any(changed):
            change = np.where(changed, np.where(curved, C, -C), 0.0)
            problem.outer += _core.outer_sums(piece.matrix.rows, change, self.bias)
        problem.bits[piece.begin] = np.packbits(curved)
        problem.curved += int(np.count_nonzero(curved))

    def add_rows(self, piece: Piece, values: Floats, sums: Floats) -> None:
        sums[:-1] += _core.row_sums(piece.matrix.rows, values)
        sums[-1] += self.bias * float(values.sum())

    def judge(self, problem: _Problem) -> None:
        """Take the step that the pass was made for, or try a shorter one."""
        bounds, trial, conjugate = problem.bounds, problem.trial, half_square(problem.sums)
        if self.loss.is_curved:
            problem.losses, problem.terms = problem.smooth_losses, problem.smooth_terms
        primal, dual = half_square(trial) + problem.losses, problem.terms - conjugate
        smooth = half_square(trial) + problem.smooth_losses
        first = self.watch.rounds == 1
        before = np.inf if first else bounds.gap
        if first:
            bounds.primal, bounds.weights = primal, trial.copy()  # of zero
        bounds.offer_weights(primal, trial)
        if bounds.offer_dual(dual):
            problem.best_alpha = (trial, problem.width)
        # With few rows per feature the dual follows only at a narrow width. Till then the smooth objective counts.
        moves = bounds.gap < 0.9 * before or smooth < problem.lowest - LITTLE * abs(problem.lowest)
        problem.lowest = min(problem.lowest, smooth)
        problem.idle = 0 if moves else problem.idle + 1
        if problem.idle > MOST_IDLE or not np.isfinite(smooth):
            bounds.exit = "stalled" if np.isfinite(smooth) and bounds.gap > ROUNDING else "rounding"
            return
        start = smooth if problem.start is None else problem.start
        promise = problem.length * problem.slope
        if not first and not smooth <= start + ENOUGH * promise + 1e-14 * abs(start):
            # The parabola through both values with the slope at the start has its minimum at the length to try.
            curvature = 2.0 * (smooth - start - promise)
            share = -promise / curvature if curvature > 0.0 else SHORTER[1]
            problem.length *= float(np.clip(share, *SHORTER))
            problem.trial = problem.w + problem.length * problem.step
            return
        problem.w, problem.start = trial, smooth
        gradient = trial - problem.sums
        narrows = not self.loss.is_curved and smooth - (problem.smooth_terms - conjugate) < 0.5 * (primal - dual)
        if narrows:
            # While the same rows are curved, their variables stay and their slacks shrink with the width.
            share = NARROWING if NARROWING * problem.curved > MANY * len(trial) else CAREFUL
            gradient = gradient + (1.0 - 1.0 / share) * problem.curved_sums
            problem.width *= share
            problem.start = None
            problem.lowest = np.inf
        problem.step = -self.solve(problem, gradient)
        if narrows:
            problem.forget_curved()  # most of them are not any more
        problem.slope = min(float(gradient @ problem.step), 0.0)
        problem.length = 1.0
        problem.trial = problem.w + problem.step

    def solve(self, problem: _Problem, gradient: Floats) -> Floats:
        lower = problem.outer / problem.width
        hessian = lower + np.tril(lower, -1).T + np.eye(len(gradient))
        try:
            factor = np.linalg.cholesky(hessian)
            return np.asarray(np.linalg.solve(factor.T, np.linalg.solve(factor, gradient)))
        except np.linalg.LinAlgError:
            return np.asarray(np.linalg.lstsq(hessian, gradient, rcond=None)[0])

    def alphas(self) -> Iterator[tuple[Piece, list[Floats]]]:
        """The best dual variables of each piece, by one more pass: they follow from weights and a width."""
        weights = np.array([problem.best_alpha[0] for problem in self.problems])
        for piece in self.stream.pieces():
            scores = scores_of(piece.matrix, weights, self.bias)
            own = []
            for number, problem in enumerate(self.problems):
                slack = self.slack_of(piece, problem, scores[:, number])
                outside = slack - np.clip(slack, -self.loss.epsilon, self.loss.epsilon)
                free = outside * (piece.C / problem.best_alpha[1])
                alpha = np.clip(free, self.loss.lower(piece.C), self.loss.upper(piece.C))
                own.append(alpha if problem.bounds.dual > 0.0 else np.zeros_like(alpha))  # zero is the best
            yield piece, own
