"""Fitted estimators from and to files."""

from __future__ import annotations

from typing import Any

from maxmargin.estimators.base import CertifiedEstimator
from maxmargin.estimators.linear_rank_svm import LinearRankSVM
from maxmargin.estimators.linear_svc import LinearSVC
from maxmargin.estimators.linear_svr import LinearSVR
from maxmargin.estimators.one_class_svm import OneClassSVM
from maxmargin.io.files import PathLike
from maxmargin.io.models import read_any_model, write_any_model
from maxmargin.models.model import Model
from maxmargin.solvers.cutting_plane import CuttingPlane

#: Estimators by the name in the file.
ESTIMATORS: dict[str, type[CertifiedEstimator]] = {
    "LinearSVC": LinearSVC,
    "LinearRankSVM": LinearRankSVM,
    "LinearSVR": LinearSVR,
    "OneClassSVM": OneClassSVM,
}


def save_model(model: Any, path: PathLike, *, format: str = "maxmargin", dual: bool = True) -> None:  # noqa: A002
    """Write a fitted estimator to a file.

    The file holds arrays and JSON (safetensors), no code. It is written under a temporary name, synced and renamed:
    an earlier file of that name is replaced whole or not at all.

    Parameters
    ----------
    model : LinearSVC, LinearSVR, OneClassSVM or LinearRankSVM
        A fitted estimator.
    path : path
        Where to; ``.mm`` is the usual suffix.
    format : {"maxmargin", "liblinear"}, default="maxmargin"
        "liblinear" writes a text file for ``liblinear-predict``, where the model can be expressed as one.
    dual : bool, default=True
        Keep ``dual_coef_`` (for ``support_`` and warm starts of LinearSVC), which takes up to 12 bytes per training row
        and class. Predictions do not need it.

    Examples
    --------
    >>> import tempfile
    >>> from sklearn.datasets import load_iris
    >>> from maxmargin import LinearSVC, load_model, save_model
    >>> X, y = load_iris(return_X_y=True)
    >>> model = LinearSVC().fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_model(model, f"{folder}/iris.mm")
    ...     again = load_model(f"{folder}/iris.mm")
    >>> bool((again.decision_function(X) == model.decision_function(X)).all())
    True
    """
    if not isinstance(model, Model):
        if not hasattr(model, "_to_model"):
            raise TypeError(f"save_model takes a fitted estimator of maxmargin, not {_advice(model)}")
        model = model._to_model()
    write_any_model(model, path, format=format, dual=dual)


def _advice(model: Any) -> str:
    """What is not one of our estimators, and what to save instead where it holds one."""
    name = type(model).__name__
    if hasattr(model, "steps"):
        return (
            f"a {name}: a model file holds no code, and so no other steps. Save the last step alone, "
            "save_model(pipeline[-1], path), and bring rows into its form by pipeline[:-1].transform(X); or keep the "
            "whole pipeline as joblib.dump(pipeline, path), or, without pickle, as skops.io.dump of a pipeline whose "
            "last step is pipeline[-1].to_sklearn()"
        )
    if hasattr(model, "best_estimator_"):
        return f"a {name}; save its best_estimator_"
    if hasattr(model, "calibrated_classifiers_"):
        return f"a {name}, which holds several models; keep it with joblib.dump"
    return name


def load_model(path: PathLike) -> Any:
    """Read a model file, the library's own or LIBLINEAR's.

    Loading never executes code from the file. A file that is cut off, damaged or changed is refused.

    Parameters
    ----------
    path : path
        The file.

    Returns
    -------
    LinearSVC, LinearSVR, OneClassSVM or LinearRankSVM
        The fitted estimator; its predictions have the same bits as those of the one that was saved. From LIBLINEAR's
        files it knows classes and weights only, not how they were trained.

    Raises
    ------
    ValueError
        The file is not a whole model.

    Examples
    --------
    See `save_model`.
    """
    model = read_any_model(path)
    if model.estimator not in ESTIMATORS:
        raise ValueError(f"{path}: it holds a {model.estimator[:60]!r}, which this version does not know")
    estimator = ESTIMATORS[model.estimator]
    _upgrade(model.parameters)
    unknown = sorted(set(model.parameters) - set(estimator().get_params()))
    if unknown:
        raise ValueError(f"{path}: {model.estimator} has no parameter {unknown[0][:60]!r} in this version")
    return estimator._of_model(model)


def _upgrade(parameters: dict[str, Any]) -> None:
    """Parameters of version 0.1 as those of today."""
    if "acceleration" in parameters:
        accelerated = parameters.pop("acceleration")
        parameters["solver"] = "auto" if accelerated else CuttingPlane(acceleration=False)
