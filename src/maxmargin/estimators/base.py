"""What all estimators share: scoring rows, going to and from model files, and the warning of a fit that fell short."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from inspect import signature
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, csr_matrix, issparse
from sklearn.base import BaseEstimator
from sklearn.callback import CallbackSupportMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import assert_all_finite, check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.extmath import safe_sparse_dot
from sklearn.utils.validation import check_is_fitted, validate_data

from maxmargin.estimators.on_blocks import block_scores
from maxmargin.io.blocks import Blocks
from maxmargin.io.files import PathLike
from maxmargin.models.model import NO_CLASSES, Model, Training, linear_scores
from maxmargin.problems.csr import Csr
from maxmargin.problems.losses import Floats
from maxmargin.problems.matrix import Matrix
from maxmargin.problems.scaling import describe_scales
from maxmargin.solvers.method import Method
from maxmargin.solvers.solution import describe_shortfall
from maxmargin.solvers.threads import count_threads
from maxmargin.training.balls import EPSILON, safe_gap

#: So many rows are scored in about the time of scikit-learn's checks.
FEW_ROWS = 1000
_POSITIVE = Interval(Real, 0.0, None, closed="neither")
#: What the parameters may be that several estimators have.
_CONSTRAINTS: dict[str, list[Any]] = {
    "C": [_POSITIVE],
    "dual": ["boolean", StrOptions({"auto"})],
    "tol": [Interval(Real, 0.0, None, closed="left")],
    "max_iter": [Interval(Integral, 1, None, closed="left")],
    "fit_intercept": ["boolean"],
    "penalize_intercept": ["boolean"],
    "intercept_scaling": [_POSITIVE],
    "shrinking": ["boolean"],
    "warm_start": ["boolean"],
    "n_jobs": [None, Integral],
    "pack": ["boolean"],
    "time_limit": [None, _POSITIVE],
    "checkpoint": [None, str, os.PathLike],
    "checkpoint_interval": [_POSITIVE],
    "random_state": ["random_state"],
    "verbose": ["verbose"],
}


def needs_no_conversion(X: Any) -> bool:
    """Whether scikit-learn's checks would hand rows on as they are, but for values that are not finite."""
    dense = type(X) is np.ndarray
    return (
        (dense or type(X) in (csr_array, csr_matrix))
        and X.ndim == 2
        and min(X.shape) > 0
        and X.dtype in (np.float64, np.float32)
        and (not dense or X.flags.c_contiguous)
    )


@contextmanager
def finite_rows(X: Any) -> Iterator[None]:
    """What the core says of rows that are not finite, in scikit-learn's own words."""
    try:
        yield
    except ValueError:
        assert_all_finite(X, input_name="X")
        raise


@cache
def _names_of_parameters(constructor: Callable[..., None]) -> list[str]:
    return sorted(name for name in signature(constructor).parameters if name != "self")


def constraints_but(*names: str) -> dict[str, list[Any]]:
    """What the parameters may be that several estimators have, but for some that this one has not."""
    return {name: values for name, values in _CONSTRAINTS.items() if name not in names}


