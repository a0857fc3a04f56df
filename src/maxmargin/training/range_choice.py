"""A choice of C with a proof about all values between the ends of a grid (``cv_tol``).

`choose_in_range` proves that no C of the range, on the grid or not, has a cross-validation error lower than that of the
chosen one by more than a tolerance (Giesen et al. 2012; Shibagaki et al. 2015). The solutions of two values of C prove
some labels wrong for all values between (`maxmargin.training.balls`), and values are added where that leaves too many
rows open. An added one starts from a mixture of the two beside it, and is solved as closely as its proof needs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from maxmargin._core import StopFlag
from maxmargin.problems.certificate import Certificate
from maxmargin.problems.csr import Csr
from maxmargin.problems.losses import Floats
from maxmargin.solvers.deadline import Deadline
from maxmargin.training.balls import Pair
from maxmargin.training.curvature import Scatter, few_features
from maxmargin.training.folds import Fold
from maxmargin.training.proofs import Proofs
from maxmargin.training.range_nodes import Node, RangeNodes
from maxmargin.training.tasks import Classification, Solved

#: The ratio of neighbours below which it is their own gaps that are in the way of a proof.
CLOSE = 1.03
#: Intervals of C narrower than this, relatively, are not divided any more.
NARROW = 1e-6
#: The cells between two values of C to begin with.
CELLS = 4
#: Radii between two values of C grow with about this power of their distance.
GROWTH = 1.6
#: How far apart nodes are put, and from where on they are not even tried, in units of what seems to be the most.
CAUTION, TOO_FAR = 0.97, 1.1
#: Where fewer parts than this are left, they are of equal size.
EVEN = 2.5
#: Scores count in full up to that of the row which comes after so many times the labels that may be without a proof.
ROOM = 1.5
#: The factors of radii that a reach is guessed from.
SMALLEST, LARGEST, FACTORS = 0.01, 4.0, 128
#: Errors this close are equal.
ROUNDING = 1e-12


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
    most_values: int = 250,
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
        Solutions of the folds at values of C, to go on from. Values whose errors are known by them are left out where
        the proof is likely to do without.
    tol : float, default=1e-3
        Gap of the first solution of each C. It is solved more closely where that leaves too many labels open.
    solver, n_jobs, stop
        As in ``cross_validate``.
    most_values : int, default=250
        Most values of C; then the proof is what has been proved so far.
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
    proving = RangeNodes(task, folds, cv_tol, task.method(solver), n_jobs, stop, tol, Deadline(time_limit), options)
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
    bound, around, reach, failed = 1.0, None, np.inf, False
    # Values of C to the right of the left end, the nearest last; where the proof fails between, one more is put there.
    stack: list[tuple[float, Node | None]] = [(C, None) for C in reversed(values[1:] or values)]
    while stack:
        while len(stack) > 1 and stack[-1][1] is None and stack[-1][0] in known:
            if not np.log(stack[-2][0] / left.C) <= CAUTION * reach < np.inf:
                break
            stack.pop()  # its error is known, and the proof is likely to do without it
        C, node = stack[-1]
        if node is None:
            start = known.get(C, left.solved) if around is None else around.start(C)
            node, around = visit(C, start) if C > left.C else left, None
            stack[-1] = (C, node)
        ended = failed or len(found) >= most_values or node.C / left.C < 1.0 + NARROW or proving.ended()
        if node.C / left.C < CLOSE and not ended and not (left.fine and node.fine):
            # So near to each other it must be their own gaps that leave rows open.
            left, node = (own if own.fine else visit(own.C, own.solved, True) for own in (left, node))
            stack[-1] = (C, node)
        between = Between(proving, left, node)
        lowest, failing, seen = between.prove(best[0] - cv_tol, ended, reach)
        if not ended:
            # Where nodes have to be nearer and nearer to each other this goes on.
            reach = seen * min(seen / reach, 1.0) if failing is None and np.isfinite(reach) else seen
        if failing is None or ended:
            # Nodes elsewhere cannot mend what even the narrowest interval leaves open.
            failed = failed or lowest < best[0] - cv_tol - ROUNDING
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


class Between:
    """Two neighbouring nodes, and what they prove about the values of C between them."""

    def __init__(self, proving: RangeNodes, left: Node, right: Node) -> None:
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

    def prove(self, needed: float, ended: bool, reach: float) -> tuple[float, float | None, float]:
        """The lowest proved error between the nodes, and a C where the proof needs another node.

        The range is divided into cells, each of which has a ball for all of its C. Where a cell has no proof but its
        middle by itself has one, narrower cells will have it; if not, a solution is missing. ``reach`` is how far apart
        (by the logarithm of C) nodes of a proof seem to be at most; the last value returned is that seen here.
        """
        if self.left.C == self.right.C:
            return float(self.proved(*np.full((2, 1), self.left.C))[0]), None, reach
        if not ended and self.distance > TOO_FAR * reach:
            return 0.0, self._next(reach), reach
        ends = np.geomspace(self.left.C, self.right.C, CELLS + 1)
        ends[-1] = self.right.C
        low, high, lowest = ends[:-1], ends[1:], 1.0
        errors = self.proved(low, high)
        if not ended and errors.min() < needed - ROUNDING:
            sharper = self._sharpen(low, high, needed)
            errors = self.proved(low, high) if sharper else errors
        while True:
            missing = errors < needed - ROUNDING
            lowest = min(lowest, float(np.min(errors if ended else errors[~missing], initial=1.0)))
            if ended or not missing.any():
                reach = self._reach(float(middle_of(self.left.C, self.right.C)), needed)
                # By how much larger the balls might have been.
                spare = max(reach / self.distance, 1.0) ** GROWTH
                for fold, own in enumerate(self.proofs):
                    self.proving.radii[fold] = np.inf if own is None else spare * own.largest_radius(low, high)
                return lowest, None, reach
            low, high = low[missing], high[missing]
            middle = middle_of(low, high)
            errors = self.proved(middle, middle)
            worst = int(errors.argmin())
            if errors[worst] < needed - ROUNDING or np.any(high < low * (1.0 + NARROW)):
                reach = self._reach(float(middle[worst]), needed)
                return 0.0, self._next(reach), reach
            low, high = np.concatenate([low, middle]), np.concatenate([middle, high])
            errors = self.proved(low, high)

    def _sharpen(self, low: Floats, high: Floats, needed: float) -> bool:
        """Look at all folds with the curvature of the losses; whether there was anything to do."""
        share = max(0.5 * (self.left.error + self.right.error) - needed, 0.0)
        known = []
        for fold, own in enumerate(self.proofs):
            unit = None if own is None else own.curved(low, high)
            if own is not None and unit is not None:
                known.append((fold, own, unit))
        scatters = self.proving.scatters
        if known and not few_features(self.proving.task.matrix):
            problem = known[0][1].pairs[0].left.problem
            Scatter.add([scatters[fold] for fold, _, _ in known], problem, [unit for _, _, unit in known])
        for fold, own, unit in known:
            own.sharpen(low, high, scatters[fold], ROOM * share * len(self.proving.rows[fold]), unit)
        return bool(known)

    @property
    def distance(self) -> float:
        """How far apart the nodes are, by the logarithm of C."""
        return float(np.log(self.right.C / self.left.C))

    def _reach(self, C: float, needed: float) -> float:
        """How far apart nodes may be for a proof, by what balls at a C prove if they are larger or smaller."""
        guesses = [(own.guess_wrong(C), share) for own, share in zip(self.proofs, self.shares, strict=True) if own]
        factors = np.geomspace(SMALLEST, LARGEST, FACTORS)
        first, last = 0, FACTORS  # the number of factors that leave a proof is between them
        while first < last:
            middle = (first + last) // 2
            error = self.constant + sum(share * guess(factors[middle]) for guess, share in guesses)
            first, last = (middle + 1, last) if error >= needed - ROUNDING else (first, middle)
        # Where no factor helps the nodes are too far apart to know.
        return float(self.distance * (0.5 if first == 0 else factors[first - 1] ** (1.0 / GROWTH)))

    def _next(self, reach: float) -> float:
        """Where another node helps most: it divides the range into about as few parts as a proof needs."""
        parts = self.distance / max(CAUTION * reach, 2.0 * NARROW)
        if parts < EVEN:
            parts = max(np.ceil(parts), 2.0)
        return float(self.left.C * (self.right.C / self.left.C) ** (1.0 / parts))

    def start(self, C: float) -> list[Solved]:
        """Mixtures of the two nodes' solutions, as beginnings for a C between them."""
        return [
            _mixture(C, one, two, None if own is None else own.pairs)
            for one, two, own in zip(self.left.solved, self.right.solved, self.proofs, strict=True)
        ]


def middle_of(low: Any, high: Any) -> Any:
    """The middle of intervals of C, on the logarithmic scale."""
    return np.sqrt(low * high)


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
