"""A choice of C with a proof about all values between the ends of a grid (``cv_tol``).

`choose_in_range` proves that no C of the range, on the grid or not, has a cross-validation error lower than that of the
chosen one by more than a tolerance (Giesen et al. 2012; Shibagaki et al. 2015). The solutions of two values of C prove
some labels wrong for all values between (`maxmargin.training.balls`), and values are added where that leaves too many
rows open. An added one starts from a mixture of the two beside it, and is solved as closely as its proof needs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from maxmargin._core import StopFlag
from maxmargin.problems.certificate import Certificate
from maxmargin.problems.csr import Csr
from maxmargin.problems.losses import Floats
from maxmargin.solvers.deadline import Deadline
from maxmargin.solvers.method import Method
from maxmargin.solvers.threads import map_threads
from maxmargin.training.balls import Pair, Seen
from maxmargin.training.curvature import MOST_FEATURES, Scatter
from maxmargin.training.folds import Fold, FoldSolver
from maxmargin.training.proofs import Proofs
from maxmargin.training.tasks import Classification, Solved

#: The share of what may be open between two values of C that rows without a proof at their own C may take.
OPEN_SHARE = 0.3
#: The smallest gap that is tried, and by how much it falls at least where the first one leaves too many rows open.
LAST_TOL, FINER = 1e-12, 0.25
#: The share of the squared radius of the last proof that the gap of a node may have, and the ratio of neighbours from
#: which on it is too much.
NODE_SHARE, CLOSE = 0.2, 1.03
#: The tolerance where folds are solved side by side: it costs one step of Newton's method more than a large one.
TOGETHER_TOL = 1e-9
#: Intervals of C narrower than this, relatively, are not divided any more.
NARROW = 1e-6
#: The cells between two values of C to begin with.
CELLS = 4
#: Radii between two values of C grow with about this power of their distance.
GROWTH = 1.6
#: With many features, balls that are larger than needed by more than this are not worth a closer look.
HOPELESS = 0.15
#: Errors this close are equal.
ROUNDING = 1e-12


class Node(NamedTuple):
    """A value of C that is solved in every fold.

    ``seen`` is None for folds of one class, and ``wrong`` tells which labels are proved wrong at this C. ``fine`` tells
    whether it is solved so closely that few wrong labels have no proof at this C itself.
    """

    C: float
    error: float
    solved: list[Solved]
    seen: list[Seen | None]
    wrong: list[NDArray[np.bool_]]
    fine: bool


@dataclass(frozen=True)
class RangeChoice:
    """A C with a proof about the whole range.

    Attributes
    ----------
    C : float
        The chosen one: of lowest error among all that were solved.
    error : float
        Its cross-validation error, the mean over folds of the share of wrong labels.
    bound : float
        No C of the range has an error below this.
    certified : bool
        Whether ``error - bound`` is at most the tolerance.
    Cs, errors : ndarray
        All values of C that were solved, increasing, and their errors.
    """

    C: float
    error: float
    bound: float
    certified: bool
    Cs: Floats
    errors: Floats


def choose_in_range(
    task: Classification,
    Cs: Sequence[float],
    folds: Sequence[Fold],
    cv_tol: float,
    *,
    best_error: float = np.inf,
    best_C: float | None = None,
    known: Mapping[float, list[Solved]] | None = None,
    tol: float = 1e-3,
    solver: Any = "auto",
    n_jobs: int = 1,
    most_values: int = 1_000,
    time_limit: float | None = None,
    stop: StopFlag | None = None,
    on_value: Callable[[float, float], None] | None = None,
    **options: Any,
) -> RangeChoice:
    """A C between the ends of a grid, and a proof that none there is better by more than ``cv_tol``.

    Parameters
    ----------
    task : Classification
        What is learned.
    Cs : sequence of float
        The ends of the range, and values in between to begin with.
    folds : sequence of (train, test)
        Rows by number.
    cv_tol : float
        By how much, as a share of the rows, the error of another C may be lower.
    best_error, best_C : float, optional
        What is known already: the lower the error, the less there is to prove.
    known : mapping, optional
        Solutions of the folds at values of C, to go on from.
    tol : float, default=1e-3
        Gap of the first solution of each C. It is solved more closely where that leaves too many labels open.
    solver, n_jobs, stop
        As in ``cross_validate``.
    most_values : int, default=1000
        Most values of C.
    time_limit : float, optional
        Seconds for everything; then the proof is what has been proved so far.
    on_value : callable, optional
        Called with each C and its error.
    **options
        Passed to ``solve``.

    Returns
    -------
    RangeChoice
        The chosen C, its error, and the proved bound.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from maxmargin.training.range_choice import choose_in_range
    >>> from maxmargin.training.cross_validation import fold_numbers, folds_of
    >>> from maxmargin.training.tasks import Classification
    >>> X, y = load_iris(return_X_y=True)
    >>> folds = folds_of(fold_numbers(y, 3, seed=0))
    >>> choice = choose_in_range(Classification(X, y, 3), [0.1, 10.0], folds, cv_tol=0.03)
    >>> choice.certified, choice.error - choice.bound <= 0.03
    (True, True)
    """
    proving = _Proving(task, folds, cv_tol, task.method(solver), n_jobs, stop, tol, Deadline(time_limit), options)
    values = sorted({float(C) for C in Cs})
    task.matrix.problems = max(task.matrix.problems, 20 * len(folds))
    known = {} if known is None else known
    found: dict[float, float] = {}
    best = (best_error, values[0] if best_C is None else best_C)

    def visit(C: float, start: list[Solved] | None, fine: bool = False) -> Node:
        nonlocal best
        node = proving.visit(C, start, best[0], fine)
        found[C] = node.error
        best = min(best, (node.error, node.C))
        if on_value is not None:
            on_value(C, node.error)
        return node

    left = visit(values[0], known.get(values[0]))
    bound, around = 1.0, None
    # Values of C to the right of the left end, the nearest last; where the proof fails between, one more is put there.
    stack: list[tuple[float, Node | None]] = [(C, None) for C in reversed(values[1:] or values)]
    while stack:
        C, node = stack[-1]
        if node is None:
            start = known.get(C, left.solved) if around is None else around.start(C)
            node, around = visit(C, start) if C > left.C else left, None
            stack[-1] = (C, node)
        ended = len(found) >= most_values or node.C / left.C < 1.0 + NARROW or proving.ended()
        if node.C / left.C < CLOSE and not ended and not (left.fine and node.fine):
            # So near to each other it must be their own gaps that leave rows open.
            left, node = (own if own.fine else visit(own.C, own.solved, True) for own in (left, node))
            stack[-1] = (C, node)
        between = Between(proving, left, node)
        lowest, failing = between.prove(best[0] - cv_tol, ended)
        if failing is None or ended:
            bound = min(bound, lowest)
            left = node
            stack.pop()
        else:
            around = between
            stack.append((failing, None))
    order = sorted(found)
    error, chosen = best
    return RangeChoice(
        C=chosen,
        error=error,
        bound=min(bound, error),
        certified=bool(bound >= error - cv_tol - ROUNDING),
        Cs=np.array(order),
        errors=np.array([found[C] for C in order]),
    )


@dataclass
class _Proving:
    """The folds of `choose_in_range`, and how closely they have to be solved."""

    task: Classification
    folds: Sequence[Fold]
    cv_tol: float
    method: Method
    n_jobs: int
    stop: StopFlag | None
    tol: float
    deadline: Deadline
    options: dict[str, Any]

    def __post_init__(self) -> None:
        self.solver = FoldSolver(self.task, self.folds, self.method)
        self.own, self.rows, self.groups = self.solver.own, self.solver.rows, self.solver.groups
        self.labels = [own.known_labels(rows) for own, rows in zip(self.own, self.rows, strict=True)]
        self.scatters = [Scatter() for _ in self.folds]
        #: The radius with which each fold had its last proof between two nodes.
        self.radii: list[float | None] = [None] * len(self.folds)
        #: The distance between bounds that each group needs, from the last C on.
        self.distances: list[float | None] = [None] * len(self.groups)

    def ended(self) -> bool:
        """Whether there is no time left."""
        return self.deadline.is_over() or (self.stop is not None and self.stop.is_set())

    def visit(self, C: float, start: list[Solved] | None, best_error: float, fine: bool) -> Node:
        """A C in all folds, from solutions of this C or of another one."""
        coarse = not fine and start is not None and (self.solver.side_by_side or all(self.radii))

        def work(number: int, stop: StopFlag) -> list[tuple[Solved, _Found]]:
            group = self.groups[number]
            own = None if start is None else [start[fold] for fold in group]
            if coarse and own is not None:
                return self._solve_coarsely(number, C, own, stop)
            return self._solve(number, C, own, best_error, stop)

        parts = map_threads(work, range(len(self.groups)), self.n_jobs, self.stop)
        solved, found = zip(*(part for group in parts for part in group), strict=True)
        error = float(np.mean([own.share for own in found]))
        return Node(C, error, list(solved), [own.seen for own in found], [own.wrong for own in found], not coarse)

    def _solve(
        self, number: int, C: float, start: list[Solved] | None, best_error: float, stop: StopFlag
    ) -> list[tuple[Solved, _Found]]:
        """A group of folds at one C, so closely that few wrong labels are without a proof."""
        solved, tol, distance = start, self.tol, self.distances[number]
        if start is not None and distance is not None:
            tol = min(max(distance / max(_value(own, C) for own in start), LAST_TOL), self.tol)
        while True:
            # A solution that is known already may be close enough.
            if solved is None or not all(own.C == C and own.converged and own.gap <= tol for own in solved):
                solved = self._solve_once(number, C, solved, tol, stop)
            found = [self._look(fold, own) for fold, own in zip(self.groups[number], solved, strict=True)]
            error = float(np.mean([own.share for own in found]))
            # Where the error is well above the best one, more may stay open.
            allowed = OPEN_SHARE * max(error - best_error + self.cv_tol, self.cv_tol)
            shrink = min(own.shrink(allowed) for own in found)
            gap = max(max(own.gap for own in solved), LAST_TOL)
            self.distances[number] = max(shrink, 0.0) ** 2 * gap * max(_value(own, C) for own in solved)
            if shrink >= 1.0 or tol <= LAST_TOL or not all(own.converged for own in solved):
                return list(zip(solved, found, strict=True))
            tol = max(min(FINER * tol, 0.5 * max(shrink, 0.1) ** 2 * gap), LAST_TOL)

    def _solve_coarsely(
        self, number: int, C: float, start: list[Solved], stop: StopFlag
    ) -> list[tuple[Solved, _Found]]:
        """A group of folds at one C, so closely that its gap hardly adds to those between it and its neighbours."""
        group, tol = self.groups[number], TOGETHER_TOL
        radius = self.radii[group[0]]
        if len(group) == 1 and radius is not None:
            tol = max(NODE_SHARE * radius**2 / _value(start[0], C), LAST_TOL)
        tol, solved = min(tol, self.tol), start
        if not all(own.C == C and own.converged and own.gap <= tol for own in start):
            solved = self._solve_once(number, C, start, tol, stop)
        return [(own, self._look(fold, own)) for fold, own in zip(group, solved, strict=True)]

    def _solve_once(self, number: int, C: float, last: list[Solved] | None, tol: float, stop: StopFlag) -> list[Solved]:
        """A group of folds at one C, from what is known."""
        limits = {"tol": tol, "time_limit": self.deadline.left(), "stop": stop, **self.options}
        return self.solver.solve(number, C, last, n_jobs=self.n_jobs, **limits)

    def _look(self, fold: int, solved: Solved) -> _Found:
        """What a fold's solution says of its rows."""
        own, rows = self.own[fold], self.rows[fold]
        if not solved.problems:
            wrong = ~own.is_right(own.scores(solved, rows), rows)
            return _Found(None, float(wrong.mean()), wrong, np.zeros(0))
        seen = Seen(solved.problems, solved.solutions, solved.C, rows)
        plain = len(own.present) == own.n_classes
        wrong = ~own.is_right(seen.by_weights if plain else own.scores(solved, rows), rows)
        surely = Proofs(seen, seen, rows, self.labels[fold]).wrong_by(*np.full((2, 1), solved.C))[0]
        return _Found(seen, float(wrong.mean()), surely > 1.0, np.sort(surely[wrong]))


