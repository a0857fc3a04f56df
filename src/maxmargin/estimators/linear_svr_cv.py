"""Linear support vector regression that chooses its own C."""

from __future__ import annotations

from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import _fit_context
from sklearn.callback import with_callbacks
from sklearn.model_selection import check_cv
from sklearn.utils.validation import _check_sample_weight, check_consistent_length, validate_data

from maxmargin.estimators.base import seed_of
from maxmargin.estimators.linear_svr import LinearSVR
from maxmargin.estimators.searching import SearchesC, Steps, scorer_of
from maxmargin.models.model import Model
from maxmargin.problems.losses import Floats
from maxmargin.problems.matrix import Matrix
from maxmargin.solvers.deadline import Deadline
from maxmargin.solvers.method import Method
from maxmargin.solvers.threads import count_threads
from maxmargin.training.cross_validation import Held, cross_validate
from maxmargin.training.streaming import must_load
from maxmargin.training.tasks import Regression


class LinearSVRCV(SearchesC, LinearSVR):
    """Linear support vector regression that chooses C by cross-validation.

    All folds are trained on one matrix, from which rows are left out by weight zero; each C is seeded by the one
    before.

    Parameters
    ----------
    loss, epsilon
        As in `LinearSVR`.
    Cs : int or array, default=13
        Values of C to try; a number means that many between 1e-3 and 1e3, evenly on a logarithmic scale. Good values
        depend on the scale of the targets.
    cv : int, splitter or iterable, default=None
        The folds, as in scikit-learn; None means 5.
    scoring : str or callable, default=None
        What is to be highest: None is R2; else a scorer of scikit-learn, by name or as a function.
    rule : {"best", "one_standard_error"}, default="best"
        Which C to take: that of the highest mean score (the smallest among equal ones), or the smallest whose mean is
        within one standard error of that.
    refit : bool, default=True
        Whether to train on all rows with the chosen C; without it there is no model to predict with.
    dual, solver, tol, max_iter, fit_intercept, penalize_intercept, intercept_scaling, shrinking, pack, time_limit, \
random_state, verbose
        As in `LinearSVR`; the time limit is for everything.
    n_jobs : int, default=None
        Threads over folds; the result does not depend on it.

    Attributes
    ----------
    C_, Cs_, scores_, best_score_, best_index_, best_params_, cv_results_, n_splits_, coef_, intercept_, ...
        The search, as in `LinearSVCCV`, and the model trained on all rows, as in `LinearSVR`.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from maxmargin import LinearSVRCV
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = LinearSVRCV(Cs=[100.0, 1e3, 1e4], penalize_intercept=False).fit(X, y)
    >>> model.scores_.shape, model.C_, model.score(X, y) > 0.5
    ((5, 3), 1000.0, True)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **{
            name: constraint
            for name, constraint in LinearSVR._parameter_constraints.items()
            if name not in ("C", "warm_start", "checkpoint", "checkpoint_interval")
        },
        **SearchesC.search_constraints,
        "n_jobs": [None, Integral],
    }

    def __init__(
        self,
        loss: str = "epsilon_insensitive",
        *,
        epsilon: float = 0.0,
        Cs: int | ArrayLike = 13,
        cv: Any = None,
        scoring: Any = None,
        rule: str = "best",
        refit: bool = True,
        dual: bool | str = "auto",
        solver: str | Method = "auto",
        tol: float = 1e-3,
        max_iter: int = 10_000,
        fit_intercept: bool = True,
        penalize_intercept: bool = True,
        intercept_scaling: float = 1.0,
        shrinking: bool = True,
        n_jobs: int | None = None,
        pack: bool = True,
        time_limit: float | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ) -> None:
        self._keep(locals())

    @with_callbacks
    @_fit_context(prefer_skip_nested_validation=True)
    def fit(
        self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None, groups: ArrayLike | None = None
    ) -> LinearSVRCV:
        """Choose C by cross-validation, then train on all rows.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            Rows.
        y : array of shape (n_samples,)
            The numbers to predict.
        sample_weight : array of shape (n_samples,), default=None
            Weight of each row in training; scores of rows left out are not weighted.
        groups : array of shape (n_samples,), default=None
            Groups of rows for splitters that want them.

        Returns
        -------
        LinearSVRCV
            The estimator itself.
        """
        method = self._method()
        deadline = Deadline(self.time_limit)
        X, y, sample_weight, _ = must_load("LinearSVRCV", X, y, sample_weight)
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=[np.float64, np.float32], order="C", y_numeric=True)
        check_consistent_length(X, groups)
        weight: Floats | None = None
        if sample_weight is not None:
            weight = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        bias = self.intercept_scaling if self.fit_intercept else 0.0
        task = Regression(Matrix(X), y, self.loss, self.epsilon, bias, self.penalize_intercept, weight)
        folds = list(check_cv(self.cv, y).split(X, y, groups))
        Cs = self._grid()
        left = deadline.left()
        options: dict[str, Any] = {
            "tol": self.tol,
            "max_iter": self.max_iter,
            "pack": self.pack,
            "seed": seed_of(self.random_state),
        }
        result = cross_validate(
            task,
            Cs.tolist(),
            folds,
            score=scorer_of(self.scoring, self, X, y, np.ravel, self._model_of),
            on_step=Steps(self, len(Cs) * len(folds), X, y),
            solver=method,
            n_jobs=count_threads(self.n_jobs),
            time_limit=None if left is None else 0.8 * left,
            **options,
        )
        self._take(result)
        self._warn_about_folds(result)
        if self.refit:
            solved = task.solve(self.C_, method, None, time_limit=deadline.left(), **options)
            model = Model.of_regression(solved.problems[0], solved.solutions[0], self._plain_parameters(self.C_))
            self._set(model)
            self._warn_unless_converged(model.training, X)
        self._callback_fit_ctx.call_on_fit_task_end(estimator=self, X=X, y=y)
        return self

    def _model_of(self, held: Held) -> LinearSVR:
        """One fold's model as an estimator."""
        model = LinearSVR(**self._plain_parameters(held.solved.C))
        model.n_features_in_ = self.n_features_in_
        coef, model.intercept_ = held.task.coefficients(held.solved)
        model.coef_ = coef.ravel()
        return model

    def _plain_parameters(self, C: float) -> dict[str, Any]:
        """Those of the `LinearSVR` that a model with this C is."""
        own = self.get_params(deep=False)
        plain = {name: own[name] for name in LinearSVR().get_params(deep=False) if name in own}
        return {**plain, "C": C, "warm_start": False}

    def _to_model(self) -> Model:
        """A model file holds the `LinearSVR` that was chosen."""
        return super()._to_model_as("LinearSVR", self._plain_parameters(self.C_))
