"""The regressor over a Dask cluster."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import _fit_context
from sklearn.callback import with_callbacks
from sklearn.utils.validation import check_is_fitted

from maxmargin.dask.cluster import DaskBlocks, current_client
from maxmargin.dask.fitting import check_blocks, check_solver, fit_blocks, refuse, training_of
from maxmargin.dask.inputs import blocks_of, column_names, is_distributed
from maxmargin.dask.lazy import map_rows, predictions
from maxmargin.estimators import linear_svr
from maxmargin.estimators.base import seed_of
from maxmargin.estimators.progress import follow
from maxmargin.models.model import NO_CLASSES, Model
from maxmargin.problems.regression import LARGEST_TARGET, regression_loss
from maxmargin.solvers.block import Block, Learning
from maxmargin.solvers.deadline import Deadline
from maxmargin.solvers.rounds import Summary

#: Parameters that have no meaning on a cluster.
FIXED = {
    "penalize_intercept": True,
    "shrinking": True,
    "warm_start": False,
    "n_jobs": None,
    "pack": True,
    "checkpoint": None,
}


class LinearSVR(linear_svr.LinearSVR):
    """Linear support vector regression over a Dask cluster, trained to a certified duality gap.

    It minimises the same objective as `maxmargin.LinearSVR` and has the same parameters, but for those that have no
    meaning on a cluster: ``penalize_intercept=False``, ``shrinking``, ``warm_start``, ``n_jobs``, ``pack`` and
    ``checkpoint`` keep their defaults, or `fit` says so. ``max_iter`` counts rounds. There is no ``dual_coef_``.

    Parameters
    ----------
    solver : {"auto", "newton", "dcd"}, default="auto"
        As in `maxmargin.dask.LinearSVC`.

    Examples
    --------
    >>> import dask.array as da
    >>> from dask.distributed import Client
    >>> from sklearn.datasets import load_diabetes
    >>> from maxmargin.dask import LinearSVR
    >>> X, y = load_diabetes(return_X_y=True)
    >>> X, y = da.from_array(X, chunks=(100, -1)), da.from_array(y, chunks=100)
    >>> with Client(processes=False, n_workers=1, dashboard_address=":0") as client:
    ...     model = LinearSVR(loss="squared_epsilon_insensitive", C=10.0).fit(X, y)
    >>> model.converged_
    True
    """

    @with_callbacks
    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> LinearSVR:
        """Train on rows ``X`` with targets ``y``.

        Parameters
        ----------
        X : dask array, dask dataframe, list of delayed blocks or folder of blocks
            Rows, of dense or sparse blocks. A folder, from ``open_blocks``, brings labels, weights and groups.
        y : dask array, dask series or list of delayed blocks
            The numbers to predict, in the blocks of ``X``.
        sample_weight : dask array, dask series or list of delayed blocks, default=None
            Weight of each row.

        Returns
        -------
        LinearSVR
            The estimator itself.
        """
        refuse(self, FIXED)
        solver = check_solver(self.solver, self.dual)
        deadline = Deadline(self.time_limit)
        loss = regression_loss(self.loss, self.epsilon)
        bias = self.intercept_scaling if self.fit_intercept else 0.0
        delayed = blocks_of(X, {"y": y, "sample_weight": sample_weight})
        names = column_names(X)
        with DaskBlocks(delayed, current_client()) as blocks:
            rows, features = check_blocks(blocks)
            told = blocks.total(_describe_targets)
            if told["unfit"]:
                raise ValueError(f"y must hold finite numbers of at most {LARGEST_TARGET:g}")
            self.n_features_in_ = features
            found = fit_blocks(
                blocks,
                Learning.of_numbers(C=self.C, loss=loss, bias=bias),
                rows,
                features,
                solver=solver,
                tol=self.tol,
                max_iter=self.max_iter,
                deadline=deadline,
                seed=seed_of(self.random_state),
                listeners=[
                    follow(
                        self,
                        {"X": X, "y": y, "metadata": {"sample_weight": sample_weight}},
                        lambda weights: {"coef_": weights[:-1], "intercept_": bias * weights[-1:]},
                    )
                ],
            )
            training = training_of(blocks, found)
        weights = found[0].watch.weights
        for attribute in ("feature_names_in_", "dual_coef_", "support_"):
            self.__dict__.pop(attribute, None)
        if names is not None:
            self.feature_names_in_ = np.array(names, dtype=object)
        self._set(
            Model(
                estimator="LinearSVR",
                parameters=self.get_params(deep=False),
                classes=NO_CLASSES,
                coef=weights[np.newaxis, :-1],
                intercept=bias * weights[-1:],
                training=training,
            )
        )
        self._warn_unless_converged(training, None)
        return self

    def predict(self, X: Any) -> Any:
        """The numbers that the model predicts: lazily, as a dask collection, if ``X`` is one."""
        if not is_distributed(X):
            return super().predict(X)
        check_is_fitted(self, "coef_")
        return map_rows(X, self._to_model(), predictions, np.float64)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """The coefficient of determination, computed on the cluster if ``X`` lies there."""
        if not is_distributed(X):
            return float(super().score(X, y, sample_weight))
        if y is None:
            raise ValueError("score of a dask collection needs y, the true values of its rows")
        check_is_fitted(self, "coef_")
        with DaskBlocks(blocks_of(X, {"y": y, "sample_weight": sample_weight}), current_client()) as blocks:
            sums = blocks.total(_sum_targets)
            mean = sums["sum"] / sums["all"]
            told = blocks.total(_sum_squares, self._to_model(), mean)
        return float(1.0 - told["residual"] / told["around_mean"])


def _describe_targets(block: Block) -> Summary:
    if block.y.dtype.kind not in "iufb":
        raise ValueError(f"y of block {block.number} must hold numbers to predict, not {block.y.dtype}")
    return {"unfit": int(np.sum(~(np.abs(block.y.astype(np.float64)) <= LARGEST_TARGET)))}


def _weight_of(block: Block) -> Any:
    return np.ones(len(block.y)) if block.weight is None else block.weight


def _sum_targets(block: Block) -> Summary:
    weight = _weight_of(block)
    return {"sum": float(weight @ block.y), "all": float(weight.sum())}


def _sum_squares(block: Block, model: Model, mean: float) -> Summary:
    weight = _weight_of(block)
    found = model.predict(block.X) if len(block.y) else np.zeros(0)
    return {"residual": float(weight @ (block.y - found) ** 2), "around_mean": float(weight @ (block.y - mean) ** 2)}