class CertifiedEstimator(CallbackSupportMixin, BaseEstimator):
    """A linear model that was trained to a certified duality gap."""

    # Parameters that several estimators have; each says in its __init__ which.
    C: float
    dual: bool | str
    solver: str | Method
    tol: float
    max_iter: int
    fit_intercept: bool
    penalize_intercept: bool
    intercept_scaling: float
    shrinking: bool
    warm_start: bool
    n_jobs: int | None
    pack: bool
    time_limit: float | None
    checkpoint: PathLike | None
    checkpoint_interval: float
    random_state: int | np.random.RandomState | None
    verbose: int

    coef_: Floats
    intercept_: Floats
    dual_coef_: Any
    support_: NDArray[np.intp]
    n_support_: Any
    n_pairs_: float
    n_swapped_: float
    n_tied_: float
    n_iter_: int
    primal_objective_: Any
    dual_objective_: Any
    duality_gap_: Any
    converged_: bool
    solver_used_: Any
    history_: Any

    @classmethod
    def _get_param_names(cls) -> list[str]:
        """The names of the parameters; scikit-learn would read the signature anew whenever it asks."""
        return list(_names_of_parameters(cls.__init__))

    def _validated(self, X: Any, y: Any, kinds: str = "biuU", **options: Any) -> tuple[Any, Any]:
        """Rows and labels to train on, checked by scikit-learn where they have to be converted or may be refused.

        Whether the values of other rows are finite the core finds on its way: `finite_rows` has the words. Labels of
        these ``kinds`` of numpy's types are as they should be; floats among them are checked.
        """
        labels = type(y) is np.ndarray and y.ndim == 1 and y.dtype.kind in kinds
        labels = labels and y.shape == getattr(X, "shape", ())[:1]
        if labels and y.dtype.kind == "f":
            assert_all_finite(y, input_name="y")
        if labels and self._takes_as_it_is(X):
            return X, y
        checked: tuple[Any, Any] = validate_data(
            self, X, y, accept_sparse="csr", dtype=[np.float64, np.float32], order="C", **options
        )
        return checked

    def _takes_as_it_is(self, X: Any) -> bool:
        """Whether rows need no conversion; if so, what scikit-learn notes of them is noted."""
        plain = needs_no_conversion(X)
        if plain:
            self.n_features_in_ = X.shape[1]
            self.__dict__.pop("feature_names_in_", None)
        return plain

    def _keep(self, arguments: dict[str, Any]) -> None:
        """Take the arguments of ``__init__``, its ``locals()``, as they are and under their names."""
        for name, value in arguments.items():
            if name != "self":
                setattr(self, name, value)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _scores(self, X: Any) -> Floats:
        """``X @ coef_.T + intercept_`` of rows that are checked.

        scikit-learn's checks take a tenth of a millisecond, as long as hundreds of rows. A few rows that need no
        conversion are scored at once, and then checked if a score is not finite, as it is wherever a value of a row is
        not.
        """
        check_is_fitted(self, "coef_")
        if isinstance(X, Blocks):
            return block_scores(X, np.atleast_2d(_dense(self.coef_)), self.intercept_)
        plain = needs_no_conversion(X) and X.shape[1] == self.n_features_in_
        if plain and X.shape[0] <= FEW_ROWS and not hasattr(self, "feature_names_in_"):
            scores = self._scores_of(X)
            if np.isfinite(scores).all():
                return scores
        X = validate_data(self, X, accept_sparse="csr", dtype=[np.float64, np.float32], order="C", reset=False)
        return self._scores_of(X)

    def _scores_of(self, X: Any) -> Floats:
        """The scores of rows that are known to be as they should."""
        if issparse(self.coef_):  # after sparsify()
            return np.asarray(safe_sparse_dot(X, self.coef_.T, dense_output=True) + self.intercept_)
        threads = count_threads(getattr(self, "n_jobs", None))
        return linear_scores(X, np.atleast_2d(self.coef_), self.intercept_, threads)

    def to_onnx(self) -> Any:
        """The fitted model as an ONNX graph in double precision, for programs without Python.

        Needs the package onnx (``pip install 'maxmargin[onnx]'``). The input ``X`` has shape (rows, features) and
        double precision; the outputs are ``label`` (of a classifier), ``scores``, as `decision_function` returns them,
        and ``probabilities`` where the model is calibrated.

        Returns
        -------
        onnx.ModelProto
            ``onnx.save(model.to_onnx(), "model.onnx")`` writes it to a file.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from maxmargin import LinearSVC
        >>> graph = LinearSVC().fit(*load_iris(return_X_y=True)).to_onnx().graph
        >>> [output.name for output in graph.output]
        ['label', 'scores']
        """
        from maxmargin.io.onnx_model import onnx_graph

        return onnx_graph(self._to_model())

    @classmethod
    def _of_model(cls, model: Model) -> Any:
        """The fitted estimator that a model file describes."""
        estimator = cls(**model.parameters)
        estimator.n_features_in_ = model.coef.shape[1]
        if model.feature_names is not None:
            estimator.feature_names_in_ = np.array(model.feature_names, dtype=object)
        estimator._set(model)
        return estimator

    def _to_model(self) -> Model:
        """What a model file holds of this estimator."""
        return self._to_model_as(type(self).__name__, self.get_params(deep=False))

    def _to_model_as(self, estimator: str, parameters: dict[str, Any]) -> Model:
        """The same under the name of an estimator, with its parameters."""
        check_is_fitted(self, "coef_")
        multilabel = getattr(self, "_multilabel", None)
        sparse = multilabel is not None and issparse(self.coef_)
        training = None
        if hasattr(self, "primal_objective_"):
            several = np.ndim(self.primal_objective_) > 0
            training = Training(
                primal=np.atleast_1d(self.primal_objective_),
                dual=np.atleast_1d(self.dual_objective_),
                converged=self.converged_,
                n_iter=self.n_iter_,
                solvers=list(self.solver_used_) if several else [self.solver_used_],
                n_support=self.n_support_,
                history=self.history_ if several else [self.history_],
                dual_coef=_light(self.dual_coef_) if hasattr(self, "dual_coef_") else None,
                pairs=getattr(self, "_pairs", None),
            )
        names = getattr(self, "feature_names_in_", None)
        return Model(
            estimator=estimator,
            parameters=parameters,
            classes=self._model_classes(),
            coef=_light(self.coef_) if sparse else np.atleast_2d(_dense(self.coef_)),
            intercept=self.intercept_,
            training=training,
            source=self._source,
            calibration=getattr(self, "calibration_", None),
            feature_names=None if names is None else [str(name) for name in names],
            multilabel=multilabel,
        )

    def _model_classes(self) -> NDArray[Any]:
        """The classes that a model file holds."""
        classes: NDArray[Any] = getattr(self, "classes_", NO_CLASSES)
        return classes

    def _set(self, model: Model) -> None:
        """Take the fitted attributes from a model; what it does not know is left unset."""
        self._source = model.source
        if len(model.classes):
            self.classes_ = model.classes
        self._multilabel = model.multilabel
        self.coef_ = model.coef.to_scipy() if isinstance(model.coef, Csr) else model.coef
        self.intercept_ = model.intercept
        self.__dict__.pop("calibration_", None)
        if model.calibration is not None:
            self.calibration_ = model.calibration
        training = model.training
        if training is None:
            return
        several = len(training.primal) > 1
        for name in ("dual_coef_", "support_"):
            self.__dict__.pop(name, None)
        if training.dual_coef is not None:
            self.dual_coef_ = training.dual_coef.to_scipy()
            support = np.zeros(self.dual_coef_.shape[1], dtype=bool)
            support[self.dual_coef_.indices] = True
            self.support_ = np.flatnonzero(support)
        if training.pairs is not None:
            self._pairs = training.pairs
            self.n_pairs_, self.n_swapped_, self.n_tied_, _ = training.pairs
        self.n_support_ = training.n_support
        self.n_iter_ = training.n_iter
        self.converged_ = training.converged
        self.primal_objective_ = training.primal if several else float(training.primal[0])
        self.dual_objective_ = training.dual if several else float(training.dual[0])
        self.duality_gap_ = training.gap if several else float(training.gap[0])
        self.solver_used_ = training.solvers if several else training.solvers[0]
        self.history_ = training.history if several else training.history[0]

    def _take_blocks(self, blocks: Blocks) -> None:
        """What scikit-learn notes of the data of a fit."""
        self.n_features_in_ = blocks.shape[1]
        self.__dict__.pop("feature_names_in_", None)
        if blocks.feature_names is not None:
            self.feature_names_in_ = np.array(blocks.feature_names, dtype=object)

    @property
    def _final_tol(self) -> float:
        """What the fit of the model itself is to reach."""
        return float(self.tol)

    def _warn_unless_converged(self, training: Training | None, X: Any) -> None:
        """Say what the fit fell short of, and name columns on different scales unless ``X`` is None."""
        if training is None or training.converged:
            return
        if isinstance(X, Blocks):
            X = X.read(0).X  # the scales of columns are told from some rows
        exit_, certificate = training.worst()
        names = getattr(self, "feature_names_in_", None)
        limits = {
            "max_iter": f"raise max_iter (now {self.max_iter})",
            "time_limit": f"raise time_limit (now {self.time_limit} s)",
        }
        scales = None if X is None else describe_scales(X, None if names is None else list(names))
        text = describe_shortfall(exit_, certificate, self._final_tol, limits, scales)
        if text is not None:
            # The level is that of the user's line: past this method, fit and its two decorators.
            warnings.warn(text, ConvergenceWarning, stacklevel=5)


