"""The sequential dual method over blocks: several classes in one problem (Keerthi et al. 2008), rows read by rounds.

As in ``dual_descent.py``, a visit measures the losses at the weights that the round began with and then sweeps: over
all classes of all of its rows, and some times over the classes that have a variable. Only the variables that are not
zero are kept, as sparse rows.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from maxmargin import _core
from maxmargin.problems.csr import Csr
from maxmargin.problems.losses import Floats
from maxmargin.problems.multiclass import FORMULATIONS
from maxmargin.solvers.solution import Solution
from maxmargin.solvers.streamed.kept_rows import join_rows, take_rows
from maxmargin.solvers.streamed.stream import (
    Bounds,
    Interrupted,
    Limits,
    Piece,
    Stream,
    Watch,
    half_square,
    scores_of,
)

NAME = "sdm over blocks"
#: Sweeps over classes with a variable, after the one over all classes.
LISTED_SWEEPS = 4
#: They end when one gains less than this share of the first sweep.
LITTLE_GAIN = 0.03
#: Rows side by side that are visited together, for which their order is random.
PAGE = 64


def solve_classes_streamed(stream: Stream, formulation: str, n_classes: int, bias: float, limits: Limits) -> Solution:
    """Solve one problem over all classes to a certified gap, with rows read piece by piece.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin import Matrix
    >>> from maxmargin.solvers.streamed.classes import solve_classes_streamed
    >>> from maxmargin.solvers.streamed.stream import Limits, Piece
    >>> class Rows:
    ...     shape = (3, 3)
    ...     def pieces(self, random=None):
    ...         for row in range(3):
    ...             yield Piece(Matrix(np.eye(3)[row : row + 1]), row, np.full(1, 10.0), np.array([row]), None)
    ...     sides = pieces
    >>> solution = solve_classes_streamed(Rows(), "crammer_singer", 3, 0.0, Limits(tol=1e-9))
    >>> solution.converged, round(solution.certificate.primal, 6)
    (True, 1.0)
    """
    return _Classes(stream, formulation, n_classes, bias, limits).run()


class _Classes:
    def __init__(self, stream: Stream, formulation: str, n_classes: int, bias: float, limits: Limits) -> None:
        self.stream, self.formulation, self.n_classes, self.bias = stream, formulation, n_classes, bias
        self.limits, self.watch = limits, Watch(NAME, limits)
        rows, features = stream.shape
        self.random = np.random.default_rng(limits.seed)
        self.w = np.zeros((features + 1) * (-(-n_classes // 4) * 4))  # feature by feature, in whole blocks of four
        nothing = np.zeros(0), np.zeros(0, dtype=np.int32)
        self.alpha = self.best_alpha = Csr(*nothing, np.zeros(rows + 1, dtype=np.int64), (rows, n_classes))
        self.bounds = Bounds(np.inf, self.by_class(self.w))

    def by_class(self, weights: Floats) -> Floats:
        """Weights of shape (classes, features + 1)."""
        return np.ascontiguousarray(weights.reshape(self.stream.shape[1] + 1, -1)[:, : self.n_classes].T)

    def run(self) -> Solution:
        watch, bounds = self.watch, self.bounds
        for round_ in range(1, self.limits.max_iter + 1):
            watch.rounds = round_
            try:
                self.round()
            except Interrupted:
                if round_ == 1:
                    others = 1 if self.formulation == "crammer_singer" else self.n_classes - 1
                    bounds.primal = others * sum(float(piece.C.sum()) for piece in self.stream.sides())
                break
            if bounds.exit is not None or watch.exit is not None:
                break
        return watch.solution(bounds, self.best_alpha)

    def round(self) -> None:
        start = self.by_class(self.w)
        sums = np.zeros_like(self.w)
        losses, active = 0.0, 0
        found: list[Csr] = []
        numbers: list[NDArray[np.intp]] = []
        for piece in self.stream.pieces(self.random):
            losses += self.losses(piece, start)
            rows = np.arange(piece.begin, piece.begin + len(piece.C)) if piece.numbers is None else piece.numbers
            state = _core.MulticlassState(
                piece.matrix.rows,
                np.asarray(piece.labels, dtype=np.int32),
                piece.C,
                FORMULATIONS[self.formulation],
                self.n_classes,
                self.bias,
            )
            state.assign(take_rows(self.alpha, rows)[:3])
            sums += state.sums()
            active += self.sweep(piece, state)
            found.append(Csr(*state.variables(), (len(rows), self.n_classes)))
            numbers.append(rows)
            self.watch.look()
        bounds, watch = self.bounds, self.watch
        if watch.rounds == 1:
            bounds.primal, bounds.weights = losses, start  # of zero
        bounds.offer_weights(half_square(start) + losses, start)
        if bounds.offer_dual(float(self.alpha.data.sum()) - half_square(sums)):
            self.best_alpha = self.alpha
        watch.report(0, bounds, active)
        order = np.argsort(np.concatenate(numbers), kind="stable")
        self.alpha = take_rows(join_rows(found), order)

    def losses(self, piece: Piece, weights: Floats) -> float:
        scores = scores_of(piece.matrix, weights, self.bias)
        every = np.arange(len(scores))
        slacks = 1.0 - scores[every, piece.labels][:, np.newaxis] + scores
        slacks[every, piece.labels] = 0.0
        np.maximum(slacks, 0.0, out=slacks)
        paid = slacks.max(axis=1) if self.formulation == "crammer_singer" else slacks.sum(axis=1)
        return float(piece.C @ paid)

    def sweep(self, piece: Piece, state: _core.MulticlassState) -> int:
        """Sweeps over the rows of a piece; how many of them have a variable between its bounds."""
        rows = np.flatnonzero(piece.C > 0)
        self.w, first, _ = _core.class_sweep(state, self.w, shuffled_pages(rows, self.random), False)
        for _ in range(LISTED_SWEEPS):
            values, _, starts = state.variables()
            counts = np.diff(starts)
            sums = np.add.reduceat(np.append(values, 0.0), starts[:-1]) * (counts > 0) if len(starts) > 1 else values
            rows = np.flatnonzero((piece.C > 0) & ((counts > 1) | ((counts == 1) & (sums < piece.C))))
            if len(rows) == 0:
                return 0
            self.w, gain, _ = _core.class_sweep(state, self.w, shuffled_pages(rows, self.random), True)
            if gain <= LITTLE_GAIN * first:
                break
        return len(rows)


def shuffled_pages(rows: NDArray[np.intp], random: np.random.Generator) -> NDArray[np.uint32]:
    """A random order in which rows of a page stay near each other, since memory is read in pages."""
    pages = len(rows) // PAGE
    whole = rows[: pages * PAGE].reshape(pages, PAGE)[random.permutation(pages)]
    rest = random.permutation(rows[pages * PAGE :])
    return np.concatenate([random.permuted(whole, axis=1).ravel(), rest]).astype(np.uint32)
