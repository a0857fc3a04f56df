"""Cutting planes over blocks: a ranking SVM (OP4 of Joachims 2006) whose rows are read once or twice for each cut.

The risk, the mean loss of a pair, is bounded from below by its tangent planes ("cuts"); a master problem over the cuts
gives the next weights and a dual value (``master.py``). A pass makes two cuts, at the weights of the master problem and
half way from the best ones, since reading costs more than counting pairs.

Where every group of rows lies within one block, pairs are counted block by block and nothing is kept in memory. Else
the scores of all rows are, and each round reads the rows twice: for the scores, and for the cuts.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from maxmargin import _core
from maxmargin.problems.losses import Floats
from maxmargin.problems.ranking import NothingToRankError
from maxmargin.solvers.solution import Solution
from maxmargin.solvers.streamed.master import Master
from maxmargin.solvers.streamed.stream import Bounds, Interrupted, Limits, Piece, Stream, Watch, half_square

NAME = "cutting_plane over blocks"


class PairTotals:
    """Pairs in all, in the wrong order, with equal scores, groups with pairs, and rows with a dual variable."""

    def __init__(self) -> None:
        self.all = self.swapped = self.tied = 0.0
        self.groups = self.support = 0


def rank_streamed(stream: Stream, C: float, limits: Limits, keep_alpha: bool = True) -> tuple[Solution, PairTotals]:
    """Solve a ranking problem to a certified gap, with rows read piece by piece; and count the pairs of its weights."""
    return _Ranking(stream, C, limits).run(keep_alpha)


class _Ranking:
    def __init__(self, stream: Stream, C: float, limits: Limits) -> None:
        self.stream, self.C, self.limits = stream, C, limits
        self.watch = Watch(NAME, limits)
        self.survey()
        features = stream.shape[1]
        self.master = Master(features + 1, C)
        self.bounds = Bounds(C, np.zeros(features + 1))  # every pair of zero weights costs 1
        self.points: list[Floats] = []

    def survey(self) -> None:
        """Whether groups lie within blocks, the unit of weights, and ``m``, the sum over all pairs."""
        known: set[int] = set()
        count, largest = 0, 0.0
        self.local = True
        for piece in self.stream.sides():
            largest = max(largest, float(piece.C.max(initial=0.0)))
            if piece.groups is None:
                self.local = False
            else:
                groups = np.unique(piece.groups)
                known.update(groups.tolist())
                count += len(groups)
        self.local = self.local and count == len(known)
        # Near the largest weight, so that products of small ones do not vanish; a power of 2 rounds nothing.
        self.unit = 2.0 ** float(np.frexp(largest)[1])
        self.all: _core.Pairs | None = None
        if self.local:
            self.total = sum(self.pairs_of(piece).total() for piece in self.stream.sides())
        else:
            needed = 150 * self.stream.shape[0]
            if needed > self.stream.spare_memory():
                raise MemoryError(
                    f"ranking {self.stream.shape[0]:,} rows whose groups do not lie within single blocks needs about "
                    f"{needed / 2**20:,.0f} MB, and the limit leaves {self.stream.spare_memory() / 2**20:,.0f} MB; "
                    "raise the memory limit, or write rows with a qid, sorted by it, so that groups lie within blocks"
                )
            self.all = self.pairs_of(_joined_sides(self.stream.sides()))
            self.total = self.all.total()
        if self.total == 0:
            raise NothingToRankError("there is nothing to rank: no two rows of one group have different labels")

    def pairs_of(self, piece: Piece) -> _core.Pairs:
        groups = None
        if piece.groups is not None:
            groups = np.unique(piece.groups, return_inverse=True)[1].astype(np.int64)
        assert piece.targets is not None
        return _core.Pairs(np.ascontiguousarray(piece.targets), groups, np.ascontiguousarray(piece.C / self.unit))

    def run(self, keep_alpha: bool) -> tuple[Solution, PairTotals]:
        watch, bounds, master = self.watch, self.bounds, self.master
        points = [np.zeros(self.stream.shape[1] + 1)]
        for round_ in range(1, self.limits.max_iter + 1):
            watch.rounds = round_
            try:
                cuts = self.cuts_at(points)
            except Interrupted:
                break
            for point, (offset, slope) in zip(points, cuts, strict=True):
                risk = offset - float(slope @ point)
                bounds.offer_weights(half_square(point) + self.C * risk, point)
                master.add(offset, slope)
                self.points.append(point)
            w = master.solve(0.1 * self.limits.tol * abs(bounds.primal))
            bounds.offer_dual(master.dual)
            watch.report(0, bounds, master.active)
            if bounds.exit is not None or watch.exit is not None:
                break
            points = [w, 0.5 * (w + bounds.weights)]
        alpha, counts = self.variables(keep_alpha)
        used = np.array([self.points[k] for k in np.flatnonzero(master.multipliers)])
        return watch.solution(bounds, alpha, used if len(used) else None), counts

    def cuts_at(self, points: list[Floats]) -> list[tuple[float, Floats]]:
        """The cuts that touch the risk at the points: offset and slope of each, ``risk(w) >= offset - slope.w``."""
        sums = np.zeros(len(points))
        slopes = np.zeros((len(points), len(points[0])))
        for piece, coefficients, values in self.violated(np.array(points)):
            sums += values
            for number, c in enumerate(coefficients):
                slopes[number, :-1] += _core.row_sums(piece.matrix.rows, c)
            self.watch.look()
        return [(s / self.total, slope / self.total) for s, slope in zip(sums, slopes, strict=True)]

    def violated(self, points: Floats) -> Iterator[tuple[Piece, list[Floats], Floats]]:
        """For each piece: the coefficients of its rows in the sum over violated pairs at each point, and its value."""
        if self.local:
            for piece in self.stream.pieces():
                scores = _scores(piece, points)
                pairs = self.pairs_of(piece)
                found = [pairs.violated(np.ascontiguousarray(scores[:, k])) for k in range(len(points))]
                yield piece, [c for _, c in found], np.array([value for value, _ in found])
            return
        assert self.all is not None
        scores = np.empty((len(points), self.stream.shape[0]))
        for piece in self.stream.pieces():
            scores[:, piece.rows] = _scores(piece, points).T
            self.watch.look()
        found = [self.all.violated(row) for row in scores]
        del scores
        values = np.array([value for value, _ in found])
        for number, piece in enumerate(self.stream.pieces()):
            coefficients = [np.ascontiguousarray(c[piece.rows]) for _, c in found]
            yield piece, coefficients, values if number == 0 else np.zeros(len(points))

    def variables(self, keep_alpha: bool) -> tuple[Floats | None, PairTotals]:
        """What each row adds in all its pairs, by the cuts of the best master problem, and the pairs counted."""
        used = np.flatnonzero(self.master.multipliers)
        points = np.array([*(self.points[k] for k in used), self.bounds.weights])
        alpha = np.zeros(self.stream.shape[0]) if keep_alpha else None
        counts = PairTotals()
        every = np.zeros(self.stream.shape[0]) if self.all is not None else None
        for piece, coefficients, _ in self._final(points):
            own = np.zeros(len(piece.C))
            for k, c in zip(used, coefficients, strict=False):
                own += self.master.multipliers[k] / self.total * c
            counts.support += int(np.count_nonzero(own))
            if alpha is not None:
                alpha[piece.rows] = own
            scores = _scores(piece, points[-1:]).ravel()
            if every is not None:
                every[piece.rows] = scores
            else:
                self._count(counts, self.pairs_of(piece), scores)
        if every is not None and self.all is not None:
            self._count(counts, self.all, every)
        return alpha, counts

    def _final(self, points: Floats) -> Iterator[tuple[Piece, list[Floats], Floats]]:
        if len(points) > 1:
            yield from self.violated(points[:-1])
        else:
            for piece in self.stream.pieces():
                yield piece, [], np.zeros(0)

    def _count(self, counts: PairTotals, pairs: _core.Pairs, scores: Floats) -> None:
        groups, every, swapped, tied = pairs.count(np.ascontiguousarray(scores))
        counts.all += float(every.sum()) * self.unit**2
        counts.swapped += float(swapped.sum()) * self.unit**2
        counts.tied += float(tied.sum()) * self.unit**2
        counts.groups += len(groups)


def _scores(piece: Piece, points: Floats) -> Floats:
    scores: Floats = piece.matrix.scores(np.asfortranarray(points[:, :-1]), np.zeros(len(points)))
    return scores


def _joined_sides(pieces: Iterator[Piece]) -> Piece:
    given = list(pieces)
    groups = None
    if given[0].groups is not None:
        groups = np.concatenate([piece.groups for piece in given if piece.groups is not None])
    targets = np.concatenate([piece.targets for piece in given if piece.targets is not None])
    return given[0]._replace(C=np.concatenate([piece.C for piece in given]), targets=targets, groups=groups)
