"""The linear one-class support vector machine, an outlier detector by scikit-learn's conventions."""

from __future__ import annotations

import warnings
from functools import partial
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import OutlierMixin, _fit_context
from sklearn.callback import with_callbacks
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import _check_sample_weight, validate_data

from maxmargin.estimators.base import DecisionMixin, constraints_but, finite_rows
from maxmargin.estimators.single import SingleProblemEstimator
from maxmargin.io.files import PathLike
from maxmargin.models.model import INLIER_OR_NOT, Model
from maxmargin.problems.losses import Floats
from maxmargin.problems.one_class import OneClassProblem
from maxmargin.solvers.deadline import Deadline
from maxmargin.solvers.method import Method
from maxmargin.solvers.methods import solvers_for
from maxmargin.training.checkpoint import INTERVAL
from maxmargin.training.method_choice import narrow_method
from maxmargin.training.streaming import must_load


class OneClassSVM(OutlierMixin, DecisionMixin, SingleProblemEstimator):
    """Linear one-class support vector machine, trained to a certified duality gap.

    Finds the hyperplane ``w.x = rho`` that is farthest from the origin with all but about a share ``nu`` of the rows
    beyond it: it minimises ``1/2 |w|^2 - nu C rho + sum_i C_i max(0, rho - w.x_i)`` with ``C_i`` the weight of a row
    and ``C`` their sum. These are the problem and the scale of LIBLINEAR's "-s 21" and of scikit-learn's
    ``OneClassSVM(kernel="linear")``. Rows must lie on one side of the origin: columns that were centred have no such
    hyperplane.

    Parameters
    ----------
    nu : float, default=0.5
        Above 0 and at most 1: at most this share of the training rows becomes outliers, and at least this share has a
        nonzero dual variable.
    solver : str or Method, default="auto"
        The method, by name or as an object with its own options: "auto", which is "active_set", "dcd", "avsf",
        "online" or "newton".
    tol : float, default=1e-3
        Relative duality gap to reach: no other solution has an objective smaller by more than this share.
    max_iter : int, default=10000
        Most epochs (or Newton steps) per stage.
    shrinking : bool, default=True
        Whether "dcd" sets rows aside that seem to stay at a bound. Method objects have an option of their own.
    warm_start : bool, default=False
        Start from the dual variables of the previous fit. Needs the same rows in the same order.
    random_state : int, RandomState instance or None, default=None
        Seed of this fit. None means 0: fits are repeatable unless you ask otherwise.
    n_jobs : int, default=None
        Threads; None means 1, -1 all processors. They share predictions, and the certificates of all solvers but
        "active_set", which works in one. The result does not depend on it.
    pack : bool, default=True
        Whether a packed copy of large sparse rows may be made where it saves time and memory allows.
    time_limit : float, default=None
        Seconds for the whole fit. The best weights so far are kept, with the exact gap they have.
    checkpoint, checkpoint_interval : path, default=None, and float, default=60.0
        A file for the state of the fit and the seconds between two of its writings, as for `LinearSVC`.
    verbose : int, default=0
        1 prints a line per report of the solver that shows anything new.

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_features)
        The weights of lowest objective that were seen, near ``dual_coef_ @ X``.
    intercept_ : ndarray of shape (1,)
        ``-offset_``.
    offset_ : float
        The score from which on a row is no outlier, ``rho``.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, when ``X`` has them.
    n_iter_ : int
        Epochs or Newton steps.
    dual_coef_ : sparse array of shape (1, n_samples)
        The dual variables of highest dual objective that were seen; their sum is ``nu`` times that of the weights.
    support_, n_support_, primal_objective_, dual_objective_, duality_gap_, converged_, solver_used_, history_
        The support vectors, the certificate and the way there, as in `LinearSVR`.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin import OneClassSVM
    >>> X = np.array([[2.0, 2.0], [2.1, 1.9], [1.9, 2.2], [2.2, 2.1], [0.1, 0.2]])
    >>> model = OneClassSVM(nu=0.3).fit(X)
    >>> model.predict(X).tolist()
    [1, 1, 1, 1, -1]
    >>> bool(model.duality_gap_ <= 1e-3)
    True
    """

    nu: float
    offset_: float

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "nu": [Interval(Real, 0.0, 1.0, closed="right")],
        "solver": [StrOptions(set(solvers_for("one_class", penalize_bias=False))), Method],
        **constraints_but("C", "dual", "fit_intercept", "penalize_intercept", "intercept_scaling"),
    }

    def __init__(
        self,
        *,
        nu: float = 0.5,
        solver: str | Method = "auto",
        tol: float = 1e-3,
        max_iter: int = 10_000,
        shrinking: bool = True,
        warm_start: bool = False,
        random_state: int | np.random.RandomState | None = None,
        n_jobs: int | None = None,
        pack: bool = True,
        time_limit: float | None = None,
        checkpoint: PathLike | None = None,
        checkpoint_interval: float = INTERVAL,
        verbose: int = 0,
    ) -> None:
        self._keep(locals())

    def _method(self) -> Method:
        """The method that the parameters ask for."""
        return narrow_method(
            self.solver, "one_class", OneClassProblem.loss, penalize_bias=False, shrinking=self.shrinking
        )

    @with_callbacks
    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> OneClassSVM:
        """Train on rows ``X``.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            float32 and float64, CSR or C-ordered dense, are used where they lie; all else is converted by one copy.
        y : Ignored
            There are no labels; here by convention.
        sample_weight : array of shape (n_samples,), default=None
            Weight of each row; 2 is the same as writing the row twice, 0 as leaving it out.

        Returns
        -------
        OneClassSVM
            The estimator itself.
        """
        method = self._method()
        deadline = Deadline(self.time_limit)
        X, _, sample_weight, _ = must_load("OneClassSVM", X, y, sample_weight)
        # The core finds NaN and infinity in rows of positive weight on its way.
        if sample_weight is not None or not self._takes_as_it_is(X):
            finite: dict[str, Any] = {"ensure_all_finite": sample_weight is not None}
            X = validate_data(self, X, accept_sparse="csr", dtype=[np.float64, np.float32], order="C", **finite)
        C: Any = 1.0
        if sample_weight is not None:
            C = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        problem = OneClassProblem(X, self.nu, C)
        with finite_rows(X):
            model, solution = self._train(
                problem,
                method,
                deadline,
                {"X": X, "y": y, "metadata": {"sample_weight": sample_weight}},
                lambda weights: {
                    "coef_": weights[np.newaxis, :-1],
                    "intercept_": weights[-1:],
                    "offset_": -float(weights[-1]),
                },
                partial(Model.of_one_class, problem),
            )
        if (not solution.converged or solution.certificate.dual == 0) and problem.vanishes(solution.certificate.dual):
            # The level is that of the user's line: past this method and its two decorators.
            warnings.warn(NO_SIDE, ConvergenceWarning, stacklevel=4)
        else:
            self._warn_unless_converged(model.training, X)
        return self

    def score_samples(self, X: Any) -> Floats:
        """How far rows are out along the weights, ``X @ coef_.T``: higher is more normal.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples,)
            Scores; those below ``offset_`` are outliers.
        """
        return self.decision_function(X) + self.offset_

    def predict(self, X: Any) -> NDArray[Any]:
        """Which rows are outliers.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples,)
            +1, and -1 for outliers, whose `decision_function` is negative.
        """
        return np.where(self.decision_function(X) >= 0, 1, -1)

    def _set(self, model: Model) -> None:
        super()._set(model)
        del self.classes_  # it tells outliers, but nobody gave it classes
        self.offset_ = -float(model.intercept[0])

    def _model_classes(self) -> NDArray[Any]:
        return INLIER_OR_NOT


#: What to say where the optimum is zero.
NO_SIDE = (
    "no hyperplane has enough of the rows on the side away from the origin: the origin lies among them, so that the "
    "best weights are zero and scores tell nothing. Columns must not be centred; a linear one-class SVM needs rows on "
    "one side of the origin."
)
