"""Ranking: data, ranks, groups, and the exact values of the ordinal regression SVM (OP4 of Joachims 2006).

    primal(w)    1/2 |w|^2 + C/m sum over pairs max(0, 1 - (w.x_i - w.x_j))

A pair is two rows of one group of which the first has the higher label; it counts by the product of the weights of its
rows, and ``m`` is the sum over all pairs. With two labels this optimises the area under the ROC curve.

The formulas here are plain numpy and are the readable truth; the C++ core computes the same values faster.
"""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from maxmargin import _core
from maxmargin.problems.binary import LARGEST_C, SMALLEST_C
from maxmargin.problems.losses import Floats
from maxmargin.problems.problem import Problem
from maxmargin.problems.regulariser import SquaredNorm


class NothingToRankError(ValueError):
    """No two rows of one group have different labels.

    Examples
    --------
    >>> from maxmargin import count_pairs
    >>> try:
    ...     count_pairs(y=[1, 1], scores=[0.5, 0.0])
    ... except ValueError as error:
    ...     print(type(error).__name__)
    NothingToRankError
    """


class PairCounts(NamedTuple):
    """Pairs of rows by the order of their scores; weights multiplied, if there are any.

    Attributes
    ----------
    groups : ndarray
        The groups that have pairs.
    all, swapped, tied : ndarray
        For each of them: all pairs, those of which the lower row has the higher score, those with equal scores.

    Examples
    --------
    >>> from maxmargin import count_pairs
    >>> counts = count_pairs(y=[0, 1, 2], scores=[0.5, 0.0, 1.0])
    >>> counts.all.tolist(), counts.swapped.tolist(), round(counts.share_in_order, 3)
    ([3.0], [1.0], 0.667)
    """

    groups: NDArray[Any]
    all: Floats
    swapped: Floats
    tied: Floats

    @property
    def share_in_order(self) -> float:
        """Share of all pairs in the right order, ties as half: for two labels in one group the ROC area."""
        return float(1.0 - (self.swapped.sum() + 0.5 * self.tied.sum()) / self.all.sum())

    @property
    def shares_in_order(self) -> Floats:
        """The same for each group by itself."""
        return np.asarray(1.0 - (self.swapped + 0.5 * self.tied) / self.all)


class Ranks:
    """Labels, groups and weights of rows: which pairs there are.

    Parameters
    ----------
    y : array of shape (rows,)
        Numbers: a larger one means a higher rank.
    qid : array of shape (rows,), optional
        The group (query) of each row, by numbers or other labels, in any order. Only rows of one group form pairs. By
        default all rows are one group.
    weights : array of shape (rows,), optional
        A pair counts by the product of its rows' weights: 2 is the same as writing the row twice.

    Examples
    --------
    >>> from maxmargin.problems.ranking import Ranks
    >>> Ranks([3, 1, 2, 1], qid=["a", "a", "b", "b"]).n_pairs
    2.0
    """

    def __init__(self, y: ArrayLike, qid: ArrayLike | None = None, weights: ArrayLike | None = None) -> None:
        self.y = _numbers(y)
        size = len(self.y)
        self.groups: NDArray[Any] = np.zeros(1, dtype=np.intp)
        self.group_of: NDArray[np.int64] | None = None
        if qid is not None:
            self.groups, self.group_of = _groups(qid, size)
        self.weights: Floats | None = None
        self._unit = 1.0
        if weights is not None:
            self.weights = np.require(weights, np.float64, ["C", "A"])
            if self.weights.shape != (size,):
                raise ValueError(f"there must be {size} weights, one for each row, not {self.weights.shape}")
            if not np.all((self.weights >= 0) & (self.weights <= LARGEST_C)):
                raise ValueError(f"weights must be numbers between 0 and {LARGEST_C:g}")
            self._unit = 2.0 ** np.frexp(self.weights.max(initial=0.0))[1]
        # in units near the largest weight, so that products of small ones do not vanish; a power of 2 rounds nothing
        self.scaled_weights: Floats | None = None if self.weights is None else self.weights / self._unit
        self.pairs = _core.Pairs(self.y, self.group_of, self.scaled_weights)
        if self.pairs.total() == 0:
            where = "one group (qid)" if qid is not None else "the data"
            raise NothingToRankError(
                f"there is nothing to rank: no two rows of {where} have different labels"
                + ("" if weights is None else " and positive weights")
            )

    @property
    def n_pairs(self) -> float:
        """``m``: how many pairs there are, or the sum of their weights."""
        return self.pairs.total() * self._unit * self._unit

    def count(self, scores: ArrayLike) -> PairCounts:
        """Pairs of each group by the order of their scores."""
        groups, *counts = self.pairs.count(np.ascontiguousarray(_scores(scores, len(self.y))))
        return PairCounts(self.groups[groups.astype(np.intp)], *(part * self._unit * self._unit for part in counts))


