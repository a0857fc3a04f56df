"""Probabilities for `LinearSVC`: fitted to scores of rows that folds have left out."""

from __future__ import annotations

from collections.abc import Callable
from functools import update_wrapper
from types import MethodType, SimpleNamespace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.model_selection import check_cv

from maxmargin.estimators.base import seed_of
from maxmargin.estimators.multilabel import is_multilabel_target
from maxmargin.models.calibration import CALIBRATIONS, Calibration, fit_calibration
from maxmargin.problems.certificate import Certificate
from maxmargin.problems.losses import Floats
from maxmargin.solvers.method import Method
from maxmargin.solvers.threads import count_threads
from maxmargin.training.classification import measure_of
from maxmargin.training.folds import fold_groups, group_of
from maxmargin.training.streaming import must_load
from maxmargin.training.tasks import Classification

#: The gap that folds need for a calibration, in units of that of the fit.
FOLD_TOL = 30.0


class _OnceCalibrated:
    """A method that a model has once it is calibrated; before that it is missing, with advice as the cause."""

    def __init__(self, method: Callable[..., Floats]) -> None:
        self.method = method
        update_wrapper(self, method)  # type: ignore[arg-type]

    def __get__(self, estimator: Any, owner: Any = None) -> Any:
        if estimator is None:
            return self.method
        if not hasattr(estimator, "calibration_"):
            raise AttributeError(
                f"{type(estimator).__name__!r} object has no attribute {self.method.__name__!r}"
            ) from AttributeError(
                "this model has no probabilities; use LinearSVCCV(calibrate='sigmoid'), or calibrated(X, y) instead of "
                "fit"
            )
        return MethodType(self.method, estimator)


class CalibrationMixin:
    """Probabilities of the classes, and the fit that makes them."""

    classes_: NDArray[Any]
    calibration_: Calibration

    #: Where `calibrated` gets the matrix and the labels of a fit from.
    _shared: list[Any] | None = None

    # Of the estimator that has these methods.
    solver: str | Method
    multi_class: str
    loss: str
    penalty: str
    penalize_intercept: bool
    class_weight: dict[Any, float] | str | None
    C: float
    tol: float
    max_iter: int
    pack: bool
    n_jobs: int | None
    random_state: Any
    coef_: Any
    intercept_: Floats
    dual_coef_: Any
    primal_objective_: Any
    dual_objective_: Any
    solver_used_: Any
    fit: Any
    _scores: Any
    _constant: Any
    _method: Any
    _starts_of: Any

    @_OnceCalibrated
    def predict_proba(self, X: Any) -> Floats:
        """Probabilities of the classes, for a model that was calibrated.

        By ``LinearSVCCV(calibrate=...)``, or `calibrated`. They come from scores of rows that were left out.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            In the order of ``classes_``; rows add up to 1.
        """
        return self.calibration_.probabilities(self._scores(X))

    @_OnceCalibrated
    def predict_log_proba(self, X: Any) -> Floats:
        """The logarithm of `predict_proba`."""
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.predict_proba(X)))

    def calibrated(
        self,
        X: Any,
        y: Any,
        sample_weight: ArrayLike | None = None,
        *,
        method: str = "sigmoid",
        cv: Any = 3,
        groups: ArrayLike | None = None,
    ) -> Self:
        """Fit, and fit probabilities to scores of rows left out.

        The folds share one matrix and start from the solution of the fit of all rows, less the variables of the fold.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            Rows.
        y : array of shape (n_samples,)
            Labels.
        sample_weight : array of shape (n_samples,), default=None
            Weight of each row, in training and in the fit of the probabilities.
        method : {"sigmoid", "isotonic", "temperature"}, default="sigmoid"
            How scores become probabilities.
        cv : int, splitter or iterable, default=3
            The folds, as in scikit-learn; every row should be left out once.
        groups : array of shape (n_samples,), default=None
            Groups of rows for splitters that want them.

        Returns
        -------
        LinearSVC
            The estimator itself, fitted, with ``predict_proba``.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from maxmargin import LinearSVC
        >>> X, y = load_iris(return_X_y=True)
        >>> LinearSVC().calibrated(X, y).predict_proba(X[:1]).shape
        (1, 3)
        """
        if method not in CALIBRATIONS:
            raise ValueError(f"method={method!r} is unknown; choose from {list(CALIBRATIONS)}")
        if is_multilabel_target(y):
            raise ValueError("calibrated needs one label for each row; y is an indicator matrix of several labels")
        X, y, sample_weight, _ = must_load("a calibration", X, y, sample_weight)
        shared: list[Any] = []
        self._shared = shared
        try:
            self.fit(X, y, sample_weight)
        finally:
            del self._shared
        matrix, labels = shared  # with its norms and its packed copy the matrix serves the folds as well
        classes = self.classes_
        weight = None if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
        task = Classification(
            matrix,
            labels,
            len(classes),
            multi_class=self.multi_class,
            loss=self.loss,
            bias=self._constant(),
            penalize_bias=self.penalize_intercept,
            penalty=self.penalty,
            weights=weight,
            class_weight=self.class_weight,
            classes=classes,
        )
        starts = self._starts_of(self.dual_coef_)
        if self.multi_class == "ovr" and self.penalty == "l2" and measure_of(self.solver) is None:
            # Newton's method starts from weights, coordinate descent from variables.
            weights = np.column_stack([self.coef_, self.intercept_ / (task.bias or 1.0)])
            values = zip(np.atleast_1d(self.primal_objective_), np.atleast_1d(self.dual_objective_), strict=True)
            starts = [
                SimpleNamespace(alpha=alpha, weights=own, certificate=Certificate(float(primal), float(dual)))
                for alpha, own, (primal, dual) in zip(starts, weights, values, strict=True)
            ]
        held_out = np.full((len(labels), task.columns), np.nan)
        folds = list(check_cv(cv, labels, classifier=True).split(matrix.X, classes[labels], groups))
        tasks = [task.on(np.bincount(train, minlength=len(labels)).astype(np.float64)) for train, _ in folds]
        options: dict[str, Any] = {
            # Two or three numbers are fitted to all scores, of which none has to be exact.
            "tol": FOLD_TOL * self.tol,
            "max_iter": self.max_iter,
            "pack": self.pack,
            "seed": seed_of(self.random_state),
            "n_jobs": count_threads(self.n_jobs),
        }
        solvers = [self.solver_used_] if isinstance(self.solver_used_, str) else self.solver_used_
        for group in fold_groups(tasks, self._method()):
            own = [tasks[fold] for fold in group]
            known = [starts if len(each.present) == len(classes) else None for each in own]
            solved = group_of(own, self._method()).begin(self.C, known, solvers, **options)
            for fold, its_task, found in zip(group, own, solved, strict=True):
                test = folds[fold][1]
                held_out[test] = its_task.scores(found, test)
        self.calibration_ = fit_calibration(method, held_out, labels, len(classes), weight)
        return self
