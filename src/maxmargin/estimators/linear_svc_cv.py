"""The linear support vector classifier that chooses its own C."""

from __future__ import annotations

import warnings
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import _fit_context
from sklearn.callback import with_callbacks
from sklearn.model_selection import check_cv
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import _check_sample_weight, check_consistent_length, validate_data

from maxmargin.estimators.base import seed_of
from maxmargin.estimators.linear_svc import LinearSVC, check_classes
from maxmargin.estimators.multilabel import is_multilabel_target
from maxmargin.estimators.searching import SearchesC, Steps, scorer_of
from maxmargin.models.calibration import CALIBRATIONS, fit_calibration
from maxmargin.models.model import Model, labels_of_scores
from maxmargin.problems.losses import Floats
from maxmargin.problems.matrix import Matrix
from maxmargin.solvers.deadline import Deadline
from maxmargin.solvers.method import Method
from maxmargin.solvers.threads import count_threads
from maxmargin.training.choice import choose_on_grid
from maxmargin.training.classification import measure_of, train_classifier
from maxmargin.training.cross_validation import CrossValidation, Held, cross_validate
from maxmargin.training.folds import folds_polish
from maxmargin.training.range_choice import choose_in_range
from maxmargin.training.range_nodes import TOGETHER_TOL
from maxmargin.training.streaming import must_load
from maxmargin.training.tasks import Classification, Solved
from maxmargin.training.weights import row_weights

#: The tolerance of the final fit where the folds choose theirs.
REFIT_TOL = 1e-3


