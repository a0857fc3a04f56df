"""Labels of an indicator matrix, for `LinearSVC`: any number of labels for each row."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import check_is_fitted

from maxmargin.estimators.base import seed_of
from maxmargin.estimators.progress import Progress, UnderWay, follow_classes
from maxmargin.io.files import PathLike
from maxmargin.models.model import Training
from maxmargin.problems.losses import Floats
from maxmargin.problems.matrix import Matrix
from maxmargin.solvers.deadline import Deadline
from maxmargin.solvers.method import Method
from maxmargin.solvers.threads import count_threads
from maxmargin.training.multilabel import Indicator, train_multilabel


class MultilabelMixin:
    """Training on an indicator matrix."""

    _multilabel: str | None = None
    # Of the estimator that has these methods.
    multi_class: str
    C: float
    tol: float
    max_iter: int
    pack: bool
    n_jobs: int | None
    random_state: Any
    checkpoint: PathLike | None
    checkpoint_interval: float
    dual_coef_: Any
    get_params: Any
    _check_starts: Any
    _constant: Any
    _callback_fit_ctx: Any
    _set: Any

    def _train_labels(
        self, X: Any, Y: Any, weight: Floats | None, method: Method, deadline: Deadline
    ) -> Training | None:
        """Train each label of an indicator matrix and take the fitted attributes."""
        if self.multi_class != "ovr":
            raise ValueError(f"labels of a matrix y are trained by multi_class='ovr', not {self.multi_class!r}")
        classes = np.arange(Y.shape[1])
        indicator = Indicator.of_matrix(Y)
        warn_of_constant_labels(indicator, weight)
        kind = "sparse" if issparse(Y) else "dense"

        def listeners(learned: list[int]) -> Sequence[Progress]:
            # A label that is not learned has a score of +1 or -1.
            under_way = UnderWay(
                classes, learned, self._constant(), kind, indicator.constant(weight).astype(np.float64)
            )
            return follow_classes(self, {"X": X, "y": Y, "metadata": {"sample_weight": weight}}, under_way)

        model = train_multilabel(
            Matrix(X),
            indicator,
            self.C,
            self.get_params(deep=False),
            classes,
            sparse_output=issparse(Y),
            sample_weight=weight,
            solver=method,
            dual_coef=self.dual_coef_ if self._check_starts(Y.shape[1], X.shape[0]) else None,
            listeners=listeners,
            n_jobs=count_threads(self.n_jobs),
            checkpoint=self.checkpoint,
            checkpoint_interval=self.checkpoint_interval,
            seed=seed_of(self.random_state),
            time_limit=deadline.left(reserve=deadline.spent()),
            tol=self.tol,
            max_iter=self.max_iter,
            pack=self.pack,
        )
        self._set(model)
        self._callback_fit_ctx.call_on_fit_task_end(estimator=self, X=X, y=Y)
        return model.training

    @property
    def multilabel_(self) -> bool:
        """Whether the model was trained on an indicator matrix."""
        check_is_fitted(self)
        return self._multilabel is not None


def is_multilabel_target(y: Any) -> bool:
    """Whether labels are a matrix of zeros and ones with several columns."""
    if not issparse(y):
        if isinstance(y, np.ndarray) and y.ndim < 2:
            return False
        y = np.asarray(y)
    return bool(y.ndim == 2 and y.shape[1] > 1 and type_of_target(y) == "multilabel-indicator")


def warn_of_constant_labels(indicator: Indicator, weight: Floats | None) -> None:
    """Say which labels cannot be learned."""
    constant = np.flatnonzero(indicator.constant(weight))
    if len(constant):
        shown = ", ".join(map(str, constant[:10].tolist())) + (", ..." if len(constant) > 10 else "")
        # The level is that of the user's line: past this function, two methods and the two decorators of fit.
        warnings.warn(
            f"{len(constant)} of {indicator.n_labels} labels have the same value in all rows, which the model gives to "
            f"every row: label {shown}",
            stacklevel=6,
        )
