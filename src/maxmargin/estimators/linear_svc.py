"""The linear support vector classifier, by scikit-learn's conventions."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin, _fit_context
from sklearn.callback import with_callbacks
from sklearn.linear_model._base import SparseCoefMixin
from sklearn.utils._param_validation import Hidden, StrOptions
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted

from maxmargin.estimators.base import (
    BoundedDecisionMixin,
    CertifiedEstimator,
    constraints_but,
    finite_rows,
    seed_of,
)
from maxmargin.estimators.calibration import CalibrationMixin
from maxmargin.estimators.incremental import IncrementalMixin
from maxmargin.estimators.multilabel import MultilabelMixin, is_multilabel_target
from maxmargin.estimators.on_blocks import labels_of
from maxmargin.estimators.progress import Progress, UnderWay, follow, follow_classes
from maxmargin.io.blocks import Blocks
from maxmargin.io.files import PathLike
from maxmargin.models.model import Model, Training, indicator_of_scores, labels_of_scores
from maxmargin.problems.losses import LOSSES, Floats
from maxmargin.problems.matrix import Matrix
from maxmargin.problems.regulariser import REGULARISERS
from maxmargin.solvers.deadline import Deadline
from maxmargin.solvers.method import Method
from maxmargin.solvers.methods import SOLVERS
from maxmargin.solvers.threads import count_threads
from maxmargin.training.checkpoint import INTERVAL
from maxmargin.training.classification import MULTI_CLASS, choose_method, measure_of, problems_of, train_classifier
from maxmargin.training.labels import encode_labels
from maxmargin.training.streaming import classes_of, loaded, train_classifier_on_blocks
from maxmargin.training.weights import row_weights


class LinearSVC(
    IncrementalMixin,
    MultilabelMixin,
    CalibrationMixin,
    SparseCoefMixin,
    ClassifierMixin,
    BoundedDecisionMixin,
    CertifiedEstimator,
):
    """Linear support vector classifier, trained to a certified duality gap.

    Minimises ``1/2 |w|^2 + sum_i C_i loss(1 - y_i w.x_i)``, or with ``|w|_1`` in the place of the square, where
    ``C_i = C * class weight * sample weight``; more than two classes are trained one versus the rest, or by one problem
    over all of them. Where ``y`` is a matrix of zeros and ones, a row may have any number of labels (multilabel), and
    each label is a problem of its own.

    Parameters
    ----------
    loss : {"hinge", "squared_hinge", "least_squares"}, default="squared_hinge"
        The loss of a margin, for two classes and for one-versus-rest. The problems over all classes have a hinge loss
        of their own: they take the default and "hinge", which mean the same there, and refuse "least_squares".
    penalty : {"l2", "l1"}, default="l2"
        The regulariser, ``1/2 |w|^2`` or ``|w|_1``, which makes most weights zero. "l1" goes with "squared_hinge" and
        "least_squares", one-versus-rest, and the solvers "auto" and "working_sets".
    dual : "auto" or bool, default="auto"
        Narrows what ``solver="auto"`` may choose: True to methods that work on the dual variables, False to those that
        work on the weights. The problem, and so the model, is the same.
    C : float, default=1.0
        Weight of the losses against the regulariser.
    multi_class : {"ovr", "crammer_singer", "weston_watkins"}, default="ovr"
        "ovr" trains each class against the rest. The others solve one problem over all classes, in which a row pays for
        the worst of the other classes (Crammer & Singer) or for each of them (Weston & Watkins).
    solver : str or Method, default="auto"
        The method, by name or as an object with its own options, such as ``DualCoordinateDescent(order="cyclic")``. For
        one-versus-rest: "auto", "dcd", "avsf", "online", "newton", "pcd" (not for the hinge; copies the data by
        columns), "cutting_plane" (that of SVM-perf) or "pegasos" (both for the hinge only). For "weston_watkins":
        "auto", "sdm" or "newton"; for "crammer_singer" also "eg" and "cutting_plane". "auto" chooses; ``solver_used_``
        says what it chose.
    tol : float, default=1e-3
        Relative duality gap to reach: no other solution has an objective smaller by more than this share.
    max_iter : int, default=10000
        Most epochs (or Newton steps, or cuts) per class and stage.
    fit_intercept : bool, default=True
        Whether to fit an intercept, as the weight of a constant column (never copied into ``X``).
    penalize_intercept : bool, default=True
        Whether the intercept is regularised like any other weight, as in LIBLINEAR; False leaves it out of the
        regulariser, as in LIBSVM and the textbooks. False needs "ovr", and any solver but "cutting_plane" and
        "pegasos".
    intercept_scaling : float, default=1.0
        Value of the constant column. Larger values regularise the intercept less. Without an intercept it has no
        meaning.
    shrinking : bool, default=True
        Whether "dcd" and "sdm" set rows aside that seem to stay at a bound. Method objects have an option of their own.
    warm_start : bool, default=False
        Start from the dual variables of the previous fit. Needs the same rows in the same order.
    class_weight : dict or "balanced", default=None
        Weight of each class; "balanced" weighs classes inversely to their frequencies. A row counts by the weight of
        its own class in every one-versus-rest problem, as if it had been repeated. With an indicator matrix it holds
        for each label by itself, whose classes are 0 and 1.
    n_jobs : int, default=None
        Threads; None means 1, -1 all processors. They take the classes of one-versus-rest, and where there are more
        threads than classes, "newton" shares its loops among them. Predictions are shared as well. The result does not
        depend on it.
    pack : bool, default=True
        Whether a packed copy of large sparse rows may be made where it saves time and memory allows; it is freed at the
        end of the fit. False: no copy, ever.
    time_limit : float, default=None
        Seconds for the whole fit. The best weights so far are kept, with the exact gap they have.
    checkpoint : path, default=None
        A file for the state of the fit, written whole at intervals. If the process is killed, a fit of the same data
        and parameters goes on from there; ``tol``, ``solver`` and limits may be others. A file of another fit is
        replaced if that fit has reached its ``tol``, and refused else. With a checkpoint the last bits of a model
        depend on the clock. The parameter is not stored in model files.
    checkpoint_interval : float, default=60.0
        Seconds of work that may be lost at most (plus one epoch, step or cut).
    random_state : int, RandomState instance or None, default=None
        Seed of this fit. None means 0: fits are repeatable unless you ask otherwise.
    verbose : int, default=0
        1 prints a line per report of the solver that shows anything new.

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
        With labels of a matrix, sparse where it would else take more than 256 MB and less than half of it is nonzero.
        The weights of lowest objective that were seen, with the penalty "l2" near ``dual_coef_ @ X``: the squared
        distance is at most ``4 (primal_objective_ - dual_objective_)``.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        Intercepts.
    classes_ : ndarray of shape (n_classes,)
        The labels; the numbers of the columns of an indicator matrix.
    multilabel_ : bool
        Whether ``y`` was an indicator matrix.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, when ``X`` has them.
    n_iter_ : int
        Epochs, Newton steps or cuts, of the class that took most.
    dual_coef_ : sparse array of shape (1, n_samples) or (n_classes, n_samples)
        The dual variables of highest dual objective that were seen, with signs: ``y_i alpha_i``; for problems over all
        classes the variable of a row's own class is positive, and a column adds up to zero.
    support_ : ndarray of shape (n_SV,)
        Rows with a nonzero dual variable.
    n_support_ : ndarray of shape (n_classes,)
        How many of them have each label; with an indicator matrix, those of each label's own problem.
    primal_objective_, dual_objective_, duality_gap_ : float or ndarray of shape (n_classes,)
        The certificate: the optimum lies between the two objectives. One value per class for one-versus-rest with more
        than two classes, else one.
    converged_ : bool
        Whether every certified gap is at most ``tol``.
    solver_used_ : str or list of str
        The stages the solver went through, one entry for each problem that was solved.
    history_ : list of Report, or a list of such lists, one for each problem
        The exact values along the way.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from maxmargin import LinearSVC
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = LinearSVC(C=0.1).fit(X, y)
    >>> model.converged_, bool(model.duality_gap_ <= 1e-3)
    (True, True)
    >>> model.score(X, y) > 0.95
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "loss": [StrOptions(set(LOSSES)), Hidden(StrOptions({"l1", "l2"}))],
        "penalty": [StrOptions(set(REGULARISERS))],
        "multi_class": [StrOptions(set(MULTI_CLASS))],
        "solver": [StrOptions(set(SOLVERS)), Method],
        "class_weight": [None, dict, StrOptions({"balanced"})],
        **constraints_but(),
    }

    loss: str
    penalty: str
    multi_class: str
    class_weight: dict[Any, float] | str | None

    classes_: NDArray[Any]
    n_support_: NDArray[np.intp]

    def __init__(
        self,
        loss: str = "squared_hinge",
        *,
        penalty: str = "l2",
        dual: bool | str = "auto",
        C: float = 1.0,
        multi_class: str = "ovr",
        solver: str | Method = "auto",
        tol: float = 1e-3,
        max_iter: int = 10_000,
        fit_intercept: bool = True,
        penalize_intercept: bool = True,
        intercept_scaling: float = 1.0,
        shrinking: bool = True,
        warm_start: bool = False,
        class_weight: dict[Any, float] | str | None = None,
        n_jobs: int | None = None,
        pack: bool = True,
        time_limit: float | None = None,
        checkpoint: PathLike | None = None,
        checkpoint_interval: float = INTERVAL,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ) -> None:
        self._keep(locals())

    @with_callbacks
    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> LinearSVC:
        """Train on rows ``X`` with labels ``y``.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features), or Blocks
            float32 and float64, CSR or C-ordered dense, are used where they lie; all else is converted by one copy.
            `Blocks` are loaded if they fit within their memory limit, and read round by round else.
        y : array of shape (n_samples,), or matrix of shape (n_samples, n_labels)
            Labels; or a matrix of zeros and ones, dense or sparse, that says which labels each row has. Blocks have
            their own labels, and their own weights, unless others are given.
        sample_weight : array of shape (n_samples,), default=None
            Weight of each row; 2 is the same as writing the row twice, 0 as leaving it out.

        Returns
        -------
        LinearSVC
            The estimator itself.
        """
        method = self._method()
        deadline = Deadline(self.time_limit)
        X, y, sample_weight, _ = loaded(X, y, sample_weight)
        if isinstance(X, Blocks):
            return self._fit_blocks(X, y, sample_weight, method, deadline)
        several = is_multilabel_target(y)
        X, y = self._validated(X, y, multi_output=several)
        weight: Floats | None = None
        if sample_weight is not None:
            weight = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        self._seen = None
        if several:
            self._warn_unless_converged(self._train_labels(X, y, weight, method, deadline), X)
            return self
        classes, labels = check_classes(y)
        starts = self._starts(X.shape[0], len(classes))
        asked = self._asked_for(X, y, classes, labels, weight, method=method, deadline=deadline, starts=starts)
        with finite_rows(X):
            solved = train_classifier(**asked)
        self._warn_unless_converged(self._take_solved(solved, X, y, classes, labels), X)
        return self

    def _fit_blocks(self, blocks: Blocks, y: Any, sample_weight: Any, method: Method, deadline: Deadline) -> LinearSVC:
        """Train on rows that are read block by block."""
        classes = classes_of(blocks, y)
        self._take_blocks(blocks)
        self._seen = None
        problems = problems_of(self.multi_class, len(classes))
        model = train_classifier_on_blocks(
            blocks,
            self.get_params(deep=False),
            method,
            classes,
            y=y,
            sample_weight=sample_weight,
            listeners=self._start_callbacks(blocks, y, sample_weight, classes, problems),
            time_limit=deadline.left(),
            seed=seed_of(self.random_state),
        )
        self._set(model)
        if len(problems) > 1:
            self._callback_fit_ctx.call_on_fit_task_end(estimator=self, X=blocks, y=y)
        self._warn_unless_converged(model.training, blocks)
        return self

    def score(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> float:
        """The share of rows that get their own label.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features), or Blocks
            Rows.
        y : array of shape (n_samples,)
            Their labels. Blocks have their own, and their own weights, unless others are given.
        sample_weight : array of shape (n_samples,), default=None
            Weight of each row.

        Returns
        -------
        float
            Between 0 and 1.
        """
        if isinstance(X, Blocks) and sample_weight is None:
            sample_weight = X.sample_weight
        return float(super().score(X, labels_of(X, y), sample_weight))

    def _asked_for(
        self,
        X: Any,
        y: Any,
        classes: NDArray[Any],
        labels: NDArray[np.intp],
        weight: Floats | None,
        *,
        method: Method,
        deadline: Deadline,
        starts: list[Any] | None,
    ) -> dict[str, Any]:
        """The arguments of ``train_classifier`` for checked rows; callbacks hear of the beginning."""
        problems = problems_of(self.multi_class, len(classes))
        matrix = Matrix(X)
        if self._shared is not None:
            self._shared += [matrix, labels]
            matrix.problems = 1 + len(classes)
        return {
            "X": matrix,
            "labels": labels,
            "n_classes": len(classes),
            "C": row_weights(self.C, self.class_weight, classes, labels, weight),
            "multi_class": self.multi_class,
            "seed": seed_of(self.random_state),
            "listeners": self._start_callbacks(X, y, weight, classes, problems),
            "bias": self.intercept_scaling if self.fit_intercept else 0.0,
            "penalize_bias": self.penalize_intercept,
            "loss": self.loss,
            "starts": starts,
            "penalty": self.penalty,
            "time_limit": deadline.left(reserve=deadline.spent()),  # a model takes about as long to make as the checks
            "n_jobs": count_threads(self.n_jobs),
            "solver": method,
            "tol": self.tol,
            "max_iter": self.max_iter,
            "pack": self.pack,
            "checkpoint": self.checkpoint,
            "checkpoint_interval": self.checkpoint_interval,
        }

    def _take_solved(
        self, solved: tuple[Any, Any], X: Any, y: Any, classes: NDArray[Any], labels: NDArray[np.intp]
    ) -> Training | None:
        """The fitted attributes of problems and their solutions."""
        model = Model.of_solutions(*solved, classes, labels, self.get_params(deep=False))
        self._set(model)
        if len(solved[0]) > 1:
            self._callback_fit_ctx.call_on_fit_task_end(estimator=self, X=X, y=y)
        return model.training

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = self.multi_class == "ovr"
        return tags

    def predict(self, X: Any) -> NDArray[Any]:
        """Labels of the rows.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            Rows to label.

        Returns
        -------
        ndarray of shape (n_samples,), or matrix of shape (n_samples, n_labels)
            The label with the largest score. Of a model trained on an indicator matrix, such a matrix, sparse where
            that was sparse: a label is there where its score is positive.
        """
        scores = self.decision_function(X)
        if self._multilabel is not None:
            labels: NDArray[Any] = indicator_of_scores(scores, self._multilabel)
            return labels
        return labels_of_scores(scores, self.classes_)

    def to_sklearn(self) -> Any:
        """The fitted model as scikit-learn's own ``LinearSVC``, with the same predictions.

        Every tool that knows scikit-learn's estimators (ONNX and PMML converters, skops, SHAP) takes it. A warning says
        where the twin could not be trained like this model, such as with ``loss="least_squares"``.

        Returns
        -------
        sklearn.svm.LinearSVC
            Fitted.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from maxmargin import LinearSVC
        >>> X, y = load_iris(return_X_y=True)
        >>> model = LinearSVC().fit(X, y)
        >>> bool((model.to_sklearn().predict(X) == model.predict(X)).all())
        True
        """
        check_is_fitted(self)
        from maxmargin.estimators.twins import classifier_twin

        return classifier_twin(self)

    def _constant(self) -> float:
        """The value of the constant column, 0 without one."""
        return self.intercept_scaling if self.fit_intercept else 0.0

    def _method(self) -> Method:
        """The method that the parameters ask for; an error for parameters that do not go together."""
        if self.loss in ("l1", "l2"):
            raise ValueError(f"loss={self.loss!r} is a penalty; the first argument is the loss, one of {list(LOSSES)}")
        if not self.penalize_intercept and not self.fit_intercept:
            raise ValueError("penalize_intercept=False has no meaning with fit_intercept=False; leave it at True")
        if not self.penalize_intercept and self.intercept_scaling != 1.0:
            raise ValueError("intercept_scaling has no meaning with penalize_intercept=False; leave it at 1.0")
        if measure_of(self.solver) is not None and getattr(self, "warm_start", False):
            raise ValueError(f"warm_start=True does not go with solver={self.solver!r}; use warm_start=False")
        return choose_method(
            self.solver,
            self.multi_class,
            self.loss,
            penalize_bias=self.penalize_intercept,
            dual=self.dual,
            shrinking=self.shrinking,
            penalty=self.penalty,
        )

    def _check_starts(self, problems: int, rows: int) -> bool:
        """Whether the fit goes on from the previous one; an error if it cannot."""
        if not self.warm_start or not hasattr(self, "dual_coef_"):
            return False
        shape = (problems, rows)
        if self.dual_coef_.shape != shape:
            raise ValueError(
                f"warm_start=True continues from {self.dual_coef_.shape[1]} rows and {self.dual_coef_.shape[0]} "
                f"weight vectors, but this fit has {shape[1]} and {shape[0]}; use warm_start=False"
            )
        return True

    def _starts(self, rows: int, n_classes: int) -> list[Any] | None:
        """The dual variables of the previous fit, for each problem."""
        go_on = self._check_starts(1 if n_classes == 2 else n_classes, rows)
        return self._starts_of(self.dual_coef_) if go_on else None

    def _starts_of(self, dual_coef: Any) -> list[Any]:
        """Signed dual variables as one start for each problem."""
        if self.multi_class != "ovr":
            return [dual_coef]
        if measure_of(self.solver) is not None:
            return [None] * dual_coef.shape[0]  # cuts are not kept, and do not follow from the variables
        if self.penalty == "l1" and self.coef_.shape[1] == self.n_features_in_:
            # Weights do not follow from the dual variables there, but the variables from the weights.
            coef = np.asarray(self.coef_.toarray() if hasattr(self.coef_, "toarray") else self.coef_)
            last = self.intercept_ / self._constant() if self.fit_intercept else np.zeros(len(coef))
            return [SimpleNamespace(alpha=None, weights=own) for own in np.column_stack([coef, last])]
        return list(dual_coef.toarray())

    def _start_callbacks(
        self,
        X: Any,
        y: Any,
        sample_weight: Any,
        classes: NDArray[Any],
        problems: Sequence[int | None],
    ) -> list[Progress]:
        """One `Progress` per problem; without callbacks they only print."""
        told = {"X": X, "y": y, "metadata": {"sample_weight": sample_weight}}
        under_way = UnderWay(classes, problems, self._constant())
        if len(problems) > 1:
            return follow_classes(self, told, under_way)
        return [follow(self, told, partial(under_way.attributes, 0))]


def check_classes(y: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.intp]]:
    """The classes, and which of them each row has; an error when there is nothing to tell apart."""
    if y.dtype.kind not in "iubSU":  # whole numbers and texts are classes; to ask takes as long as to sort them
        check_classification_targets(y)
    classes, labels = encode_labels(y)
    if len(classes) < 2:
        raise ValueError(f"y holds one class only, {classes.tolist()[0]!r}; a classifier needs at least two classes")
    return classes, labels