class _Found(NamedTuple):
    """What a fold's solution says of its rows: the share that is wrong, those proved to be, and how surely, sorted."""

    seen: Seen | None
    share: float
    wrong: NDArray[np.bool_]
    surely: Floats

    def shrink(self, allowed: float) -> float:
        """The factor that the ball may be multiplied by for this share of the rows to be wrong without a proof."""
        number = int(allowed * len(self.wrong))
        return float(self.surely[number]) if number < len(self.surely) else 10.0


def _value(solved: Solved, C: float) -> float:
    """About the objective at a C, from a solution at another one: it grows with C at most as fast as C does."""
    return max((solution.certificate.primal for solution in solved.solutions), default=1.0) * max(C / solved.C, 1.0)


class Between:
    """Two neighbouring nodes, and what they prove about the values of C between them."""

    def __init__(self, proving: _Proving, left: Node, right: Node) -> None:
        self.proving, self.left, self.right = proving, left, right
        self.proofs: list[Proofs | None] = []
        self.shares: list[float] = []
        self.constant = 0.0
        for fold, (one, two) in enumerate(zip(left.seen, right.seen, strict=True)):
            share = 1.0 / (len(proving.folds) * len(proving.rows[fold]))
            if one is None or two is None:  # one class only: the labels do not depend on C
                self.constant += share * float(left.wrong[fold].sum())
                self.proofs.append(None)
            else:
                # Rows that are right at both ends hardly ever turn wrong in between, and leaving them out is safe.
                keep = left.wrong[fold] | right.wrong[fold]
                self.proofs.append(Proofs(one, two, proving.rows[fold], proving.labels[fold], keep))
            self.shares.append(share)

    def proved(self, low: Floats, high: Floats) -> Floats:
        """The errors that all C between two have at least, for intervals of C."""
        errors = np.full(len(low), self.constant)
        for own, share in zip(self.proofs, self.shares, strict=True):
            if own is not None:
                errors += share * own.count_wrong(low, high)
        return errors

    def prove(self, needed: float, ended: bool) -> tuple[float, float | None]:
        """The lowest proved error between the nodes, and a C where the proof needs another node.

        The range is divided into cells, each of which has a ball for all of its C. Where a cell has no proof but its
        middle by itself has one, narrower cells will have it; if not, a solution is missing.
        """
        if self.left.C == self.right.C:
            return float(self.proved(*np.full((2, 1), self.left.C))[0]), None
        ends = np.geomspace(self.left.C, self.right.C, CELLS + 1)
        ends[-1] = self.right.C
        low, high, lowest = ends[:-1], ends[1:], 1.0
        errors = self.proved(low, high)
        if not ended and errors.min() < needed - ROUNDING:
            if self.proving.task.matrix.shape[1] > MOST_FEATURES:
                worst = int(errors.argmin())
                shrink = self._shrink(float(np.sqrt(low[worst] * high[worst])), needed)
                if shrink < HOPELESS:
                    return 0.0, self._next(shrink)
            pairs = zip(self.proofs, self.proving.scatters, strict=True)
            sharper = [own.sharpen(low, high, scatter) for own, scatter in pairs if own is not None]
            errors = self.proved(low, high) if any(sharper) else errors
        while True:
            missing = errors < needed - ROUNDING
            lowest = min(lowest, float(np.min(errors if ended else errors[~missing], initial=1.0)))
            if ended or not missing.any():
                for fold, own in enumerate(self.proofs):
                    self.proving.radii[fold] = 0.0 if own is None else own.largest_radius(low, high)
                return lowest, None
            low, high = low[missing], high[missing]
            middle = np.sqrt(low * high)
            errors = self.proved(middle, middle)
            worst = int(errors.argmin())
            if errors[worst] < needed - ROUNDING or np.any(high < low * (1.0 + NARROW)):
                return 0.0, self._next(self._shrink(float(middle[worst]), needed))
            low, high = np.concatenate([low, middle]), np.concatenate([middle, high])
            errors = self.proved(low, high)

    def _shrink(self, C: float, needed: float) -> float:
        """The factor by which balls at a C would have to be smaller for a proof; zero where that would not help."""
        pairs = [(own, share) for own, share in zip(self.proofs, self.shares, strict=True) if own is not None]
        surely = np.concatenate([own.wrong_by(*np.full((2, 1), C))[0] for own, _ in pairs])
        weights = np.concatenate([np.full(len(own.labels), share) for own, share in pairs])
        order = np.argsort(-surely)
        last = int(np.searchsorted(self.constant + np.cumsum(weights[order]), needed - ROUNDING))
        return max(float(surely[order[last]]), 0.0) if last < len(order) else 0.0

    def _next(self, shrink: float) -> float:
        """Where another node helps most: it divides the range into about as few parts as a proof needs."""
        parts = 2 if shrink == 0.0 else max(int(np.ceil(shrink ** (-1.0 / GROWTH))), 2)
        return float(self.left.C * (self.right.C / self.left.C) ** (parts // 2 / parts))

    def start(self, C: float) -> list[Solved]:
        """Mixtures of the two nodes' solutions, as beginnings for a C between them."""
        return [
            _mixture(C, one, two, None if own is None else own.pairs)
            for one, two, own in zip(self.left.solved, self.right.solved, self.proofs, strict=True)
        ]


def _mixture(C: float, left: Solved, right: Solved, pairs: list[Pair] | None) -> Solved:
    """The mixtures of two solutions that have the best bounds at a C between theirs."""
    if pairs is None or any(isinstance(solution.alpha, Csr) for solution in left.solutions):
        return left
    solutions = []
    for one, two, pair in zip(left.solutions, right.solutions, pairs, strict=True):
        s, t = (float(part[0]) for part in (pair.share(np.array([C])), pair.share_of_variables(np.array([C]))))
        weights = (1 - s) * one.weights + s * two.weights
        alpha = (C / left.C) * (1 - t) * one.alpha + (C / right.C) * t * two.alpha
        certificate = Certificate(*pair.values(C))
        solutions.append(replace(one, weights=weights, alpha=alpha, certificate=certificate, exit="stopped"))
    return Solved(C, left.problems, solutions)