def count_pairs(
    y: ArrayLike, scores: ArrayLike, qid: ArrayLike | None = None, sample_weight: ArrayLike | None = None
) -> PairCounts:
    """Count the pairs of different labels by the order of their scores, in time ``n log n``.

    Parameters
    ----------
    y : array of shape (rows,)
        Numbers: a larger one means a higher rank.
    scores : array of shape (rows,)
        What the rows are ordered by.
    qid : array of shape (rows,), optional
        The group (query) of each row; only rows of one group form pairs.
    sample_weight : array of shape (rows,), optional
        A pair counts by the product of its rows' weights.

    Returns
    -------
    PairCounts
        Counts for each group that has pairs.

    Examples
    --------
    >>> from maxmargin import count_pairs
    >>> count_pairs(y=[0, 1, 0, 1], scores=[1, 2, 4, 3], qid=[7, 7, 8, 8]).shares_in_order.tolist()
    [1.0, 0.0]
    """
    ranks = Ranks(y, qid, sample_weight)
    return ranks.count(scores)


def ndcg(y: ArrayLike, scores: ArrayLike, qid: ArrayLike | None = None, k: int | None = None) -> float:
    """Normalised discounted cumulative gain, ``2^y - 1`` discounted by ``log2(1 + place)``, as mean over groups.

    Rows with equal scores share their places: each gets the mean of the discounts (as in scikit-learn's ``ndcg_score``,
    whose gains are ``y`` itself). Groups without any gain are left out.

    Parameters
    ----------
    y : array of shape (rows,)
        Relevance, not negative.
    scores : array of shape (rows,)
        What the rows are ordered by.
    qid : array of shape (rows,), optional
        The group (query) of each row.
    k : int, optional
        Only the first ``k`` places count.

    Returns
    -------
    float
        Between 0 and 1; 1 when every group is in the order of its relevance.

    Examples
    --------
    >>> from maxmargin import ndcg
    >>> round(ndcg(y=[0, 1, 2], scores=[0.1, 0.3, 0.2]), 4)
    0.7967
    """
    labels = _numbers(y)
    values = _scores(scores, len(labels))
    if np.any(labels < 0) or np.any(labels > 1000):
        raise ValueError("labels must lie between 0 and 1000 for ndcg, whose gains are 2^y - 1")
    if k is not None and k < 1:
        raise ValueError(f"k must be at least 1, not {k}")
    results = []
    for rows in _split(None if qid is None else _groups(qid, len(labels))[1], len(labels)):
        gain = np.exp2(labels[rows]) - 1.0
        discount = 1.0 / np.log2(np.arange(len(rows)) + 2.0)
        discount[len(rows) if k is None else k :] = 0.0
        best = np.sort(gain)[::-1] @ discount
        if best > 0:
            _, tie, sizes = np.unique(-values[rows], return_inverse=True, return_counts=True)
            shared = np.add.reduceat(discount, np.cumsum(sizes) - sizes) / sizes
            results.append(gain @ shared[tie] / best)
    if not results:
        raise ValueError("no group has a row of positive relevance")
    return float(np.mean(results))


