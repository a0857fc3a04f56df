"""A fitted estimator as one of scikit-learn's own, which predicts the same."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.linear_model import LinearRegression
from sklearn.svm import LinearSVC as TheirLinearSVC


def classifier_twin(estimator: Any) -> TheirLinearSVC:
    """scikit-learn's LinearSVC with the weights of ours; warns where it could not be trained alike."""
    if estimator.multilabel_:
        raise ValueError("scikit-learn's LinearSVC has one label for each row; this model has any number of them")
    differs = [
        f"{name}={getattr(estimator, name)!r}"
        for name, known in (
            ("loss", ("hinge", "squared_hinge")),
            ("multi_class", ("ovr", "crammer_singer")),
            ("penalize_intercept", (True,)),
        )
        if getattr(estimator, name) not in known
    ]
    if differs:
        warnings.warn(
            f"scikit-learn's LinearSVC has no {' and '.join(differs)}: the twin predicts the same, but to fit it again "
            "would solve another problem",
            stacklevel=3,
        )
    loss = estimator.loss if estimator.loss in ("hinge", "squared_hinge") else "squared_hinge"
    twin = TheirLinearSVC(
        loss=loss,
        penalty=estimator.penalty,
        dual=True if loss == "hinge" else False if estimator.penalty == "l1" else "auto",
        C=estimator.C_ if hasattr(estimator, "C_") else estimator.C,
        multi_class="crammer_singer" if estimator.multi_class == "crammer_singer" else "ovr",
        fit_intercept=estimator.fit_intercept,
        intercept_scaling=estimator.intercept_scaling,
        class_weight=estimator.class_weight,
        random_state=estimator.random_state,
    )
    twin.classes_ = estimator.classes_
    return _fitted(twin, estimator, np.atleast_2d)


def ranker_twin(estimator: Any) -> LinearRegression:
    """scikit-learn's LinearRegression whose predictions are the scores of a ranker."""
    return _fitted(LinearRegression(fit_intercept=False), estimator, np.ravel)


def _fitted(twin: Any, estimator: Any, shape: Any) -> Any:
    dense = estimator.coef_.toarray() if hasattr(estimator.coef_, "toarray") else estimator.coef_
    twin.coef_ = np.array(shape(dense), order="C")
    twin.intercept_ = np.array(estimator.intercept_) if np.ndim(twin.coef_) > 1 else 0.0
    twin.n_features_in_ = estimator.n_features_in_
    if hasattr(estimator, "feature_names_in_"):
        twin.feature_names_in_ = estimator.feature_names_in_
    if hasattr(estimator, "n_iter_"):
        twin.n_iter_ = estimator.n_iter_
    return twin
