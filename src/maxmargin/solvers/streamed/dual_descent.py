"""Dual coordinate descent over blocks: dual variables stay in memory, rows are read round by round.

A round reads blocks in random order, several at a time, since rows that lie side by side are often alike. A visit of
such a piece measures the losses at the weights that the round began with, which makes a certificate without a pass of
its own, and between them and the best weights so far, where there are mostly better ones. Then it sweeps: once over all
of its rows, and some times over those that still move, if these are few. A sample of them is kept in memory, as many
as the limit allows, and swept between two rounds. Where the loss has no upper bound for its variables, a round ends
with a step in the plane of the last two (``plane.py``). All problems (classes against the rest) share each visit.

The bias is held near an anchor that follows it (``src/core/binary/anchored_bias.hpp``).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from maxmargin import _core
from maxmargin.problems.losses import Floats, Loss
from maxmargin.solvers.solution import Solution
from maxmargin.solvers.streamed.kept_rows import KeptRows
from maxmargin.solvers.streamed.plane import Plane
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

NAME = "dcd over blocks"
#: Sweeps over the rows of a piece that still move, after the one over all of its rows.
LOCAL_SWEEPS = 2
#: Sweeps over the rows kept in memory, between two rounds.
KEPT_SWEEPS = 5
#: Share of the memory for kept rows.
KEPT_SHARE = 0.2
#: How far between the best weights (0) and those of a round (1) the primal is looked at.
PLACES = np.array([0.25, 0.5, 0.75, 1.0, 1.25])
#: Rounding errors of the weights up to this share of the gap are left to be.
HARMLESS = 1e-3


def descend_streamed(stream: Stream, problems: Margins, limits: Limits) -> list[Solution]:
    """Solve the problems to a certified gap, with rows read piece by piece.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin import LOSSES, Matrix
    >>> from maxmargin.solvers.streamed.dual_descent import descend_streamed
    >>> from maxmargin.solvers.streamed.stream import Limits, Margins, Piece
    >>> class Rows:
    ...     shape = (2, 1)
    ...     def pieces(self, random=None):
    ...         for row, label in ((0, 1), (1, 0)):
    ...             X = np.array([[1.0 - 2.0 * row]])
    ...             yield Piece(Matrix(X), row, np.ones(1), np.array([label]), None)
    ...     sides = pieces
    ...     def spare_memory(self):
    ...         return 1 << 20
    >>> [solution] = descend_streamed(Rows(), Margins([1], LOSSES["hinge"], 0.0), Limits(tol=1e-9))
    >>> solution.converged, solution.certificate.primal
    (True, 0.5)
    """
    return _Descent(stream, problems, limits).run()


class Anchor:
    """How strongly the bias is held, from the rows of a first piece: see ``anchored_bias.hpp``."""

    WEAKEST, SMALL, WORTHWHILE = 0.03, 0.05, 0.2

    def __init__(self, piece: Piece, loss: Loss, bias: float) -> None:
        self.curvature = self.carry = 0.0
        used = piece.C > 0
        length, C = piece.matrix.mean_squared_norm(), float(piece.C.sum())
        column = bias * bias
        if C <= 0.0 or column == 0.0:
            return
        scale = float(np.count_nonzero(used))
        if not loss.is_curved and piece.targets is not None:
            scale = float(np.abs(piece.targets[used]).sum()) or scale
        p = float(np.clip(self.SMALL * scale / C, self.WEAKEST * length, length)) if length > 0.0 else 1.0
        if p < self.WORTHWHILE * column:
            self.curvature = p * column / (p + column)
            self.carry = self.curvature / p


class _Problem:
    """One problem on its way: variables, weights and bounds."""

    def __init__(self, positive: int | None, rows: int, features: int, plane: bool) -> None:
        self.positive = positive
        self.alpha, self.best_alpha = np.zeros(rows), np.zeros(rows)
        self.w = np.zeros(features + 1)
        self.anchor = 0.0
        self.bounds = Bounds(np.inf, np.zeros(features + 1))
        self.steps = 0  # since the weights were last summed up
        self.exact = False  # whether this round sums them up
        self.plane = Plane(self.alpha, self.w) if plane else None
        self.done = False

    def begin_round(self) -> None:
        self.start = self.w.copy()
        self.losses = np.zeros(len(PLACES))
        self.terms = self.balance = 0.0
        self.sums = np.zeros(len(self.w) if self.exact else 0)
        self.active = 0

    def move_anchor(self, carry: float) -> None:
        """The anchor moves to the bias, which goes on a little."""
        if carry > 0.0:
            moved = float(self.w[-1]) - self.anchor
            self.anchor = float(self.w[-1])
            self.w[-1] += carry * moved


class _Descent:
    def __init__(self, stream: Stream, problems: Margins, limits: Limits) -> None:
        self.stream, self.loss, self.bias, self.limits = stream, problems.loss, problems.bias, limits
        rows, features = stream.shape
        plane = self.loss.upper_per_C == np.inf
        needed = 8 * len(problems.positives) * ((6 if plane else 3) * rows + 10 * features)
        if needed > stream.spare_memory():
            raise MemoryError(
                f"{rows:,} rows, {features:,} features and {len(problems.positives)} problems need about "
                f"{needed / 2**20:,.0f} MB for dual variables and weights, and the limit leaves "
                f"{stream.spare_memory() / 2**20:,.0f} MB; raise the memory limit"
            )
        self.problems = [_Problem(positive, rows, features, plane) for positive in problems.positives]
        self.watch = Watch(NAME, limits)
        self.random = np.random.default_rng(limits.seed)
        self.kept = KeptRows(int(KEPT_SHARE * stream.spare_memory()), rows)
        self.anchor: Anchor | None = None

    def run(self) -> list[Solution]:
        watch = self.watch
        for round_ in range(1, self.limits.max_iter + 1):
            watch.rounds = round_
            working = [problem for problem in self.problems if not problem.done]
            for problem in working:
                problem.begin_round()
            try:
                self.pass_(working)
            except Interrupted:
                for problem in working:
                    if round_ == 1:
                        problem.bounds.primal = losses_at_zero(self.stream, problem.positive, self.loss)
                break
            for number, problem in enumerate(self.problems):
                if not problem.done:
                    self.certify(number, problem)
            working = [problem for problem in working if not problem.done]
            if not working or watch.exit is not None or round_ == self.limits.max_iter:
                break
            for problem in working:
                self.move(problem)
            self.sweep_kept(working)
        return [watch.solution(problem.bounds, problem.best_alpha) for problem in self.problems]

    def move(self, problem: _Problem) -> None:
        """From the end of a round to the best point of the plane, and the anchor with the bias."""
        assert self.anchor is not None
        if problem.plane is None:
            problem.alpha = problem.alpha.copy()
        else:
            curvature = self.anchor.curvature or self.bias**2
            problem.alpha = problem.plane.step(problem.alpha, problem.w, curvature, self.bias)
        problem.move_anchor(self.anchor.carry)
        if problem.plane is not None:
            problem.plane.begin(problem.alpha, problem.w)

    def pass_(self, working: list[_Problem]) -> None:
        self.kept.clear()
        points = np.array(
            [point for problem in working for point in (problem.start, problem.bounds.weights)], order="F"
        )
        for piece in self.stream.pieces(self.random):
            if self.anchor is None:
                self.anchor = Anchor(piece, self.loss, self.bias)
            scores = scores_of(piece.matrix, points, self.bias)
            moving = np.zeros(len(piece.C), dtype=bool)
            for number, problem in enumerate(working):
                moving |= self.visit(piece, problem, scores[:, 2 * number], scores[:, 2 * number + 1])
            self.kept.offer(piece, moving)
            self.watch.look()

    def visit(self, piece: Piece, problem: _Problem, scores: Floats, best: Floats) -> NDArray[np.bool_]:
        """The part of a piece in the certificate, and sweeps over it; which rows still move."""
        signs, targets = piece.sides(problem.positive)
        target = 1.0 if targets is None else targets
        alpha = problem.alpha[piece.rows]
        slacks, change = target - signs * best, signs * (best - scores)
        for number, place in enumerate(PLACES):
            problem.losses[number] += float(self.loss.primal(slacks + place * change, piece.C).sum())
        moving = self.sweeps(piece, problem, alpha, LOCAL_SWEEPS)
        problem.terms += float(self.loss.dual_terms(alpha, piece.C, target).sum())
        values = signs * alpha
        problem.balance += float(values.sum())
        if problem.exact:
            problem.sums[:-1] += _core.row_sums(piece.matrix.rows, values)
        if problem.plane is not None:
            problem.plane.add(piece.rows, alpha, signs, target, piece.C, self.loss)
        problem.active += int(np.count_nonzero(moving))
        return moving

    def sweeps(self, piece: Piece, problem: _Problem, alpha: Floats, more: int) -> NDArray[np.bool_]:
        """A sweep over the rows of a piece and some more over those that move, or may."""
        signs, targets = piece.sides(problem.positive)
        state = _core.BinaryState(piece.matrix.rows, signs, targets, piece.C, self.loss.core, self.bias, False)
        moving = np.zeros(len(alpha), dtype=bool)
        curvature = 0.0 if self.anchor is None else self.anchor.curvature
        seed = int(self.random.integers(1 << 62))
        _, _, steps = _core.local_sweeps(state, alpha, problem.w, moving, more, curvature, seed)
        problem.alpha[piece.rows] = alpha
        problem.steps += steps
        return moving

    def certify(self, number: int, problem: _Problem) -> None:
        """The bounds: of weights between the best and those of the round's start, and of the variables at its end."""
        bounds, start = problem.bounds, problem.start
        change = start - bounds.weights
        squares = [half_square(bounds.weights + place * change) for place in PLACES]
        primal = problem.losses + squares
        if self.watch.rounds == 1:
            bounds.primal = float(primal[0])  # of zero, at all places
        lowest = int(np.argmin(primal))
        bounds.offer_weights(float(primal[lowest]), bounds.weights + PLACES[lowest] * change)
        own = self.bias * problem.balance
        square = (half_square(problem.sums) if problem.exact else half_square(problem.w[:-1])) + 0.5 * own * own
        # Each step rounds the weights of its row.
        error = 0.0 if problem.exact else 2.0 * problem.steps * np.finfo(float).eps * square
        dual = problem.terms - square - error
        if bounds.offer_dual(dual):
            problem.best_alpha = problem.alpha
        self.watch.report(number, bounds, problem.active)
        problem.done = bounds.exit is not None
        if problem.exact:
            problem.w[:-1] = problem.sums[:-1]
            problem.steps = 0
        problem.exact = error > HARMLESS * (bounds.primal - bounds.dual)

    def sweep_kept(self, working: list[_Problem]) -> None:
        """Sweeps over the rows in memory."""
        piece = self.kept.piece()
        if piece is None:
            return
        for problem in working:
            self.sweeps(piece, problem, problem.alpha[piece.rows], KEPT_SWEEPS)
            if self.watch.exit is not None:
                return