class LinearSVCCV(SearchesC, LinearSVC):
    """Linear support vector classifier that chooses C by cross-validation, and can prove its choice.

    All folds are trained on one matrix, from which rows are left out by weight zero; each C is seeded by the one
    before. With few features the folds of two classes are solved side by side. Takes every
    parameter of `LinearSVC` but ``C``, ``warm_start``, ``checkpoint`` and those below.

    Parameters
    ----------
    loss : {"hinge", "squared_hinge", "least_squares"}, default="squared_hinge"
        The loss of a margin.
    Cs : int or array, default=13
        Values of C to try; a number means that many between 1e-3 and 1e3, evenly on a logarithmic scale.
    cv : int, splitter or iterable, default=None
        The folds, as in scikit-learn: a number of stratified folds (None: 5), a splitter such as ``GroupKFold``, or
        pairs of train and test rows.
    scoring : str or callable, default=None
        What is to be highest: a scorer of scikit-learn by its name, or a function ``scorer(model, X, y)``; None is the
        accuracy.
    rule : {"best", "one_standard_error"}, default="best"
        Which C to take: that of the highest mean score (among equal ones most labels right, then the smallest C), or
        the smallest whose mean is within one standard error of that.
    refit : bool, default=True
        Whether to train on all rows with the chosen C; without it there is no model to predict with.
    cv_tol : float, default=None
        Ask for a proof that no C between the smallest and the largest of ``Cs``, on the grid or not, has a
        cross-validation error lower by more than this share of the rows. Values of C are added where the proof needs
        them. Needs the accuracy, the rule "best" and a regularised intercept.
    calibrate : {"sigmoid", "isotonic", "temperature"}, default=None
        Fit probabilities to the scores of rows left out, at the chosen C: ``predict_proba`` without another fit.
    penalty, dual, multi_class, solver, max_iter, fit_intercept, penalize_intercept, intercept_scaling, class_weight, \
shrinking, pack, random_state
        As in `LinearSVC`. "balanced" weights are computed for the rows of each fold.
    tol : float or "auto", default=1e-3
        Relative duality gap of every fit. "auto" solves the folds as closely as it takes to know which C of the grid
        the exact optima would choose, and the final model to 1e-3; it needs the accuracy and a regularised intercept.
    n_jobs : int, default=None
        Threads over folds, or within folds that are solved side by side, and over classes in the final fit; the result
        does not depend on it.
    time_limit : float, default=None
        Seconds for everything.
    verbose : int, default=0
        1 prints a line per C and fold.

    Attributes
    ----------
    C_ : float
        The chosen C.
    Cs_ : ndarray of shape (n_Cs,)
        The values of C that were tried, increasing; those that a proof has added are in ``range_Cs_``.
    scores_ : ndarray of shape (n_folds, n_Cs)
        Scores of the rows left out.
    best_score_, best_index_, best_params_, cv_results_, n_splits_
        As in scikit-learn's ``GridSearchCV``; ``cv_results_["max_gap"]`` is the largest certified gap of each C.
    certified_ : bool
        With ``tol="auto"`` or ``cv_tol``: whether the choice is proved.
    error_bound_ : float
        With ``cv_tol``: no C of the range has a cross-validation error below this.
    range_Cs_, range_errors_ : ndarray
        With ``cv_tol``: all values of C that were solved, and their cross-validation errors.
    held_out_scores_ : ndarray of shape (n_samples, 1) or (n_samples, n_classes)
        With ``calibrate``: the scores of each row by the model of the chosen C that was trained without it; NaN for
        rows that were never left out.
    coef_, intercept_, classes_, dual_coef_, duality_gap_, ...
        As in `LinearSVC`, of the model trained on all rows.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from maxmargin import LinearSVCCV
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = LinearSVCCV().fit(scale(X), y)
    >>> round(model.C_, 4), model.scores_.shape
    (0.01, (5, 13))
    >>> model.best_score_ > 0.97
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **{
            name: constraint
            for name, constraint in LinearSVC._parameter_constraints.items()
            if name not in ("C", "warm_start", "checkpoint", "checkpoint_interval")
        },
        **SearchesC.search_constraints,
        "tol": [Interval(Real, 0.0, None, closed="left"), StrOptions({"auto"})],
        "cv_tol": [None, Interval(Real, 0.0, 1.0, closed="neither")],
        "calibrate": [None, StrOptions(set(CALIBRATIONS))],
    }

    tol: Any
    certified_: bool
    error_bound_: float
    range_Cs_: Floats
    range_errors_: Floats
    held_out_scores_: Floats

    cv_tol: float | None
    calibrate: str | None

    def __init__(
        self,
        loss: str = "squared_hinge",
        *,
        Cs: int | ArrayLike = 13,
        cv: Any = None,
        scoring: Any = None,
        rule: str = "best",
        refit: bool = True,
        cv_tol: float | None = None,
        calibrate: str | None = None,
        penalty: str = "l2",
        dual: bool | str = "auto",
        multi_class: str = "ovr",
        solver: str | Method = "auto",
        tol: float | str = 1e-3,
        max_iter: int = 10_000,
        fit_intercept: bool = True,
        penalize_intercept: bool = True,
        intercept_scaling: float = 1.0,
        class_weight: dict[Any, float] | str | None = None,
        shrinking: bool = True,
        n_jobs: int | None = None,
        pack: bool = True,
        time_limit: float | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ) -> None:
        self._keep(locals())

    def _check_proofs(self) -> None:
        """Refuse proofs of what cannot be proved."""
        for name, wanted in (("tol='auto'", self.tol == "auto"), ("cv_tol", self.cv_tol is not None)):
            if wanted and self.scoring not in (None, "accuracy"):
                raise ValueError(f"{name} proves labels, which only the accuracy is made of; use scoring=None")
            if wanted and not self.penalize_intercept:
                raise ValueError(f"{name} has no proof for an intercept outside the regulariser; use the default")
            if wanted and self.penalty != "l2":
                raise ValueError(f"{name} has no proof for penalty={self.penalty!r}; use penalty='l2'")
            if wanted and measure_of(self.solver) is not None:
                raise ValueError(f"{name} has no proof for solver={self.solver!r}; use a solver without a measure")
        if self.cv_tol is not None and self.rule != "best":
            raise ValueError(f"cv_tol proves the best C; rule={self.rule!r} takes another one")

    @with_callbacks
    @_fit_context(prefer_skip_nested_validation=True)
    def fit(
        self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None, groups: ArrayLike | None = None
    ) -> LinearSVCCV:
        """Choose C by cross-validation, then train on all rows.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            float32 and float64, CSR or C-ordered dense, are used where they lie; all else is converted by one copy.
        y : array of shape (n_samples,)
            Labels.
        sample_weight : array of shape (n_samples,), default=None
            Weight of each row in training; scores of rows left out are not weighted.
        groups : array of shape (n_samples,), default=None
            Groups of rows for splitters that want them.

        Returns
        -------
        LinearSVCCV
            The estimator itself.
        """
        method = self._method()
        self._check_proofs()
        deadline = Deadline(self.time_limit)
        X, y, sample_weight, _ = must_load("LinearSVCCV", X, y, sample_weight)
        if is_multilabel_target(y):
            raise ValueError(
                "LinearSVCCV needs one label for each row; y is an indicator matrix of several labels. Choose a C for "
                "each column of y by itself, or one for all by GridSearchCV(LinearSVC(), {'C': ...})"
            )
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=[np.float64, np.float32], order="C")
        classes, labels = check_classes(y)
        check_consistent_length(X, groups)
        weight: Floats | None = None
        if sample_weight is not None:
            weight = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        task = Classification(
            Matrix(X),
            labels,
            len(classes),
            multi_class=self.multi_class,
            loss=self.loss,
            bias=self.intercept_scaling if self.fit_intercept else 0.0,
            penalize_bias=self.penalize_intercept,
            penalty=self.penalty,
            weights=weight,
            class_weight=self.class_weight,
            classes=classes,
        )
        folds = list(check_cv(self.cv, y, classifier=True).split(X, y, groups))
        self._search(task, folds, X, y, classes, method, deadline)
        if self.refit:
            self._refit(task, X, classes, labels, method, deadline)
            if self.calibrate is not None:
                self.calibration_ = fit_calibration(self.calibrate, self.held_out_scores_, labels, len(classes), weight)
        else:
            self.classes_ = classes
        self._callback_fit_ctx.call_on_fit_task_end(estimator=self, X=X, y=y)
        return self

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = False
        return tags

    def _search(
        self,
        task: Classification,
        folds: list[Any],
        X: Any,
        y: NDArray[Any],
        classes: NDArray[Any],
        method: Method,
        deadline: Deadline,
    ) -> None:
        """Cross-validate, choose C, and prove the choice if asked to."""
        Cs = self._grid()
        steps = Steps(self, len(Cs) * len(folds), X, y)
        known: dict[float, list[Any]] = {}
        proof = self.cv_tol is not None

        def on_step(held: Held, score: float) -> None:
            if proof:  # which goes on from here
                known.setdefault(held.solved.C, [None] * len(folds))[held.fold] = held.solved
            steps(held, score)

        left = deadline.left()
        options: dict[str, Any] = {
            "solver": method,
            "n_jobs": count_threads(self.n_jobs),
            "max_iter": self.max_iter,
            "pack": self.pack,
            "seed": seed_of(self.random_state),
            # What is left of the time is for the final fit, and for the proof.
            "time_limit": None if left is None else (0.4 if proof else 0.8) * left,
        }
        for name in ("certified_", "error_bound_", "range_Cs_", "range_errors_"):
            self.__dict__.pop(name, None)
        if self.tol == "auto":
            choice = choose_on_grid(
                task, Cs.tolist(), folds, on_step=on_step, keep_scores=self.calibrate is not None, **options
            )
            result, self.certified_ = choice.result, choice.certified
        else:
            score = scorer_of(
                None if self.scoring == "accuracy" else self.scoring,
                self,
                X,
                y,
                lambda scores: labels_of_scores(scores, classes),
                lambda held: self._model_of(held, classes),
            )
            result = cross_validate(
                task,
                Cs.tolist(),
                folds,
                score=score,
                on_step=on_step,
                tol=min(self.tol, TOGETHER_TOL) if proof and folds_polish(task, folds, method) else self.tol,
                keep_scores=self.calibrate is not None,
                **options,
            )
        self._take(result)
        if proof:
            self._prove(task, result, folds, known, options, deadline)
        self.__dict__.pop("held_out_scores_", None)
        if result.held_out is not None:
            self.held_out_scores_ = self._scores_at(task, result, folds, options)
        self._warn_about_folds(result)

    def _scores_at(
        self, task: Classification, result: CrossValidation, folds: list[Any], options: dict[str, Any]
    ) -> Floats:
        """The scores of rows left out at the chosen C, which a proof may have found beside the grid."""
        assert result.held_out is not None
        if self.C_ in result.Cs:
            return np.array(result.held_out[int(np.flatnonzero(result.Cs == self.C_)[0])], dtype=np.float64)
        own = cross_validate(task, [self.C_], folds, tol=self._final_tol, keep_scores=True, **options)
        assert own.held_out is not None
        return np.array(own.held_out[0])

    def _prove(
        self,
        task: Classification,
        result: CrossValidation,
        folds: list[Any],
        known: dict[float, list[Solved]],
        options: dict[str, Any],
        deadline: Deadline,
    ) -> None:
        """The proof over the whole range, which may find a better C on its way."""
        left = deadline.left()
        assert self.cv_tol is not None
        proof = choose_in_range(
            task,
            result.Cs.tolist(),
            folds,
            self.cv_tol,
            best_error=1.0 - self.best_score_,
            best_C=self.C_,
            known=known,
            tol=REFIT_TOL if self.tol == "auto" else self.tol,
            **{**options, "time_limit": None if left is None else 0.8 * left},
        )
        self.certified_ = proof.certified
        self.error_bound_ = proof.bound
        errors = dict(zip(result.Cs.tolist(), (1.0 - result.means).tolist(), strict=True))
        errors.update(zip(proof.Cs.tolist(), proof.errors.tolist(), strict=True))
        self.range_Cs_, self.range_errors_ = (np.array(part) for part in zip(*sorted(errors.items()), strict=True))
        self.C_ = proof.C
        self.best_score_ = 1.0 - proof.error
        self.best_params_ = {"C": self.C_}
        if not proof.certified:
            flat = "; a loss without curvature needs many values of C, loss='squared_hinge' far fewer"
            warnings.warn(
                f"the error of the chosen C, {proof.error:.4f}, is proved to be within {proof.error - proof.bound:.4f} "
                f"of the lowest of the range, not within cv_tol={self.cv_tol:g}, after {len(proof.Cs)} values of C"
                + (flat if self.loss == "hinge" else ""),
                UserWarning,
                stacklevel=6,
            )

    def _refit(
        self,
        task: Classification,
        X: Any,
        classes: NDArray[Any],
        labels: NDArray[np.intp],
        method: Method,
        deadline: Deadline,
    ) -> None:
        """Train on all rows with the chosen C."""
        problems, solutions = train_classifier(
            task.matrix,
            labels,
            len(classes),
            row_weights(self.C_, self.class_weight, classes, labels, task.weights),
            multi_class=self.multi_class,
            loss=self.loss,
            bias=task.bias,
            penalize_bias=self.penalize_intercept,
            penalty=self.penalty,
            solver=method,
            tol=self._final_tol,
            max_iter=self.max_iter,
            pack=self.pack,
            seed=seed_of(self.random_state),
            n_jobs=count_threads(self.n_jobs),
            time_limit=deadline.left(),
        )
        model = Model.of_solutions(problems, solutions, classes, labels, self._plain_parameters(self.C_))
        self._set(model)
        self._warn_unless_converged(model.training, X)

    @property
    def _final_tol(self) -> float:
        return REFIT_TOL if self.tol == "auto" else self.tol

    def _plain_parameters(self, C: float) -> dict[str, Any]:
        """Those of the `LinearSVC` that a model with this C is."""
        own = self.get_params(deep=False)
        plain = {name: own[name] for name in LinearSVC().get_params(deep=False) if name in own}
        return {**plain, "C": C, "tol": self._final_tol, "warm_start": False}

    def _to_model(self) -> Model:
        """A model file holds the `LinearSVC` that was chosen."""
        return super()._to_model_as("LinearSVC", self._plain_parameters(self.C_))

    def _model_of(self, held: Held, classes: NDArray[Any]) -> LinearSVC:
        """One fold's model as an estimator."""
        model = LinearSVC(**self._plain_parameters(held.solved.C))
        present = held.task.present  # type: ignore[attr-defined]
        model.classes_ = classes[present]
        model.n_features_in_ = self.n_features_in_
        model.coef_, model.intercept_ = held.task.coefficients(held.solved)
        return model
