"""The ranker over a Dask cluster."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import _fit_context
from sklearn.callback import with_callbacks
from sklearn.utils.validation import check_is_fitted

from maxmargin.dask.cluster import DaskBlocks, current_client
from maxmargin.dask.fitting import check_blocks, refuse, training_of
from maxmargin.dask.inputs import blocks_of, column_names, is_distributed
from maxmargin.dask.lazy import map_rows, predictions
from maxmargin.estimators import linear_rank_svm
from maxmargin.io.blocks import Blocks
from maxmargin.models.model import NO_CLASSES, Model, PairSummary
from maxmargin.problems.ranking import NothingToRankError, Ranks
from maxmargin.solvers.block import Block, Learning
from maxmargin.solvers.cuts_by_rounds import count_pairs_of, cut_by_rounds
from maxmargin.solvers.deadline import Deadline
from maxmargin.solvers.round_watch import Watch
from maxmargin.solvers.rounds import Request, Summary, run_methods

#: Parameters that have no meaning on a cluster.
FIXED = {"solver": "auto", "warm_start": False, "n_jobs": None, "checkpoint": None}


class LinearRankSVM(linear_rank_svm.LinearRankSVM):
    """Linear ranking SVM over a Dask cluster, trained to a certified duality gap.

    It minimises the same objective as `maxmargin.LinearRankSVM`, by cutting planes. All rows of a group (``qid``) must
    lie in one block. ``solver``, ``warm_start``, ``n_jobs`` and ``checkpoint`` keep their defaults, or `fit` says so;
    ``max_iter`` counts rounds.

    Examples
    --------
    >>> import dask.array as da
    >>> import numpy as np
    >>> from dask.distributed import Client
    >>> from maxmargin.dask import LinearRankSVM
    >>> X = da.from_array(np.arange(12.0).reshape(6, 2), chunks=(3, -1))
    >>> y, qid = da.from_array(np.tile([0, 1, 2], 2), chunks=3), da.from_array(np.repeat([0, 1], 3), chunks=3)
    >>> with Client(processes=False, n_workers=1, dashboard_address=":0") as client:
    ...     model = LinearRankSVM().fit(X, y, qid=qid)
    ...     share = model.score(X, y, qid=qid)
    >>> model.converged_, share
    (True, 1.0)
    """

    @with_callbacks
    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None, qid: Any = None, sample_weight: Any = None) -> LinearRankSVM:
        """Train on rows ``X`` with ranks ``y``.

        Parameters
        ----------
        X : dask array, dask dataframe, list of delayed blocks or folder of blocks
            Rows, of dense or sparse blocks. A folder, from ``open_blocks``, brings labels, weights and groups.
        y : dask array, dask series or list of delayed blocks
            Numbers: a larger one means a higher rank.
        qid : dask array, dask series or list of delayed blocks, default=None
            The group of each row; a group lies within one block. None is one group, and needs one block.
        sample_weight : dask array, dask series or list of delayed blocks, default=None
            Weight of each row; a pair counts by the product of its two.

        Returns
        -------
        LinearRankSVM
            The estimator itself.
        """
        refuse(self, FIXED)
        deadline = Deadline(self.time_limit)
        delayed = blocks_of(X, {"y": y, "qid": qid, "sample_weight": sample_weight})
        names = column_names(X)
        with DaskBlocks(delayed, current_client()) as blocks:
            _, features = check_blocks(blocks)
            with_groups = qid is not None or (isinstance(X, Blocks) and X.manifest["qid"])
            _check_groups(blocks, with_groups)
            blocks.bind(Learning.of_ranks(C=self.C), None)
            pairs = blocks.ask({0: Request(count_pairs_of, None, fresh=True, keeps=True)})[0]["pairs"]
            if pairs == 0:
                raise NothingToRankError("there is nothing to rank: no two rows of one group have different labels")
            self.n_features_in_ = features
            progress = self._start_callbacks(X, y, qid, sample_weight)
            watch = Watch(
                "cutting_plane",
                features,
                self.C,  # every pair has a loss of 1 when all weights are zero
                tol=self.tol,
                max_iter=self.max_iter,
                deadline=deadline,
                callback=progress.report if progress.listens else None,
            )
            progress.begin()
            [(found, counts)] = run_methods([cut_by_rounds(self.C, features, pairs, watch)], blocks)
            progress.end()
            training = training_of(blocks, [found], PairSummary(counts[0], counts[1], counts[2], int(counts[3])))
        for attribute in ("feature_names_in_", "dual_coef_", "support_", "_points"):
            self.__dict__.pop(attribute, None)
        if names is not None:
            self.feature_names_in_ = np.array(names, dtype=object)
        self._set(
            Model(
                estimator="LinearRankSVM",
                parameters=self.get_params(deep=False),
                classes=NO_CLASSES,
                coef=watch.weights[np.newaxis, :-1],
                intercept=np.zeros(1),
                training=training,
            )
        )
        self._with_qid = with_groups
        self._warn_unless_converged(training, None)
        return self

    def decision_function(self, X: Any) -> Any:
        """Scores of the rows: lazily, as a dask collection, if ``X`` is one."""
        if not is_distributed(X):
            return super().decision_function(X)
        check_is_fitted(self, "coef_")
        return map_rows(X, self._to_model(), predictions, np.float64)

    def score(self, X: Any, y: Any = None, qid: Any = None, sample_weight: Any = None) -> float:
        """Share of the pairs that are in the right order, computed on the cluster if ``X`` lies there."""
        if not is_distributed(X):
            return super().score(X, y, qid, sample_weight)
        if y is None:
            raise ValueError("score of a dask collection needs y, the true values of its rows")
        check_is_fitted(self, "coef_")
        delayed = blocks_of(X, {"y": y, "qid": qid, "sample_weight": sample_weight})
        with DaskBlocks(delayed, current_client()) as blocks:
            _check_groups(blocks, qid is not None)
            told = blocks.total(_count_order, self._to_model())
        if told["all"] == 0:
            raise NothingToRankError("there is nothing to rank: no two rows of one group have different labels")
        return float(1.0 - (told["swapped"] + 0.5 * told["tied"]) / told["all"])


def _check_groups(blocks: DaskBlocks, with_groups: bool) -> None:
    """An error unless every group lies in one block."""
    if not with_groups:
        if len(blocks) > 1:
            raise ValueError(
                f"without qid all rows are one group, which must lie in one block, and X has {len(blocks)}; pass qid, "
                "or rechunk to one block"
            )
        return
    told = blocks.total(_describe_groups)
    groups = np.concatenate(told["groups"])
    numbers = np.repeat(told["numbers"], [len(each) for each in told["groups"]])
    order = np.argsort(groups, kind="stable")
    twice = np.flatnonzero(groups[order][1:] == groups[order][:-1])
    if len(twice):
        first, second = numbers[order[twice[0]]], numbers[order[twice[0] + 1]]
        group = groups[order[twice[0]]].item()
        raise ValueError(
            f"the rows of group {group!r} lie in blocks {first} and {second}, but a group must lie in one block; sort "
            "by qid and set the chunks (or divisions) at the ends of groups, such as "
            "frame.set_index('qid') of a dask dataframe does"
        )


def _describe_groups(block: Block) -> Summary:
    return {"groups": [np.unique(block.qid)] if block.qid is not None else [], "numbers": [block.number]}


def _count_order(block: Block, model: Model) -> Summary:
    try:
        ranks = Ranks(block.y, block.qid, block.weight)
    except NothingToRankError:
        return {"all": 0.0, "swapped": 0.0, "tied": 0.0}
    counts = ranks.count(model.scores(block.X).ravel())
    return {"all": counts.all.sum(), "swapped": counts.swapped.sum(), "tied": counts.tied.sum()}
