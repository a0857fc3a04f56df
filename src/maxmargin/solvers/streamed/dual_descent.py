"""Dual coordinate descent over blocks: dual variables stay in memory, rows are read round by round.

A round reads blocks in random order, several at a time, since rows that lie side by side are often alike. A visit of
such a piece measures the losses at the weights that the round began with, which makes a certificate without a pass of
its own, and then sweeps: once over all of its rows, and some times over those that still move. A sample of these rows
is kept in memory, as many as the limit allows, and swept between two rounds. All problems (classes against the rest)
share each visit.

The bias is held near an anchor that follows it (``src/core/binary/anchored_bias.hpp``).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxmargin import _core
from maxmargin.problems.losses import Floats, Loss
from maxmargin.solvers.solution import Solution
from maxmargin.solvers.streamed.kept_rows import KeptRows
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
#: They end when one gains less than this share of the first.
LITTLE_GAIN = 0.1
#: Sweeps over the rows kept in memory, between two rounds.
KEPT_SWEEPS = 5
#: Share of the memory for kept rows.
KEPT_SHARE = 0.2
#: Rows side by side that are visited together, for which their order is random.
PAGE = 64


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


def shuffled_pages(rows: NDArray[np.intp], random: np.random.Generator) -> NDArray[np.uint32]:
    """A random order in which rows of a page stay near each other, since memory is read in pages."""
    pages = len(rows) // PAGE
    whole = rows[: pages * PAGE].reshape(pages, PAGE)[random.permutation(pages)]
    rest = random.permutation(rows[pages * PAGE :])
    return np.concatenate([random.permuted(whole, axis=1).ravel(), rest]).astype(np.uint32)


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

    def __init__(self, positive: int | None, rows: int, features: int) -> None:
        self.positive = positive
        self.alpha = self.start_alpha = self.best_alpha = np.zeros(rows)
        self.w = np.zeros(features + 1)
        self.anchor = 0.0
        self.bounds = Bounds(np.inf, self.w)
        self.done = False

    def begin_round(self) -> None:
        self.start, self.start_alpha, self.alpha = self.w, self.alpha, self.alpha.copy()
        self.losses = self.terms = 0.0
        self.sums = np.zeros_like(self.w)
        self.active = 0

    def move_anchor(self, carry: float) -> None:
        """The anchor moves to the bias, which goes on a little."""
        if carry > 0.0:
            moved = float(self.w[-1]) - self.anchor
            self.anchor = float(self.w[-1])
            self.w = self.w.copy()
            self.w[-1] += carry * moved


class _Descent:
    def __init__(self, stream: Stream, problems: Margins, limits: Limits) -> None:
        self.stream, self.loss, self.bias, self.limits = stream, problems.loss, problems.bias, limits
        rows, features = stream.shape
        needed = 8 * len(problems.positives) * (4 * rows + 8 * features)
        if needed > stream.spare_memory():
            raise MemoryError(
                f"{rows:,} rows, {features:,} features and {len(problems.positives)} problems need about "
                f"{needed / 2**20:,.0f} MB for dual variables and weights, and the limit leaves "
                f"{stream.spare_memory() / 2**20:,.0f} MB; raise the memory limit"
            )
        self.problems = [_Problem(positive, rows, features) for positive in problems.positives]
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
            self.sweep_kept(working)
            for problem in working:
                problem.move_anchor(0.0 if self.anchor is None else self.anchor.carry)
        return [watch.solution(problem.bounds, problem.best_alpha) for problem in self.problems]

    def pass_(self, working: list[_Problem]) -> None:
        self.kept.clear()
        for piece in self.stream.pieces(self.random):
            if self.anchor is None:
                self.anchor = Anchor(piece, self.loss, self.bias)
            scores = scores_of(piece.matrix, np.array([problem.start for problem in working]), self.bias)
            moving = np.zeros(len(piece.C), dtype=bool)
            for number, problem in enumerate(working):
                moving |= self.visit(piece, problem, scores[:, number])
            self.kept.offer(piece, moving)
            self.watch.look()

    def visit(self, piece: Piece, problem: _Problem, scores: Floats) -> NDArray[np.bool_]:
        """The part of a piece in the certificate, and sweeps over it; which rows still move."""
        signs, targets = piece.sides(problem.positive)
        target = 1.0 if targets is None else targets
        alpha = problem.alpha[piece.rows]
        problem.losses += float(self.loss.primal(target - signs * scores, piece.C).sum())
        problem.terms += float(self.loss.dual_terms(alpha, piece.C, target).sum())
        self.add_rows(piece, signs * alpha, problem.sums)
        used = np.flatnonzero(piece.C > 0)
        alpha, moving = self.sweeps(self.state_of(piece, problem), alpha, problem, used, LOCAL_SWEEPS, piece.C)
        problem.alpha[piece.rows] = alpha
        problem.active += int(np.count_nonzero(moving))
        return moving

    @property
    def curvature(self) -> float:
        """That of the anchored bias; 0 for a plain one."""
        return 0.0 if self.anchor is None else self.anchor.curvature

    def add_rows(self, piece: Piece, values: Floats, sums: Floats) -> None:
        sums[:-1] += _core.row_sums(piece.matrix.rows, values)
        sums[-1] += self.bias * float(values.sum())

    def state_of(self, piece: Piece, problem: _Problem) -> Any:
        signs, targets = piece.sides(problem.positive)
        return _core.BinaryState(piece.matrix.rows, signs, targets, piece.C, self.loss.core, self.bias, False)

    def sweeps(
        self, state: Any, alpha: Floats, problem: _Problem, rows: NDArray[np.intp], count: int, C: Floats
    ) -> tuple[Floats, NDArray[np.bool_]]:
        """A sweep over the rows and up to ``count`` more over those that move, or may."""
        first = 0.0
        moving = np.zeros(len(alpha), dtype=bool)
        lower, upper = self.loss.lower(C), self.loss.upper(C)
        for sweep in range(count + 1):
            schedule = shuffled_pages(rows, self.random)
            after, problem.w, gain, _, _ = _core.dual_sweep(state, alpha, problem.w, schedule, 1.0, self.curvature)
            first = max(first, gain)
            moving = (after != alpha) | ((after > lower) & (after < upper) & (after != 0.0))
            alpha = after
            rows = np.flatnonzero(moving)
            if len(rows) == 0 or (sweep > 0 and gain <= LITTLE_GAIN * first):
                break
        return alpha, moving

    def certify(self, number: int, problem: _Problem) -> None:
        """The bounds of the weights and the variables at the beginning of the round, by exact sums over all rows."""
        bounds = problem.bounds
        if self.watch.rounds == 1:
            bounds.primal, bounds.weights = problem.losses, problem.start  # of zero
        bounds.offer_weights(half_square(problem.start) + problem.losses, problem.start)
        dual = problem.terms - half_square(problem.sums)
        if bounds.offer_dual(dual):
            problem.best_alpha = problem.start_alpha
        self.watch.report(number, bounds, problem.active)
        problem.done = bounds.exit is not None

    def sweep_kept(self, working: list[_Problem]) -> None:
        """Sweeps over the rows in memory."""
        piece = self.kept.piece()
        if piece is None:
            return
        used = np.flatnonzero(piece.C > 0)
        for problem in working:
            state = self.state_of(piece, problem)
            alpha, _ = self.sweeps(state, problem.alpha[piece.rows], problem, used, KEPT_SWEEPS, piece.C)
            problem.alpha[piece.rows] = alpha
            if self.watch.exit is not None:
                return