class DecisionMixin:
    """Scores of rows that are no predictions by themselves."""

    def decision_function(self, X: Any) -> Floats:
        """Scores of the rows.

        Of a classifier, positive means the second class, and with more than two classes there is a column for each. Of
        a ranker, a higher score means a higher rank.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            Rows to score.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            ``X @ coef_.T + intercept_``.
        """
        scores: Floats = self._scores(X)  # type: ignore[attr-defined]
        return scores.ravel() if scores.shape[1] == 1 else scores


class BoundedDecisionMixin(DecisionMixin):
    """Scores whose distance from those of the exact optimum is known."""

    coef_: Floats
    intercept_: Floats
    primal_objective_: Any
    dual_objective_: Any

    def decision_bounds(self, X: Any) -> tuple[Floats, Floats, Floats]:
        """Scores of the rows, and bounds that are proved to hold the scores of the exact optimum.

        By strong convexity the weights of the optimum are within ``sqrt(2 (primal - dual))`` of those of the model, so
        that its scores are within that times the length of a row (with its constant column). Where the bounds of a
        classifier have one sign, or those of one class lie above all others, more training cannot change the label.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            Rows to score.

        Returns
        -------
        scores, low, high : ndarray of shape (n_samples,) or (n_samples, n_classes)
            ``decision_function(X)`` and its bounds.
        """
        check_is_fitted(self, "coef_")
        if not hasattr(self, "primal_objective_"):
            raise ValueError("this model knows no certificate, as it was read from another program's file")
        if not getattr(self, "penalize_intercept", True):
            raise ValueError(
                "decision_bounds has no proof for an intercept outside the regulariser; use penalize_intercept=True"
            )
        if getattr(self, "penalty", "l2") != "l2":
            raise ValueError("decision_bounds has no proof for penalty='l1', where many weights may be optimal")
        X = validate_data(self, X, accept_sparse="csr", dtype=[np.float64, np.float32], order="C", reset=False)
        matrix = Matrix(X)
        coef = _dense(self.coef_)
        scores = matrix.scores(np.asfortranarray(coef), self.intercept_)
        lengths = matrix.lengths(self._constant())[:, np.newaxis]
        radius = np.sqrt(2.0 * safe_gap(np.atleast_1d(self.primal_objective_), np.atleast_1d(self.dual_objective_)))
        if getattr(self, "multi_class", "ovr") != "ovr" and len(coef) == 1:
            radius = np.sqrt(2.0) * radius  # the difference of two classes
        sizes = np.sqrt(np.sum(coef**2, axis=1)) + np.abs(self.intercept_)
        width = lengths * radius + (coef.shape[1] + 4) * EPSILON * np.maximum(lengths, 1.0) * sizes
        if scores.shape[1] == 1:
            scores, width = scores.ravel(), width.ravel()
        return scores, scores - width, scores + width

    def _constant(self) -> float:
        """The value of the constant column, 0 without one."""
        return 0.0


def _dense(coef: Any) -> Floats:
    """The weights after ``sparsify`` or without it."""
    return np.asarray(coef.toarray() if hasattr(coef, "toarray") else coef)


def _light(matrix: Any) -> Csr:
    return Csr(matrix.data, matrix.indices, matrix.indptr, matrix.shape)


def seed_of(random_state: Any) -> int:
    """A number as it is, None as 0, and the next number of a generator."""
    if random_state is None or isinstance(random_state, Integral):
        return int(random_state or 0)
    return int(check_random_state(random_state).randint(np.iinfo(np.int32).max))
