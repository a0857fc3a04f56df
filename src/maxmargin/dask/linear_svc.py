"""The classifier over a Dask cluster."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import _fit_context
from sklearn.callback import with_callbacks
from sklearn.utils.validation import check_is_fitted

from maxmargin.dask.cluster import DaskBlocks, current_client
from maxmargin.dask.fitting import check_blocks, check_solver, describe_labels, fit_blocks, refuse, training_of
from maxmargin.dask.inputs import blocks_of, column_names, is_distributed
from maxmargin.dask.lazy import map_rows, predictions, scores
from maxmargin.estimators import linear_svc
from maxmargin.estimators.base import seed_of
from maxmargin.models.model import Model
from maxmargin.problems.losses import Floats
from maxmargin.solvers.block import Block, Learning
from maxmargin.solvers.deadline import Deadline
from maxmargin.solvers.rounds import Summary
from maxmargin.training.classification import check_memory, problems_of
from maxmargin.training.weights import class_weights

#: Parameters that have no meaning on a cluster.
FIXED = {
    "penalty": "l2",
    "multi_class": "ovr",
    "penalize_intercept": True,
    "shrinking": True,
    "warm_start": False,
    "n_jobs": None,
    "pack": True,
    "checkpoint": None,
}


class LinearSVC(linear_svc.LinearSVC):
    """Linear support vector classifier over a Dask cluster, trained to a certified duality gap.

    It minimises the same objective as `maxmargin.LinearSVC` and has the same parameters, but for those that have no
    meaning on a cluster: ``multi_class`` other than "ovr", ``penalize_intercept=False``, ``shrinking``, ``warm_start``,
    ``n_jobs``, ``pack`` and ``checkpoint`` keep their defaults, or `fit` says so. ``max_iter`` counts rounds.

    The model depends on the blocks and on the parameters, not on the workers: their number, their speed, or whether
    some of them die. It is an ordinary model: it labels arrays in memory, and `maxmargin.save_model` writes it to a
    file that `maxmargin.load_model` and the command read. Dual variables stay on the cluster: there is no
    ``dual_coef_``.

    Parameters
    ----------
    solver : {"auto", "newton", "dcd"}, default="auto"
        "newton" is Newton's method, by the Hessians of blocks up to 1,024 features, and by products with it for more,
        which needs a squared loss. "dcd" is dual coordinate descent within the blocks. "auto" takes "newton" wherever
        it can.

    Examples
    --------
    >>> import dask.array as da
    >>> from dask.distributed import Client
    >>> from sklearn.datasets import load_breast_cancer
    >>> from maxmargin.dask import LinearSVC
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> X, y = da.from_array(X, chunks=(100, -1)), da.from_array(y, chunks=100)
    >>> with Client(processes=False, n_workers=1, dashboard_address=":0") as client:
    ...     model = LinearSVC(C=0.1).fit(X, y)
    ...     share = model.score(X, y)
    >>> model.converged_, share > 0.95
    (True, True)
    """

    @with_callbacks
    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> LinearSVC:
        """Train on rows ``X`` with labels ``y``.

        Parameters
        ----------
        X : dask array, dask dataframe, list of delayed blocks or folder of blocks
            Rows, of dense or sparse blocks. A block is what one task works on; some hundred megabytes are a good size.
            A folder, from ``open_blocks``, brings labels, weights and groups.
        y : dask array, dask series or list of delayed blocks
            Labels, in the blocks of ``X``.
        sample_weight : dask array, dask series or list of delayed blocks, default=None
            Weight of each row.

        Returns
        -------
        LinearSVC
            The estimator itself.
        """
        refuse(self, FIXED)
        solver = check_solver(self.solver, self.dual)
        deadline = Deadline(self.time_limit)
        delayed = blocks_of(X, {"y": y, "sample_weight": sample_weight})
        names = column_names(X)
        with DaskBlocks(delayed, current_client()) as blocks:
            rows, features = check_blocks(blocks)
            classes, shares = _classes_of(blocks.total(describe_labels))
            check_memory(features, len(classes))
            weights = None
            if self.class_weight is not None:
                weights = class_weights(self.class_weight, classes, np.arange(len(classes)), shares)
            learning = Learning.of_classes(
                classes,
                C=self.C,
                loss=self.loss,
                bias=self._constant(),
                class_weights=weights,
            )
            self.n_features_in_ = features
            found = fit_blocks(
                blocks,
                learning,
                rows,
                features,
                solver=solver,
                tol=self.tol,
                max_iter=self.max_iter,
                deadline=deadline,
                seed=seed_of(self.random_state),
                listeners=self._start_callbacks(X, y, sample_weight, classes, problems_of("ovr", len(classes))),
            )
            training = training_of(blocks, found)
        weights_found = np.array([each.watch.weights for each in found])
        self._forget(names)
        self._set(
            Model(
                estimator="LinearSVC",
                parameters=self.get_params(deep=False),
                classes=classes,
                coef=weights_found[:, :-1],
                intercept=self._constant() * weights_found[:, -1],
                training=training,
            )
        )
        if len(found) > 1:
            self._callback_fit_ctx.call_on_fit_task_end(estimator=self, X=X, y=y)
        self._warn_unless_converged(training, None)
        return self

    def decision_function(self, X: Any) -> Any:
        """Scores of the rows: lazily, as a dask collection, if ``X`` is one."""
        if not is_distributed(X):
            return super().decision_function(X)
        check_is_fitted(self, "coef_")
        columns = None if len(self.classes_) == 2 else len(self.classes_)
        return map_rows(X, self._to_model(), scores, np.float64, columns)

    def predict(self, X: Any) -> Any:
        """Labels of the rows: lazily, as a dask collection, if ``X`` is one."""
        if not is_distributed(X):
            return super().predict(X)
        check_is_fitted(self, "coef_")
        return map_rows(X, self._to_model(), predictions, self.classes_.dtype)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Share of the rows that get their own label, computed on the cluster if ``X`` lies there."""
        if not is_distributed(X):
            return float(super().score(X, y, sample_weight))
        if y is None:
            raise ValueError("score of a dask collection needs y, the true values of its rows")
        check_is_fitted(self, "coef_")
        with DaskBlocks(blocks_of(X, {"y": y, "sample_weight": sample_weight}), current_client()) as blocks:
            told = blocks.total(_count_right, self._to_model())
        return float(told["right"] / told["all"])

    def _forget(self, names: list[str] | None) -> None:
        """Drop what an earlier fit left; keep the names of the columns."""
        for attribute in ("feature_names_in_", "dual_coef_", "support_"):
            self.__dict__.pop(attribute, None)
        if names is not None:
            self.feature_names_in_ = np.array(names, dtype=object)


def _classes_of(told: Summary) -> tuple[NDArray[Any], Floats]:
    """The classes of all blocks, and how much the rows of each weigh."""
    labels = np.concatenate(told["labels"])
    classes, index = np.unique(labels, return_inverse=True)
    if len(classes) < 2:
        raise ValueError(f"y holds one class only, {classes.tolist()[0]!r}; a classifier needs at least two classes")
    if classes.dtype.kind == "f" and np.any(classes != np.rint(classes)):
        fraction = classes[classes != np.rint(classes)].tolist()[0]
        raise ValueError(f"y holds numbers that are no labels, such as {fraction}; LinearSVR predicts numbers")
    shares = np.concatenate([share for share in told["shares"] if len(share)])
    return classes, np.bincount(index, weights=shares).astype(np.float64)


def _count_right(block: Block, model: Model) -> Summary:
    weight = np.ones(len(block.y)) if block.weight is None else block.weight
    right = model.predict(block.X) == block.y if len(block.y) else np.zeros(0, dtype=bool)
    return {"right": float(weight[right].sum()), "all": float(weight.sum())}
