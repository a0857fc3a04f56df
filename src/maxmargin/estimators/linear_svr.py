"""Linear support vector regression, by scikit-learn's conventions."""

from __future__ import annotations

from functools import partial
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import RegressorMixin, _fit_context
from sklearn.callback import with_callbacks
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import _check_sample_weight

from maxmargin.estimators.base import constraints_but, finite_rows, seed_of
from maxmargin.estimators.on_blocks import labels_of
from maxmargin.estimators.progress import follow
from maxmargin.estimators.single import SingleProblemEstimator
from maxmargin.io.blocks import Blocks
from maxmargin.io.files import PathLike
from maxmargin.models.model import Model
from maxmargin.problems.losses import REGRESSION_LOSSES, Floats
from maxmargin.problems.regression import RegressionProblem, regression_loss
from maxmargin.solvers.deadline import Deadline
from maxmargin.solvers.method import Method
from maxmargin.solvers.methods import SOLVERS
from maxmargin.training.checkpoint import INTERVAL
from maxmargin.training.method_choice import narrow_method
from maxmargin.training.streaming import loaded, train_regression_on_blocks


class LinearSVR(RegressorMixin, SingleProblemEstimator):
    """Linear support vector regression, trained to a certified duality gap.

    Minimises ``1/2 |w|^2 + sum_i C_i loss(y_i - w.x_i)`` with ``C_i = C * sample weight``. Targets may have any scale:
    it changes how much C counts, not how long a fit takes.

    Parameters
    ----------
    loss : {"epsilon_insensitive", "squared_epsilon_insensitive", "least_squares"}, default="epsilon_insensitive"
        The loss of a residual ``r``: ``max(|r| - epsilon, 0)``, its square, or ``r^2``, which is ridge regression with
        ``alpha = 1 / (2 C)``.
    epsilon : float, default=0.0
        Residuals up to this cost nothing; in the units of the targets. 0 with "least_squares".
    C : float, default=1.0
        Weight of the losses against the regulariser.
    dual : "auto" or bool, default="auto"
        Narrows what ``solver="auto"`` may choose: True to methods that work on the dual variables, False to those that
        work on the weights. The problem, and so the model, is the same.
    solver : str or Method, default="auto"
        The method, by name or as an object with its own options: "auto", "dcd", "avsf", "online", "newton" or "pcd"
        (not for "epsilon_insensitive"). "auto" chooses; ``solver_used_`` says what it chose.
    tol : float, default=1e-3
        Relative duality gap to reach: no other solution has an objective smaller by more than this share.
    max_iter : int, default=10000
        Most epochs (or Newton steps) per stage.
    fit_intercept : bool, default=True
        Whether to fit an intercept, as the weight of a constant column (never copied into ``X``).
    penalize_intercept : bool, default=True
        Whether the intercept is regularised like any other weight, as in LIBLINEAR and scikit-learn's LinearSVR; False
        leaves it out of the regulariser, as in LIBSVM and scikit-learn's Ridge. Where targets are far from zero, False
        is mostly what is wanted.
    intercept_scaling : float, default=1.0
        Value of the constant column. Larger values regularise the intercept less. Without an intercept it has no
        meaning.
    shrinking : bool, default=True
        Whether "dcd" sets rows aside that seem to stay at a bound or inside the tube. Method objects have an option of
        their own.
    warm_start : bool, default=False
        Start from the dual variables of the previous fit. Needs the same rows in the same order.
    n_jobs : int, default=None
        Threads; None means 1, -1 all processors. They share certificates and predictions, and "newton" its loops. The
        result does not depend on it.
    pack : bool, default=True
        Whether a packed copy of large sparse rows may be made where it saves time and memory allows; it is freed at the
        end of the fit. False: no copy, ever.
    time_limit : float, default=None
        Seconds for the whole fit. The best weights so far are kept, with the exact gap they have.
    checkpoint : path, default=None
        A file for the state of the fit, from which it goes on if the process is killed; as for `LinearSVC`.
    checkpoint_interval : float, default=60.0
        Seconds of work that may be lost at most (plus one epoch or step).
    random_state : int, RandomState instance or None, default=None
        Seed of this fit. None means 0: fits are repeatable unless you ask otherwise.
    verbose : int, default=0
        1 prints a line per report of the solver that shows anything new.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        The weights of lowest objective that were seen, near ``dual_coef_ @ X``: the squared distance is at most
        ``4 (primal_objective_ - dual_objective_)``.
    intercept_ : ndarray of shape (1,)
        The intercept.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, when ``X`` has them.
    n_iter_ : int
        Epochs or Newton steps.
    dual_coef_ : sparse array of shape (1, n_samples)
        The dual variables of highest dual objective that were seen: positive where the prediction is too low.
    support_ : ndarray of shape (n_SV,)
        Rows with a nonzero dual variable.
    n_support_ : ndarray of shape (1,)
        How many.
    primal_objective_, dual_objective_, duality_gap_ : float
        The certificate: the optimum lies between the two objectives.
    converged_ : bool
        Whether the certified gap is at most ``tol``.
    solver_used_ : str
        The stages the solver went through.
    history_ : list of Report
        The exact values along the way.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from maxmargin import LinearSVR
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = LinearSVR(C=100.0, penalize_intercept=False).fit(X, y)
    >>> model.converged_, bool(model.duality_gap_ <= 1e-3)
    (True, True)
    >>> model.score(X, y) > 0.4
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "loss": [StrOptions(set(REGRESSION_LOSSES))],
        "epsilon": [Interval(Real, 0.0, None, closed="left")],
        "solver": [StrOptions(set(SOLVERS)), Method],
        **constraints_but(),
    }

    loss: str
    epsilon: float

    def __init__(
        self,
        loss: str = "epsilon_insensitive",
        *,
        epsilon: float = 0.0,
        C: float = 1.0,
        dual: bool | str = "auto",
        solver: str | Method = "auto",
        tol: float = 1e-3,
        max_iter: int = 10_000,
        fit_intercept: bool = True,
        penalize_intercept: bool = True,
        intercept_scaling: float = 1.0,
        warm_start: bool = False,
        shrinking: bool = True,
        n_jobs: int | None = None,
        pack: bool = True,
        time_limit: float | None = None,
        checkpoint: PathLike | None = None,
        checkpoint_interval: float = INTERVAL,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ) -> None:
        self._keep(locals())

    def _method(self) -> Method:
        """The method that the parameters ask for; an error for parameters that do not go together."""
        if not self.penalize_intercept and not self.fit_intercept:
            raise ValueError("penalize_intercept=False has no meaning with fit_intercept=False; leave it at True")
        if not self.penalize_intercept and self.intercept_scaling != 1.0:
            raise ValueError("intercept_scaling has no meaning with penalize_intercept=False; leave it at 1.0")
        return narrow_method(
            self.solver,
            "regression",
            regression_loss(self.loss, self.epsilon),
            penalize_bias=self.penalize_intercept,
            dual=self.dual,
            shrinking=self.shrinking,
        )

    @with_callbacks
    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> LinearSVR:
        """Train on rows ``X`` with targets ``y``.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features), or Blocks
            Rows, as for `LinearSVC`.
        y : array of shape (n_samples,)
            The numbers to predict. Blocks have their own, and their own weights, unless others are given.
        sample_weight : array of shape (n_samples,), default=None
            Weight of each row.

        Returns
        -------
        LinearSVR
            The estimator itself.
        """
        method = self._method()
        deadline = Deadline(self.time_limit)
        X, y, sample_weight, _ = loaded(X, y, sample_weight)
        if isinstance(X, Blocks):
            return self._fit_blocks(X, y, sample_weight, method, deadline)
        X, y = self._validated(X, y, kinds="biuf", y_numeric=True)
        C: Any = float(self.C)
        if sample_weight is not None:
            C = C * _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        problem = RegressionProblem(
            X,
            y,
            C,
            loss=self.loss,
            epsilon=self.epsilon,
            bias=self.intercept_scaling if self.fit_intercept else 0.0,
            penalize_bias=self.penalize_intercept,
        )
        with finite_rows(X):
            model, _ = self._train(
                problem,
                method,
                deadline,
                {"X": X, "y": y, "metadata": {"sample_weight": sample_weight}},
                lambda weights: {"coef_": weights[:-1], "intercept_": problem.bias * weights[-1:]},
                partial(Model.of_regression, problem),
            )
        self._warn_unless_converged(model.training, X)
        return self

    def _fit_blocks(self, blocks: Blocks, y: Any, sample_weight: Any, method: Method, deadline: Deadline) -> LinearSVR:
        """Train on rows that are read block by block."""
        self._take_blocks(blocks)
        bias = self.intercept_scaling if self.fit_intercept else 0.0
        progress = follow(
            self,
            {"X": blocks, "y": y, "metadata": {"sample_weight": sample_weight}},
            lambda weights: {"coef_": weights[:-1], "intercept_": bias * weights[-1:]},
        )
        model = train_regression_on_blocks(
            blocks,
            self.get_params(deep=False),
            regression_loss(self.loss, self.epsilon),
            method,
            y=y,
            sample_weight=sample_weight,
            listeners=[progress],
            time_limit=deadline.left(),
            seed=seed_of(self.random_state),
        )
        self._set(model)
        self._warn_unless_converged(model.training, blocks)
        return self

    def score(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> float:
        """The coefficient of determination, R^2.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features), or Blocks
            Rows.
        y : array of shape (n_samples,)
            Their true numbers. Blocks have their own, and their own weights, unless others are given.
        sample_weight : array of shape (n_samples,), default=None
            Weight of each row.

        Returns
        -------
        float
            1 for perfect predictions, 0 for the best constant.
        """
        if isinstance(X, Blocks) and sample_weight is None:
            sample_weight = X.sample_weight
        return float(super().score(X, labels_of(X, y), sample_weight))

    def predict(self, X: Any) -> Floats:
        """The numbers that the model predicts.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples,)
            ``X @ coef_ + intercept_``.
        """
        return self._scores(X).ravel()

    def _set(self, model: Model) -> None:
        super()._set(model)
        self.coef_ = model.coef.ravel()