class RankingProblem(Problem):
    """A linear ranking SVM: which rows, which ranks, which groups (OP4).

    Parameters
    ----------
    X : Matrix, ndarray or CSR matrix of shape (rows, features)
        float32 or float64; used where it lies, never copied.
    y : array of shape (rows,)
        Numbers: a larger one means a higher rank.
    C : float, default=1.0
        Weight of the mean loss of a pair.
    qid : array of shape (rows,), optional
        The group (query) of each row; only rows of one group form pairs.
    weights : array of shape (rows,), optional
        A pair counts by the product of its rows' weights.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin import RankingProblem, solve
    >>> problem = RankingProblem(np.array([[0.0], [1.0], [3.0]]), [1, 2, 3], C=10.0)
    >>> solution = solve(problem, tol=1e-6)
    >>> solution.weights[:1].round(3).tolist(), round(problem.primal(solution.weights), 3)
    ([1.0], 0.5)
    """

    kind: ClassVar[str] = "ranking"

    def __init__(
        self,
        X: Any,
        y: ArrayLike,
        C: float = 1.0,
        *,
        qid: ArrayLike | None = None,
        weights: ArrayLike | None = None,
    ) -> None:
        super().__init__(X)
        size = self.shape[0]
        if np.shape(y) != (size,):
            raise ValueError(f"y must have shape ({size},) to match the rows of X, not {np.shape(y)}")
        self.ranks = Ranks(y, qid, weights)
        if not SMALLEST_C <= C <= LARGEST_C:
            raise ValueError(f"C must lie between {SMALLEST_C:g} and {LARGEST_C:g}, not {C}")
        self.C = float(C)

    def identity(self) -> tuple[Any, ...]:
        """All that tells this problem from others over the same rows."""
        return self.kind, self.ranks.y, self.ranks.group_of, self.ranks.scaled_weights, self.C

    def start(self, start: Any = None) -> _core.RankingState:
        """The problem as the C++ core solves it, with cuts at zero and at the points of a solution or as given."""
        points = getattr(start, "points", start)
        if points is not None and hasattr(start, "weights"):  # the best weights need not be one of the points
            points = np.vstack([points, start.weights])
        if points is not None:
            points = np.ascontiguousarray(points, dtype=np.float64)
            if points.ndim != 2 or points.shape[1] != self.shape[1] + 1 or not np.all(np.isfinite(points)):
                raise ValueError(
                    f"points must have {self.shape[1] + 1} columns of finite numbers: one per feature, and the bias"
                )
        return _core.RankingState(self.matrix.rows, self.ranks.pairs, self.C, points)

    def found(self, state: _core.RankingState) -> tuple[Floats, Floats]:
        """The best weights and the best dual variables of a state."""
        return state.weights(), state.alpha()

    def points_of(self, state: _core.RankingState) -> Floats:
        """Where the cuts in use touch the risk: a similar problem may start from there."""
        return state.points().reshape(-1, self.shape[1] + 1)

    def primal(self, w: ArrayLike) -> float:
        """The objective at weights, whose last entry belongs to no feature and is 0: pairs have no intercept."""
        w = np.asarray(w, dtype=np.float64)
        scores = self.X @ w[:-1]
        return SquaredNorm().value(w) + self.C * self._pair_losses(scores) / self.ranks.pairs.total()

    def weights(self, alpha: ArrayLike) -> Floats:
        """``w = sum_i alpha_i x_i`` for dual variables with their signs: what row ``i`` adds in all its pairs."""
        return np.append(self.X.T @ np.asarray(alpha, dtype=np.float64), 0.0)

    def _pair_losses(self, scores: Floats) -> float:
        y = self.ranks.y
        weights = np.ones(len(scores)) if self.ranks.scaled_weights is None else self.ranks.scaled_weights
        total = 0.0
        for rows in _split(self.ranks.group_of, len(scores)):
            for level in np.unique(y[rows])[1:]:
                high, low = rows[y[rows] == level], rows[y[rows] < level]
                low = low[np.argsort(scores[low], kind="stable")]
                # the sorted lower rows from here on have a score above that of the higher row minus 1
                first = np.searchsorted(scores[low], scores[high] - 1.0, side="right")
                weight = np.append(np.cumsum(weights[low][::-1])[::-1], 0.0)[first]
                weighted = np.append(np.cumsum((weights * scores)[low][::-1])[::-1], 0.0)[first]
                total += float(weights[high] @ (weight * (1.0 - scores[high]) + weighted))
        return total


def _numbers(y: ArrayLike) -> Floats:
    labels = np.asarray(y)
    if labels.ndim != 1:
        raise ValueError(f"y must have one dimension, not {labels.ndim}")
    if labels.dtype == object:
        try:
            labels = labels.astype(np.float64)
        except (TypeError, ValueError) as error:
            raise ValueError(f"y must hold numbers ({error})") from error
    if labels.dtype.kind not in "iufb":
        raise ValueError(f"y must hold numbers, of which larger ones mean higher ranks, not {labels.dtype}")
    if labels.dtype.kind in "iu" and labels.size and (labels.max() > 2**53 or labels.min() < -(2**53)):
        labels = np.unique(labels, return_inverse=True)[1]  # doubles would take neighbours for equal
    numbers = np.require(labels, np.float64, ["C", "A"])
    if not np.all(np.isfinite(numbers)):
        raise ValueError("y must be finite")
    return numbers


def _scores(scores: ArrayLike, size: int) -> Floats:
    values = np.asarray(scores, dtype=np.float64)
    if values.shape != (size,) or not np.all(np.isfinite(values)):
        raise ValueError(f"scores must be {size} finite numbers, one for each row")
    return values


def _groups(qid: ArrayLike, size: int) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """The different groups, and which of them each row belongs to."""
    values = np.asarray(qid)
    if values.shape != (size,):
        raise ValueError(f"qid must have one entry for each of the {size} rows, not the shape {values.shape}")
    if values.dtype.kind == "f" and np.any(np.isnan(values)):
        raise ValueError("qid must not be NaN")
    try:
        groups, index = np.unique(values, return_inverse=True)
    except TypeError as error:
        raise ValueError(f"qid must hold numbers or texts, not a mixture ({error})") from error
    return groups, index.astype(np.int64)


def _split(group_of: NDArray[np.int64] | None, size: int) -> list[NDArray[np.intp]]:
    """The rows of each group."""
    if group_of is None:
        return [np.arange(size)]
    order = np.argsort(group_of, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(group_of[order])) + 1)
